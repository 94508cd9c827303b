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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// ClusterAPIInputs are the inputs of Cluster API with its providers.
type ClusterAPIInputs struct {
	Login
	Kubeconfig string `pulumi:"kubeconfig" provider:"secret"`
	// ServerID is the server; on a new server everything is installed and waited for
	// again.
	ServerID string `pulumi:"serverID"`
	// Versions are the providers' versions by label; a change installs them again.
	Versions map[string]string `pulumi:"versions"`
	// Settings are clusterctl.Settings by label, as JSON.
	Settings string `pulumi:"settings"`
	// TrustBundle holds PEM CA certificates that cert-manager trusts in addition to
	// the system's.
	TrustBundle string `pulumi:"trustBundle,optional"`
	// Environment holds environment variables of all controllers: their proxy.
	Environment map[string]string `pulumi:"environment,optional" provider:"secret"`
	// Monitored says that the cluster gets the Prometheus operator; Cluster API is
	// settled again if that changes.
	Monitored bool `pulumi:"monitored,optional"`
	// Alone says that the cluster is a seed: one node, where controllers hold no lease.
	Alone bool `pulumi:"alone,optional"`
}

// ClusterAPIState is the state of Cluster API.
type ClusterAPIState struct{ ClusterAPIInputs }

// ClusterAPI is Cluster API with its providers in a program. It counts as created when all
// controllers are available and their webhooks answer.
type ClusterAPI struct{ pulumi.CustomResourceState }

// ClusterAPIRefs are the inputs of NewClusterAPI.
type ClusterAPIRefs struct {
	LoginRefs
	Kubeconfig, ServerID pulumi.StringInput
	Versions             component.Versions
	Settings             map[string]clusterctl.Settings
	TrustBundle          string
	Environment          map[string]string
	Monitored, Alone     bool
}

// NewClusterAPI adds Cluster API to the program.
func NewClusterAPI(ctx *pulumi.Context, name string, refs ClusterAPIRefs, options ...pulumi.ResourceOption) (*ClusterAPI, error) {
	settings, err := json.Marshal(refs.Settings)
	if err != nil {
		return nil, fmt.Errorf("provider settings: %w", err)
	}
	properties := refs.properties()
	properties["kubeconfig"] = pulumi.ToSecret(refs.Kubeconfig)
	properties["serverID"] = refs.ServerID
	properties["versions"] = pulumi.ToStringMap(ProviderVersions(refs.Versions))
	properties["settings"] = pulumi.String(settings)
	if refs.TrustBundle != "" { // older states have none
		properties["trustBundle"] = pulumi.String(refs.TrustBundle)
	}
	if len(refs.Environment) > 0 {
		properties["environment"] = pulumi.ToStringMap(refs.Environment)
	}
	if refs.Monitored {
		properties["monitored"] = pulumi.Bool(true)
	}
	if refs.Alone {
		properties["alone"] = pulumi.Bool(true)
	}
	r := &ClusterAPI{}
	return r, ctx.RegisterResource("slipway:kubernetes:ClusterAPI", name, properties, r, options...)
}

// ProviderVersions are the versions of cert-manager, ORC and Cluster API's providers, by name.
func ProviderVersions(v component.Versions) map[string]string {
	versions := map[string]string{"cert-manager": v.CertManager, clusterctl.ORC: v.ORC}
	for _, provider := range component.Providers(v) {
		versions[provider.Label] = provider.Version
	}
	return versions
}

func (s ClusterAPIState) inputs() ClusterAPIInputs { return s.ClusterAPIInputs }

type clusterAPI struct {
	controller[ClusterAPIInputs, ClusterAPIState]
}

// Annotate names the resource's type.
func (*clusterAPI) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "ClusterAPI") }

// Diff refuses versions that the controllers cannot be upgraded to in one step, before anything
// is changed.
func (c *clusterAPI) Diff(ctx context.Context, r infer.DiffRequest[ClusterAPIInputs, ClusterAPIState]) (infer.DiffResponse, error) {
	if err := component.CheckUpgrade(r.State.Versions, r.Inputs.Versions); err != nil {
		return infer.DiffResponse{}, err
	}
	return c.controller.Diff(ctx, r)
}

// installTime is how long the installation may go without progress.
const installTime = 10 * time.Minute

type clusterAPIKind struct{ bundle *bundle.Folder }

func (clusterAPIKind) object(ClusterAPIInputs) string { return "Cluster API" }

func (clusterAPIKind) id(ClusterAPIInputs) string { return "cluster-api" }

func (clusterAPIKind) blank(in ClusterAPIInputs) ClusterAPIState { return ClusterAPIState{in} }

func (k clusterAPIKind) settle(ctx context.Context, in ClusterAPIInputs) (ClusterAPIState, error) {
	return k.blank(in), k.install(ctx, in)
}

func (k clusterAPIKind) install(ctx context.Context, in ClusterAPIInputs) error {
	ctx, tell, stop := patient(ctx, installTime, "not all controllers are available")
	defer stop()
	machine, err := in.reach(ctx)
	if err != nil {
		return err
	}
	defer machine.Close()
	return installClusterAPI(ctx, machine, k.bundle, in, tell)
}

// installClusterAPI installs Cluster API on the cluster of the inputs, and waits until its
// webhooks answer.
func installClusterAPI(ctx context.Context, machine Way, from *bundle.Folder, in ClusterAPIInputs, tell func(string)) error {
	var settings map[string]clusterctl.Settings
	if err := json.Unmarshal([]byte(in.Settings), &settings); err != nil {
		return fmt.Errorf("reading the provider settings: %w", err)
	}
	onSeed, _, err := cluster(machine, in.Kubeconfig)
	if err != nil {
		return err
	}
	path, remove, err := local(ctx, machine, in.Kubeconfig)
	if err != nil {
		return err
	}
	defer remove()
	installation := clusterctl.Installation{Bundle: from, Cluster: onSeed, Kubeconfig: path, Settings: settings, TrustBundle: in.TrustBundle, Environment: in.Environment,
		Alone: in.Alone, Progress: tell}
	// Control planes of the cluster may still join.
	if err := kube.Insist(ctx, kube.Busy, func(err error) { tell("retrying: " + err.Error()) }, installation.Run); err != nil {
		return refusedLogin(ctx, onSeed, err)
	}
	tell("waiting for the webhooks")
	return installation.Answering(ctx)
}

// refusedLogin explains an error of clusterctl's own clients, which do not tell a wrong clock.
func refusedLogin(ctx context.Context, on *kube.Cluster, err error) error {
	if !apierrors.IsUnauthorized(err) {
		return err
	}
	var told *fault.Fault
	if _, again := on.Typed.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{}); errors.As(again, &told) {
		return told
	}
	return err
}

// local writes a kubeconfig file, mode 0600, that connects through the machine until ctx
// ends; the clusterctl library accepts only a file.
func local(ctx context.Context, m Way, kubeconfig string) (path string, remove func(), err error) {
	config, err := clientcmd.Load([]byte(kubeconfig))
	if err != nil {
		return "", nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	for _, c := range config.Clusters {
		way, err := apiFor(m, c.Server)
		if err != nil {
			return "", nil, err
		}
		address, err := m.Forward(ctx, way.dial)
		if err != nil {
			return "", nil, err
		}
		c.Server, c.TLSServerName = "https://"+address.String(), way.serverName
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
