package stacks

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/addons/monitoring/stack"
	"github.com/slipway-sh/slipway/addons/scheduledbackup"
	"github.com/slipway-sh/slipway/addons/velero"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/localseed"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/openstack"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// Equipment is what the seed is given from files of this computer.
type Equipment struct {
	// K3sDigest is the SHA-256 of the bundle's k3s, in hexadecimal.
	K3sDigest string
	// Payload identifies what is brought to a seed of another's image (package payload).
	Payload string
	// Versions are the bundle's.
	Versions component.Versions
	// Authorities are PEM certificates that the seed trusts.
	Authorities []string
	Registries  map[string]seed.Registry
	// PrivateKey belongs to the operator's own key pair, if there is one.
	PrivateKey string
	// Local are the settings of a local seed, but for what is on every seed.
	Local localseed.Settings
	// ControllersImage is the reference of the image of Slipway's own controllers.
	ControllersImage string
	// Chart is the kubernetes.ChartID of the management cluster's chart.
	Chart string
	// Magnum is what the Magnum-compatible API is given from files.
	Magnum MagnumFiles
	// Console is what the tenants' console is given from files.
	Console ConsoleFiles
	// Backup are the settings of the management cluster's own backups, without their login
	// to the cloud; nil if it makes none.
	Backup *scheduledbackup.Settings
	// Velero are the settings of Velero, nil if there is none, and the bundle's release of it.
	Velero        *velero.Settings
	VeleroRelease string
	// Monitoring are the settings of Prometheus and what goes with it, nil if there is none.
	Monitoring *stack.Settings
	// Cloud is how clusters log in to OpenStack; the credential comes from the
	// program.
	Cloud Cloud
}

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
			return bootTexts(settings, e.Choices.BringPayload)
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

// bootTexts are the user data and the files that are kept as they are here, as JSON. What
// goes with the image changes with it, unless the image has none of it.
func bootTexts(settings seed.Settings, brings bool) ([]string, error) {
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
		if !f.OfImage || brings {
			later = append(later, f)
		}
	}
	text, err := json.Marshal(later)
	if err != nil {
		return nil, fmt.Errorf("encoding the seed's files: %w", err)
	}
	return []string{userData, string(text)}, nil
}

// k3sRelease is the version of k3s that is brought, or in an image whose bytes are known:
// k3s starts only if it is the bundle's.
func (e Environment) k3sRelease() string {
	if e.seedDigest() == "" && !e.Choices.BringPayload {
		return ""
	}
	return e.Equipment.Versions.K3s
}

// settings are the environment's, for the seed.
func (e Environment) settings() seed.Settings {
	spec := e.Config.Spec
	s := seed.Settings{Name: e.Config.ResourceName(StepSeed), AuthorizedKeys: spec.Seed.SSH.AuthorizedKeys, K3sDigest: e.Equipment.K3sDigest,
		PodCIDR: spec.Seed.K3s.PodCIDR, ServiceCIDR: spec.Seed.K3s.ServiceCIDR, K3s: spec.Seed.K3s.Config,
		Authorities: e.Equipment.Authorities, Registries: e.Equipment.Registries}
	if spec.Proxy != nil {
		s.Proxy = e.proxy()
	}
	return s
}

// proxy is what the seed and controllers go out by; not to machines, nor to
// floating IPs, where clusters' API servers are.
func (e Environment) proxy() *seed.Proxy {
	p := e.Config.Spec.Proxy
	return &seed.Proxy{HTTP: p.HTTPProxy, HTTPS: p.HTTPSProxy, Bypass: slices.Concat(e.direct(), e.Choices.FloatingCIDRs)}
}

// direct are what the operator wants without the proxy, and the machines' networks.
func (e Environment) direct() []string {
	return slices.Concat(e.Config.Spec.Proxy.NoProxy, prefixTexts(e.inside()), e.Choices.NetworkCIDRs)
}

// variables are the environment of controllers on a cluster with these networks
// of pods and Services; none without a proxy.
func (e Environment) variables(own ...netip.Prefix) map[string]string {
	if e.Config.Spec.Proxy == nil {
		return nil
	}
	return e.proxy().Variables(own...)
}

// onSeed and onManagement are the environment of controllers there.
func (e Environment) onSeed() map[string]string {
	k3s := e.Config.Spec.Seed.K3s
	return e.variables(k3s.PodCIDR, k3s.ServiceCIDR)
}

