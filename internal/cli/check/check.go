// Package check is `slipway check`.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/check"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks"
)

// New returns the command with its sub-commands.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Try whether a cluster works as its users need it",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(newCheck(streams, "quick", "Try pods on all nodes, DNS, Services, the way out, a volume and a load balancer"),
		newCheck(streams, "storage", "Try a volume: write on one node, read on another, restore a snapshot"),
		newCheck(streams, "network", "Try pods on all nodes, DNS, Services, the way out and a load balancer"), newConformance(streams), newAlerts(streams), newInside())
	return cmd
}

type options struct {
	from      environment.Flags
	name      string
	namespace string
	image     string
	egress    string
	class     string
	skip      []string
	patience  time.Duration
	junit     string
	progress  string
	format    string
	suite     suite // of the check conformance
}

func newCheck(streams ui.Streams, name, short string) *cobra.Command {
	o := options{name: name, progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   name + " [CLUSTER]",
		Short: short,
		Long: short + `.

It checks the management cluster, or the workload cluster CLUSTER. Everything is made in
one namespace, which is deleted in the end, also after a failure or an interrupt; a check
that was killed is cleaned up by the first check an hour later. Pods run Slipway's own
image, which the nodes of a bundle have. A step that cannot be tried, because the cluster
has no storage class for example, is skipped and says so.

The exit code is 0 only if no step failed.`,
		Example: fmt.Sprintf(`  slipway check %[1]s
  slipway check %[1]s shop -o json
  slipway check %[1]s shop --junit check.xml`, name),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), streams, strings.Join(args, ""))
		},
	}
	flags := cmd.Flags()
	o.add(flags)
	flags.StringVar(&o.egress, "egress", "", "host and port outside of the cluster that pods must reach (default: the cloud's Keystone)")
	flags.StringVar(&o.class, "storage-class", "", "storage class of the volume (default: the cluster's default class)")
	flags.StringSliceVar(&o.skip, "skip", nil, "steps to leave out: "+strings.Join(check.Steps(name), ", "))
	return cmd
}

// add adds the flags of all checks.
func (o *options) add(flags *pflag.FlagSet) {
	o.from.Add(flags)
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the cluster (default: the one that holds a cluster of this name)")
	flags.StringVar(&o.image, "image", "", "image of the pods (default: that of the cluster's own etcd-defrag job, else Slipway's of this version)")
	flags.DurationVar(&o.patience, "step-timeout", 150*time.Second, "how long one step may take")
	flags.StringVar(&o.junit, "junit", "", "file to write the result to, as JUnit's XML")
	ui.ProgressFlag(flags, &o.progress)
	ui.FormatFlag(flags, &o.format)
}

// valid refuses wrong flags, all at once.
func (o options) valid() error {
	var errs []error
	for _, step := range o.skip {
		if !slices.Contains(check.Steps(o.name), step) {
			errs = append(errs, fault.Usage("--skip "+step, errors.New("this check has no such step"), "choose from "+strings.Join(check.Steps(o.name), ", ")))
		}
	}
	if o.egress != "" {
		if _, err := target.Endpoint(o.egress); err != nil {
			errs = append(errs, fault.Usage("--egress "+o.egress, err, "give a host and a port, such as 192.0.2.7:443"))
		}
	}
	errs = append(errs, o.suite.valid(o.name)...)
	if o.patience <= 0 {
		errs = append(errs, fault.Usage("--step-timeout", errors.New("it is not positive"), "give a duration such as 2m"))
	}
	return errors.Join(errs...)
}

func (o options) run(ctx context.Context, streams ui.Streams, name string) error {
	if err := o.valid(); err != nil {
		return err
	}
	seed, loaded, err := target.OpenSeed(ctx, o.from)
	if err != nil {
		return err
	}
	management, leave, err := seed.OpenManagement(ctx, loaded)
	if err != nil {
		return err
	}
	defer leave()
	// Cleaning up goes on when ctx is over: the way must last.
	config, away, err := seed.Reach(context.WithoutCancel(ctx), seed.Management)
	if err != nil {
		return err
	}
	defer away()
	shown := loaded.Environment.Metadata.Name
	if o.workload(name, shown) {
		key, err := management.Find(ctx, name, o.namespace)
		if err != nil {
			return err
		}
		shown = key.String()
		if config, _, err = management.Way(context.WithoutCancel(ctx), key.Namespace, key.Name); err != nil {
			return fault.New("cluster "+shown, err, "see how far it is with slipway cluster describe "+name)
		}
	}
	if o.egress == "" {
		o.egress = keystone(ctx, loaded)
	}
	return o.check(ctx, streams, config, shown)
}

