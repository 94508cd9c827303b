package stacks

import (
	"encoding/json"
	"fmt"
	"path"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/addons/monitoring/stack"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// monitoring is Prometheus and what goes with it on the management cluster, if the
// environment file asks for it. Nothing waits for it: without it the environment is whole.
func (e Environment) monitoring(ctx *pulumi.Context, login kubernetes.LoginRefs, cluster *kubernetes.Cluster, after ...pulumi.Resource) error {
	if e.Equipment.Monitoring == nil {
		return nil
	}
	settings := *e.Equipment.Monitoring
	settings.Variables = e.onManagement()
	return installMonitoring(ctx, StepMonitoring, settings, kubernetes.MonitoringRefs{LoginRefs: login, Kubeconfig: cluster.AdminKubeconfig, ServerID: cluster.ID()}, after...)
}

// seedMonitoring is the same on the seed of an environment without a management cluster. Its
// records are in folders on the seed's data volume: k3s there has no storage class.
func (e Environment) seedMonitoring(ctx *pulumi.Context, on seedCluster) error {
	if e.Equipment.Monitoring == nil {
		return nil
	}
	settings := *e.Equipment.Monitoring
	settings.Variables = e.onSeed()
	settings.Folders = &stack.Folders{Node: e.Config.ResourceName(StepSeed), Path: path.Join(seed.DataDir, "monitoring")}
	return installMonitoring(ctx, StepSeedMonitoring, settings, kubernetes.MonitoringRefs{LoginRefs: on.login, Kubeconfig: on.kubeconfig, ServerID: on.on}, on.controllers...)
}

func installMonitoring(ctx *pulumi.Context, step string, settings stack.Settings, refs kubernetes.MonitoringRefs, after ...pulumi.Resource) error {
	text, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("encoding the settings of monitoring: %w", err)
	}
	refs.Settings, refs.Release = string(text), component.SlipwayVersion()
	_, err = kubernetes.NewMonitoring(ctx, step, refs, pulumi.DependsOn(after))
	return err
}
