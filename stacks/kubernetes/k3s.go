package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/certs"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kubeversion"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// K3sInputs are the inputs of k3s on the seed.
type K3sInputs struct {
	Login
	// Node is the name of the Kubernetes node.
	Node string `pulumi:"node"`
	// ServerID is the server; a new server is settled again.
	ServerID string `pulumi:"serverID"`
	// Files are the seed's own files (package seed) as JSON. They are compared and
	// changed in place.
	Files string `pulumi:"files" provider:"secret"`
	// VolumeGiB is the size of the data volume; its file system grows with it.
	VolumeGiB int `pulumi:"volumeGiB"`
	// Payload identifies what is brought to a server of another's image: a newer bundle
	// has another. "" is a server of the bundle's image.
	Payload string `pulumi:"payload,optional"`
	// Networks are those of pods and of Services, which a firewall in another's image must
	// let pass.
	Networks []string `pulumi:"networks,optional"`
	// Release is the version of k3s that the server is created with, if it is known
	// beforehand.
	Release string `pulumi:"release,optional"`
}

// K3sState is the state of k3s on the seed.
type K3sState struct {
	K3sInputs
	// Kubeconfig is the administrator's kubeconfig, with the seed's address.
	Kubeconfig string `pulumi:"kubeconfig" provider:"secret"`
	// Version of the Kubernetes API.
	Version string `pulumi:"version"`
}

// K3s is k3s on the seed in a program. It counts as created when its node is ready.
type K3s struct {
	pulumi.CustomResourceState
	Kubeconfig pulumi.StringOutput `pulumi:"kubeconfig"`
	Version    pulumi.StringOutput `pulumi:"version"`
}

// K3sRefs are the inputs that come from other resources.
type K3sRefs struct {
	LoginRefs
	ServerID, Files pulumi.StringInput
	VolumeGiB       int
	Node, Release   string
	Payload         string
	Networks        []string
}

// LoginRefs is a Login whose fields come from other resources.
type LoginRefs struct {
	Address, HostKey, PrivateKey, User pulumi.StringInput
	// Local are the LocalSettings, as JSON, instead of all others; empty for a seed that is
	// a server.
	Local string
}

func (l LoginRefs) properties() pulumi.Map {
	if l.Local != "" {
		none := pulumi.String("")
		return pulumi.Map{"address": none, "user": none, "hostKey": none, "privateKey": none, "local": pulumi.ToSecret(pulumi.String(l.Local))}
	}
	return pulumi.Map{"address": l.Address, "user": l.User, "hostKey": l.HostKey, "privateKey": pulumi.ToSecret(l.PrivateKey)}
}

// NewK3s adds k3s on the seed to the program.
func NewK3s(ctx *pulumi.Context, name string, refs K3sRefs, options ...pulumi.ResourceOption) (*K3s, error) {
	properties := refs.properties()
	properties["node"] = pulumi.String(refs.Node)
	properties["serverID"] = refs.ServerID
	properties["files"] = pulumi.ToSecret(refs.Files)
	properties["volumeGiB"] = pulumi.Int(refs.VolumeGiB)
	if refs.Payload != "" {
		properties["payload"] = pulumi.String(refs.Payload)
		properties["networks"] = pulumi.ToStringArray(refs.Networks)
	}
	if refs.Release != "" {
		properties["release"] = pulumi.String(refs.Release)
	}
	r := &K3s{}
	options = append(options, pulumi.AdditionalSecretOutputs([]string{"kubeconfig"}))
	return r, ctx.RegisterResource("slipway:kubernetes:K3s", name, properties, r, options...)
}

func (s K3sState) inputs() K3sInputs { return s.K3sInputs }

type k3s struct {
	controller[K3sInputs, K3sState]
}

// Annotate names the resource's type.
func (*k3s) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "K3s") }

// WireDependencies says what is secret.
func (*k3s) WireDependencies(f infer.FieldSelector, _ *K3sInputs, s *K3sState) {
	f.OutputField(&s.Kubeconfig).AlwaysSecret()
}

// Diff refuses a version that Kubernetes cannot be upgraded to, before the server is
// replaced: an older or much newer API server could not read the objects on the data
// volume.
func (c *k3s) Diff(ctx context.Context, r infer.DiffRequest[K3sInputs, K3sState]) (infer.DiffResponse, error) {
	if r.State.Version != "" && r.Inputs.Release != "" {
		if err := kubeversion.CheckUpgrade(r.State.Version, r.Inputs.Release); err != nil {
			return infer.DiffResponse{}, fault.Usage("k3s on "+r.State.Node, err, "use a bundle with the current k3s version or the next minor version, and the slipway that belongs to it")
		}
	}
	response, err := c.controller.Diff(ctx, r)
	if err == nil && certs.SeedKubeconfigDue(r.State.Kubeconfig, time.Now()) {
		outdated(&response, "kubeconfig")
	}
	return response, err
}

