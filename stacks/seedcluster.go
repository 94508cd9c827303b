package stacks

import (
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/addons"
	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/openstack"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// Equipment is what the seed is given from files of this computer.
type Equipment struct {
	// K3sDigest is the SHA-256 of the bundle's k3s, in hexadecimal.
	K3sDigest string
	// Versions are the bundle's.
	Versions addons.Versions
	// Authorities are PEM certificates that the seed trusts.
	Authorities []string
	Registries  map[string]seed.Registry
	// PrivateKey belongs to the operator's own key pair, if there is one.
	PrivateKey string
}

// The outputs of the program that commands read.
const (
	OutputAddress    = "seedAddress"
	OutputServerID   = "seedID"
	OutputUser       = "seedUser"
	OutputHostKey    = "seedHostKey"
	OutputPrivateKey = "seedPrivateKey"
	OutputKubeconfig = "seedKubeconfig"
)

// boot is what the seed boots with and what k3s on it is settled by later.
type boot struct{ userData, files pulumi.StringOutput }

// boot puts together the seed's user data and files from what was made before it.
func (e Environment) boot(s Seed, data *openstack.Volume) boot {
	texts := pulumi.All(s.Address, s.InternalAddress, s.HostKey.PrivateKey, s.HostKey.PublicKey, data.ID()).ApplyT(
		func(values []any) ([]string, error) {
			settings := e.settings()
			settings.Access = access(values[0].(string), values[1].(string))
			settings.HostKey = seed.HostKey{Private: values[2].(string), Public: values[3].(string)}
			settings.DataVolumeID = string(values[4].(pulumi.ID))
			return bootTexts(settings)
		}).(pulumi.StringArrayOutput)
	secret := pulumi.ToSecret(texts).(pulumi.StringArrayOutput)
	return boot{secret.Index(pulumi.Int(0)), secret.Index(pulumi.Int(1))}
}

func access(addresses ...string) []string {
	var different []string
	for _, a := range addresses {
		if a != "" && (len(different) == 0 || different[0] != a) {
			different = append(different, a)
		}
	}
	return different
}

func bootTexts(settings seed.Settings) ([]string, error) {
	userData, err := seed.UserData(settings)
	if err != nil {
		return nil, err
	}
	files, err := seed.Files(settings)
	if err != nil {
		return nil, err
	}
	var later []seed.File
	for _, f := range files {
		if !f.OfImage { // goes with the image that the server was made with
			later = append(later, f)
		}
	}
	text, err := json.Marshal(later)
	if err != nil {
		return nil, fmt.Errorf("encoding the seed's files: %w", err)
	}
	return []string{userData, string(text)}, nil
}

// settings are the environment's, for the seed.
func (e Environment) settings() seed.Settings {
	spec := e.Config.Spec
	s := seed.Settings{Name: e.Config.ResourceName(StepSeed), AuthorizedKeys: spec.Seed.SSH.AuthorizedKeys, K3sDigest: e.Equipment.K3sDigest,
		PodCIDR: spec.Seed.K3s.PodCIDR, ServiceCIDR: spec.Seed.K3s.ServiceCIDR, K3s: spec.Seed.K3s.Config,
		Authorities: e.Equipment.Authorities, Registries: e.Equipment.Registries}
	if p := spec.Proxy; p != nil {
		s.Proxy = &seed.Proxy{HTTP: p.HTTPProxy, HTTPS: p.HTTPSProxy, Bypass: p.NoProxy}
		if spec.Seed.MakesNetwork() {
			s.Proxy.Bypass = append(s.Proxy.Bypass, spec.Seed.Network.CIDR.String())
		}
	}
	return s
}

// seedCluster is Kubernetes on the seed: k3s that answers, and Cluster API with
// its providers.
func (e Environment) seedCluster(ctx *pulumi.Context, s Seed) error {
	login := kubernetes.LoginRefs{Address: s.Address, HostKey: s.HostKey.PublicKey, PrivateKey: s.PrivateKey, User: pulumi.String(e.Choices.SSHUser)}
	k3s, err := kubernetes.NewK3s(ctx, StepK3s, kubernetes.K3sRefs{LoginRefs: login, ServerID: s.Server.ID(), Files: s.files,
		VolumeGiB: e.Config.Spec.Seed.DataVolume.SizeGiB, Node: e.Config.ResourceName(StepSeed)})
	if err != nil {
		return err
	}
	settings := map[string]clusterctl.Settings{}
	for name, p := range e.Config.Spec.ClusterAPI.Providers {
		settings[name] = clusterctl.Settings{FeatureGates: p.FeatureGates, Args: p.Args}
	}
	if _, err := kubernetes.NewClusterAPI(ctx, StepClusterAPI, kubernetes.ClusterAPIRefs{LoginRefs: login, Kubeconfig: k3s.Kubeconfig, ServerID: s.Server.ID(),
		Versions: e.Equipment.Versions, Settings: settings}); err != nil {
		return err
	}
	ctx.Export(OutputUser, pulumi.String(e.Choices.SSHUser))
	ctx.Export(OutputHostKey, s.HostKey.PublicKey)
	ctx.Export(OutputPrivateKey, pulumi.ToSecret(s.PrivateKey))
	ctx.Export(OutputKubeconfig, pulumi.ToSecret(k3s.Kubeconfig))
	return nil
}

// ownKey returns the operator's private key, which must go with the key pair.
func (e Environment) ownKey() (pulumi.StringInput, error) {
	_, err := remote.PublicKey(e.Equipment.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("spec.seed.ssh.identityFile: %w", err)
	}
	return pulumi.ToSecret(pulumi.String(e.Equipment.PrivateKey)).(pulumi.StringOutput), nil
}
