package stacks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// ManagementNamespace is where the management cluster's objects are on its
// parent. Its name there is the environment's.
const ManagementNamespace = "default"

// parent is what the management cluster is made from.
type parent struct {
	seed    Seed
	on      seedCluster
	network networkRefs
	login   login
}

// managementCluster is the cluster that Cluster API on the seed makes, with
// Cluster API on it.
func (e Environment) managementCluster(ctx *pulumi.Context, p parent) (management, error) {
	image, err := e.image(ctx, StepNodeImage, e.Choices.Management.ImageID, e.NodeImage)
	if err != nil {
		return management{}, err
	}
	refs := kubernetes.ClusterRefs{LoginRefs: p.on.login, Kubeconfig: p.on.kubeconfig,
		ServerID: p.on.on, Name: e.Config.Metadata.Name, Namespace: ManagementNamespace, Chart: e.Equipment.Chart,
		Version: word(e.Values(Made{})["kubernetesVersion"]), VolumesPolicy: e.Config.Spec.VolumesPolicy, Values: e.clusterValues(p, image)}
	cluster, err := kubernetes.NewCluster(ctx, StepManagementCluster, refs, pulumi.DependsOn(p.on.ready))
	if err != nil {
		return management{}, err
	}
	whole, err := e.whole(ctx, refs, cluster, p.on.controllers)
	if err != nil {
		return management{}, err
	}
	clusterAPI, err := kubernetes.NewClusterAPI(ctx, StepManagementClusterAPI, kubernetes.ClusterAPIRefs{LoginRefs: p.on.login, Kubeconfig: cluster.AdminKubeconfig,
		ServerID: cluster.ID(), Versions: e.Equipment.Versions, Settings: e.providers(), TrustBundle: e.trustBundle(), Environment: e.onManagement(),
		Monitored: monitored(e.Config.Spec.ManagementCluster)}, e.onceComplete(whole)...)
	if err != nil {
		return management{}, err
	}
	ctx.Export(OutputManagementKubeconfig, pulumi.ToSecret(cluster.AdminKubeconfig))
	made := management{p.on.login, cluster, image, e.fence(p.seed, ""), []pulumi.Resource{clusterAPI}}
	if e.early() {
		return made, nil
	}
	return e.onWhole(ctx, p, made, whole)
}

// early reports whether the rest of the management cluster can wait: not where Cluster API
// itself does, nor where the cluster moves onto itself.
func (e Environment) early() bool {
	m, seed := e.Config.Spec.ManagementCluster, e.Config.Spec.Seed
	return e.Early && !monitored(m) && !tainted(m.Values) && seed.Role != config.RolePivot && !seed.IsLocal()
}

// whole is the wait for all nodes and addons of the management cluster.
func (e Environment) whole(ctx *pulumi.Context, refs kubernetes.ClusterRefs, cluster *kubernetes.Cluster, after []pulumi.Resource) ([]pulumi.Resource, error) {
	if e.early() {
		return nil, nil
	}
	ready, err := kubernetes.NewReadyCluster(ctx, StepManagementReady, refs, cluster, pulumi.DependsOn(after))
	return []pulumi.Resource{ready}, err
}

// onWhole is what needs the whole management cluster: Slipway's controllers, whose replicas are
// spread over nodes, Velero, monitoring, and the move of the cluster onto itself.
func (e Environment) onWhole(ctx *pulumi.Context, p parent, m management, whole []pulumi.Resource) (management, error) {
	backup, err := e.backup(ctx)
	if err != nil {
		return m, err
	}
	own, err := e.controllers(ctx, StepManagementControllers, kubernetes.ControllersRefs{LoginRefs: m.login, Kubeconfig: m.cluster.AdminKubeconfig, ServerID: m.cluster.ID(),
		Replicas: replicasOn(e.Config.Spec.ManagementCluster), Environment: e.onManagement(), Fence: m.fence, Backup: backup}, pulumi.DependsOn(whole))
	if err != nil {
		return m, err
	}
	m.ready = append(m.ready, own)
	if err := e.velero(ctx, m.login, m.cluster, own); err != nil {
		return m, err
	}
	if err := e.monitoring(ctx, m.login, m.cluster, own); err != nil {
		return m, err
	}
	if seed := e.Config.Spec.Seed; seed.Role != config.RolePivot && !seed.IsLocal() {
		return m, nil
	}
	_, err = kubernetes.NewManagementMove(ctx, StepManagementMove, kubernetes.ManagementMoveRefs{LoginRefs: p.on.login, Kubeconfig: p.on.kubeconfig,
		ServerID: p.on.on, ManagementKubeconfig: m.cluster.AdminKubeconfig, Name: e.Config.Metadata.Name, Namespace: ManagementNamespace},
		pulumi.DependsOn(slices.Concat(whole, m.ready, p.on.ready)))
	return m, err
}

// onceComplete is when Cluster API goes on the management cluster: as soon as a
// node is there, but for its monitoring, which needs an addon, and where that
// node may be tainted.
func (e Environment) onceComplete(whole []pulumi.Resource) []pulumi.ResourceOption {
	m := e.Config.Spec.ManagementCluster
	if !monitored(m) && !tainted(m.Values) {
		return nil
	}
	return []pulumi.ResourceOption{pulumi.DependsOn(whole)}
}

// tainted reports whether values, at any depth, speak of taints of nodes.
func tainted(values map[string]any) bool {
	text, err := json.Marshal(values)
	return err != nil || strings.Contains(string(text), `"nodeTaints":`)
}

// management is the management cluster as the rest of the program sees it.
type management struct {
	login   kubernetes.LoginRefs
	cluster *kubernetes.Cluster
	// image is the ID of the nodes' image.
	image pulumi.StringInput
	// fence is for the controllers on it.
	fence pulumi.StringInput
	// ready are what the Magnum API needs on it.
	ready []pulumi.Resource
}

// replicasOn is how many of each controller run: one can go with its node where
// there are others.
func replicasOn(m *config.ManagementCluster) int {
	if m.Workers() > 1 {
		return 2
	}
	return 1
}

// monitored reports whether the cluster's values turn monitoring on.
func monitored(m *config.ManagementCluster) bool {
	on, _, _ := unstructured.NestedBool(m.Values, "addons", "monitoring", "enabled")
	return on
}

// clusterValues are the chart's values, as JSON, once all that they name is
// there.
func (e Environment) clusterValues(p parent, image pulumi.StringInput) pulumi.StringOutput {
	subnet := p.network.subnet
	if subnet == nil {
		subnet = pulumi.String("")
	}
	text := pulumi.All(image, p.login.keyPair, p.network.id, subnet, p.seed.Credential.ID(), p.seed.Credential.Secret, p.seed.Address, p.network.mtu, p.seed.Access, p.network.outside).ApplyT(
		func(known []any) (string, error) {
			made := Made{ImageID: word(known[0]), KeyPair: word(known[1]), NetworkID: word(known[2]), SubnetID: word(known[3]),
				CredentialID: word(known[4]), CredentialSecret: word(known[5]), SeedAddress: word(known[6]), SeedGroupID: word(known[8]), RouterAddress: word(known[9])}
			made.NetworkMTU, _ = known[7].(int) // states of before have none
			text, err := json.Marshal(e.Values(made))
			if err != nil {
				return "", fmt.Errorf("encoding the chart's values: %w", err)
			}
			return string(text), nil
		}).(pulumi.StringOutput)
	return pulumi.ToSecret(text).(pulumi.StringOutput)
}

// word is an output's text, be it a plain one or an id.
func word(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case pulumi.ID:
		return string(v)
	}
	return ""
}