// Datastore puts a former datastore on a seed whose k3s runs with a new one, before
// anything is made there; nil puts none.
type Datastore func(ctx context.Context, seed *remote.Machine) error

type k3sKind struct {
	watch     Watch
	console   Console
	bundle    *bundle.Folder
	datastore Datastore
}

func (k3sKind) object(in K3sInputs) string { return "k3s on " + in.Node }

func (k3sKind) id(in K3sInputs) string { return in.Node }

func (k3sKind) blank(in K3sInputs) K3sState { return K3sState{K3sInputs: in} }

func (k k3sKind) settle(ctx context.Context, in K3sInputs) (K3sState, error) {
	state := k.blank(in)
	var files []seed.File
	if err := json.Unmarshal([]byte(in.Files), &files); err != nil {
		return state, fmt.Errorf("reading the seed's files: %w", err)
	}
	// The wait ends if the server stops, or its console shows a failure.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		if err := k.watch(ctx, in.ServerID); err != nil {
			stop(err)
		}
	}()
	machine, err := in.open(ctx)
	if err != nil {
		return state, k.hear(ctx, in, err)
	}
	defer machine.Close()
	looked := make(chan struct{})
	go func() { host{machine}.lookAtPath(ctx); close(looked) }()
	if state, err = k.arrange(ctx, in, files, machine); err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // why it ended, not what that cut off
	}
	if err == nil {
		<-looked
	}
	return state, err
}

// arrange has k3s run on the machine as the inputs say.
func (k k3sKind) arrange(ctx context.Context, in K3sInputs, files []seed.File, machine *remote.Machine) (K3sState, error) {
	state, host := k.blank(in), host{machine}
	err := host.settle(ctx, in, files, k.bundle)
	if err != nil {
		return state, err
	}
	if k.datastore != nil {
		status(ctx, "putting the former datastore on the seed")
		if err := k.datastore(ctx, machine); err != nil {
			return state, err
		}
		if err := host.active(ctx); err != nil {
			return state, err
		}
	}
	if state.Kubeconfig, err = host.current(ctx, in.Address); err != nil {
		return state, err
	}
	state.Version, err = ready(ctx, machine, state.Kubeconfig, in.Node)
	return state, err
}

const (
	// consoleTime bounds the reading of a console when a login has failed.
	consoleTime = time.Minute
	// consoleEvery is how often it is read, until it says why a machine has other keys.
	consoleEvery = 3 * time.Second
)

// hear adds to the error of a login what the console says about the boot: a server that
// found no metadata, for example, does not know the key.
func (k k3sKind) hear(ctx context.Context, in K3sInputs, err error) error {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), consoleTime)
	defer cancel()
	var until <-chan struct{}
	if remote.Foreign(err) {
		until = ctx.Done() // somebody may stop the run meanwhile
	}
	reason, words := k.said(asking, in.ServerID, until)
	switch {
	case words == "" || strings.Contains(err.Error(), words):
		return err
	case reason == cause.NoMetadata:
		return fault.New("server "+in.ServerID, fmt.Errorf("it has no keys and no configuration, because it did not get them from the cloud's metadata service; its console says: %s; %w", words, err),
			"ask the cloud's operator about the metadata service of the network; when it answers, start the server again with openstack server reboot --hard "+in.ServerID+", then run the same command again")
	}
	return fault.New("server "+in.ServerID, fmt.Errorf("%w; its console says: %s", err, words), "see all with slipway logs --console; fix the cause, then run the same command again")
}

// said is what the console says about the boot. A server that answers with another key than it
// was given says why at the end of its boot, which may be a while later: then it is waited for,
// until that is closed; nil does not wait.
func (k k3sKind) said(ctx context.Context, server string, until <-chan struct{}) (reason, words string) {
	for {
		console := k.console(ctx, server)
		if reason, words = cause.Boot(console); words != "" || console == "" || until == nil {
			return reason, words
		}
		select {
		case <-ctx.Done():
			return "", ""
		case <-until:
			return "", ""
		case <-time.After(consoleEvery):
		}
	}
}

func explain(object string, err error) error {
	if err == nil {
		return nil
	}
	remedy := fault.Remedy(err)
	if remedy == "" {
		remedy = "see the seed's console log with slipway logs --console, or log in with slipway ssh; then run the same command again"
	}
	return fault.New(object, err, remedy)
}
