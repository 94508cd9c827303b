package migrate

import "fmt"

// azimuthRules say where the variables of azimuth-ops go.
func azimuthRules() map[string]rule {
	const zones = "write the ones that you want"
	return map[string]rule{
		"infra_external_network_id":     {to: "externalNetwork", convert: text},
		"infra_network_id":              {to: "seed.network.existing", convert: text},
		"infra_network_cidr":            {to: "seed.network.cidr", convert: text},
		"infra_network_mtu":             {to: "seed.network.mtu", convert: number},
		"infra_network_dns_nameservers": {to: "seed.network.dnsNameservers", convert: texts},
		"infra_provisioning_network_id": {to: "seed.provisioningNetwork", convert: text},
		"infra_fixed_floatingip":        {to: "seed.floatingIP.address", convert: text},
		"infra_floatingip_pool":         {to: "seed.floatingIP.pool", convert: text},
		"infra_use_floatingip": {to: "seed.floatingIP.mode", convert: func(v any) (any, bool, error) {
			yes, err := boolean(v)
			return "none", err == nil && !yes, err
		}},
		"infra_flavor_id":                                {to: "seed.flavor", convert: text},
		"infra_root_volume_size":                         {to: "seed.rootVolume.sizeGiB", convert: number},
		"infra_root_volume_type":                         {to: "seed.rootVolume.type", convert: text},
		"infra_data_volume_size":                         {to: "seed.dataVolume.sizeGiB", convert: number},
		"infra_data_volume_type":                         {to: "seed.dataVolume.type", convert: text},
		"infra_exposed_port_ranges":                      {to: "seed.access.rules", convert: portRanges, text: "the ports are open to all addresses, as before; name the address ranges that need them"},
		"infra_image_id":                                 {text: "the seed needs an image with k3s; Slipway uploads the bundle's"},
		"infra_name":                                     {text: "resources are called <environment>-<step>"},
		"capi_cluster_cloud_name":                        {to: "cloud", convert: text},
		"capi_cluster_openstack_ca_cert_file":            {to: "caBundle", convert: text, text: "the path is relative to the environment file"},
		"capi_cluster_kubernetes_version":                {text: "the bundle has the tested version; set spec.managementCluster.kubernetesVersion and an image for another"},
		"capi_cluster_machine_image_id":                  {text: "Slipway uploads the bundle's image; set spec.managementCluster.image for another"},
		"capi_cluster_control_plane_count":               {to: "managementCluster.controlPlane.count", convert: number},
		"capi_cluster_control_plane_flavor":              {to: "managementCluster.controlPlane.flavor", convert: text},
		"capi_cluster_control_plane_failure_domains":     {to: "managementCluster.controlPlane.availabilityZones", convert: texts},
		"capi_cluster_control_plane_omit_failure_domain": {text: "without availability zones the scheduler chooses: " + zones},
		"capi_cluster_control_plane_root_volume_size":    {to: "managementCluster.controlPlane.rootVolume.sizeGiB", convert: number},
		"capi_cluster_control_plane_root_volume_type":    {to: "managementCluster.controlPlane.rootVolume.type", convert: text},
		"capi_cluster_etcd_blockdevice_size":             {to: "managementCluster.controlPlane.etcdVolume.sizeGiB", convert: number},
		"capi_cluster_etcd_blockdevice_volume_type":      {to: "managementCluster.controlPlane.etcdVolume.type", convert: text},
		"capi_cluster_pods_cidr":                         {to: "managementCluster.podCIDR", convert: text},
		"capi_cluster_services_cidr":                     {to: "managementCluster.serviceCIDR", convert: text},
		"capi_cluster_apiserver_floating_ip":             {to: "managementCluster.apiServer.floatingIP", convert: truth},
		"capi_cluster_apiserver_loadbalancer_provider":   {to: "managementCluster.apiServer.loadBalancerProvider", convert: text},
		"capi_cluster_release_overrides":                 {to: "managementCluster.values", convert: tree, text: "check each value: Slipway's chart refuses what it does not know"},
		"capi_cluster_service_account_enabled": {to: "managementCluster.kubeconfig.token", convert: func(v any) (any, bool, error) {
			yes, err := boolean(v)
			return map[string]any{}, yes, err
		}},
		"capi_cluster_registry_mirrors":                        {to: "registries", convert: mirrors},
		"capi_cluster_volumes_policy":                          {to: "volumesPolicy", convert: text},
		"capi_cluster_chart_version":                           {text: "Slipway has a chart of its own; spec.managementCluster.chart names another"},
		"capi_cluster_dns_nameservers":                         {text: "nodes are on the seed's network: set spec.seed.network.dnsNameservers"},
		"capi_cluster_control_plane_node_security_group_rules": {text: "open ports with spec.managementCluster.values"},
		"capi_cluster_worker_node_security_group_rules":        {text: "open ports with spec.managementCluster.values"},
		"terraform_backend_type":                               {text: "Slipway keeps a state of its own: spec.state.backend"},
		"terraform_backend_config":                             {text: "Slipway keeps a state of its own: spec.state.backend"},
	}
}

