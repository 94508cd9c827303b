package tenant

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clusters"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/nodegroups"

	"github.com/slipway-sh/slipway/internal/console/words"
)

// found is the node group of the address.
func (q *request) found() nodegroups.NodeGroup {
	for _, g := range q.now.Groups {
		if g.UUID == q.group || g.Name == q.group {
			return g
		}
	}
	return nodegroups.NodeGroup{UUID: q.group}
}

// missing is set for a group that is not there although the cluster is known.
func (q *request) missing(g nodegroups.NodeGroup) int {
	if q.now.UUID != "" && g.Name == "" {
		return 404
	}
	return 0
}

func resizeForm(q *request) *form {
	g := q.found()
	name := cmp.Or(g.Name, q.group)
	c := q.ask(false)
	f := &form{Title: words.T("Resize %s of %s", name, q.name()), Button: words.T("Resize"), missing: q.missing(g), offered: c, trouble: c.trouble, LossTitle: words.T("What changes"), Fields: []field{
		{Name: "node_count", Label: words.T("Machines"), Kind: "number", Required: true, Value: strconv.Itoa(g.NodeCount), Hint: bounds(g)},
		{Name: "seen", Kind: "hidden", Value: strconv.Itoa(g.NodeCount)},
	}}
	if g.Role == "master" {
		f.Fields[0].Least, f.Fields[0].Hint = 1, words.T("An odd number: 3 keep working when one fails, 1 does not.")
	}
	f.Intro = words.T("The group has %s of the flavor %s.", machines(g.NodeCount), g.FlavorID)
	if g.FlavorID == "" {
		f.Intro = words.T("The group has %s of the flavor of the template.", machines(g.NodeCount))
	}
	f.Loss = []words.Text{words.T("With fewer machines, Cluster API chooses those that go. Their pods move, what is on their own disks is lost.")}
	return f
}

func bounds(g nodegroups.NodeGroup) words.Text {
	if g.MaxNodeCount != nil && *g.MaxNodeCount > 0 {
		return words.T("Between %d and %d.", g.MinNodeCount, *g.MaxNodeCount)
	}
	return words.T("At least %d.", g.MinNodeCount)
}

// knownResize says what the API would refuse, and what there is no room for.
func knownResize(q *request, f *form) {
	g, n := q.found(), f.number("node_count")
	if g.Role == "master" {
		f.odd("node_count")
	}
	if n != nil && (*n < g.MinNodeCount || g.MaxNodeCount != nil && *g.MaxNodeCount > 0 && *n > *g.MaxNodeCount) {
		f.wrong("node_count", bounds(g))
	}
	f.roomFor(costResize(q, f), "node_count")
}

// costResize is what the machines take that are added; fewer take nothing.
func costResize(q *request, f *form) cost {
	g, n := q.found(), f.number("node_count")
	if n == nil || *n <= g.NodeCount {
		return cost{unknown: n == nil}
	}
	more := *n - g.NodeCount
	return f.offered.price(g.FlavorID, &more)
}

// resize changes the size that was seen, and no other: two who add one machine want two more.
func resize(q *request, f *form) (string, error) {
	g, to := q.found(), "/clusters/"+q.id
	if seen := f.value("seen"); g.Name != "" && seen != strconv.Itoa(g.NodeCount) {
		f.get("seen").Value = strconv.Itoa(g.NodeCount)
		return "", elsewhere{words.T("Somebody else has changed this group since you opened this page: it has %s now. Send the form again if you still want your number.", machines(g.NodeCount))}
	}
	c, err := q.api()
	if err != nil {
		return "", err
	}
	_, err = clusters.Resize(q.ctx, c, q.id, clusters.ResizeOpts{NodeCount: f.number("node_count"), NodeGroup: q.group}).Extract()
	return to, q.failed(words.T("the Magnum API"), err)
}

