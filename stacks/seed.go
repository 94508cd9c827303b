package stacks

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/stacks/openstack"
)

// Seed is the first server, as the rest of the program sees it.
type Seed struct {
	Server *openstack.Server
	// Address is where the seed is reached from here.
	Address pulumi.StringOutput
	// Access is the ID of its security group; empty for a local seed.
	Access pulumi.StringOutput
	// InternalAddress is its address in its network.
	InternalAddress pulumi.StringOutput
	Credential      *openstack.ApplicationCredential
	HostKey         *openstack.SSHKey
	// PrivateKey logs in.
	PrivateKey pulumi.StringInput
	// files are the seed's own, to be kept as they are here.
	files pulumi.StringOutput
}

// seed makes the server with its port, its data volume and its address. The
// volume and the port outlive the server.
func (e Environment) seed(ctx *pulumi.Context, network networkRefs, group *openstack.SecurityGroup, login login, image pulumi.StringInput, credential *openstack.ApplicationCredential) (Seed, error) {
	groups := pulumi.StringArray{group.ID()}
	port, err := openstack.NewPort(ctx, openstack.PortInputs{Ownership: e.ownership(StepPort)}, network.id, network.subnet, groups)
	if err != nil {
		return Seed{}, err
	}
	ports := pulumi.StringArray{port.ID()}
	seed := Seed{Address: port.Address, InternalAddress: port.Address, Access: group.ID().ToStringOutput(), Credential: credential, PrivateKey: login.privateKey}
	if e.Choices.ProvisioningNetworkID != "" { // the first card (F13)
		first, err := openstack.NewPort(ctx, openstack.PortInputs{Ownership: e.ownership(StepProvisioningPort)}, pulumi.String(e.Choices.ProvisioningNetworkID), nil, groups)
		if err != nil {
			return Seed{}, err
		}
		ports, seed.Address = pulumi.StringArray{first.ID(), port.ID()}, first.Address
	}
	if conf := e.Config.Spec.Seed; conf.WantsFloatingIP() {
		in := openstack.FloatingIPInputs{Ownership: e.ownership(StepAddress), NetworkID: e.Choices.FloatingNetworkID}
		if conf.FloatingIP.Address.IsValid() {
			in.Address = conf.FloatingIP.Address.String()
		}
		address, err := openstack.NewFloatingIP(ctx, in, port.ID(), pulumi.DependsOn(network.routed))
		if err != nil {
			return Seed{}, err
		}
		seed.Address = address.PublicAddress
	}
	conf := e.Config.Spec.Seed
	data, err := openstack.NewVolume(ctx, openstack.VolumeInputs{Ownership: e.ownership(StepData), Size: conf.DataVolume.SizeGiB,
		Type: conf.DataVolume.Type, AvailabilityZone: conf.DataVolume.AvailabilityZone})
	if err != nil {
		return Seed{}, err
	}
	if seed.HostKey, err = openstack.NewSSHKey(ctx, openstack.SSHKeyInputs{Ownership: e.ownership(StepHostKey)}); err != nil {
		return Seed{}, err
	}
	boot := e.boot(seed, data)
	seed.files = boot.files
	in := openstack.ServerInputs{Ownership: e.ownership(StepSeed), FlavorID: e.Choices.FlavorID, AvailabilityZone: conf.AvailabilityZone, ImageDigest: e.seedDigest(),
		ConfigDrive: e.Config.Spec.ConfigDrive}
	if root := conf.RootVolume; root != nil {
		in.RootVolumeSize, in.RootVolumeType = root.SizeGiB, root.Type
	}
	seed.Server, err = openstack.NewServer(ctx, in, openstack.ServerRefs{Ports: ports, Volumes: pulumi.StringArray{data.ID()},
		Image: image, KeyName: login.keyPair, KeyFingerprint: login.fingerprint, UserData: boot.userData}, pulumi.DependsOn(network.routed))
	if err != nil {
		return Seed{}, err
	}
	ctx.Export(OutputAddress, seed.Address)
	ctx.Export(OutputServerID, seed.Server.ID())
	return seed, nil
}
