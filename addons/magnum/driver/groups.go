package driver

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kubeversion"
)

var errNoFlavor = errors.New("no flavor is set")

func itoa(number int) string { return strconv.Itoa(number) }

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func texts(m map[string]string) map[string]any {
	all := map[string]any{}
	for key, value := range m {
		all[key] = value
	}
	return all
}

// workers is what all worker groups have in common.
func (b *builder) workers() {
	machine := b.machine(b.labels, 0)
	if networks := fields(b.labels.text("", "extra_network_names", "extra_network_name")); len(networks) > 0 {
		ports := []any{map[string]any{}} // the cluster's own network
		for _, name := range networks {
			ports = append(ports, map[string]any{"network": map[string]any{"name": name}, "securityGroups": []any{}})
		}
		machine.set("machineNetworking.ports", ports)
	}
	if zone := b.labels.text("", "availability_zone"); zone != "" {
		machine.set("failureDomain", zone)
	}
	if suites := b.labels.list("kubelet_tls_cipher_suites"); len(suites) > 0 {
		machine.set("kubeadmConfigSpec.joinConfiguration.nodeRegistration.kubeletExtraArgs.tls-cipher-suites", strings.Join(suites, ","))
	}
	if upgrade := b.Cluster.Spec.Upgrade; upgrade != nil && upgrade.MaxBatchSize > 1 {
		machine.set("rolloutStrategy", map[string]any{"type": "RollingUpdate",
			"rollingUpdate": map[string]any{"maxUnavailable": int64(upgrade.MaxBatchSize), "maxSurge": int64(0)}})
	}
	b.set("nodeGroupDefaults", map[string]any(machine))
}

