package openstack

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"golang.org/x/crypto/ssh"
)

// SSHKeyInputs are the inputs of an SSH key.
type SSHKeyInputs struct{ Ownership }

// SSHKeyState is the state of an SSH key.
type SSHKeyState struct {
	SSHKeyInputs
	// PublicKey is a line of an authorized_keys file.
	PublicKey string `pulumi:"publicKey"`
	// PrivateKey is in OpenSSH's PEM format, without a passphrase.
	PrivateKey string `pulumi:"privateKey" provider:"secret"`
}

func (s SSHKeyState) inputs() SSHKeyInputs { return s.SSHKeyInputs }

// SSHKey is an SSH key in a program.
type SSHKey struct {
	pulumi.CustomResourceState
	PublicKey  pulumi.StringOutput `pulumi:"publicKey"`
	PrivateKey pulumi.StringOutput `pulumi:"privateKey"`
}

// NewSSHKey adds an SSH key to the program. It is generated on the operator's machine and
// kept encrypted in the state and in a file with mode 0600; the cloud gets only its public
// part.
func NewSSHKey(ctx *pulumi.Context, in SSHKeyInputs, options ...pulumi.ResourceOption) (*SSHKey, error) {
	r := &SSHKey{}
	return r, register(ctx, "SSHKey", in, nil, r, append(options, pulumi.AdditionalSecretOutputs([]string{"privateKey"})))
}

type sshKey struct {
	controller[SSHKeyInputs, SSHKeyState]
}

// Annotate names the resource's type.
func (*sshKey) Annotate(a infer.Annotator) { a.SetToken("openstack", "SSHKey") }

// WireDependencies marks the private key as secret.
func (*sshKey) WireDependencies(f infer.FieldSelector, _ *SSHKeyInputs, s *SSHKeyState) {
	f.OutputField(&s.PrivateKey).AlwaysSecret()
}

// Diff detects that the file is gone; the key is also in the state.
func (k *sshKey) Diff(ctx context.Context, r infer.DiffRequest[SSHKeyInputs, SSHKeyState]) (infer.DiffResponse, error) {
	response, err := k.controller.Diff(ctx, r)
	if _, gone := os.Stat(k.kind.(keyKind).path(r.ID)); errors.Is(gone, fs.ErrNotExist) && !response.HasChanges {
		response.HasChanges = true
		response.DetailedDiff["privateKey"] = p.PropertyDiff{Kind: p.Update}
	}
	return response, err
}

// Update writes the file again.
func (k *sshKey) Update(_ context.Context, r infer.UpdateRequest[SSHKeyInputs, SSHKeyState]) (infer.UpdateResponse[SSHKeyState], error) {
	response := infer.UpdateResponse[SSHKeyState]{Output: r.State}
	response.Output.SSHKeyInputs = r.Inputs
	if r.DryRun {
		return response, nil
	}
	return response, k.explain("writing", r.Inputs, k.kind.(keyKind).write(r.ID, []byte(r.State.PrivateKey)))
}

// Read takes the key from the state if the file is gone.
func (k *sshKey) Read(ctx context.Context, r infer.ReadRequest[SSHKeyInputs, SSHKeyState]) (infer.ReadResponse[SSHKeyInputs, SSHKeyState], error) {
	if _, err := os.Stat(k.kind.(keyKind).path(r.ID)); errors.Is(err, fs.ErrNotExist) && r.State.PrivateKey != "" {
		return infer.ReadResponse[SSHKeyInputs, SSHKeyState]{ID: r.ID, Inputs: r.State.SSHKeyInputs, State: r.State}, nil
	}
	return k.controller.Read(ctx, r)
}

// keyKind keeps keys in a folder. The ID is the file's name.
type keyKind struct{ folder string }

func (keyKind) word() string { return "SSH key" }

func (k keyKind) find(_ context.Context, in SSHKeyInputs) (string, error) {
	_, err := os.Stat(k.path(in.mark().Name()))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return in.mark().Name(), err
}

func (k keyKind) make(_ context.Context, in SSHKeyInputs) (string, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return "", fmt.Errorf("generating a key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, in.mark().Name())
	if err != nil {
		return "", fmt.Errorf("encoding the key: %w", err)
	}
	return in.mark().Name(), k.write(in.mark().Name(), pem.EncodeToMemory(block))
}

func (k keyKind) settle(ctx context.Context, id string, in SSHKeyInputs) (SSHKeyState, error) {
	return k.read(ctx, id, in)
}

func (k keyKind) read(_ context.Context, id string, in SSHKeyInputs) (SSHKeyState, error) {
	text, err := os.ReadFile(k.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return SSHKeyState{}, errGone
	}
	if err != nil {
		return SSHKeyState{}, err
	}
	signer, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return SSHKeyState{}, fmt.Errorf("reading %s: %w", k.path(id), err)
	}
	public := strings.TrimSpace(string(bytes.TrimSpace(ssh.MarshalAuthorizedKey(signer.PublicKey())))) + " " + id
	return SSHKeyState{in, public, string(text)}, nil
}

func (k keyKind) remove(_ context.Context, id string, _ SSHKeyState) error {
	if err := os.Remove(k.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (k keyKind) path(id string) string { return KeyFile(k.folder, id) }

// KeyFile is the path of a private key in the folder of keys, by the ID of its resource.
func KeyFile(folder, id string) string { return filepath.Join(folder, filepath.Base(id)+".pem") }

// write writes the file whole or not at all.
func (k keyKind) write(id string, text []byte) error {
	if err := os.MkdirAll(k.folder, 0o700); err != nil {
		return fmt.Errorf("creating the folder of keys: %w", err)
	}
	file, err := os.CreateTemp(k.folder, ".new-") // mode 0600
	if err != nil {
		return fmt.Errorf("writing the key: %w", err)
	}
	defer os.Remove(file.Name())
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("writing the key: %w", err)
	}
	return os.Rename(file.Name(), k.path(id))
}
