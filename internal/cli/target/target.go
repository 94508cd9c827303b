// Package target opens what commands work on: the environment that the flags name,
// its cloud, and the engine with its state.
package target

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/slipway-sh/slipway/images/source"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/internal/stateurl"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/catalog"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// Target is an environment with its cloud and its engine.
type Target struct {
	*config.Loaded
	Cloud     *cloud.Cloud
	Inventory openstack.Inventory
	Engine    *engine.Engine

	// Seeds are the local seeds of this machine.
	Seeds *kubernetes.LocalSeeds

	administrator administrator
	// kept is the connection to the seed that is kept; nil if none is.
	kept *connection

	// Datastore is put on a seed before anything is made there; nil puts none. It is set
	// before the engine runs.
	Datastore kubernetes.Datastore
	// Answered is told of the management cluster before anybody else goes there; nil tells
	// nobody. It is set before the engine runs.
	Answered kubernetes.Answered
}

func (t *Target) answered(ctx context.Context, on *kube.Cluster) error {
	if t.Answered == nil {
		return nil
	}
	return t.Answered(ctx, on)
}

func (t *Target) putDatastore(ctx context.Context, seed *remote.Machine) error {
	if t.Datastore == nil {
		return nil
	}
	return t.Datastore(ctx, seed)
}

// Open opens everything; events receives the progress.
func Open(ctx context.Context, from environment.Flags, events event.Sink) (*Target, error) {
	loaded, err := from.Load()
	if err != nil {
		return nil, err
	}
	c, err := cloud.Open(ctx, environment.CloudOptions(loaded))
	if err != nil {
		return nil, err
	}
	user, err := userID(c)
	if err != nil {
		return nil, err
	}
	t := &Target{Loaded: loaded, Cloud: c, Inventory: openstack.Inventory{Clients: c, UserID: user, KeyPairs: []string{stacks.StepKeyPair}}}
	t.administrator = newAdministrator(loaded)
	folder, _ := bundle.Open(string(loaded.Environment.Spec.Bundle)) // preflight reports one that is needed and missing
	t.Seeds = &kubernetes.LocalSeeds{Provider: environment.LocalSeeds, Dir: loaded.SecretsDir(), Bundle: folder}
	t.Engine, err = Engine(loaded, events, func() []infer.InferredResource {
		return slices.Concat(openstack.Resources(c, user, t.Keys(), openstack.Administrator(t.administrator)), kubernetes.Resources(folder, kubernetes.WatchServer(c.Compute), kubernetes.ReadConsole(c.Compute), t.putDatastore, t.answered, t.Seeds),
			catalog.Resources(catalog.Options{Cloud: c, Source: source.Opener{Bundle: string(loaded.Environment.Spec.Bundle)}, MemberLogin: environment.MemberLogin}))
	})
	return t, err
}

// Engine opens the engine of an environment, without its cloud.
func Engine(loaded *config.Loaded, events event.Sink, resources func() []infer.InferredResource) (*engine.Engine, error) {
	return engine.New(engine.Options{Environment: loaded.Environment.Metadata.Name, Folder: loaded.SecretsDir(), Backend: loaded.StateURL(),
		Passphrase: Passphrase(loaded), Resources: resources, Environ: storage(loaded), Events: events})
}

// Name is the environment's name.
func (t *Target) Name() string { return t.Environment.Metadata.Name }

// Keys is the folder of private keys.
func (t *Target) Keys() string { return keys(t.Loaded) }

func keys(loaded *config.Loaded) string { return filepath.Join(loaded.SecretsDir(), "keys") }

