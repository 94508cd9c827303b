package stacks

import (
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// velero is Velero on the management cluster, if the environment file asks for it. Nothing
// waits for it: without it the environment is whole.
func (e Environment) velero(ctx *pulumi.Context, login kubernetes.LoginRefs, cluster *kubernetes.Cluster, after ...pulumi.Resource) error {
	if e.Equipment.Velero == nil {
		return nil
	}
	settings := *e.Equipment.Velero
	settings.Environment = e.onManagement()
	text, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("encoding the settings of Velero: %w", err)
	}
	_, err = kubernetes.NewVelero(ctx, StepVelero, kubernetes.VeleroRefs{LoginRefs: login, Kubeconfig: cluster.AdminKubeconfig, ServerID: cluster.ID(),
		Release: e.Equipment.VeleroRelease, Settings: string(text)}, pulumi.DependsOn(after))
	return err
}
