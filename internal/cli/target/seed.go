package target

import (
	"cmp"
	"context"
	"errors"
	"net"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// defaultUser is the user of the bundle's images.
const defaultUser = "debian"

// ErrNoSeedInState is that the seed was not created yet, or the state was lost.
var ErrNoSeedInState = errors.New("there is no seed in the state")

// Seed is the seed as recorded in the state.
type Seed struct {
	Name, Address, ServerID, Kubeconfig string
	// Management is the kubeconfig of the management cluster; empty until that is
	// ready, or if there is none.
	Management string
	// ManagementValues are the values of its chart, as JSON.
	ManagementValues string

	// Local are the settings of a local seed, as JSON; empty if the seed is a server.
	Local string
	// Services are how the services on the management cluster are reached.
	Services Services

	user, hostKey, privateKey string
	// keyName is the name of the private key that Slipway generated.
	keyName string
	// credential is the recorded state of the environment's application credential.
	credential map[string]any
	// kept is a connection that is shared; nil opens one for each login.
	kept *connection
}

// OpenSeed reads the state. It does not contact the cloud, so it works from any
// machine that can read the state (row F40).
func OpenSeed(ctx context.Context, from environment.Flags) (*Seed, *config.Loaded, error) {
	loaded, err := from.Load()
	if err != nil {
		return nil, nil, err
	}
	engine, err := Engine(loaded, event.Discard{}, nil)
	if err != nil {
		return nil, nil, err
	}
	s, err := SeedIn(ctx, engine, loaded)
	return s, loaded, err
}

// Seed returns the seed that is recorded in the state.
func (t *Target) Seed(ctx context.Context) (*Seed, error) {
	s, err := SeedIn(ctx, t.Engine, t.Loaded)
	if err == nil {
		s.kept = t.kept
	}
	return s, err
}

// SeedIn returns the seed that the state of an engine has.
func SeedIn(ctx context.Context, engine *engine.Engine, loaded *config.Loaded) (*Seed, error) {
	resources, err := engine.Resources(ctx)
	if err != nil {
		return nil, err
	}
	s := &Seed{Name: loaded.Environment.ResourceName(stacks.StepSeed), Services: servicesOf(resources)}
	internal := ""
	for _, r := range resources {
		switch r.Name {
		case stacks.StepSeed:
			s.ServerID = r.ID
		case stacks.StepAddress:
			s.Address = r.Text("publicAddress")
		case stacks.StepProvisioningPort:
			internal = r.Text("address")
		case stacks.StepPort:
			internal = cmp.Or(internal, r.Text("address"))
		case stacks.StepHostKey:
			s.hostKey = r.Text("publicKey")
		case stacks.StepSSHKey:
			s.privateKey, s.keyName = r.Text("privateKey"), r.ID
		case stacks.StepLocalSeed:
			s.Local = r.Text("local")
		case stacks.StepK3s:
			s.user, s.Kubeconfig = r.Text("user"), r.Text("kubeconfig")
		case stacks.StepManagementCluster:
			s.Management, s.ManagementValues = r.Text("adminKubeconfig"), r.Text("values")
		case stacks.StepCredential:
			s.credential = r.Outputs
		}
	}
	s.Address = cmp.Or(s.Address, internal)
	s.user = cmp.Or(loaded.Environment.Spec.Seed.SSH.User, s.user, defaultUser)
	if s.Local != "" {
		return s, nil
	}
	if s.ServerID == "" {
		return nil, fault.New("seed of "+loaded.Environment.Metadata.Name, ErrNoSeedInState, "create it with slipway up")
	}
	if s.privateKey == "" {
		if s.privateKey, err = read(loaded.Environment.Spec.Seed.SSH.IdentityFile); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Login opens an SSH connection to the seed, whose host key is in the state.
func (s *Seed) Login(ctx context.Context) (*remote.Machine, error) {
	if s.Local != "" {
		return nil, ErrNoSeed()
	}
	return s.kept.login(func() (*remote.Machine, error) { return s.open(ctx) })
}

func (s *Seed) open(ctx context.Context) (*remote.Machine, error) {
	m, err := remote.Open(ctx, remote.Target{Address: net.JoinHostPort(s.Address, "22"), User: s.user, HostKey: s.hostKey, Key: s.privateKey})
	if err != nil {
		return nil, fault.New("seed "+s.Name, err, "see with slipway status whether it is running, and its console log with slipway logs --console")
	}
	return m, nil
}