// workload reports whether a workload cluster is meant. One in another namespace may have the
// management cluster's name, which is the environment's.
func (o options) workload(name, environment string) bool {
	return name != "" && (name != environment || o.namespace != "" && o.namespace != stacks.ManagementNamespace)
}

func (o options) check(ctx context.Context, streams ui.Streams, config *rest.Config, cluster string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a Kubernetes client: %w", err)
	}
	image := o.image
	if image == "" {
		image = imageOn(ctx, client)
	}
	suite, err := o.suite.options(o.name, client)
	if err != nil {
		return err
	}
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	finish := sync.OnceFunc(func() { progress.Close() })
	defer finish()
	result, over := check.Run(ctx, check.Options{Name: o.name, Cluster: cluster, Client: client, Image: image, Egress: o.egress, StorageClass: o.class, Skip: o.skip, Patience: o.patience, Suite: suite,
		Dial: dialer(config), Tell: teller(progress)})
	finish()
	if over != nil && len(result.Steps) == 0 {
		return over
	}
	return o.tell(streams, result, over)
}

// tell shows the result, also if its file cannot be written: it may have taken hours.
func (o options) tell(streams ui.Streams, result check.Result, over error) error {
	unwritten := o.write(result)
	if err := ui.Output(streams.Out, o.format, result, table(result)); err != nil {
		return errors.Join(err, unwritten)
	}
	if over == nil {
		over = verdict(result)
	}
	return errors.Join(over, unwritten)
}

// write writes JUnit's file.
func (o options) write(result check.Result) error {
	if o.junit == "" {
		return nil
	}
	text, err := result.JUnit()
	if err == nil {
		err = os.WriteFile(o.junit, text, 0o644)
	}
	if err != nil {
		return fault.New("--junit "+o.junit, err, "choose another file")
	}
	return nil
}

func verdict(r check.Result) error {
	if r.Passed {
		return nil
	}
	var failed []string
	for _, s := range r.Steps {
		if s.State == check.Failed {
			failed = append(failed, s.Name)
		}
	}
	return fault.New("cluster "+r.Cluster, fmt.Errorf("%d of %d steps failed: %s", len(failed), len(r.Steps), strings.Join(failed, ", ")), "read why above; slipway why asks cluster and cloud for the cause")
}

func table(r check.Result) ui.Table {
	t := ui.Table{Header: []string{"STEP", "RESULT", "TOOK", "DETAIL"}}
	for _, s := range r.Steps {
		t.Rows = append(t.Rows, []string{s.Name, s.State, ui.Duration(time.Duration(s.Seconds * float64(time.Second))), strings.Join(strings.Fields(s.Detail), " ")})
	}
	word := map[bool]string{true: "passed", false: "did not pass"}[r.Passed]
	t.Footer = []string{fmt.Sprintf("check %s of %s %s in %s", r.Check, r.Cluster, word, ui.Duration(time.Duration(r.Seconds*float64(time.Second))))}
	return t
}

// teller shows steps as progress.
func teller(sink event.Sink) func(check.Step) {
	var mu sync.Mutex
	running := map[string]*event.Step{}
	return func(s check.Step) {
		mu.Lock()
		defer mu.Unlock()
		if s.State == "" && s.Detail != "" && running[s.Name] != nil {
			running[s.Name].Run(s.Detail)
			return
		}
		if s.State == "" {
			running[s.Name] = event.Start(sink, s.Name, "trying")
			return
		}
		step := running[s.Name]
		if step == nil {
			step = event.Start(sink, s.Name, "")
		}
		switch s.State {
		case check.Failed:
			step.End("", errors.New(s.Detail))
		case check.Skipped:
			step.Skip(s.Detail)
		default:
			step.End(s.Detail, nil)
		}
	}
}

// directTime bounds the way to a load balancer that does not lead through the seed.
const directTime = 2 * time.Second

// dialer connects to load balancers from this machine as users do, or by the way that leads
// to the cluster where this machine does not reach their network.
func dialer(config *rest.Config) func(context.Context, string, string) (net.Conn, error) {
	direct := net.Dialer{Timeout: directTime}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := direct.DialContext(ctx, network, address)
		if err == nil || config.Dial == nil {
			return c, err
		}
		c, through := config.Dial(ctx, network, address)
		if through != nil {
			return nil, errors.Join(err, through)
		}
		return c, nil
	}
}

// endpoint is the host and port of a URL; empty if it has none.
func endpoint(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80"}[u.Scheme], "443"))
}
