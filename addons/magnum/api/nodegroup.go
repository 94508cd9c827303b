package api

import (
	"errors"
	"net/http"
	"regexp"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

func nodeGroupRoutes() []route {
	const groups, group = "clusters/{cluster}/nodegroups", "clusters/{cluster}/nodegroups/{group}"
	return []route{
		{http.MethodGet, groups, 9, pagingParams("role"), listGroups},
		{http.MethodPost, groups, 9, nil, createGroup},
		{http.MethodGet, group, 9, nil, getGroup},
		{http.MethodPatch, group, 9, nil, patchGroup},
		{http.MethodDelete, group, 9, nil, deleteGroup},
	}
}

func listGroups(c *call) error {
	v, err := c.cluster(c.ident("cluster"), "nodegroup:get_all", c.everywhere("nodegroup:get_all_all_projects"))
	if err != nil {
		return err
	}
	var all []*v1alpha1.NodeGroup
	for _, g := range v.Groups {
		if role := c.values.Get("role"); role == "" || g.Spec.Role == role {
			all = append(all, g)
		}
	}
	items, next, err := page(c, all, groupListing(v))
	if err != nil {
		return err
	}
	documents := []any{}
	for _, g := range items {
		documents = append(documents, shortGroup(v, g))
	}
	return collection(c, "nodegroups", documents, next)
}

func getGroup(c *call) error {
	v, err := c.cluster(c.ident("cluster"), "nodegroup:get", c.everywhere("nodegroup:get_one_all_projects"))
	if err != nil {
		return err
	}
	g, err := c.findGroup(v, c.ident("group"))
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, c.showGroup(v, g))
}

// createGroup answers POST /clusters/{cluster}/nodegroups.
func createGroup(c *call) error {
	d, err := c.decode(groupAttributes())
	if err != nil {
		return err
	}
	v, err := c.cluster(c.ident("cluster"), "nodegroup:create", c.admin)
	if err != nil {
		return err
	}
	g, err := newGroup(v, d)
	if err != nil {
		return err
	}
	if err := takesGroup(v, g); err != nil {
		return err
	}
	if err := c.groupNames(v, g); err != nil {
		return err
	}
	if err := c.adoptCredential(v); err != nil {
		return err
	}
	c.warnLabels(g.Spec.Labels)
	err = c.create(g, g.Spec.ProjectID)
	if apierrors.IsAlreadyExists(err) {
		return conflict("A nodegroup whose name becomes %s in Kubernetes already exists in this cluster.", v1alpha1.Sanitise(g.Title()))
	}
	if err != nil {
		return err
	}
	c.object = "nodegroup " + g.UUID()
	if now := c.s.o.Inventory.Cluster(client.ObjectKeyFromObject(v.Cluster)); now != nil {
		v = now
	}
	return c.reply(http.StatusAccepted, c.showGroup(v, g))
}

// chartName is what the chart accepts as the name of a group.
var chartName = regexp.MustCompile(`^[a-z][a-z0-9-]+[a-z0-9]$`)

// maxObjectName is the longest name of a MachineDeployment, which is a label of
// its machines.
const maxObjectName = 63

func newGroup(v *inventory.View, d document) (*v1alpha1.NodeGroup, error) {
	g := v1alpha1.NewNodeGroup(v.Cluster, d.text("name"))
	spec := &g.Spec
	spec.UUID, spec.Role = uuid.NewString(), fallback(d.text("role"), v1alpha1.RoleWorker)
	spec.FlavorID, spec.DockerVolumeSize = fallback(d.text("flavor_id"), v.Cluster.Spec.FlavorID), int32(d.number("docker_volume_size", int64(v.Cluster.Spec.DockerVolumeSize)))
	spec.ImageID = d.text("image_id")
	if t := v.Cluster.Spec.Template; spec.ImageID == "" && t != nil {
		spec.ImageID = t.ImageID
	}
	spec.NodeCount, spec.MinNodeCount = int32(d.number("node_count", 1)), int32(d.number("min_node_count", 0))
	if d.given("max_node_count") {
		most := int32(d.number("max_node_count", 0))
		spec.MaxNodeCount = &most
	}
	spec.Labels = chooseLabels(d.labels("labels"), v.Cluster.EffectiveLabels(), d.flag("merge_labels", false))
	spec.NodeLabels = d.labels("node_labels")
	var err error
	if spec.NodeTaints, err = taints(d["node_taints"]); err != nil {
		return nil, err
	}
	return g, checkGroup(g)
}

