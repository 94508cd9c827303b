package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/addons"
	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/remote"
)

// ClusterAPIInputs are the inputs of Cluster API with its providers.
type ClusterAPIInputs struct {
	Login
	Kubeconfig string `pulumi:"kubeconfig" provider:"secret"`
	// ServerID is the machine; on another one everything starts anew and is
	// waited for.
	ServerID string `pulumi:"serverID"`
	// Versions are the providers' by label; they say when to install anew.
	Versions map[string]string `pulumi:"versions"`
	// Settings are clusterctl.Settings by label, as JSON.
	Settings string `pulumi:"settings"`
}

// ClusterAPIState is the state of Cluster API.
type ClusterAPIState struct{ ClusterAPIInputs }

// ClusterAPI is Cluster API with its providers in a program: created means
// that all controllers are available and their webhooks answer.
type ClusterAPI struct{ pulumi.CustomResourceState }

// ClusterAPIRefs are the inputs of NewClusterAPI.
type ClusterAPIRefs struct {
	LoginRefs
	Kubeconfig, ServerID pulumi.StringInput
	Versions             addons.Versions
	Settings             map[string]clusterctl.Settings
}

// NewClusterAPI adds Cluster API to the program.
func NewClusterAPI(ctx *pulumi.Context, name string, refs ClusterAPIRefs, options ...pulumi.ResourceOption) (*ClusterAPI, error) {
	settings, err := json.Marshal(refs.Settings)
	if err != nil {
		return nil, fmt.Errorf("settings of providers: %w", err)
	}
	properties := refs.properties()
	properties["kubeconfig"] = pulumi.ToSecret(refs.Kubeconfig)
	properties["serverID"] = refs.ServerID
	properties["versions"] = pulumi.ToStringMap(versionsOf(refs.Versions))
	properties["settings"] = pulumi.String(settings)
	r := &ClusterAPI{}
	return r, ctx.RegisterResource("slipway:kubernetes:ClusterAPI", name, properties, r, options...)
}

func versionsOf(v addons.Versions) map[string]string {
	versions := map[string]string{"cert-manager": v.CertManager, clusterctl.ORC: v.ORC}
	for _, provider := range addons.Providers(v) {
		versions[provider.Label] = provider.Version
	}
	return versions
}

type clusterAPI struct{ bundle *bundle.Folder }

// Annotate names the resource's type.
func (*clusterAPI) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "ClusterAPI") }

// installTime is how long all controllers may take to become available.
const installTime = 10 * time.Minute

// Create installs what is missing.
func (c *clusterAPI) Create(ctx context.Context, r infer.CreateRequest[ClusterAPIInputs]) (infer.CreateResponse[ClusterAPIState], error) {
	response := infer.CreateResponse[ClusterAPIState]{ID: "cluster-api", Output: ClusterAPIState{r.Inputs}}
	if r.DryRun {
		return response, nil
	}
	return response, explain("Cluster API on the seed", c.install(ctx, r.Inputs))
}

// Update installs what is missing and changes settings.
func (c *clusterAPI) Update(ctx context.Context, r infer.UpdateRequest[ClusterAPIInputs, ClusterAPIState]) (infer.UpdateResponse[ClusterAPIState], error) {
	response := infer.UpdateResponse[ClusterAPIState]{Output: ClusterAPIState{r.Inputs}}
	if r.DryRun {
		return response, nil
	}
	return response, explain("Cluster API on the seed", c.install(ctx, r.Inputs))
}

// Diff changes everything in place.
func (c *clusterAPI) Diff(_ context.Context, r infer.DiffRequest[ClusterAPIInputs, ClusterAPIState]) (infer.DiffResponse, error) {
	return inPlace(r.State.ClusterAPIInputs, r.Inputs), nil
}

// Delete does nothing: it goes with its cluster.
func (c *clusterAPI) Delete(context.Context, infer.DeleteRequest[ClusterAPIState]) (infer.DeleteResponse, error) {
	return infer.DeleteResponse{}, nil
}

func (c *clusterAPI) install(ctx context.Context, in ClusterAPIInputs) error {
	var settings map[string]clusterctl.Settings
	if err := json.Unmarshal([]byte(in.Settings), &settings); err != nil {
		return fmt.Errorf("reading the settings of providers: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, installTime, fmt.Errorf("not all controllers are available after %s", installTime))
	defer cancel()
	machine, err := in.open(ctx)
	if err != nil {
		return err
	}
	defer machine.Close()
	onSeed, _, err := cluster(machine, in.Kubeconfig)
	if err != nil {
		return err
	}
	path, remove, err := local(ctx, machine, in.Kubeconfig)
	if err != nil {
		return err
	}
	defer remove()
	installation := clusterctl.Installation{Bundle: c.bundle, Cluster: onSeed, Kubeconfig: path, Settings: settings,
		Progress: func(text string) { status(ctx, text) }}
	if err := installation.Run(ctx); err != nil {
		return err
	}
	status(ctx, "waiting for the webhooks to answer")
	return installation.Answering(ctx)
}

// local is a kubeconfig file, mode 0600, that leads through the machine for as
// long as ctx lasts; the clusterctl library takes nothing else.
func local(ctx context.Context, m *remote.Machine, kubeconfig string) (path string, remove func(), err error) {
	address, err := m.Forward(ctx, apiAddress)
	if err != nil {
		return "", nil, err
	}
	config, err := clientcmd.Load([]byte(kubeconfig))
	if err != nil {
		return "", nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	for _, c := range config.Clusters {
		c.Server = "https://" + address.String()
	}
	dir, err := os.MkdirTemp("", "slipway-kubeconfig-") // mode 0700
	if err != nil {
		return "", nil, fmt.Errorf("writing a kubeconfig: %w", err)
	}
	remove = func() { os.RemoveAll(dir) }
	path = filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", nil, errors.Join(fmt.Errorf("writing a kubeconfig: %w", err), os.RemoveAll(dir))
	}
	return path, remove, nil
}
