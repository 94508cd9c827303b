package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	helmvalues "helm.sh/helm/v3/pkg/cli/values"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/workload"
)

type createOptions struct {
	from       environment.Flags
	timeout    target.Timeout
	name       string
	namespace  string
	project    string
	newProject bool
	values     helmvalues.Options
	preview    bool
	wait       string
	kubeconfig string
	extensions string
	progress   string
	format     string
}

func newCreate(streams ui.Streams) *cobra.Command {
	o := createOptions{timeout: target.Timeout(30 * time.Minute), wait: string(workload.WaitReady), progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a workload cluster, or update the existing one",
		Long: `Creates a workload cluster with the environment's node image, Kubernetes version,
networks, flavors and key pair. Values files, in the format of capi-helm-charts'
openstack-cluster, override any of them; all mistakes in them are reported before
anything is created. The command waits until the control plane is available and workers
and addons are ready, and writes a kubeconfig file for the cluster.

You can run it again: it rolls out what changed, resumes a run that was killed, and says
so if there is nothing to change. With --project the cluster is in another project, which
--create-project makes; an existing cluster stays where it is. With --extensions it then runs the programs in a folder
and applies the manifests there, in the order of their names, each time. Here -f is a values file; use --file for the
environment file.`,
		Example: `  slipway cluster create shop
  slipway cluster create shop -f values.yaml --set nodeGroups[0].name=md-0,nodeGroups[0].machineCount=5
  slipway cluster create shop --project retail
  slipway cluster create shop --create-project
  slipway cluster create shop --wait control-plane --timeout 15m -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return o.timeout.Run(cmd.Context(), func(ctx context.Context) error { return o.run(ctx, streams) })
		},
	}
	flags := cmd.Flags()
	o.from.AddLong(flags)
	o.timeout.Add(flags)
	flags.StringArrayVarP(&o.values.ValueFiles, "values", "f", nil, "values file; can be repeated, and the last one wins")
	flags.StringArrayVar(&o.values.Values, "set", nil, "value at a path, such as controlPlane.machineCount=3; other users of the machine can see it, so never give a secret")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the cluster (default: one of its own with the cluster's name)")
	flags.StringVar(&o.project, "project", "", "ID or name of the project for the cluster's machines, networks and load balancers (default: that of an existing cluster, else the environment's)")
	flags.BoolVar(&o.newProject, "create-project", false, "make the project, as an administrator, with the name from --project (default: ENVIRONMENT-NAME); it is deleted with the cluster if nothing else is in it")
	flags.BoolVar(&o.preview, "preview", false, "allow a version of Kubernetes before its release: an alpha, a beta or a release candidate")
	ui.ChoiceFlag(flags, &o.wait, "wait", []string{string(workload.WaitNone), string(workload.WaitControlPlane), string(workload.WaitReady)}, "what to wait for")
	flags.StringVar(&o.kubeconfig, "kubeconfig-out", "", "kubeconfig file to write (default: .slipway/clusters/NAME.kubeconfig)")
	flags.StringVar(&o.extensions, "extensions", "", "folder with programs to run and manifests to apply when the cluster is up, in the order of their names")
	ui.ProgressFlag(flags, &o.progress)
	ui.FormatFlag(flags, &o.format)
	return cmd
}

// created is what create prints as data.
type created struct {
	Name      string          `json:"name"`
	Namespace string          `json:"namespace"`
	Change    workload.Change `json:"change"`
	// Kubeconfig is its file; empty while there is none.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Extensions are the names of those that ran.
	Extensions []string `json:"extensions,omitempty"`
	Seconds    float64  `json:"seconds"`
}

func (o createOptions) run(ctx context.Context, streams ui.Streams) error {
	start := time.Now()
	wanted, err := o.wanted()
	if err != nil {
		return err
	}
	extensions, err := o.readExtensions()
	if err != nil {
		return err
	}
	s, err := work(ctx, o.from)
	if err != nil {
		return err
	}
	defer s.close()
	wanted.Defaults = s.defaults
	var key workload.Key
	result := created{Name: o.name}
	err = ui.Step(o.progress, streams, o.name, "creating the cluster", func(step *event.Step) (string, error) {
		key, result.Change, err = s.Create(ctx, s.cloud, wanted, step.Wait)
		return string(result.Change), err
	})
	if err != nil {
		return err
	}
	result.Namespace = key.Namespace
	if result.Kubeconfig, err = o.writeKubeconfig(ctx, s, key); err != nil {
		return err
	}
	if result.Extensions, err = o.runExtensions(ctx, streams, s, key, result.Kubeconfig, extensions); err != nil {
		return err
	}
	result.Seconds = time.Since(start).Seconds()
	if o.format != "table" {
		return ui.Output(streams.Out, o.format, result, ui.Table{})
	}
	result.print(streams, workload.Level(o.wait))
	return nil
}

// wanted is the cluster that the flags describe.
func (o createOptions) wanted() (workload.Wanted, error) {
	w := workload.Wanted{Name: o.name, Namespace: o.namespace, Project: o.project, CreateProject: o.newProject, Preview: o.preview, Wait: workload.Level(o.wait)}
	if err := workload.CheckName(o.name); err != nil {
		return w, err
	}
	var err error
	if w.Values, err = o.values.MergeValues(nil); err != nil {
		return w, fault.Usage("values", err, "check the paths of --values and the text of --set")
	}
	if w.Values["apiVersion"] == config.APIVersion && w.Values["kind"] == config.Kind {
		return w, fault.Usage("--values", errors.New("this is an environment file, not a values file"), "give it with --file")
	}
	return w, nil
}

// writeKubeconfig returns the file that it wrote, "" while there is no kubeconfig.
func (o createOptions) writeKubeconfig(ctx context.Context, s *session, key workload.Key) (string, error) {
	text, err := clusterapi.Kubeconfig(ctx, s.Kube.Typed, key.Namespace, key.Name)
	if apierrors.IsNotFound(err) && o.wait == string(workload.WaitNone) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	path := o.kubeconfig
	if path == "" {
		path = target.ClusterKubeconfig(s.loaded, key)
	}
	return path, target.WriteClusterKubeconfig(path, text)
}

func (c created) print(streams ui.Streams, waited workload.Level) {
	state := map[workload.Level]string{workload.WaitNone: "", workload.WaitControlPlane: ", its control plane is ready", workload.WaitReady: ", it is ready"}[waited]
	fmt.Fprintf(streams.Out, "cluster %s: %s%s (%s)\n", c.Name, c.Change, state, ui.Duration(time.Duration(c.Seconds*float64(time.Second))))
	if c.Kubeconfig == "" {
		fmt.Fprintf(streams.Out, "there is no kubeconfig yet; get it later with: slipway cluster kubeconfig %s\n", c.Name)
		return
	}
	fmt.Fprintf(streams.Out, "KUBECONFIG=%s kubectl get nodes\n", c.Kubeconfig)
}
