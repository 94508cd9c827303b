package stacks

import (
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// monitoring is Prometheus and what goes with it on the management cluster, if the
// environment file asks for it. Nothing waits for it: without it the environment is whole.
func (e Environment) monitoring(ctx *pulumi.Context, login kubernetes.LoginRefs, cluster *kubernetes.Cluster, after ...pulumi.Resource) error {
	if e.Equipment.Monitoring == nil {
		return nil
	}
	settings := *e.Equipment.Monitoring
	settings.Variables = e.onManagement()
	text, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("encoding the settings of monitoring: %w", err)
	}
	_, err = kubernetes.NewMonitoring(ctx, StepMonitoring, kubernetes.MonitoringRefs{LoginRefs: login, Kubeconfig: cluster.AdminKubeconfig, ServerID: cluster.ID(),
		Settings: string(text), Release: component.SlipwayVersion()}, pulumi.DependsOn(after))
	return err
}
