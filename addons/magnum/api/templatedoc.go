package api

import (
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// name255 is the usual text of Magnum.
func name255(name string) attribute { return attribute{name: name, kind: text, min: 1, max: 255} }

func readOnly(names ...string) []attribute {
	var list []attribute
	for _, name := range names {
		list = append(list, attribute{name: name, readOnly: true})
	}
	return list
}

func ignored(names ...string) []attribute {
	var list []attribute
	for _, name := range names {
		list = append(list, attribute{name: name, ignored: true})
	}
	return list
}

// templateAttributes are the members of a template.
func templateAttributes() []attribute {
	list := []attribute{
		{name: "uuid", kind: uuidText}, name255("name"),
		{name: "coe", kind: text, enum: []string{"kubernetes"}, mandatory: true},
		{name: "image_id", kind: text, min: 1, max: 255, mandatory: true},
		{name: "server_type", kind: text, enum: []string{"vm", "bm"}},
		{name: "docker_volume_size", kind: integer, min: 1}, {name: "apiserver_port", kind: integer, min: 1024, max: 65535},
		{name: "dns_nameserver", kind: text}, {name: "tags", kind: text, max: 255}, {name: "labels", kind: stringMap},
	}
	for _, name := range strings.Fields(`external_network_id flavor_id master_flavor_id keypair_id fixed_network fixed_subnet network_driver volume_driver
		docker_storage_driver cluster_distro http_proxy https_proxy no_proxy insecure_registry driver`) {
		list = append(list, name255(name))
	}
	for _, name := range strings.Fields("registry_enabled tls_disabled master_lb_enabled floating_ip_enabled public hidden") {
		list = append(list, attribute{name: name, kind: boolean})
	}
	return append(list, readOnly("project_id", "user_id", "links", "created_at", "updated_at")...)
}

func templatePatch() patchable {
	return patchable{attributes: templateAttributes(), internal: alwaysInternal(),
		mandatory: strings.Fields("network_driver external_network_id tls_disabled public server_type coe registry_enabled cluster_distro hidden image_id"),
		defaults:  document{"floating_ip_enabled": true, "master_lb_enabled": false, "labels": map[string]string{}, "insecure_registry": nil}}
}

// null is nil for what is not set.
func null[T comparable](value T) any {
	var zero T
	if value == zero {
		return nil
	}
	return value
}

func number(n int32) any { return null(int64(n)) }

func labelsOrEmpty(labels map[string]string) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}

// templateDocument is a template as members of the REST API.
func templateDocument(t *v1alpha1.ClusterTemplate) document {
	v := &t.Spec.TemplateValues
	return document{
		"uuid": t.UUID(), "name": t.Title(), "coe": v.COE, "image_id": v.ImageID, "cluster_distro": null(v.ClusterDistro), "server_type": fallback(v.ServerType, "vm"),
		"driver": null(v.Driver), "flavor_id": null(v.FlavorID), "master_flavor_id": null(v.MasterFlavorID), "keypair_id": null(v.KeypairID),
		"external_network_id": null(v.ExternalNetworkID), "fixed_network": null(v.FixedNetwork), "fixed_subnet": null(v.FixedSubnet),
		"dns_nameserver": null(strings.Join(v.DNSNameservers, ",")), "network_driver": null(v.NetworkDriver), "volume_driver": null(v.VolumeDriver),
		"apiserver_port": number(v.APIServerPort), "docker_volume_size": number(v.DockerVolumeSize), "docker_storage_driver": null(v.DockerStorageDriver),
		"http_proxy": null(v.HTTPProxy), "https_proxy": null(v.HTTPSProxy), "no_proxy": null(v.NoProxy), "registry_enabled": v.RegistryEnabled,
		"insecure_registry": null(v.InsecureRegistry), "tls_disabled": v.TLSDisabled, "master_lb_enabled": v.MasterLBEnabled,
		"floating_ip_enabled": v.FloatingIPEnabled, "labels": labelsOrEmpty(v.Labels), "tags": null(t.Spec.Tags),
		"public": t.Spec.Public, "hidden": t.Spec.Hidden,
	}
}

// fill sets a template from its members; it is the inverse of
// templateDocument.
func fill(spec *v1alpha1.ClusterTemplateSpec, d document) {
	spec.Name, spec.Tags = d.text("name"), d.text("tags")
	spec.Public, spec.Hidden = d.flag("public", false), d.flag("hidden", false)
	spec.TemplateValues = v1alpha1.TemplateValues{
		COE: d.text("coe"), ImageID: d.text("image_id"), ClusterDistro: d.text("cluster_distro"), ServerType: fallback(d.text("server_type"), "vm"),
		Driver: d.text("driver"), FlavorID: d.text("flavor_id"), MasterFlavorID: d.text("master_flavor_id"), KeypairID: d.text("keypair_id"),
		ExternalNetworkID: d.text("external_network_id"), FixedNetwork: d.text("fixed_network"), FixedSubnet: d.text("fixed_subnet"),
		DNSNameservers: splitList(d.text("dns_nameserver")), NetworkDriver: d.text("network_driver"), VolumeDriver: d.text("volume_driver"),
		APIServerPort: int32(d.number("apiserver_port", 0)), DockerVolumeSize: int32(d.number("docker_volume_size", 0)), DockerStorageDriver: d.text("docker_storage_driver"),
		HTTPProxy: d.text("http_proxy"), HTTPSProxy: d.text("https_proxy"), NoProxy: d.text("no_proxy"), RegistryEnabled: d.flag("registry_enabled", false),
		InsecureRegistry: d.text("insecure_registry"), TLSDisabled: d.flag("tls_disabled", false), MasterLBEnabled: d.flag("master_lb_enabled", false),
		FloatingIPEnabled: d.flag("floating_ip_enabled", true), Labels: d.labels("labels"),
	}
}

func splitList(text string) []string {
	var list []string
	for _, item := range strings.Split(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// showTemplate is a template as clients get it.
func (c *call) showTemplate(t *v1alpha1.ClusterTemplate) document {
	d := templateDocument(t)
	d["project_id"], d["user_id"] = t.Spec.ProjectID, null(t.Spec.UserID)
	d["created_at"], d["updated_at"] = created(t), updated(t, nil)
	d["links"] = c.links("clustertemplates/" + t.UUID())
	return d
}

func templateListing(path string) listing[*v1alpha1.ClusterTemplate] {
	columns := map[string]func(*v1alpha1.ClusterTemplate) string{
		"id":         func(t *v1alpha1.ClusterTemplate) string { return padded(inventory.SortID(t)) },
		"project_id": func(t *v1alpha1.ClusterTemplate) string { return t.Spec.ProjectID },
		"user_id":    func(t *v1alpha1.ClusterTemplate) string { return t.Spec.UserID },
		"created_at": func(t *v1alpha1.ClusterTemplate) string { return created(t).(string) },
		"updated_at": func(t *v1alpha1.ClusterTemplate) string { return sortText(updated(t, nil)) },
	}
	for _, a := range templateAttributes() {
		if !a.readOnly && a.kind != stringMap {
			columns[a.name] = func(t *v1alpha1.ClusterTemplate) string { return sortText(templateDocument(t)[a.name]) }
		}
	}
	return listing[*v1alpha1.ClusterTemplate]{path, columns, (*v1alpha1.ClusterTemplate).UUID, isUUID}
}

// sortText is a member as text that sorts like it.
func sortText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case int64:
		return padded(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}