// Program runs preflight on the environment and returns its program.
func (t *Target) Program(ctx context.Context, skip []string) (stacks.Environment, preflight.Result, error) {
	if err := environment.CheckValues(t.Loaded); err != nil {
		return stacks.Environment{}, preflight.Result{}, err
	}
	questions := []func(context.Context) error{t.sameProvider}
	if t.Environment.Spec.Magnum != nil {
		questions = slices.Insert(questions, 0, t.mayRegister)
	}
	allowed, stop := beside(ctx, questions...)
	defer stop()
	result, err := environment.Check(ctx, t.Cloud, t.Loaded, stacks.Steps(), skip)
	if err != nil {
		return stacks.Environment{}, result, err
	}
	if err := result.Err(); err != nil {
		return stacks.Environment{}, result, err
	}
	if err := t.keepNetwork(ctx, &result.Choices); err != nil {
		return stacks.Environment{}, result, err
	}
	program := stacks.Environment{Config: t.Environment, Choices: result.Choices, Image: stacks.ImageFile{Listed: result.Choices.ListedImage}}
	if program.Images, err = environment.Images(t.Loaded); err != nil {
		return program, result, err
	}
	if !t.Environment.Spec.Seed.IsLocal() && result.Choices.ImageID == "" && program.Image.Listed == "" {
		if program.Image, err = stacks.BundleImage(t.Environment, stacks.SeedImage); err != nil {
			return program, result, err
		}
	}
	if m := result.Choices.Management; m != nil && m.ListedImage != "" {
		program.NodeImage.Listed = m.ListedImage
	} else if m != nil && m.ImageID == "" {
		if program.NodeImage, err = stacks.BundleImage(t.Environment, stacks.NodeImage); err != nil {
			return program, result, err
		}
	}
	project, err := projectID(t.Cloud)
	if err != nil {
		return program, result, err
	}
	if program.Equipment, err = t.equipment(project, result.Choices.BringPayload); err != nil {
		return program, result, err
	}
	if err := allowed(); err != nil {
		return program, result, err
	}
	return program, result, program.CheckValues()
}

// Passphrase is where the environment file says the passphrase is.
func Passphrase(loaded *config.Loaded) engine.Passphrase {
	state := loaded.Environment.Spec.State
	switch {
	case state.PassphraseEnv != "":
		return engine.PassphraseVariable(state.PassphraseEnv, os.Getenv(state.PassphraseEnv))
	case state.AgeIdentityFile != "":
		return engine.PassphraseAge(string(state.PassphraseFile), string(state.AgeIdentityFile))
	case state.PassphraseFile != "":
		return engine.PassphraseFile(string(state.PassphraseFile))
	}
	return engine.PassphraseFile(filepath.Join(loaded.SecretsDir(), "passphrase"))
}

// storage returns the variables with the login of a remote state; a state in a
// folder needs none.
func storage(loaded *config.Loaded) []string {
	if loaded.StateDir() != "" {
		return nil
	}
	var list []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "SSL_CERT_") || name == stateurl.UsernameVariable || name == stateurl.PasswordVariable {
			list = append(list, pair)
		}
	}
	return list
}

// granted is what Keystone returned with the token.
type granted interface {
	ExtractUser() (*tokens.User, error)
	ExtractProject() (*tokens.Project, error)
	ExtractServiceCatalog() (*tokens.ServiceCatalog, error)
}

func grantedTo(c *cloud.Cloud) (granted, error) {
	result, ok := c.Provider.GetAuthResult().(granted)
	if !ok {
		return nil, fault.New("cloud "+c.Name, errNoUser, "log in with the Identity API v3")
	}
	return result, nil
}

// userID is the ID of the login's user.
func userID(c *cloud.Cloud) (string, error) {
	result, err := grantedTo(c)
	if err != nil {
		return "", err
	}
	user, err := result.ExtractUser()
	if err != nil {
		return "", c.Fault("token", err)
	}
	return user.ID, nil
}

// ProjectID is the ID of the login's project.
func ProjectID(c *cloud.Cloud) (string, error) { return projectID(c) }

func projectID(c *cloud.Cloud) (string, error) {
	result, err := grantedTo(c)
	if err != nil {
		return "", err
	}
	project, err := result.ExtractProject()
	if err != nil {
		return "", c.Fault("token", err)
	}
	if project == nil {
		return "", fault.New("cloud "+c.Name, errNoProject, "set a project in clouds.yaml")
	}
	return project.ID, nil
}