func groupForm(q *request) *form {
	c := q.offer()
	return &form{Title: words.T("New node group of %s", q.name()), Button: words.T("Create the node group"), Intro: c.intro(), trouble: c.trouble, offered: c, Fields: []field{
		{Name: "name", Label: words.T("Name"), Kind: "text", Required: true, Hint: words.T("Letters, digits and dashes; it begins with a letter.")},
		{Name: "node_count", Label: words.T("Machines"), Kind: "number", Required: true, Value: "1"},
		either(field{Name: "flavor_id", Label: words.T("Flavor")}, c.flavors, words.T("As the cluster's workers")),
		{Name: "min_node_count", Label: words.T("Least machines"), Kind: "number", Value: "0", Hint: words.T("For the autoscaler, and the least that you can resize to.")},
		{Name: "max_node_count", Label: words.T("Most machines"), Kind: "number", Least: 1, Hint: words.T("Empty has no limit.")},
		{Name: "labels", Label: words.T("Labels"), Kind: "area", Hint: words.T("One key=value in each line, over those of the cluster.")},
	}}
}

// checkGroup says what is wrong with the fields of a new node group.
func checkGroup(_ *request, f *form) {
	f.labels("labels")
	n, least, most := f.number("node_count"), f.number("min_node_count"), f.number("max_node_count")
	if n != nil && least != nil && *n < *least {
		f.wrong("node_count", words.T("This is less than the least, which is %d.", *least))
	}
	if n != nil && most != nil && *n > *most {
		f.wrong("node_count", words.T("This is more than the most, which is %d.", *most))
	}
}

// knownGroup says what the cloud does not have, or has no room for, and names that are taken.
func knownGroup(q *request, f *form) {
	for _, g := range q.now.Groups {
		if g.Name == f.value("name") {
			f.wrong("name", words.T("The cluster has a node group of this name already."))
		}
	}
	f.unknown("flavor_id", slices.Collect(maps.Keys(f.offered.sizes)), noFlavor)
	f.roomFor(costGroup(q, f), "node_count")
}

// costGroup is what the machines of a new node group take.
func costGroup(q *request, f *form) cost {
	flavor := f.value("flavor_id")
	for _, g := range q.now.Groups {
		if g.IsDefault && g.Role != "master" {
			flavor = cmp.Or(flavor, g.FlavorID)
		}
	}
	return f.offered.price(flavor, f.number("node_count"))
}

func createGroup(q *request, f *form) (string, error) {
	o := nodegroups.CreateOpts{Name: f.value("name"), NodeCount: f.number("node_count"), FlavorID: f.value("flavor_id"), MaxNodeCount: f.number("max_node_count"), Labels: f.labels("labels")}
	if least := f.number("min_node_count"); least != nil {
		o.MinNodeCount = *least
	}
	if merge := len(o.Labels) > 0; merge {
		o.MergeLabels = &merge
	}
	c, err := q.api()
	if err != nil {
		return "", err
	}
	_, err = nodegroups.Create(q.ctx, c, q.id, o).Extract()
	return "/clusters/" + q.id, q.failed(words.T("the Magnum API"), err)
}

func deleteGroupForm(q *request) *form {
	g := q.found()
	name := cmp.Or(g.Name, q.group)
	return &form{Title: words.T("Delete the node group %s of %s", name, q.name()), Button: words.T("Delete the node group"), Danger: true, missing: q.missing(g), LossTitle: words.T("What will be lost"),
		Loss:   []words.Text{words.T("%s of this group, and what is on their own disks.", machines(g.NodeCount)), words.T("Pods that fit on no other machine wait until there is one.")},
		Fields: []field{{Name: "confirm", Label: words.T("Type the name of the group to delete it"), Kind: "text", Required: true, Hint: words.T("The name is %s.", name)}, {Name: "seen", Kind: "hidden", Value: strconv.Itoa(g.NodeCount)}}}
}

func checkDeleteGroup(q *request, f *form) {
	if name := cmp.Or(q.found().Name, q.group); f.value("confirm") != name {
		f.wrong("confirm", words.T("This is not the name of the group."))
	}
}

func removeGroup(q *request, f *form) (string, error) {
	g := q.found()
	if g.Name != "" && f.value("seen") != strconv.Itoa(g.NodeCount) {
		f.get("seen").Value = strconv.Itoa(g.NodeCount)
		return "", elsewhere{words.T("Somebody else has changed this group since you opened this page: it has %s now. Send the form again if you still want to delete it.", machines(g.NodeCount))}
	}
	c, err := q.api()
	if err != nil {
		return "", err
	}
	return "/clusters/" + q.id, q.failed(words.T("the Magnum API"), nodegroups.Delete(q.ctx, c, q.id, q.group).ExtractErr())
}