// groups are the worker groups: the default one first, then by name.
func (b *builder) groups() {
	var workers []*v1alpha1.NodeGroup
	for _, g := range b.Groups {
		if g.Spec.Role != v1alpha1.RoleMaster {
			workers = append(workers, g)
		}
	}
	slices.SortFunc(workers, func(a, c *v1alpha1.NodeGroup) int {
		if a.Spec.IsDefault != c.Spec.IsDefault {
			if a.Spec.IsDefault {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Title(), c.Title())
	})
	all := []any{}
	for _, g := range workers {
		if values, ok := b.group(g); ok {
			all = append(all, values)
		}
	}
	b.set("nodeGroups", all)
}

func (b *builder) group(g *v1alpha1.NodeGroup) (map[string]any, bool) {
	name, err := GroupName(g.Title())
	if err != nil {
		b.errs = append(b.errs, err)
		return nil, false
	}
	values := tree{"name": name}
	flavor := first(g.Spec.FlavorID, b.Cluster.Spec.FlavorID, b.template().FlavorID)
	if flavor == "" {
		b.refuse("node group "+g.Title(), errNoFlavor, "set flavor_id on the node group, the cluster or the template")
	}
	values["machineFlavor"] = flavor
	b.size(values, g)
	b.groupSoftware(values, g)
	b.groupLabels(values, g)
	if len(g.Spec.NodeLabels) > 0 {
		values["nodeLabels"] = texts(g.Spec.NodeLabels)
	}
	if len(g.Spec.NodeTaints) > 0 {
		values["nodeTaints"] = taints(g.Spec.NodeTaints)
	}
	size := g.Spec.DockerVolumeSize
	if size == 0 {
		size = b.Cluster.Spec.DockerVolumeSize
	}
	if size > 0 {
		containerVolume(values, int64(size), b.groupReader(g).text("", "docker_volume_type"))
	}
	return values, true
}

func taints(given []v1alpha1.Taint) []any {
	var all []any
	for _, taint := range given {
		values := map[string]any{"key": taint.Key, "effect": first(taint.Effect, "NoSchedule")}
		if taint.Value != "" {
			values["value"] = taint.Value
		}
		all = append(all, values)
	}
	return all
}

// size is a fixed number of machines, or bounds for the autoscaler.
func (b *builder) size(values tree, g *v1alpha1.NodeGroup) {
	least, most, scaled := b.Bounds(g)
	if !scaled {
		values["machineCount"] = int64(g.Spec.NodeCount)
		return
	}
	if least > most {
		b.refuse("node group "+g.Title(), fmt.Errorf("its minimum size %d is greater than its maximum %d", least, most), "change min_node_count or max_node_count")
	}
	values["autoscale"], values["machineCountMin"], values["machineCountMax"] = true, int64(least), int64(most)
}

// Autoscaled reports whether the autoscaler decides the size of a group.
func Autoscaled(cluster *v1alpha1.Cluster, g *v1alpha1.NodeGroup, defaults Defaults) bool {
	b := &builder{Input: Input{Cluster: cluster, Defaults: defaults}, labels: newLabels(cluster.EffectiveLabels(), defaults.Labels)}
	_, _, scaled := b.Bounds(g)
	return g.Spec.Role != v1alpha1.RoleMaster && scaled
}

// Bounds are the autoscaler's bounds of a group: labels of the cluster for the
// default group, else the group's own. Without any there is nothing to scale.
// The default group keeps a node for what every cluster runs.
func (b *builder) Bounds(g *v1alpha1.NodeGroup) (least, most int32, scaled bool) {
	on := b.groupReader(g).boolean(b.labels.boolean(false, "auto_scaling_enabled"), "auto_scaling_enabled")
	least, most = g.Spec.MinNodeCount, g.Spec.NodeCount
	bounded := least > 0
	if g.Spec.MaxNodeCount != nil && *g.Spec.MaxNodeCount > 0 {
		most, bounded = *g.Spec.MaxNodeCount, true
	}
	if g.Spec.IsDefault {
		bounded = b.labels.has("min_node_count") || b.labels.has("max_node_count") || bounded
		least = max(1, int32(b.labels.integer(int(least), "min_node_count")))
		most = int32(b.labels.integer(int(most), "max_node_count"))
	}
	return least, most, on && bounded && least != most
}

// groupSoftware is a group's own image, or the one it is held on.
func (b *builder) groupSoftware(values tree, g *v1alpha1.NodeGroup) {
	if held, ok := b.Held[g.Name]; ok {
		values["machineImageId"], values["kubernetesVersion"] = held.ImageID, held.KubernetesVersion
		return
	}
	own := g.Spec.Image
	if own == nil || own.ID == "" || own.ID == b.resolved().Image.ID || !OwnImage(b.Cluster, g) {
		return
	}
	values["machineImageId"] = own.ID
	if own.KubernetesVersion == "" || own.KubernetesVersion == b.resolved().Image.KubernetesVersion {
		return
	}
	if err := kubeversion.CheckSkew(b.resolved().Image.KubernetesVersion, own.KubernetesVersion); err != nil {
		b.refuse("node group "+g.Title(), err, "choose an image with the cluster's Kubernetes version for the node group")
	}
	values["kubernetesVersion"] = own.KubernetesVersion
}

// OwnImage reports whether a group has another image than its cluster's template. The default
// groups never have. A group that names none, or that of a template which the cluster had before,
// follows the template: it was made without its image being looked up, and yet has machines.
func OwnImage(cluster *v1alpha1.Cluster, g *v1alpha1.NodeGroup) bool {
	if g.Spec.IsDefault || g.Spec.ImageID == "" || cluster.Spec.Template == nil || g.Spec.ImageID == cluster.Spec.Template.ImageID {
		return false
	}
	return g.Spec.Image != nil || g.Status.ImageID == ""
}

func (b *builder) groupReader(g *v1alpha1.NodeGroup) *labels {
	return newLabels(g.EffectiveLabels(b.Cluster), b.Defaults.Labels)
}

// groupLabels are labels that differ in a group.
func (b *builder) groupLabels(values tree, g *v1alpha1.NodeGroup) {
	if len(g.Spec.Labels) == 0 {
		return
	}
	l := b.groupReader(g)
	if healing := l.boolean(true, "auto_healing_enabled"); healing != b.labels.boolean(true, "auto_healing_enabled") {
		values.set("healthCheck.enabled", healing)
	}
	if l.differs(b.labels, "boot_volume_size", "boot_volume_type", "boot_volume_availability_zone") {
		rootVolume(values, l)
		if !l.has("boot_volume_size") {
			values.set("machineRootVolume.diskSize", int64(0)) // null would keep the cluster's
		}
	}
	if l.differs(b.labels, "availability_zone") {
		values.set("failureDomain", first(l.text("", "availability_zone")))
	}
	if policy := l.policy(); policy != "" && l.differs(b.labels, "server_group_policies") {
		values.set("serverGroup.policy", policy)
	}
	b.warnings = append(b.warnings, l.warnings...)
	for name := range g.Spec.Labels {
		if _, inCluster := b.labels.given[name]; !inCluster && !groupLabel(name) {
			b.warn("label "+name+" of node group "+g.Title(), "no effect on a node group")
		}
	}
}

// groupLabel reports whether a label works on a node group.
func groupLabel(name string) bool {
	return slices.Contains([]string{"auto_healing_enabled", "auto_scaling_enabled", "boot_volume_size", "boot_volume_type",
		"boot_volume_availability_zone", "availability_zone", "server_group_policies", "docker_volume_type"}, name)
}

// differs reports whether one of the labels is another one than in other.
func (l *labels) differs(other *labels, names ...string) bool {
	for _, name := range names {
		one, _ := l.raw(name)
		two, _ := other.raw(name)
		if one != two {
			return true
		}
	}
	return false
}
