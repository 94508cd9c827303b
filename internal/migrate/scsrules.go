package migrate

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// scsNames are the names of clusterctl.yaml, and those of old releases, for today's names
// of OpenTofu's variables.
func scsNames() map[string]string {
	return map[string]string{
		"OPENSTACK_CLOUD": "cloud_provider", "OPENSTACK_EXTERNAL_NETWORK_ID": "external_id", "OPENSTACK_DNS_NAMESERVERS": "dns_nameservers",
		"OPENSTACK_FAILURE_DOMAIN": "availability_zone", "MTU_VALUE": "kind_mtu", "NODE_CIDR": "node_cidr", "POD_CIDR": "pod_cidr", "SERVICE_CIDR": "service_cidr",
		"USE_CILIUM": "use_cilium", "CALICO_VERSION": "calico_version", "KUBERNETES_VERSION": "kubernetes_version", "OPENSTACK_IMAGE_RAW": "kube_image_raw",
		"OPENSTACK_CONTROL_PLANE_MACHINE_FLAVOR": "controller_flavor", "OPENSTACK_NODE_MACHINE_FLAVOR": "worker_flavor",
		"CONTROL_PLANE_MACHINE_COUNT": "controller_count", "WORKER_MACHINE_COUNT": "worker_count", "OPENSTACK_ANTI_AFFINITY": "anti_affinity",
		"RESTRICT_KUBEAPI": "restrict_kubeapi", "DEPLOY_METRICS": "deploy_metrics", "DEPLOY_NGINX_INGRESS": "deploy_nginx_ingress",
		"NGINX_INGRESS_PROXY": "nginx_ingress_proxy",
		"USE_OVN_LB_PROVIDER": "use_ovn_lb_provider", "ETCD_UNSAFE_FS": "etcd_unsafe_fs", "DEPLOY_OCCM": "deploy_occm", "DEPLOY_CINDERCSI": "deploy_cindercsi",
		"DEPLOY_CERT_MANAGER": "deploy_cert_manager", "DEPLOY_FLUX": "deploy_flux", "DEPLOY_HARBOR": "deploy_harbor", "HARBOR_DOMAIN_NAME": "harbor_config", "DEPLOY_GATEWAY_API": "deploy_gateway_api",
		"OPENSTACK_ANTIAFFINITY": "anti_affinity", "deploy_metrics_service": "deploy_metrics", "dns_nameserver": "dns_nameservers",
		"deploy_k8s_openstack_git": "deploy_occm", "deploy_k8s_cindercsi_git": "deploy_cindercsi",
	}
}

// scsRules say where the settings of the management server go.
func scsRules() map[string]rule {
	return map[string]rule{
		"prefix":                         {text: "it is the name of the environment"},
		"cloud_provider":                 {to: "cloud", convert: text},
		"external":                       {to: "externalNetwork", convert: text},
		"external_id":                    {to: "externalNetwork", convert: text},
		"dns_nameservers":                {to: "seed.network.dnsNameservers", convert: texts, text: "workload clusters on networks of their own need clusterNetworking.dnsNameservers too"},
		"availability_zone":              {to: "seed.availabilityZone", convert: text, text: "workload clusters need their own: controlPlane.failureDomains and nodeGroups[].failureDomain"},
		"kind_flavor":                    {to: "seed.flavor", convert: text, text: "the seed needs 2 vCPUs and 8 GiB of memory"},
		"kind_mtu":                       {to: "seed.network.mtu", convert: number},
		"mgmt_cidr":                      {to: "seed.network.cidr", convert: text},
		"mgmt_ip_range":                  {to: "seed.network.allocationPools", convert: pool},
		"restrict_mgmt_server":           {to: "seed.access.sshCIDRs", convert: texts},
		"http_proxy":                     {to: "proxy.httpProxy", convert: text, text: "for https:// addresses set spec.proxy.httpsProxy"},
		"no_proxy":                       {to: "proxy.noProxy", convert: texts},
		"image":                          {text: "the seed needs an image with k3s; Slipway uploads the bundle's"},
		"ssh_username":                   {text: "it is the image's"},
		"clusterapi_version":             {text: "the bundle has the versions that were tested together"},
		"capi_openstack_version":         {text: "the bundle has the versions that were tested together"},
		"cilium_binaries":                {text: "Slipway installs no programs for cilium"},
		"git_reference":                  {text: "everything is in the program and the bundle"},
		"git_repo":                       {text: "everything is in the program and the bundle"},
		"capo_instance_create_timeout":   {text: "Slipway waits for causes, not for a time"},
		"containerd_registry_files":      {text: "name mirrors in spec.registries"},
		"image_registration_extra_flags": {text: "list node images in spec.images: docs/guides/images.md"},
		"kube_image_raw":                 {text: "list node images in spec.images with convert: raw: docs/guides/images.md"},
	}
}

