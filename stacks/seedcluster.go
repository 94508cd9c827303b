package stacks

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/stacks/openstack"
)

// userData is what the seed boots with.
func (e Environment) userData(Seed, *openstack.Volume) pulumi.StringInput {
	return pulumi.String("#cloud-config\n")
}

// seedCluster is Kubernetes on the seed: k3s that answers, and Cluster API with
// its providers.
func (e Environment) seedCluster(*pulumi.Context, Seed) error { return nil }
