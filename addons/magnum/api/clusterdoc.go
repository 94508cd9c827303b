package api

import (
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// clusterName is Magnum's rule for names of clusters.
var clusterName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_.-]*$`)

// clusterAttributes are the members of a cluster.
func clusterAttributes() []attribute {
	list := []attribute{
		{name: "name", kind: text, min: 1, max: 242, pattern: clusterName},
		{name: "cluster_template_id", kind: reference, min: 1, max: 255, mandatory: true},
		{name: "master_count", kind: integer, min: 1}, {name: "node_count", kind: integer}, {name: "docker_volume_size", kind: integer, min: 1},
		{name: "create_timeout", kind: integer}, {name: "discovery_url", kind: text}, {name: "labels", kind: stringMap},
	}
	for _, name := range []string{"keypair", "flavor_id", "master_flavor_id", "fixed_network", "fixed_subnet"} {
		list = append(list, name255(name))
	}
	for _, name := range []string{"merge_labels", "floating_ip_enabled", "master_lb_enabled"} {
		list = append(list, attribute{name: name, kind: boolean})
	}
	list = append(list, readOnly("links", "stack_id", "cluster_id", "api_address", "coe_version", "container_version", "project_id", "user_id",
		"node_addresses", "master_addresses", "created_at", "updated_at")...)
	return append(list, ignored("uuid", "status", "status_reason", "health_status", "health_status_reason", "faults", "labels_overridden", "labels_added", "labels_skipped")...)
}

// clusterPatch is what PATCH knows of a cluster.
func clusterPatch() patchable {
	attributes := slices.DeleteFunc(clusterAttributes(), func(a attribute) bool { return strings.HasPrefix(a.name, "health_") })
	for i := range attributes {
		attributes[i].readOnly = attributes[i].readOnly || attributes[i].ignored
	}
	attributes = append(attributes, attribute{name: "health_status", kind: text, enum: []string{"HEALTHY", "UNHEALTHY", "UNKNOWN"}},
		attribute{name: "health_status_reason", kind: stringMap})
	return patchable{attributes: attributes,
		internal: alwaysInternal("api_address", "node_addresses", "master_addresses", "stack_id", "cluster_id", "ca_cert_ref", "magnum_cert_ref",
			"etcd_ca_cert_ref", "front_proxy_ca_cert_ref"),
		mandatory: []string{"cluster_template_id"}, defaults: document{"node_count": int64(1), "master_count": int64(1)}}
}

// shortForm are the members of clusters in lists, without those
// that depend on the request.
func shortForm(v *inventory.View) document {
	c := v.Cluster
	masters, workers := v.Counts()
	return document{
		"uuid": c.UUID(), "name": c.Title(), "cluster_template_id": templateID(c), "keypair": null(c.Spec.Keypair), "docker_volume_size": number(c.Spec.DockerVolumeSize),
		"labels": labelsOrEmpty(c.EffectiveLabels()), "node_count": int64(workers), "master_count": int64(masters), "status": string(v.Phase()),
		"health_status": null(string(c.Status.HealthStatus)), "master_flavor_id": null(c.Spec.MasterFlavorID), "flavor_id": null(c.Spec.FlavorID),
		"create_timeout": createTimeout(c), "merge_labels": c.Spec.MergeLabels,
	}
}

// fullForm are the members of one cluster, without those that
// depend on the request.
func fullForm(v *inventory.View) document {
	d, c := shortForm(v), v.Cluster
	var above map[string]string
	floating, balanced := false, false
	if t := c.Spec.Template; t != nil {
		above, floating, balanced = t.Labels, t.FloatingIPEnabled, t.MasterLBEnabled
	}
	d["labels_overridden"], d["labels_added"], d["labels_skipped"] = threeMaps(c.EffectiveLabels(), above)
	d["floating_ip_enabled"], d["master_lb_enabled"] = choice(c.Spec.FloatingIPEnabled, floating), choice(c.Spec.MasterLBEnabled, balanced)
	d["status_reason"], d["api_address"], d["coe_version"] = null(c.Status.StatusReason), null(c.Status.APIAddress), null(c.Status.COEVersion)
	d["container_version"], d["discovery_url"] = null(c.Status.ContainerVersion), nil
	d["health_status_reason"] = nullMap(c.Status.HealthStatusReason)
	d["master_addresses"], d["node_addresses"] = addresses(v, true), addresses(v, false)
	d["fixed_network"], d["fixed_subnet"] = null(c.Spec.FixedNetwork), null(c.Spec.FixedSubnet)
	d["project_id"], d["user_id"] = c.Spec.ProjectID, null(c.Spec.UserID)
	d["created_at"], d["updated_at"] = created(c), updated(c, c.Status.UpdatedAt)
	return d
}

func threeMaps(own, above map[string]string) (any, any, any) {
	overridden, added, skipped := compareLabels(own, above)
	return overridden, added, skipped
}

func choice(own *bool, above bool) bool {
	if own != nil {
		return *own
	}
	return above
}

func createTimeout(c *v1alpha1.Cluster) any {
	if c.Spec.CreateTimeoutMinutes == nil {
		return nil
	}
	return int64(*c.Spec.CreateTimeoutMinutes)
}

// templateID is the uuid of the cluster's template; for a cluster whose template has not been
// copied yet, it is the name.
func templateID(c *v1alpha1.Cluster) string {
	if c.Spec.Template != nil {
		return c.Spec.Template.UUID
	}
	return c.Spec.TemplateRef.Name
}

func addresses(v *inventory.View, masters bool) []string {
	list := []string{}
	for _, g := range v.Groups {
		if inventory.Master(g) == masters {
			list = append(list, g.Status.NodeAddresses...)
		}
	}
	return list
}

// faults are the reasons of failed groups, nil unless the cluster has failed.
func faults(v *inventory.View) map[string]string {
	if !v.Phase().Failed() {
		return nil
	}
	reasons := map[string]string{}
	for _, g := range v.Groups {
		if g.EffectivePhase(v.Cluster).Failed() {
			reasons[g.Title()] = g.Status.StatusReason
		}
	}
	return reasons
}

// writeForm writes the text of a form without its end, so that what depends on the request can
// follow.
func writeForm(form func(*inventory.View) document) func(*inventory.View) []byte {
	return func(v *inventory.View) []byte {
		text, err := encode(form(v))
		if err != nil {
			return []byte("{") // maps of text do not fail
		}
		return text[:len(text)-1]
	}
}

// appendCluster appends a cluster in a form to a body. It copies text that was
// made when the cluster last changed, and adds links and the stack's name under
// the version's key.
func (c *call) appendCluster(body []byte, v *inventory.View, form inventory.Form) []byte {
	write := writeForm(shortForm)
	if form == inventory.Full {
		write = writeForm(fullForm)
	}
	body = append(body, v.Text(form, write)...)
	key := `,"stack_id":`
	if c.version >= 13 {
		key = `,"cluster_id":`
	}
	body = appendText(append(body, key...), v.Cluster.Stack())
	path := "clusters/" + v.Cluster.UUID()
	body = append(body, `,"links":[{"rel":"self","href":`...)
	body = appendText(body, c.base+"/v1/"+path)
	body = append(body, `},{"rel":"bookmark","href":`...)
	body = appendText(body, c.base+"/"+path)
	return append(body, `}]}`...)
}

// appendText appends a text as JSON. Nearly all texts are written as they are: lists of a thousand
// clusters would spend most of their time in an encoder.
func appendText(body []byte, text string) []byte {
	if plain(text) {
		body = append(append(body, '"'), text...)
		return append(body, '"')
	}
	quoted, err := encode(text)
	if err != nil {
		return append(body, `""`...) // text does not fail
	}
	return append(body, quoted...)
}

// plain reports whether a text is the same in JSON.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// nullMap returns nil for an empty map.
func nullMap(m map[string]string) any {
	if len(m) == 0 {
		return nil
	}
	return m
}

// clusterListing sorts clusters by the columns of Magnum's table.
func clusterListing(path string) listing[*inventory.View] {
	columns := map[string]func(*inventory.View) string{
		"id":       func(v *inventory.View) string { return padded(v.ID) },
		"stack_id": func(v *inventory.View) string { return v.Cluster.Stack() },
	}
	for _, name := range strings.Fields(`uuid name cluster_template_id keypair docker_volume_size status health_status master_flavor_id flavor_id create_timeout
		status_reason api_address coe_version container_version fixed_network fixed_subnet floating_ip_enabled master_lb_enabled project_id user_id
		created_at updated_at node_count master_count`) {
		columns[name] = func(v *inventory.View) string { return sortText(fullForm(v)[name]) }
	}
	return listing[*inventory.View]{path, columns, func(v *inventory.View) string { return v.Cluster.UUID() }, isUUID}
}
