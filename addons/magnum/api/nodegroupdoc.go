package api

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// groupAttributes are the members of a node group.
func groupAttributes() []attribute {
	list := []attribute{
		{name: "name", kind: text, min: 1, max: 255, mandatory: true}, name255("flavor_id"), name255("image_id"), name255("role"),
		{name: "node_count", kind: integer}, {name: "min_node_count", kind: integer}, {name: "max_node_count", kind: integer},
		{name: "docker_volume_size", kind: integer, min: 1}, {name: "labels", kind: stringMap}, {name: "merge_labels", kind: boolean},
		{name: "node_labels", kind: stringMap}, {name: "node_taints", kind: objectList},
	}
	list = append(list, readOnly("project_id", "node_addresses", "links", "stack_id", "created_at", "updated_at")...)
	return append(list, ignored("id", "uuid", "cluster_id", "status", "status_reason", "is_default", "version", "labels_overridden", "labels_added", "labels_skipped")...)
}

func groupPatch() patchable {
	return patchable{attributes: groupAttributes(),
		internal: alwaysInternal(strings.Fields(`name cluster_id docker_volume_size labels merge_labels flavor_id image_id node_addresses node_count role is_default stack_id
			status status_reason version labels_overridden labels_added labels_skipped`)...),
		defaults: document{"min_node_count": int64(0)}}
}

// groupDocument is what a patch of a group applies to.
func (c *call) groupDocument(v *inventory.View, g *v1alpha1.NodeGroup) document {
	return c.showGroup(v, g)
}

// shortGroup is a group in a list.
func shortGroup(v *inventory.View, g *v1alpha1.NodeGroup) document {
	return document{
		"uuid": g.UUID(), "name": g.Title(), "flavor_id": null(g.Spec.FlavorID), "image_id": null(g.Spec.ImageID), "node_count": int64(g.Spec.NodeCount),
		"role": fallback(g.Spec.Role, v1alpha1.RoleWorker), "is_default": g.Spec.IsDefault, "status": string(g.EffectivePhase(v.Cluster)), "stack_id": v.Cluster.Stack(),
		"min_node_count": int64(g.Spec.MinNodeCount), "max_node_count": pointer(g.Spec.MaxNodeCount), "merge_labels": g.Spec.MergeLabels,
	}
}

func pointer(n *int32) any {
	if n == nil {
		return nil
	}
	return int64(*n)
}

// showGroup is a group as clients get it.
func (c *call) showGroup(v *inventory.View, g *v1alpha1.NodeGroup) document {
	d := shortGroup(v, g)
	d["id"], d["cluster_id"], d["project_id"] = v.GroupID(g), v.Cluster.UUID(), g.Spec.ProjectID
	d["docker_volume_size"], d["node_addresses"] = number(g.Spec.DockerVolumeSize), append([]string{}, g.Status.NodeAddresses...)
	d["status_reason"], d["version"] = null(g.Status.StatusReason), null(g.Status.Version)
	labels := g.EffectiveLabels(v.Cluster)
	d["labels"] = labelsOrEmpty(labels)
	d["labels_overridden"], d["labels_added"], d["labels_skipped"] = threeMaps(labels, v.Cluster.EffectiveLabels())
	d["node_labels"], d["node_taints"] = nullMap(g.Spec.NodeLabels), taintDocuments(g.Spec.NodeTaints)
	d["created_at"], d["updated_at"] = timeText(v.Created(g).Time), updated(g, g.Status.UpdatedAt)
	d["links"] = c.links("clusters/" + v.Cluster.UUID() + "/nodegroups/" + g.UUID())
	return d
}

func taintDocuments(list []v1alpha1.Taint) any {
	if len(list) == 0 {
		return nil
	}
	documents := []any{}
	for _, t := range list {
		documents = append(documents, map[string]any{"key": t.Key, "value": t.Value, "effect": t.Effect})
	}
	return documents
}

