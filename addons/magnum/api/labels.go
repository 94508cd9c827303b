package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// knownLabels are the labels of either Cluster API driver of Magnum (facts
// 5.1.4, 5.2.2), and csi_snapshots_enabled and kubelet_serving_certificates, which are
// Slipway's own.
const knownLabels = `admission_control_list api_master_lb_allowed_cidrs api_server_cert_sans api_server_floating_ip api_server_lb_availability_zone
api_server_lb_flavor api_server_tls_cipher_suites audit_log_enabled audit_log_max_age audit_log_max_backup audit_log_max_size audit_log_maxage
audit_log_maxbackup audit_log_maxsize auto_healing_enabled auto_scaling_enabled availability_zone boot_volume_availability_zone boot_volume_size
boot_volume_type calico_ipv4pool calico_tag capi_helm_chart_version cilium_hubble_ui_enabled cilium_ipv4pool cilium_tag cinder_csi_enabled
cinder_csi_plugin_tag cloud_provider_tag container_infra_prefix control_plane_availability_zones csi_attacher_tag csi_cinder_allow_volume_expansion
csi_cinder_availability_zone csi_cinder_fstype csi_cinder_reclaim_policy csi_cinder_volume_binding_mode csi_liveness_probe_tag
csi_node_driver_registrar_tag csi_provisioner_tag csi_resizer_tag csi_snapshots_enabled csi_snapshotter_tag different_failure_domain dns_cluster_domain docker_volume_type
etcd_blockdevice_size etcd_blockdevice_type etcd_blockdevice_volume_az etcd_blockdevice_volume_type etcd_volume_size etcd_volume_type
extra_network_name extra_network_names fixed_subnet_cidr keystone_auth_enabled kube_dashboard_enabled kube_tag kubelet_serving_certificates kubelet_tls_cipher_suites
manila_csi_enabled manila_csi_plugin_tag manila_csi_share_network_id master_lb_floating_ip_enabled max_node_count min_node_count monitoring_enabled
octavia_lb_algorithm octavia_lb_healthcheck octavia_provider oidc_client_id oidc_groups_claim oidc_groups_prefix oidc_issuer_url oidc_username_claim
oidc_username_prefix server_group_policies service_cluster_ip_range`

// warnLabels warns the client, in Warning headers (RFC 7234 5.5), of labels that nothing reads.
// They are kept: another version may read them.
func (c *call) warnLabels(labels map[string]string) {
	known := strings.Fields(knownLabels)
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if !slices.Contains(known, name) && printable(name) {
			c.w.Header().Add("Warning", fmt.Sprintf("299 slipway %q", "the label "+name+" has no effect"))
		}
	}
}

// printable prevents header injection.
func printable(name string) bool {
	return len(name) <= 255 && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' })
}

// compareLabels compares an object's own labels with those of its parent: overridden has the
// parent's values, added the labels that only the object has, skipped those that only the parent
// has. The maps are never nil.
func compareLabels(own, above map[string]string) (overridden, added, skipped map[string]string) {
	overridden, added, skipped = map[string]string{}, map[string]string{}, map[string]string{}
	for name, value := range own {
		other, ok := above[name]
		switch {
		case !ok:
			added[name] = value
		case other != value:
			overridden[name] = other
		}
	}
	for name, value := range above {
		if _, ok := own[name]; !ok {
			skipped[name] = value
		}
	}
	return overridden, added, skipped
}

// chooseLabels is the rule for labels: without given labels, the parent's apply; given ones replace
// them or, with merge, are put over them.
func chooseLabels(given, above map[string]string, merge bool) map[string]string {
	if len(given) == 0 {
		return maps.Clone(above)
	}
	if !merge {
		return given
	}
	all := map[string]string{}
	maps.Copy(all, above)
	maps.Copy(all, given)
	return all
}
