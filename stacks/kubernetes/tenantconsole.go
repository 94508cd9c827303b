package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/vain"
)

// TenantConsoleInputs are the inputs of the console for tenants on a cluster.
type TenantConsoleInputs struct {
	Login
	Kubeconfig string `pulumi:"kubeconfig" provider:"secret"`
	// ServerID is the cluster's server; on a new server everything is installed again.
	ServerID    string `pulumi:"serverID"`
	Image       string `pulumi:"image"`
	TrustBundle string `pulumi:"trustBundle"`
	Version     string `pulumi:"slipwayVersion"`
	// Environment holds its environment variables: the proxy.
	Environment map[string]string `pulumi:"environment,optional" provider:"secret"`
	// URL is the console's address for browsers.
	URL string `pulumi:"url"`
	// Settings is controllers.Console as JSON. It contains the key of a certificate.
	Settings string `pulumi:"settings" provider:"secret"`
}

// TenantConsoleState is the state of the console.
type TenantConsoleState struct {
	TenantConsoleInputs
	// Authority is the PEM certificate of the CA that signed the console's certificate;
	// empty if the operator provided the certificate.
	Authority string `pulumi:"authority"`
}

// TenantConsole is the console in a program. It counts as created when it is available and
// the load balancer forwards to it.
type TenantConsole struct {
	pulumi.CustomResourceState
	Authority pulumi.StringOutput `pulumi:"authority"`
}

// TenantConsoleRefs are the inputs of NewTenantConsole.
type TenantConsoleRefs struct {
	LoginRefs
	Kubeconfig, ServerID, URL, Settings pulumi.StringInput
	Image, TrustBundle, Version         string
	Environment                         map[string]string
}

// NewTenantConsole adds the console to the program.
func NewTenantConsole(ctx *pulumi.Context, name string, refs TenantConsoleRefs, options ...pulumi.ResourceOption) (*TenantConsole, error) {
	properties := refs.properties()
	properties["kubeconfig"] = pulumi.ToSecret(refs.Kubeconfig)
	properties["serverID"] = refs.ServerID
	properties["url"] = refs.URL
	properties["settings"] = pulumi.ToSecret(refs.Settings)
	properties["image"] = pulumi.String(refs.Image)
	properties["trustBundle"] = pulumi.String(refs.TrustBundle)
	properties["slipwayVersion"] = pulumi.String(refs.Version)
	if len(refs.Environment) > 0 {
		properties["environment"] = pulumi.ToStringMap(refs.Environment)
	}
	r := &TenantConsole{}
	return r, ctx.RegisterResource("slipway:kubernetes:TenantConsole", name, properties, r, options...)
}

func (s TenantConsoleState) inputs() TenantConsoleInputs { return s.TenantConsoleInputs }

type tenantConsole struct {
	controller[TenantConsoleInputs, TenantConsoleState]
}

// Annotate names the resource's type.
func (*tenantConsole) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "TenantConsole") }

type tenantConsoleKind struct{}

func (tenantConsoleKind) object(TenantConsoleInputs) string { return "tenants' console" }

func (tenantConsoleKind) id(TenantConsoleInputs) string { return "console" }

func (tenantConsoleKind) blank(in TenantConsoleInputs) TenantConsoleState {
	return TenantConsoleState{TenantConsoleInputs: in}
}

func (k tenantConsoleKind) settle(ctx context.Context, in TenantConsoleInputs) (TenantConsoleState, error) {
	state := k.blank(in)
	settings := &controllers.Console{}
	if json.Unmarshal([]byte(in.Settings), settings) != nil {
		return state, errors.New("reading the settings: they are not JSON") // the library's error could quote the key
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
	if err := applyControllers(ctx, on, controllers.Options{Image: in.Image, TrustBundle: in.TrustBundle, Environment: in.Environment, Console: settings}); err != nil {
		return state, err
	}
	service := types.NamespacedName{Namespace: controllers.ConsoleNamespace, Name: controllers.ConsoleName}
	if err := awaitBalancer(ctx, on, service, "the console's load balancer"); err != nil {
		return state, err
	}
	if settings.Certificate == "" {
		state.Authority, err = authority(ctx, on, types.NamespacedName{Namespace: controllers.ConsoleNamespace, Name: controllers.ConsoleAuthority})
	}
	return state, err
}

const (
	// consoleGoes bounds the deletion of the console's namespace, with its load balancer.
	consoleGoes = 10 * time.Minute
	// consoleLook is how often it is looked at meanwhile.
	consoleLook = 2 * time.Second
)

// remove deletes its namespace, in which all of it is, and waits until the load balancer is
// gone: the address can be deleted then.
func (k tenantConsoleKind) remove(ctx context.Context, state TenantConsoleState) error {
	in := state.TenantConsoleInputs
	machine, err := in.reachNow(ctx)
	if err != nil {
		return fault.New("seed at "+in.Address, err, "run slipway down, which deletes all resources with the environment's ownership tag")
	}
	defer machine.Close()
	on, err := Reach(machine, in.Kubeconfig)
	if err != nil {
		return err
	}
	return removeConsole(ctx, on, consoleLook, func(text string) { status(ctx, text) })
}

// removeConsole deletes the namespace of the console and waits for its end.
func removeConsole(ctx context.Context, on *kube.Cluster, every time.Duration, tell func(string)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, consoleGoes, errors.New("it was not gone in time"))
	defer cancel()
	spaces := on.Typed.CoreV1().Namespaces()
	if err := spaces.Delete(ctx, controllers.ConsoleNamespace, metav1.DeleteOptions{}); err != nil {
		if kube.Absent(err) {
			return nil
		}
		return fmt.Errorf("removing the console: %w", err)
	}
	var hopeless vain.Watch
	for {
		tell("waiting for the end of the console and its load balancer")
		space, err := spaces.Get(ctx, controllers.ConsoleNamespace, metav1.GetOptions{})
		if kube.Absent(err) {
			return nil
		}
		if err == nil {
			lasting, why := keepsNamespace(space)
			if err = why; hopeless.Over(lasting) {
				return fault.New("namespace "+controllers.ConsoleNamespace, fmt.Errorf("its deletion stands still: %w", why), "remove what its conditions name, then run the same command again")
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("removing the console: %w", errors.Join(context.Cause(ctx), err))
		case <-time.After(every):
		}
	}
}

// keepsNamespace reports whether what keeps a namespace that is being deleted does not pass by
// itself, and says it: a load balancer that is still there does.
func keepsNamespace(space *corev1.Namespace) (lasting bool, why error) {
	for _, c := range space.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		why = errors.New(c.Message)
		if c.Type == corev1.NamespaceDeletionDiscoveryFailure || c.Type == corev1.NamespaceDeletionGVParsingFailure {
			return true, why
		}
	}
	return false, why
}
