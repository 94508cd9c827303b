package database

import (
	"encoding/json"
	"slices"
)

// Column is a column that can be written, and what a row has in it: nil, text,
// int32 or bool.
type Column[T any] struct {
	Name  string
	Value func(*T) any
	// Told columns are what Magnum's periodic tasks find out by themselves, so that
	// both sides may have changed them.
	Told bool
}

// The encodings are Magnum's: an empty text is NULL, dictionaries and lists are JSON.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func size(n int32) any {
	if n == 0 {
		return nil
	}
	return n
}

func optional(n *int32) any {
	if n == nil {
		return nil
	}
	return *n
}

func document(value any, empty string) any {
	encoded, err := json.Marshal(value)
	if err != nil || string(encoded) == "null" {
		return empty
	}
	return string(encoded)
}

// TemplateColumns are those of cluster_template.
func TemplateColumns() []Column[Template] {
	t := func(name string, get func(*Template) string) Column[Template] {
		return Column[Template]{Name: name, Value: func(r *Template) any { return text(get(r)) }}
	}
	b := func(name string, get func(*Template) bool) Column[Template] {
		return Column[Template]{Name: name, Value: func(r *Template) any { return get(r) }}
	}
	return []Column[Template]{
		t("name", func(r *Template) string { return r.Name }), t("project_id", func(r *Template) string { return r.ProjectID }),
		t("user_id", func(r *Template) string { return r.UserID }), t("image_id", func(r *Template) string { return r.ImageID }),
		t("flavor_id", func(r *Template) string { return r.FlavorID }), t("master_flavor_id", func(r *Template) string { return r.MasterFlavorID }),
		t("keypair_id", func(r *Template) string { return r.KeypairID }), t("external_network_id", func(r *Template) string { return r.ExternalNetworkID }),
		t("fixed_network", func(r *Template) string { return r.FixedNetwork }), t("fixed_subnet", func(r *Template) string { return r.FixedSubnet }),
		t("network_driver", func(r *Template) string { return r.NetworkDriver }), t("volume_driver", func(r *Template) string { return r.VolumeDriver }),
		t("dns_nameserver", func(r *Template) string { return r.DNSNameserver }), t("docker_storage_driver", func(r *Template) string { return r.DockerStorageDriver }),
		t("cluster_distro", func(r *Template) string { return r.ClusterDistro }), t("coe", func(r *Template) string { return r.COE }),
		t("server_type", func(r *Template) string { return r.ServerType }), t("http_proxy", func(r *Template) string { return r.HTTPProxy }),
		t("https_proxy", func(r *Template) string { return r.HTTPSProxy }), t("no_proxy", func(r *Template) string { return r.NoProxy }),
		t("insecure_registry", func(r *Template) string { return r.InsecureRegistry }), t("tags", func(r *Template) string { return r.Tags }),
		t("driver", func(r *Template) string { return r.Driver }),
		b("registry_enabled", func(r *Template) bool { return r.RegistryEnabled }), b("tls_disabled", func(r *Template) bool { return r.TLSDisabled }),
		b("public", func(r *Template) bool { return r.Public }), b("hidden", func(r *Template) bool { return r.Hidden }),
		b("master_lb_enabled", func(r *Template) bool { return r.MasterLBEnabled }), b("floating_ip_enabled", func(r *Template) bool { return r.FloatingIPEnabled }),
		{Name: "apiserver_port", Value: func(r *Template) any { return size(r.APIServerPort) }},
		{Name: "docker_volume_size", Value: func(r *Template) any { return size(r.DockerVolumeSize) }},
		{Name: "labels", Value: func(r *Template) any { return document(r.Labels, "{}") }},
	}
}

// ClusterColumns are those of cluster. Of container_version Magnum's driver knows
// nothing; it would be wrong from its next upgrade on.
func ClusterColumns() []Column[Cluster] {
	t := func(name string, told bool, get func(*Cluster) string) Column[Cluster] {
		return Column[Cluster]{Name: name, Told: told, Value: func(r *Cluster) any { return text(get(r)) }}
	}
	return []Column[Cluster]{
		t("name", false, func(r *Cluster) string { return r.Name }), t("project_id", false, func(r *Cluster) string { return r.ProjectID }),
		t("user_id", false, func(r *Cluster) string { return r.UserID }), t("cluster_template_id", false, func(r *Cluster) string { return r.TemplateID }),
		t("keypair", false, func(r *Cluster) string { return r.Keypair }), t("master_flavor_id", false, func(r *Cluster) string { return r.MasterFlavorID }),
		t("flavor_id", false, func(r *Cluster) string { return r.FlavorID }), t("stack_id", false, func(r *Cluster) string { return r.StackID }),
		t("fixed_network", false, func(r *Cluster) string { return r.FixedNetwork }), t("fixed_subnet", false, func(r *Cluster) string { return r.FixedSubnet }),
		t("api_address", true, func(r *Cluster) string { return r.APIAddress }), t("coe_version", true, func(r *Cluster) string { return r.COEVersion }),
		t("status", true, func(r *Cluster) string { return r.Status }), t("status_reason", true, func(r *Cluster) string { return r.StatusReason }),
		t("health_status", true, func(r *Cluster) string { return r.HealthStatus }),
		{Name: "health_status_reason", Told: true, Value: func(r *Cluster) any { return document(r.HealthStatusReason, "{}") }},
		{Name: "docker_volume_size", Value: func(r *Cluster) any { return size(r.DockerVolumeSize) }},
		{Name: "labels", Value: func(r *Cluster) any { return document(r.Labels, "{}") }},
		{Name: "create_timeout", Value: func(r *Cluster) any { return optional(r.CreateTimeout) }},
		{Name: "floating_ip_enabled", Value: func(r *Cluster) any { return r.FloatingIPEnabled }},
		{Name: "master_lb_enabled", Value: func(r *Cluster) any { return r.MasterLBEnabled }},
	}
}

