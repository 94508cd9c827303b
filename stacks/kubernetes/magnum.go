package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/kube"
)

// MagnumInputs are the inputs of the Magnum-compatible API on a cluster.
type MagnumInputs struct {
	Login
	Kubeconfig string `pulumi:"kubeconfig" provider:"secret"`
	// ServerID is the cluster's server; on a new server everything is installed again.
	ServerID    string `pulumi:"serverID"`
	Image       string `pulumi:"image"`
	TrustBundle string `pulumi:"trustBundle"`
	Version     string `pulumi:"slipwayVersion"`
	// Environment holds their environment variables: the proxy.
	Environment map[string]string `pulumi:"environment,optional" provider:"secret"`
	// Settings is controllers.Magnum as JSON. It contains passwords.
	Settings string `pulumi:"settings" provider:"secret"`
	// Fence is controllers.Fence as JSON; empty is none. It contains a login.
	Fence string `pulumi:"fence,optional" provider:"secret"`
}

// MagnumState is the state of the API.
type MagnumState struct {
	MagnumInputs
	// Authority is the PEM certificate of the CA that signed the API's certificate;
	// empty if the operator provided the certificate.
	Authority string `pulumi:"authority"`
}

// Magnum is the API with its controllers in a program. It counts as created when they are
// available and the load balancer forwards to them.
type Magnum struct {
	pulumi.CustomResourceState
	Authority pulumi.StringOutput `pulumi:"authority"`
}

// MagnumRefs are the inputs of NewMagnum.
type MagnumRefs struct {
	LoginRefs
	Kubeconfig, ServerID, Settings pulumi.StringInput
	Image, TrustBundle, Version    string
	Environment                    map[string]string
	// Fence is nil if there is none.
	Fence pulumi.StringInput
}

// NewMagnum adds the API to the program.
func NewMagnum(ctx *pulumi.Context, name string, refs MagnumRefs, options ...pulumi.ResourceOption) (*Magnum, error) {
	properties := refs.properties()
	properties["kubeconfig"] = pulumi.ToSecret(refs.Kubeconfig)
	properties["serverID"] = refs.ServerID
	properties["settings"] = pulumi.ToSecret(refs.Settings)
	properties["image"] = pulumi.String(refs.Image)
	properties["trustBundle"] = pulumi.String(refs.TrustBundle)
	properties["slipwayVersion"] = pulumi.String(refs.Version)
	if len(refs.Environment) > 0 {
		properties["environment"] = pulumi.ToStringMap(refs.Environment)
	}
	if refs.Fence != nil {
		properties["fence"] = pulumi.ToSecret(refs.Fence)
	}
	r := &Magnum{}
	return r, ctx.RegisterResource("slipway:kubernetes:Magnum", name, properties, r, options...)
}

func (s MagnumState) inputs() MagnumInputs { return s.MagnumInputs }

type magnum struct {
	controller[MagnumInputs, MagnumState]
}

// Annotate names the resource's type.
func (*magnum) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "Magnum") }

type magnumKind struct{}

func (magnumKind) object(MagnumInputs) string { return "Magnum API" }

func (magnumKind) id(MagnumInputs) string { return "magnum" }

func (magnumKind) blank(in MagnumInputs) MagnumState { return MagnumState{MagnumInputs: in} }

func (k magnumKind) settle(ctx context.Context, in MagnumInputs) (MagnumState, error) {
	state := k.blank(in)
	settings := &controllers.Magnum{}
	if err := json.Unmarshal([]byte(in.Settings), settings); err != nil {
		return state, fmt.Errorf("reading the settings: %w", err)
	}
	fence, err := readFence(in.Fence)
	if err != nil {
		return state, err
	}
	machine, err := in.reach(ctx)
	if err != nil {
		return state, err
	}
	defer machine.Close()
	on, err := Reach(machine, in.Kubeconfig)
	if err != nil {
		return state, err
	}
	if err := applyControllers(ctx, on, controllers.Options{Image: in.Image, TrustBundle: in.TrustBundle, Environment: in.Environment, Fence: fence, Magnum: settings}); err != nil {
		return state, err
	}
	service := types.NamespacedName{Namespace: controllers.MagnumNamespace, Name: controllers.MagnumName}
	if err := awaitBalancer(ctx, on, service, "the API's load balancer"); err != nil {
		return state, err
	}
	if settings.Certificate == "" {
		state.Authority, err = authority(ctx, on, types.NamespacedName{Namespace: controllers.MagnumNamespace, Name: controllers.MagnumAuthority})
	}
	return state, err
}

// balancerTime bounds the wait for a load balancer.
const balancerTime = 10 * time.Minute

// awaitBalancer waits until the cloud controller manager reports an address of a Service's
// load balancer.
func awaitBalancer(ctx context.Context, on *kube.Cluster, service types.NamespacedName, what string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, balancerTime, errors.New("it did not get an address in time"))
	defer cancel()
	status(ctx, "waiting for "+what)
	return on.AwaitBalancer(ctx, service, func(text string) { status(ctx, text) })
}

// authority returns the certificate of a CA that the chart has made.
func authority(ctx context.Context, on *kube.Cluster, name types.NamespacedName) (string, error) {
	secret, err := on.Typed.CoreV1().Secrets(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading CA certificate %s: %w", name, err)
	}
	return string(secret.Data["tls.crt"]), nil
}