func (e Environment) onManagement() map[string]string {
	m := e.Config.Spec.ManagementCluster
	return e.variables(m.PodCIDR, m.ServiceCIDR)
}

// seedCluster is Kubernetes on the seed as the rest of the program sees it.
type seedCluster struct {
	login      kubernetes.LoginRefs
	kubeconfig pulumi.StringOutput
	// on is the ID of what it runs on.
	on pulumi.StringInput
	// ready are what clusters need before they can be made, controllers what they need before
	// their addons are there.
	ready, controllers []pulumi.Resource
}

// seedCluster is Kubernetes on the seed: k3s that answers, and Cluster API with
// its providers.
func (e Environment) seedCluster(ctx *pulumi.Context, s Seed) (seedCluster, error) {
	login := kubernetes.LoginRefs{Address: s.Address, HostKey: s.HostKey.PublicKey, PrivateKey: s.PrivateKey, User: pulumi.String(e.Choices.SSHUser)}
	refs := kubernetes.K3sRefs{LoginRefs: login, ServerID: s.Server.ID(), Files: s.files,
		VolumeGiB: e.Config.Spec.Seed.DataVolume.SizeGiB, Node: e.Config.ResourceName(StepSeed), Release: e.k3sRelease()}
	if e.Choices.BringPayload {
		k3s := e.Config.Spec.Seed.K3s
		refs.Payload, refs.Networks = e.Equipment.Payload, []string{k3s.PodCIDR.String(), k3s.ServiceCIDR.String()}
	}
	k3s, err := kubernetes.NewK3s(ctx, StepK3s, refs)
	if err != nil {
		return seedCluster{}, err
	}
	clusterAPI, err := kubernetes.NewClusterAPI(ctx, StepClusterAPI, kubernetes.ClusterAPIRefs{LoginRefs: login, Kubeconfig: k3s.Kubeconfig, ServerID: s.Server.ID(),
		Versions: e.Equipment.Versions, Settings: e.providers(), TrustBundle: e.trustBundle(), Environment: e.onSeed(), Alone: true})
	if err != nil {
		return seedCluster{}, err
	}
	backup, err := e.seedBackup(ctx)
	if err != nil {
		return seedCluster{}, err
	}
	var fence pulumi.StringInput
	if backup != nil {
		fence = e.fence(s, controllers.SetBackup)
	}
	// They would not start before: without the kinds that they watch they ask for them all the
	// while, which a slow machine has no time for.
	own, err := e.controllers(ctx, StepControllers, kubernetes.ControllersRefs{LoginRefs: login, Kubeconfig: k3s.Kubeconfig, ServerID: s.Server.ID(),
		Replicas: 1, Alone: true, Environment: e.onSeed(), Fence: fence, Backup: backup}, pulumi.DependsOn([]pulumi.Resource{clusterAPI}))
	if err != nil {
		return seedCluster{}, err
	}
	ctx.Export(OutputUser, pulumi.String(e.Choices.SSHUser))
	ctx.Export(OutputHostKey, s.HostKey.PublicKey)
	ctx.Export(OutputPrivateKey, pulumi.ToSecret(s.PrivateKey))
	ctx.Export(OutputKubeconfig, pulumi.ToSecret(k3s.Kubeconfig))
	return seedCluster{login, k3s.Kubeconfig, s.Server.ID(), []pulumi.Resource{clusterAPI}, []pulumi.Resource{own}}, nil
}

// controllers are Slipway's own, on the seed or on the management cluster, which refs name.
func (e Environment) controllers(ctx *pulumi.Context, step string, refs kubernetes.ControllersRefs, options ...pulumi.ResourceOption) (*kubernetes.Controllers, error) {
	refs.Image, refs.TrustBundle, refs.Version = e.Equipment.ControllersImage, e.trustBundle(), component.SlipwayVersion()
	return kubernetes.NewControllers(ctx, step, refs, options...)
}

// trustBundle are the private authorities.
func (e Environment) trustBundle() string { return strings.Join(e.Equipment.Authorities, "\n") }

// providers are the settings of Cluster API's providers, on the seed and on the
// management cluster.
func (e Environment) providers() map[string]clusterctl.Settings {
	settings := map[string]clusterctl.Settings{}
	for name, p := range e.Config.Spec.ClusterAPI.Providers {
		settings[name] = clusterctl.Settings{FeatureGates: p.FeatureGates, Args: p.Args}
	}
	return settings
}