// taints reads node_taints; mistakes are conflicts, as clients expect.
func taints(value any) ([]v1alpha1.Taint, error) {
	items, _ := value.([]any)
	var list []v1alpha1.Taint
	for _, item := range items {
		members, ok := item.(map[string]any)
		if !ok {
			return nil, conflict("Each of node_taints must be an object with key, value and effect.")
		}
		t := v1alpha1.Taint{}
		for name, member := range members {
			field := map[string]*string{"key": &t.Key, "value": &t.Value, "effect": &t.Effect}[name]
			text, isText := scalar(member)
			if field == nil || !isText && member != nil {
				return nil, conflict("A taint has key, value and effect, which are text: %s is wrong.", name)
			}
			*field = text
		}
		if t.Key == "" {
			return nil, conflict("A taint needs a key.")
		}
		if wrong := append(validation.IsQualifiedName(t.Key), validation.IsValidLabelValue(t.Value)...); len(wrong) > 0 {
			return nil, conflict("The key or value is no taint of Kubernetes: %s: %s.", t.Key, wrong[0])
		}
		if !slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, t.Effect) {
			return nil, conflict("The effect of the taint %s must be NoSchedule, PreferNoSchedule or NoExecute.", t.Key)
		}
		list = append(list, t)
	}
	return list, nil
}

// reservedAllowed are node labels in Kubernetes' namespaces that a kubelet may
// set (kubernetes.io, NodeRestriction).
const reservedAllowed = `beta.kubernetes.io/arch beta.kubernetes.io/instance-type beta.kubernetes.io/os failure-domain.beta.kubernetes.io/region
failure-domain.beta.kubernetes.io/zone kubernetes.io/arch kubernetes.io/hostname kubernetes.io/os node.kubernetes.io/instance-type
node.kubernetes.io/windows-build topology.kubernetes.io/region topology.kubernetes.io/zone`

func checkNodeLabels(labels map[string]string) error {
	for name, value := range labels {
		if wrong := validation.IsQualifiedName(name); len(wrong) > 0 {
			return conflict("The node label %q is no label of Kubernetes: %s.", name, wrong[0])
		}
		if wrong := validation.IsValidLabelValue(value); len(wrong) > 0 {
			return conflict("%q is no value of a label: %s.", value, wrong[0])
		}
		prefix, _, ok := strings.Cut(name, "/")
		if !ok || prefix == "kubelet.kubernetes.io" || prefix == "node.kubernetes.io" || slices.Contains(strings.Fields(reservedAllowed), name) {
			continue
		}
		if reserved := "." + prefix; strings.HasSuffix(reserved, ".kubernetes.io") || strings.HasSuffix(reserved, ".k8s.io") {
			return conflict("The node label %s is reserved by Kubernetes.", name)
		}
	}
	return nil
}

func groupListing(v *inventory.View) listing[*v1alpha1.NodeGroup] {
	columns := map[string]func(*v1alpha1.NodeGroup) string{
		"id":         func(g *v1alpha1.NodeGroup) string { return padded(v.GroupID(g)) },
		"cluster_id": func(*v1alpha1.NodeGroup) string { return v.Cluster.UUID() },
		"project_id": func(g *v1alpha1.NodeGroup) string { return g.Spec.ProjectID },
		"created_at": func(g *v1alpha1.NodeGroup) string { return timeText(v.Created(g).Time) },
		"updated_at": func(g *v1alpha1.NodeGroup) string { return sortText(updated(g, g.Status.UpdatedAt)) },
	}
	for _, name := range strings.Fields("uuid name flavor_id image_id node_count role is_default status stack_id min_node_count max_node_count") {
		columns[name] = func(g *v1alpha1.NodeGroup) string { return sortText(shortGroup(v, g)[name]) }
	}
	return listing[*v1alpha1.NodeGroup]{"clusters/" + v.Cluster.UUID() + "/nodegroups", columns, (*v1alpha1.NodeGroup).UUID, isUUID}
}