// checkGroup checks those settings of a group that need nothing else.
func checkGroup(g *v1alpha1.NodeGroup) error {
	if inventory.Master(g) {
		if len(g.Spec.NodeLabels)+len(g.Spec.NodeTaints) > 0 {
			return conflict("Master nodegroups cannot have node labels or taints.")
		}
		return badRequest("Nodegroups with the role master cannot be added: resize default-master.")
	}
	if v1alpha1.ReservedGroup(g.Title()) {
		return badRequest("The name %q is reserved for the control plane: choose another one.", g.Title())
	}
	if !chartName.MatchString(v1alpha1.Sanitise(g.Title())) || len(g.Name) > maxObjectName {
		return badRequest("The name %q cannot be used: in Kubernetes it must begin with a letter and have between 3 and %d letters, digits and dashes.", g.Title(),
			maxObjectName-len(g.Name)+len(v1alpha1.Sanitise(g.Title())))
	}
	return firstError(checkBounds(g), checkNodeLabels(g.Spec.NodeLabels))
}

// checkBounds checks that min ≤ count ≤ max, where max may be missing.
func checkBounds(g *v1alpha1.NodeGroup) error {
	least, count := g.Spec.MinNodeCount, g.Spec.NodeCount
	if count < least {
		return conflict("min_node_count (%d) must not be greater than node_count (%d).", least, count)
	}
	if most := g.Spec.MaxNodeCount; most != nil && *most > 0 && (count > *most || least > *most) {
		return conflict("max_node_count (%d) must not be less than node_count (%d) and min_node_count (%d).", *most, count, least)
	}
	return nil
}

// takesGroup reports whether a cluster can have one more group.
func takesGroup(v *inventory.View, g *v1alpha1.NodeGroup) error {
	switch {
	case v.Cluster.DeletionTimestamp != nil:
		return conflict("The cluster is being deleted.")
	case v.Cluster.Status.APIAddress == "":
		return conflict("The cluster has no api_address yet. Wait until it is ready.")
	}
	_, err := findGroup(v, g.Title())
	var answer *httpError
	if errors.As(err, &answer) && answer.status == http.StatusNotFound {
		return nil
	}
	return conflict("A nodegroup with the name %s already exists in this cluster.", g.Title())
}

// groupNames looks up what a group names in the cloud.
func (c *call) groupNames(v *inventory.View, g *v1alpha1.NodeGroup) error {
	all := newChecks()
	all.add(func() error { return c.flavors(c.s.o.Rules.bootVolume(g.Spec.Labels), g.Spec.FlavorID) })
	if t := v.Cluster.Spec.Template; t == nil || t.ImageID != g.Spec.ImageID {
		all.add(func() error {
			image, err := c.nodeImage(g.Spec.ImageID, g.Spec.Labels)
			g.Spec.Image = &image
			return err
		})
	}
	return all.first()
}

func patchGroup(c *call) error {
	operations, err := c.decodePatch()
	if err != nil {
		return err
	}
	v, err := c.cluster(c.ident("cluster"), "nodegroup:update", c.admin)
	if err != nil {
		return err
	}
	g, err := c.findGroup(v, c.ident("group"))
	if err != nil {
		return err
	}
	if _, err := groupPatch().apply(c.groupDocument(v, g), operations); err != nil {
		return err
	}
	if err := busy(g.EffectivePhase(v.Cluster), "update a nodegroup of", true); err != nil {
		return err
	}
	g, err = update(c, g, func(g *v1alpha1.NodeGroup) error { return c.changeGroup(v, g, operations) })
	if err != nil {
		return err
	}
	return c.reply(http.StatusAccepted, c.showGroup(v, g))
}

func (c *call) changeGroup(v *inventory.View, g *v1alpha1.NodeGroup, operations []operation) error {
	after, err := groupPatch().apply(c.groupDocument(v, g), operations)
	if err != nil {
		return err
	}
	g.Spec.MinNodeCount, g.Spec.MaxNodeCount = int32(after.number("min_node_count", 0)), nil
	if after.given("max_node_count") {
		most := int32(after.number("max_node_count", 0))
		g.Spec.MaxNodeCount = &most
	}
	g.Spec.NodeLabels = after.labels("node_labels")
	if g.Spec.NodeTaints, err = taints(after["node_taints"]); err != nil {
		return err
	}
	if inventory.Master(g) && len(g.Spec.NodeLabels)+len(g.Spec.NodeTaints) > 0 {
		return conflict("Master nodegroups cannot have node labels or taints.")
	}
	return firstError(checkBounds(g), checkNodeLabels(g.Spec.NodeLabels))
}

func deleteGroup(c *call) error {
	v, err := c.cluster(c.ident("cluster"), "nodegroup:delete", c.admin)
	if err != nil {
		return err
	}
	g, err := c.findGroup(v, c.ident("group"))
	if err != nil {
		return err
	}
	if g.Spec.IsDefault {
		return badRequest("Nodegroup %s is a default nodegroup and cannot be deleted.", g.Title())
	}
	if g.DeletionTimestamp == nil {
		if err := c.remove(g); err != nil {
			return err
		}
	}
	return c.gone()
}
