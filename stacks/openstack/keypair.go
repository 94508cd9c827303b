package openstack

import (
	"context"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// KeyPairInputs are the inputs of a key pair.
type KeyPairInputs struct {
	Ownership
	PublicKey string `pulumi:"publicKey" diff:"replace"`
}

// KeyPairState is the state of a key pair.
type KeyPairState struct {
	KeyPairInputs
	Fingerprint string `pulumi:"fingerprint"`
}

func (s KeyPairState) inputs() KeyPairInputs { return s.KeyPairInputs }

// KeyPair is a key pair in a program. Its ID is its name.
type KeyPair struct {
	pulumi.CustomResourceState
	Fingerprint pulumi.StringOutput `pulumi:"fingerprint"`
}

// NewKeyPair adds a key pair to the program.
func NewKeyPair(ctx *pulumi.Context, in KeyPairInputs, publicKey pulumi.StringInput, options ...pulumi.ResourceOption) (*KeyPair, error) {
	r := &KeyPair{}
	return r, register(ctx, "KeyPair", in, pulumi.Map{"publicKey": publicKey}, r, options)
}

type keyPair struct {
	controller[KeyPairInputs, KeyPairState]
}

// Annotate names the resource's type.
func (*keyPair) Annotate(a infer.Annotator) { a.SetToken("openstack", "KeyPair") }

// keyPairKind recognises a key pair by its name: Nova stores nothing else with it.
type keyPairKind struct{ Clients }

func (keyPairKind) word() string { return "key pair" }

func (k keyPairKind) find(ctx context.Context, in KeyPairInputs) (string, error) {
	state, err := k.read(ctx, in.mark().Name(), in)
	if err == errGone {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if sameKey(state.PublicKey, in.PublicKey) {
		return in.mark().Name(), nil
	}
	// One of ours whose private key is lost: it is of no use any more.
	return "", k.remove(ctx, in.mark().Name(), state)
}

// sameKey compares two public keys without their comments.
func sameKey(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	return len(x) > 1 && len(y) > 1 && x[0] == y[0] && x[1] == y[1]
}

func (k keyPairKind) make(ctx context.Context, in KeyPairInputs) (string, error) {
	client, err := k.Compute()
	if err != nil {
		return "", err
	}
	_, err = keypairs.Create(ctx, client, keypairs.CreateOpts{Name: in.mark().Name(), PublicKey: in.PublicKey}).Extract()
	return in.mark().Name(), err
}

func (k keyPairKind) settle(ctx context.Context, id string, in KeyPairInputs) (KeyPairState, error) {
	state, err := k.read(ctx, id, in)
	state.KeyPairInputs = in
	return state, err
}

func (k keyPairKind) read(ctx context.Context, id string, in KeyPairInputs) (KeyPairState, error) {
	client, err := k.Compute()
	if err != nil {
		return KeyPairState{}, err
	}
	pair, err := keypairs.Get(ctx, client, id, nil).Extract()
	if err != nil {
		return KeyPairState{}, gone(err)
	}
	if !sameKey(pair.PublicKey, in.PublicKey) {
		in.PublicKey = pair.PublicKey
	}
	return KeyPairState{in, pair.Fingerprint}, nil
}

func (k keyPairKind) remove(ctx context.Context, id string, _ KeyPairState) error {
	client, err := k.Compute()
	if err != nil {
		return err
	}
	return gone(keypairs.Delete(ctx, client, id, nil).ExtractErr())
}
