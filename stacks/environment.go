// Package stacks is what an environment is made of: one program, read from top
// to bottom. Resources are in the packages below, the engine that runs the
// program in package engine.
package stacks

import (
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/stacks/catalog"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// The steps of an environment in OpenStack. With the environment's name in
// front they are the names of things there, so they never change.
const (
	StepNetwork          = "network"
	StepSubnet           = "subnet"
	StepRouter           = "router"
	StepRouterInterface  = "router-interface"
	StepAccess           = "seed-access"
	StepSSHKey           = "ssh-key"
	StepKeyPair          = "key-pair"
	StepImage            = "seed-image"
	StepNodeImage        = "node-image"
	StepProvisioningPort = "provisioning-port"
	StepPort             = "seed-port"
	StepAddress          = "seed-address"
	StepData             = "seed-data"
	StepCredential       = "credential"
	StepHostKey          = "host-key"
	StepSeed             = "seed"
)

// The steps on the seed.
const (
	StepK3s        = "k3s"
	StepClusterAPI = "cluster-api"
	// StepControllers are Slipway's own: addon provider and janitor.
	StepControllers = "controllers"
)

// The steps on, and of, the management cluster.
const (
	StepManagementCluster     = "management-cluster"
	StepManagementReady       = "management-cluster-ready"
	StepManagementClusterAPI  = "management-cluster-api"
	StepManagementControllers = "management-controllers"
	// StepManagementMove is there while the management cluster looks after
	// itself: without it the seed does.
	StepManagementMove = "management-move"
)

// The steps of the Magnum-compatible API: in OpenStack, then on the management
// cluster, then in the catalog.
const (
	StepMagnumAddress = "magnum-address"
	StepMagnumProject = "magnum-project"
	// StepMagnumUser validates tokens, StepMagnumAdministrator revokes the
	// credentials of clusters that are gone: the API, which tenants reach, has not
	// the right to.
	StepMagnumUser          = "magnum-user"
	StepMagnumAdministrator = "magnum-administrator"
	StepMagnum              = "magnum"
	StepMagnumCatalog       = "magnum-catalog"
	StepMagnumTemplates     = "magnum-templates"
)

// Steps lists the steps that make things in OpenStack.
func Steps() []string {
	return []string{StepNetwork, StepSubnet, StepRouter, StepRouterInterface, StepAccess, StepSSHKey, StepKeyPair,
		StepImage, StepNodeImage, StepProvisioningPort, StepPort, StepAddress, StepData, StepCredential, StepHostKey, StepSeed,
		StepMagnumAddress, StepMagnumProject, StepMagnumUser, StepMagnumAdministrator, StepMagnumCatalog}
}

// Adoptable are the steps whose things may be made by others, with the types of
// the things: what has a name and a mark that can be given later, and is nothing
// but what the environment file says of it.
func Adoptable() map[string]string {
	return map[string]string{StepNetwork: openstack.ThingNetwork, StepSubnet: openstack.ThingSubnet, StepRouter: openstack.ThingRouter,
		StepAccess: openstack.ThingSecurityGroup, StepPort: openstack.ThingPort, StepAddress: openstack.ThingFloatingIP, StepData: openstack.ThingVolume}
}

// ImageFile is an image on this computer.
type ImageFile struct {
	// Listed is the name of one of the environment's images instead; then all
	// else is empty.
	Listed string

	Path, SHA256, Format string
	Properties           map[string]string
}

// Environment is the program's input.
type Environment struct {
	Config *config.Environment
	// Choices are the things of the cloud that the environment file names, or
	// leaves to be found.
	Choices preflight.Choices
	// Image is uploaded for the seed if Choices have none, NodeImage for the
	// nodes of the management cluster.
	Image, NodeImage ImageFile
	// Images are brought beside everything else.
	Images []ListedImage
	// Equipment is what the seed is given.
	Equipment Equipment

	// brought are Images by name and digest, in a running program.
	brought map[string]*catalog.Image
}

// Program makes the whole environment.
func (e Environment) Program(ctx *pulumi.Context) error {
	var err error
	if e.brought, err = e.images(ctx); err != nil {
		return err
	}
	place, err := e.network(ctx)
	if err != nil {
		return err
	}
	group, err := openstack.NewSecurityGroup(ctx, openstack.SecurityGroupInputs{Owned: e.owned(StepAccess), Rules: e.rules()})
	if err != nil {
		return err
	}
	login, err := e.keyPair(ctx)
	if err != nil {
		return err
	}
	image, err := e.image(ctx, StepImage, e.Choices.ImageID, e.Image)
	if err != nil {
		return err
	}
	credential, err := e.credential(ctx)
	if err != nil {
		return err
	}
	seed, err := e.seed(ctx, place, group, login, image, credential)
	if err != nil {
		return err
	}
	ctx.Export(OutputAddress, seed.Address)
	ctx.Export(OutputServerID, seed.Server.ID())
	onSeed, err := e.seedCluster(ctx, seed)
	if err != nil || e.Config.Spec.ManagementCluster == nil {
		return err
	}
	return e.managementCluster(ctx, parent{seed, onSeed, place, login})
}

// owned is the mark of a step with the user's tags.
func (e Environment) owned(step string) openstack.Owned {
	return openstack.Owned{Environment: e.Config.Metadata.Name, Step: step, Tags: e.Config.Spec.Tags}
}

// place is where the seed is put.
type place struct {
	network, subnet pulumi.StringInput
	// mtu is the network's in bytes; 0 is not known.
	mtu pulumi.IntInput
	// routed must be there before a floating IP can lead into the subnet.
	routed []pulumi.Resource
}

// network makes network, subnet and router, or takes those that are given.
func (e Environment) network(ctx *pulumi.Context) (place, error) {
	conf := e.Config.Spec.Seed.Network
	if !e.Config.Spec.Seed.MakesNetwork() {
		p := place{network: pulumi.String(e.Choices.NetworkID), mtu: pulumi.Int(e.Choices.NetworkMTU)}
		if e.Choices.SubnetID != "" {
			p.subnet = pulumi.String(e.Choices.SubnetID)
		}
		return p, nil
	}
	network, err := openstack.NewNetwork(ctx, openstack.NetworkInputs{Owned: e.owned(StepNetwork), MTU: conf.MTU,
		AvailabilityZoneHints: e.Choices.AvailabilityZoneHints})
	if err != nil {
		return place{}, err
	}
	subnet, err := openstack.NewSubnet(ctx, subnetInputs(e.owned(StepSubnet), conf), network.ID())
	if err != nil {
		return place{}, err
	}
	router, err := openstack.NewRouter(ctx, openstack.RouterInputs{Owned: e.owned(StepRouter),
		ExternalNetworkID: e.Choices.ExternalNetworkID, AvailabilityZoneHints: e.Choices.AvailabilityZoneHints})
	if err != nil {
		return place{}, err
	}
	plug, err := openstack.NewRouterInterface(ctx, openstack.RouterInterfaceInputs{Owned: e.owned(StepRouterInterface)}, router.ID(), subnet.ID())
	if err != nil {
		return place{}, err
	}
	return place{network.ID(), subnet.ID(), network.NeutronMTU, []pulumi.Resource{plug}}, nil
}

func subnetInputs(owned openstack.Owned, conf config.Network) openstack.SubnetInputs {
	in := openstack.SubnetInputs{Owned: owned, CIDR: conf.CIDR.String()}
	if conf.GatewayIP.IsValid() {
		in.Gateway = conf.GatewayIP.String()
	}
	for _, server := range conf.DNSNameservers {
		in.DNS = append(in.DNS, server.String())
	}
	for _, pool := range conf.AllocationPools {
		in.Pools = append(in.Pools, openstack.Pool{Start: pool.Start.String(), End: pool.End.String()})
	}
	return in
}

// rules is all that may reach the seed (F14).
func (e Environment) rules() []openstack.Rule {
	access := e.Config.Spec.Seed.Access
	var rules []openstack.Rule
	for _, from := range access.SSHCIDRs {
		rules = append(rules, openstack.Rule{Protocol: "tcp", PortMin: 22, PortMax: 22, CIDR: from.String()})
	}
	for _, from := range access.APICIDRs {
		rules = append(rules, openstack.Rule{Protocol: "tcp", PortMin: 6443, PortMax: 6443, CIDR: from.String()})
	}
	for _, open := range access.Rules {
		for _, from := range open.CIDRs {
			rules = append(rules, openstack.Rule{Protocol: open.Protocol, PortMin: open.Port, PortMax: max(open.Port, open.EndPort), CIDR: from.String()})
		}
	}
	return rules
}

// login is how one logs in to the seed; the fingerprint is of our key pair only.
type login struct{ keyPair, fingerprint, privateKey pulumi.StringInput }

// keyPair makes a key and a key pair, unless the operator has one.
func (e Environment) keyPair(ctx *pulumi.Context) (login, error) {
	if name := e.Config.Spec.Seed.SSH.KeyPair; name != "" {
		private, err := e.ownKey()
		return login{keyPair: pulumi.String(name), privateKey: private}, err
	}
	key, err := openstack.NewSSHKey(ctx, openstack.SSHKeyInputs{Owned: e.owned(StepSSHKey)})
	if err != nil {
		return login{}, err
	}
	pair, err := openstack.NewKeyPair(ctx, openstack.KeyPairInputs{Owned: e.owned(StepKeyPair)}, key.PublicKey)
	if err != nil {
		return login{}, err
	}
	return login{pair.ID(), pair.Fingerprint, key.PrivateKey}, nil
}

// image uploads an image of the bundle, unless one of the cloud or of the list
// was chosen (F21). One that the list brings, too, is uploaded once.
func (e Environment) image(ctx *pulumi.Context, step, chosen string, file ImageFile) (pulumi.StringInput, error) {
	if chosen != "" {
		return pulumi.String(chosen), nil
	}
	if file.Listed != "" {
		return e.brought[file.Listed].ImageID, nil
	}
	var options []pulumi.ResourceOption
	if same := e.brought["sha256:"+file.SHA256]; same != nil {
		options = append(options, pulumi.DependsOn([]pulumi.Resource{same}))
	}
	image, err := openstack.NewImage(ctx, openstack.ImageInputs{Owned: e.owned(step), Path: file.Path, SHA256: file.SHA256,
		Format: file.Format, Properties: file.Properties}, options...)
	if err != nil {
		return nil, err
	}
	return image.ID(), nil
}

// seedDigest is the SHA-256 of the seed's image, in hexadecimal, where it comes
// with Slipway or by a list: a newer one brings newer k3s, and the images of
// whatever runs on the seed (F03). "" is an image that the cloud has.
func (e Environment) seedDigest() string {
	if e.Choices.ImageID != "" {
		return ""
	}
	for _, listed := range e.Images {
		if listed.Manifest.Spec.Images[0].Name == e.Image.Listed {
			return strings.TrimPrefix(listed.Digest, "sha256:")
		}
	}
	return e.Image.SHA256
}

// credential makes the credential that machines of the environment use: the
// operator's own never leaves this computer.
func (e Environment) credential(ctx *pulumi.Context) (*openstack.ApplicationCredential, error) {
	conf := e.Config.Spec.Credential
	in := openstack.ApplicationCredentialInputs{Owned: e.owned(StepCredential), Roles: e.Choices.Roles,
		Unrestricted: conf.Unrestricted, Lifetime: int(time.Duration(conf.ExpiresAfter).Seconds())}
	for _, rule := range conf.AccessRules {
		in.AccessRules = append(in.AccessRules, openstack.AccessRule{Service: rule.Service, Method: rule.Method, Path: rule.Path})
	}
	return openstack.NewApplicationCredential(ctx, in)
}
