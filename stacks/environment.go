// Package stacks is what an environment is made of: one program, which Program
// in this file shows from top to bottom. Each step is in a file of its own, the
// resources are in the packages openstack, kubernetes and catalog, and package
// engine runs the program.
package stacks

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/stacks/catalog"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// Environment is the input of the program.
type Environment struct {
	Config *config.Environment
	// Choices are the resources of the cloud that the environment file names, or
	// that preflight chose.
	Choices preflight.Choices
	// Image is uploaded for the seed if Choices name none, NodeImage for the
	// nodes of the management cluster.
	Image, NodeImage ImageFile
	// Images are uploaded beside everything else.
	Images []ListedImage
	// Equipment is what the seed gets from local files.
	Equipment Equipment
	// Early ends with one node of the management cluster and Cluster API on it, where the
	// rest can wait (see early): a rebuild restores while the other nodes join. A program
	// without it completes the environment.
	Early bool

	// uploaded are Images by name and by digest, while the program runs.
	uploaded map[string]*catalog.Image
}

// Program makes the whole environment. The order of the lines is the order in
// which an operator thinks of it; the engine runs everything in parallel that
// does not depend on something else.
func (e Environment) Program(ctx *pulumi.Context) error {
	var err error
	if e.uploaded, err = e.images(ctx); err != nil {
		return err
	}
	network, err := e.network(ctx)
	if err != nil {
		return err
	}
	login, err := e.keyPair(ctx)
	if err != nil {
		return err
	}
	credential, err := e.credential(ctx)
	if err != nil {
		return err
	}
	seed, clusterAPI, err := e.anySeed(ctx, network, login, credential)
	if err != nil {
		return err
	}
	if e.Config.Spec.ManagementCluster == nil {
		return e.seedMonitoring(ctx, clusterAPI)
	}
	management, err := e.managementCluster(ctx, parent{seed, clusterAPI, network, login})
	if err != nil {
		return err
	}
	api, err := e.magnum(ctx, management)
	if err != nil {
		return err
	}
	return e.console(ctx, management, api)
}

// anySeed is the seed that the environment file asks for, with Cluster API on it: a server, or
// a container on this machine.
func (e Environment) anySeed(ctx *pulumi.Context, network networkRefs, login login, credential *openstack.ApplicationCredential) (Seed, seedCluster, error) {
	group, err := e.securityGroup(ctx)
	if err != nil {
		return Seed{}, seedCluster{}, err
	}
	if e.Config.Spec.Seed.IsLocal() {
		return e.localSeed(ctx, credential, group)
	}
	image, err := e.image(ctx, StepImage, e.Choices.ImageID, e.Image)
	if err != nil {
		return Seed{}, seedCluster{}, err
	}
	seed, err := e.seed(ctx, network, group, login, image, credential)
	if err != nil {
		return Seed{}, seedCluster{}, err
	}
	clusterAPI, err := e.seedCluster(ctx, seed)
	return seed, clusterAPI, err
}

// ownership says that a resource belongs to a step of the environment, and adds the
// operator's tags.
func (e Environment) ownership(step string) openstack.Ownership {
	return openstack.Ownership{Environment: e.Config.Metadata.Name, Step: step, Tags: e.Config.Spec.Tags}
}