// GroupColumns are those of nodegroup. Addresses and versions of groups are never
// filled in by Magnum's driver.
func GroupColumns() []Column[NodeGroup] {
	t := func(name string, told bool, get func(*NodeGroup) string) Column[NodeGroup] {
		return Column[NodeGroup]{Name: name, Told: told, Value: func(r *NodeGroup) any { return text(get(r)) }}
	}
	return []Column[NodeGroup]{
		t("name", false, func(r *NodeGroup) string { return r.Name }), t("cluster_id", false, func(r *NodeGroup) string { return r.ClusterID }),
		t("project_id", false, func(r *NodeGroup) string { return r.ProjectID }), t("role", false, func(r *NodeGroup) string { return r.Role }),
		t("flavor_id", false, func(r *NodeGroup) string { return r.FlavorID }), t("image_id", false, func(r *NodeGroup) string { return r.ImageID }),
		t("stack_id", false, func(r *NodeGroup) string { return r.StackID }),
		t("status", true, func(r *NodeGroup) string { return r.Status }), t("status_reason", true, func(r *NodeGroup) string { return r.StatusReason }),
		{Name: "docker_volume_size", Value: func(r *NodeGroup) any { return size(r.DockerVolumeSize) }},
		{Name: "labels", Value: func(r *NodeGroup) any { return document(r.Labels, "{}") }},
		{Name: "node_labels", Value: func(r *NodeGroup) any { return document(r.NodeLabels, "{}") }},
		{Name: "node_taints", Value: func(r *NodeGroup) any { return document(r.NodeTaints, "[]") }},
		{Name: "node_count", Value: func(r *NodeGroup) any { return r.NodeCount }},
		{Name: "min_node_count", Value: func(r *NodeGroup) any { return r.MinNodeCount }},
		{Name: "max_node_count", Value: func(r *NodeGroup) any { return optional(r.MaxNodeCount) }},
		{Name: "is_default", Value: func(r *NodeGroup) any { return r.IsDefault }},
	}
}

// QuotaColumns are those of quotas.
func QuotaColumns() []Column[Quota] {
	return []Column[Quota]{
		{Name: "project_id", Value: func(r *Quota) any { return text(r.ProjectID) }},
		{Name: "resource", Value: func(r *Quota) any { return text(r.Resource) }},
		{Name: "hard_limit", Value: func(r *Quota) any { return r.HardLimit }},
	}
}

// Difference is what two sides have in a column.
type Difference struct {
	Column  string `json:"column"`
	Magnum  any    `json:"magnum"`
	Slipway any    `json:"slipway"`
}

// Versions are a row as Magnum had it when it was moved in, as it has it now, and
// what Slipway's resource says of it: then, and now.
type Versions[T any] struct{ Then, Now, Was, Is *T }

// Merge says which columns Slipway changed since, and where Magnum has neither what
// it had then nor what Slipway says. Without Then, all that differs is Slipway's.
func Merge[T any](columns []Column[T], v Versions[T]) (changed, conflicts []Difference) {
	for _, c := range columns {
		now, is := c.Value(v.Now), c.Value(v.Is)
		if now == is {
			continue
		}
		differs := Difference{c.Name, now, is}
		lost := is == nil && slices.Contains([]string{"api_address", "coe_version"}, c.Name)
		switch {
		case lost: // Slipway has not looked yet
		case c.Told || v.Then == nil:
			changed = append(changed, differs)
		case now != c.Value(v.Then):
			conflicts = append(conflicts, differs)
		case c.Value(v.Was) != is:
			changed = append(changed, differs)
		}
	}
	return changed, conflicts
}

// NewRow are all columns of a row.
func NewRow[T any](columns []Column[T], row *T) []Difference {
	var all []Difference
	for _, c := range columns {
		all = append(all, Difference{c.Name, nil, c.Value(row)})
	}
	return all
}