// scsClusterRules say where the settings of the test cluster go, below the chart's values;
// "workers." is its node group.
func scsClusterRules() map[string]rule {
	return map[string]rule{
		"node_cidr":            {to: "clusterNetworking.internalNetwork.nodeCidr", convert: text},
		"pod_cidr":             {to: "kubeNetwork.pods.cidrBlocks", convert: texts},
		"service_cidr":         {to: "kubeNetwork.services.cidrBlocks", convert: texts},
		"controller_flavor":    {to: "controlPlane.machineFlavor", convert: text},
		"controller_count":     {to: "controlPlane.machineCount", convert: number},
		"worker_flavor":        {to: "workers.machineFlavor", convert: text},
		"worker_count":         {to: "workers.machineCount", convert: count},
		"restrict_kubeapi":     {to: "apiServer.allowedCIDRs", convert: apiRanges},
		"use_cilium":           {to: "addons.cni.type", convert: cni, text: "the bundle has flannel; calico and cilium are fetched from their repositories"},
		"deploy_metrics":       {to: "addons.metricsServer.enabled", convert: asked},
		"deploy_nginx_ingress": {to: "addons.ingress.enabled", convert: asked, text: "it installs Traefik; for ingress-nginx, retired upstream, set addons.ingress.nginx.enabled: true and addons.ingress.traefik.enabled: false"},
		"nginx_ingress_proxy":  {to: "addons.ingress.keepClientAddress", convert: truth},
		"deploy_gateway_api":   {to: "addons.ingress.gatewayAPI.enabled", convert: asked, text: "it comes with Traefik: set addons.ingress.enabled too"},
		"deploy_cert_manager":  {to: "addons.certManager.enabled", convert: asked},
		"deploy_flux":          {to: "addons.flux.enabled", convert: asked, text: "it is Flux 2.7 without its controllers for Helm releases and notifications"},
		"deploy_harbor":        {to: "addons.harbor.enabled", convert: asked, text: "it needs addons.harbor.domainName and, to be reached, addons.ingress.enabled; images of the former registry are not copied"},
		"harbor_config":        {to: "addons.harbor.domainName", convert: domain, text: "sizes of its volumes go into addons.harbor.release.values.persistence; its certificate is self-signed unless expose.tls names another"},
		"use_ovn_lb_provider": {to: "apiServer.loadBalancerProvider", convert: func(v any) (any, bool, error) {
			yes, err := boolean(v)
			return "ovn", yes, err
		}},
		"kubernetes_version":            {text: "the environment's node image decides; set kubernetesVersion and machineImageId for another"},
		"calico_version":                {text: "set addons.cni.calico.chart.version"},
		"anti_affinity":                 {text: "server groups are the chart's default"},
		"soft_anti_affinity_controller": {text: "see serverGroup in docs/guides/openstack-cluster-chart.md"},
		"deploy_occm":                   {text: "clusters always have it"},
		"deploy_cindercsi":              {text: "clusters always have it"},
		"etcd_unsafe_fs":                {text: "it loses data when a host fails; use etcd.blockDevice"},
		"controller_metadata":           {text: "Slipway's chart has no metadata of servers"},
		"worker_metadata":               {text: "Slipway's chart has no metadata of servers"},
	}
}

// scsFamilies are settings that clusterctl_template.sh fills in.
func scsFamilies() []family {
	const generated = "Slipway makes it itself"
	return []family{
		{"OPENSTACK_CLOUD_", generated}, {"OPENSTACK_SRVGRP_", generated}, {"OPENSTACK_CLUSTER_GEN", generated}, {"CONTROL_PLANE_MACHINE_GEN", generated},
		{"WORKER_MACHINE_GEN", generated}, {"OPENSTACK_SSH_KEY_NAME", generated}, {"OLD_OPENSTACK_CLOUD", generated}, {"PROXY_CMD", generated},
		{"OPENSTACK_IMAGE_", "list node images in spec.images: docs/guides/images.md"}, {"CONTROL_PLANE_ROOT_DISKSIZE", "set controlPlane.machineRootVolume.diskSize"},
		{"WORKER_ROOT_DISKSIZE", "set nodeGroups[].machineRootVolume.diskSize"},
	}
}

// pool is a range of addresses with start and end.
func pool(value any) (any, bool, error) {
	m, ok := value.(map[string]any)
	if !ok {
		return nil, false, fmt.Errorf("%v has no start and end", value)
	}
	return []any{map[string]any{"start": m["start"], "end": m["end"]}}, true, nil
}

// apiRanges are the ranges that may reach the API; "none" is what only SCS has.
func apiRanges(value any) (any, bool, error) {
	list, ok, err := texts(value)
	if err == nil && ok && strings.EqualFold(fmt.Sprint(list.([]any)[0]), "none") {
		return nil, false, fmt.Errorf("an API without a floating IP is apiServer.associateFloatingIP: false")
	}
	return list, ok, err
}

// asked is true, false, or a version, which is that of the chart's here.
func asked(value any) (any, bool, error) {
	if text, ok := value.(string); ok && semver.IsValid(text) {
		return true, true, nil
	}
	return truth(value)
}

// domain is the host of Harbor, or what has it as domain_name.
func domain(value any) (any, bool, error) {
	if all, ok := value.(map[string]any); ok {
		value = all["domain_name"]
	}
	if value == nil {
		return nil, false, nil
	}
	return text(value)
}

// cni is true, a version of cilium, or false for Calico.
func cni(value any) (any, bool, error) {
	if yes, err := boolean(value); err == nil && !yes {
		return "calico", true, nil
	}
	return "cilium", true, nil
}
