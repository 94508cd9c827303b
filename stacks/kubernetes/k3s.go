package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// K3sInputs are the inputs of k3s on the seed.
type K3sInputs struct {
	Login
	// Node is the name of the Kubernetes node.
	Node string `pulumi:"node"`
	// ServerID is the machine; another one is settled anew.
	ServerID string `pulumi:"serverID"`
	// Files are the seed's own files (package seed) as JSON. They are compared
	// and changed in place.
	Files string `pulumi:"files" provider:"secret"`
	// VolumeGiB is the size of the data volume; its file system follows.
	VolumeGiB int `pulumi:"volumeGiB"`
}

// K3sState is the state of k3s on the seed.
type K3sState struct {
	K3sInputs
	// Kubeconfig is the administrator's, for the seed's address.
	Kubeconfig string `pulumi:"kubeconfig" provider:"secret"`
	// Version of the Kubernetes API.
	Version string `pulumi:"version"`
}

// K3s is k3s on the seed in a program: created means that its node is ready.
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
	Node            string
}

// LoginRefs are a Login whose parts come from other resources.
type LoginRefs struct {
	Address, HostKey, PrivateKey, User pulumi.StringInput
}

func (l LoginRefs) properties() pulumi.Map {
	return pulumi.Map{"address": l.Address, "user": l.User, "hostKey": l.HostKey, "privateKey": pulumi.ToSecret(l.PrivateKey)}
}

// NewK3s adds k3s on the seed to the program.
func NewK3s(ctx *pulumi.Context, name string, refs K3sRefs, options ...pulumi.ResourceOption) (*K3s, error) {
	properties := refs.properties()
	properties["node"] = pulumi.String(refs.Node)
	properties["serverID"] = refs.ServerID
	properties["files"] = pulumi.ToSecret(refs.Files)
	properties["volumeGiB"] = pulumi.Int(refs.VolumeGiB)
	r := &K3s{}
	options = append(options, pulumi.AdditionalSecretOutputs([]string{"kubeconfig"}))
	return r, ctx.RegisterResource("slipway:kubernetes:K3s", name, properties, r, options...)
}

type k3s struct{ watch Watch }

// Annotate names the resource's type.
func (*k3s) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "K3s") }

// WireDependencies says what is secret.
func (*k3s) WireDependencies(f infer.FieldSelector, _ *K3sInputs, s *K3sState) {
	f.OutputField(&s.Kubeconfig).AlwaysSecret()
}

// Create waits until k3s on a fresh seed is ready.
func (k *k3s) Create(ctx context.Context, r infer.CreateRequest[K3sInputs]) (infer.CreateResponse[K3sState], error) {
	response := infer.CreateResponse[K3sState]{ID: r.Inputs.Node, Output: K3sState{K3sInputs: r.Inputs}}
	if r.DryRun {
		return response, nil
	}
	state, err := k.settle(ctx, r.Inputs)
	response.Output = state
	return response, explain("k3s on "+r.Inputs.Node, err)
}

// Update brings files and file system in line, and waits again.
func (k *k3s) Update(ctx context.Context, r infer.UpdateRequest[K3sInputs, K3sState]) (infer.UpdateResponse[K3sState], error) {
	response := infer.UpdateResponse[K3sState]{Output: r.State}
	if r.DryRun {
		return response, nil
	}
	state, err := k.settle(ctx, r.Inputs)
	response.Output = state
	return response, explain("k3s on "+r.Inputs.Node, err)
}

// Diff changes everything in place: what a new machine needs is the machine's
// resource to decide.
func (k *k3s) Diff(_ context.Context, r infer.DiffRequest[K3sInputs, K3sState]) (infer.DiffResponse, error) {
	return inPlace(r.State.K3sInputs, r.Inputs), nil
}

// Delete does nothing: k3s goes with its machine and its volume.
func (k *k3s) Delete(context.Context, infer.DeleteRequest[K3sState]) (infer.DeleteResponse, error) {
	return infer.DeleteResponse{}, nil
}

func (k *k3s) settle(ctx context.Context, in K3sInputs) (K3sState, error) {
	state := K3sState{K3sInputs: in}
	var files []seed.File
	if err := json.Unmarshal([]byte(in.Files), &files); err != nil {
		return state, fmt.Errorf("reading the seed's files: %w", err)
	}
	// A server that ends while it is waited for, by itself or by its console's
	// word, ends the wait.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		if err := k.watch(ctx, in.ServerID); err != nil {
			stop(err)
		}
	}()
	machine, err := in.open(ctx)
	if err != nil {
		return state, err
	}
	defer machine.Close()
	host := host{machine}
	if err := host.settle(ctx, files, in.VolumeGiB); err != nil {
		return state, err
	}
	if state.Kubeconfig, err = host.kubeconfig(ctx, in.Address); err != nil {
		return state, err
	}
	state.Version, err = ready(ctx, machine, state.Kubeconfig, in.Node)
	return state, err
}

func explain(object string, err error) error {
	if err == nil {
		return nil
	}
	remedy := fault.Remedy(err)
	if remedy == "" {
		remedy = "slipway console shows what the seed printed; slipway ssh leads onto it; then run the same command again"
	}
	return fault.New(object, err, remedy)
}
