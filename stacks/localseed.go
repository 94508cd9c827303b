package stacks

import (
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// localSeed is the seed on this machine, with Cluster API on it. Nothing of it outlives the
// pivot but its settings: the resources after it find it by them, or bring it back. The
// fence, on group, is there before controllers look at it, and until they are gone.
func (e Environment) localSeed(ctx *pulumi.Context, credential *openstack.ApplicationCredential, group *openstack.SecurityGroup) (Seed, seedCluster, error) {
	settings, err := e.localSettings()
	if err != nil {
		return Seed{}, seedCluster{}, err
	}
	seed, err := kubernetes.NewLocalSeed(ctx, StepLocalSeed, settings)
	if err != nil {
		return Seed{}, seedCluster{}, err
	}
	none := pulumi.String("").ToStringOutput()
	return Seed{Address: none, InternalAddress: none, Access: none, Credential: credential},
		seedCluster{kubernetes.LoginRefs{Local: settings}, none, seed.ID(), []pulumi.Resource{seed, group}, nil}, nil
}

// localSettings are kubernetes.LocalSettings as JSON.
func (e Environment) localSettings() (string, error) {
	providers, err := json.Marshal(e.providers())
	if err != nil {
		return "", fmt.Errorf("provider settings: %w", err)
	}
	k3s := e.Config.Spec.Seed.K3s
	settings := kubernetes.LocalSettings{Settings: e.Equipment.Local, Providers: string(providers), TrustBundle: e.trustBundle(),
		Environment: e.onSeed(), ControllersImage: e.Equipment.ControllersImage}
	settings.PodCIDR, settings.ServiceCIDR = k3s.PodCIDR.String(), k3s.ServiceCIDR.String()
	text, err := json.Marshal(settings)
	return string(text), err
}
