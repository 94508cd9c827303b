package tenant

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clusters"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clustertemplates"

	"github.com/slipway-sh/slipway/internal/console/words"
)

// clusterName is Magnum's rule for names of clusters.
var clusterName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_.-]*$`)

const longestClusterName = 242

func createForm(q *request) *form {
	c := q.offer()
	return &form{Title: words.T("New cluster"), Button: words.T("Create the cluster"), Back: "/clusters", Intro: c.intro(), trouble: c.trouble, offered: c, Fields: []field{
		{Name: "name", Label: words.T("Name"), Kind: "text", Required: true, Hint: words.T("It begins with a letter; letters, digits, dots, dashes and underscores may follow.")},
		either(field{Name: "cluster_template_id", Label: words.T("Cluster template and Kubernetes version"), Required: true, Hint: words.T("It decides the image of the machines and what else you leave empty.")}, c.templateOptions(), words.T("Choose one")),
		{Name: "master_count", Label: words.T("Control plane machines"), Kind: "number", Value: "1", Required: true, Least: 1, Hint: words.T("An odd number: 3 keep working when one fails, 1 does not.")},
		{Name: "node_count", Label: words.T("Workers"), Kind: "number", Value: "1", Required: true},
		either(field{Name: "master_flavor_id", Label: words.T("Flavor of the control plane")}, c.flavors, words.T("As in the template")),
		either(field{Name: "flavor_id", Label: words.T("Flavor of the workers")}, c.flavors, words.T("As in the template")),
		either(field{Name: "fixed_network", Label: words.T("Network"), Hint: words.T("Empty is the template's, or a new one.")}, c.networks, words.T("As in the template, or a new one")),
		either(field{Name: "keypair", Label: words.T("Key pair"), Hint: words.T("For SSH to the machines.")}, c.keypairs, words.T("None, or the template's")),
		{Name: "labels", Label: words.T("Labels"), Kind: "area", Hint: words.T("One key=value in each line, over those of the template.")},
	}}
}

// checkCreate says what is wrong with the fields of a new cluster.
func checkCreate(_ *request, f *form) {
	f.labels("labels")
	name := f.value("name")
	if !clusterName.MatchString(name) {
		f.wrong("name", words.T("A name begins with a letter, and has letters, digits, dots, dashes and underscores."))
	} else if len(name) > longestClusterName {
		f.wrong("name", words.T("This has %d characters; %d is the most.", len(name), longestClusterName))
	}
	f.odd("master_count")
}

// odd wants a number of control planes of which a majority is left when one fails.
func (f *form) odd(field string) {
	if n := f.number(field); n != nil && *n%2 == 0 {
		f.wrong(field, words.T("This must be odd, so that a majority is left when one fails."))
	}
}

// knownCreate says what the cloud does not have, or has no room for.
func knownCreate(q *request, f *form) {
	c := f.offered
	if t := f.value("cluster_template_id"); t != "" && len(c.templates) > 0 && c.template(t) == nil {
		f.wrong("cluster_template_id", words.T("There is no cluster template %q that you can use.", t))
	}
	for _, name := range []string{"flavor_id", "master_flavor_id"} {
		f.unknown(name, slices.Collect(maps.Keys(c.sizes)), noFlavor)
	}
	f.unknown("keypair", c.owned, func(value string) words.Text { return words.T("There is no key pair %q that you can use.", value) })
	f.unknown("fixed_network", c.reachable, func(value string) words.Text { return words.T("There is no network %q that you can use.", value) })
	f.roomFor(costCreate(q, f), "node_count")
}

// costCreate is what the machines of a new cluster take.
func costCreate(_ *request, f *form) cost {
	c, master, worker := f.offered, f.value("master_flavor_id"), f.value("flavor_id")
	if t := c.template(f.value("cluster_template_id")); t != nil {
		master, worker = cmp.Or(master, t.MasterFlavorID), cmp.Or(worker, t.FlavorID)
	}
	return c.price(master, f.number("master_count")).plus(c.price(worker, f.number("node_count")))
}

// create sends a new cluster.
func create(q *request, f *form) (string, error) {
	labels, name := f.labels("labels"), f.value("name")
	c, err := q.api()
	if err != nil {
		return "", err
	}
	merge := len(labels) > 0
	o := clusters.CreateOpts{Name: name, ClusterTemplateID: f.value("cluster_template_id"), MasterCount: f.number("master_count"), NodeCount: f.number("node_count"),
		MasterFlavorID: f.value("master_flavor_id"), FlavorID: f.value("flavor_id"), FixedNetwork: f.value("fixed_network"), Keypair: f.value("keypair"), Labels: labels}
	if merge {
		o.MergeLabels = &merge
	}
	id, err := clusters.Create(q.ctx, c, o).Extract()
	if err != nil {
		return "", q.failed(words.T("the Magnum API"), err)
	}
	return "/clusters/" + id, nil
}

// labels reads lines of key=value.
func (f *form) labels(name string) map[string]string {
	labels := map[string]string{}
	for line := range strings.SplitSeq(f.value(name), "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			f.wrong(name, words.T("The line %q is not key=value.", line))
			continue
		}
		labels[key] = strings.TrimSpace(value)
	}
	return labels
}

// upgradeForm offers the other templates, and says what an upgrade replaces.
func upgradeForm(q *request) *form {
	c := q.offer()
	var others []option
	for _, o := range c.templateOptions() {
		if o.Value != q.now.ClusterTemplateID {
			others = append(others, o)
		}
	}
	f := &form{Title: words.T("Upgrade %s", q.name()), Button: words.T("Upgrade the cluster"), LossTitle: words.T("What is replaced"), trouble: c.trouble, Fields: []field{
		either(field{Name: "cluster_template", Label: words.T("New cluster template and Kubernetes version"), Required: true, Hint: words.T("Kubernetes goes up one minor version at a time, and never down.")}, others, words.T("Choose one")),
		{Name: "seen", Kind: "hidden", Value: q.now.ClusterTemplateID},
	}}
	f.Intro = words.T("The cluster has Kubernetes %s, by the template %s.", q.now.COEVersion, templateName(c.templates, q.now.ClusterTemplateID))
	if q.now.COEVersion == "" {
		f.Intro = words.T("The cluster has Kubernetes of a version that is not known yet, by the template %s.", templateName(c.templates, q.now.ClusterTemplateID))
	}
	for _, g := range q.now.Groups {
		switch {
		case g.IsDefault && g.Role == "master":
			f.Loss = append(f.Loss, words.T("%s: %s, one after the other. With one machine the API is away meanwhile.", g.Name, machines(g.NodeCount)))
		case g.IsDefault:
			f.Loss = append(f.Loss, words.T("%s: %s, one after the other. Their pods move to other machines, what is on their own disks is lost.", g.Name, machines(g.NodeCount)))
		default:
			f.Loss = append(f.Loss, words.T("%s: nothing now. Its %s keep the image of the group.", g.Name, machines(g.NodeCount)))
		}
	}
	return f
}

func templateName(all []clustertemplates.ClusterTemplate, id string) string {
	for _, t := range all {
		if t.UUID == id {
			return t.Name
		}
	}
	return id
}

func machines(n int) words.Text { return words.T("%d machines", n) }

func upgrade(q *request, f *form) (string, error) {
	if seen := f.value("seen"); q.now.UUID != "" && seen != q.now.ClusterTemplateID {
		f.get("seen").Value = q.now.ClusterTemplateID
		return "", elsewhere{words.T("Somebody else has changed the template of this cluster since you opened this page. Look at it again before you upgrade.")}
	}
	c, err := q.api()
	if err != nil {
		return "", err
	}
	_, err = clusters.Upgrade(q.ctx, c, q.id, clusters.UpgradeOpts{ClusterTemplate: f.value("cluster_template")}).Extract()
	return "/clusters/" + q.id, q.failed(words.T("the Magnum API"), err)
}