// azimuthFamilies are variables of parts that Slipway does not have, or has otherwise.
func azimuthFamilies() []family {
	return []family{
		{"azimuth_", "the portal is not a part of Slipway"},
		{"ingress_", "the portal is not a part of Slipway"},
		{"harbor_", "the portal is not a part of Slipway"},
		{"zenith_", "the portal is not a part of Slipway"},
		{"keycloak_", "the portal is not a part of Slipway"},
		{"community_images_", "list node images in spec.images: docs/guides/images.md"},
		{"infra_image_", "the seed needs an image with k3s; Slipway uploads the bundle's"},
		{"k3s_", "the bundle has k3s; spec.seed.k3s.config has its settings"},
		{"clusterapi_", "the bundle has the versions; spec.clusterAPI.providers has feature gates and arguments"},
		{"certmanager_", "the bundle has cert-manager"},
		{"capi_cluster_addons_", "write the chart's values in spec.managementCluster.values.addons"},
		{"velero_", "Slipway does not run Velero"},
		{"alertmanager_", "write the chart's values in spec.managementCluster.values"},
		{"terraform_", "Slipway does not use OpenTofu"},
	}
}

func tree(value any) (any, bool, error) {
	m, ok := value.(map[string]any)
	if !ok {
		return nil, false, fmt.Errorf("%v is not a map", value)
	}
	return m, len(m) > 0, nil
}

// portRanges are rules with min and max.
func portRanges(value any) (any, bool, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, false, fmt.Errorf("%v is not a list", value)
	}
	rules := []any{}
	for _, one := range list {
		entry, ok := one.(map[string]any)
		if !ok {
			return nil, false, fmt.Errorf("%v is not a range of ports", one)
		}
		first, err := integer(entry["min"])
		if err != nil {
			return nil, false, fmt.Errorf("the range %v: %w", entry["name"], err)
		}
		r := map[string]any{"protocol": "tcp", "port": first, "cidrs": []any{"0.0.0.0/0"}}
		if last, err := integer(entry["max"]); err == nil && last != first {
			r["endPort"] = last
		}
		rules = append(rules, r)
	}
	return rules, len(rules) > 0, nil
}

// mirrors are lists of URLs by registry.
func mirrors(value any) (any, bool, error) {
	all, ok := value.(map[string]any)
	if !ok {
		return nil, false, fmt.Errorf("%v is not a map", value)
	}
	registries := map[string]any{}
	for host, one := range all {
		urls, ok := one.([]any)
		if !ok {
			urls = []any{one}
		}
		list := []any{}
		for _, u := range urls {
			if entry, ok := u.(map[string]any); ok { // {url, capabilities}
				u = entry["url"]
			}
			address, ok := u.(string)
			if !ok {
				return nil, false, fmt.Errorf("mirror %v of %s is not a URL", u, host)
			}
			list = append(list, address)
		}
		registries[host] = map[string]any{"mirrors": list}
	}
	return registries, len(registries) > 0, nil
}
