package stacks

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/config"
)

// WorkloadValues are the values of the chart that an environment has for
// clusters on its management cluster, where they say nothing themselves: what the
// management cluster was made of, by its own values, and what the environment
// file says of networks. What is about the management cluster alone is left out:
// its sizes, its network, its credential and its marks.
func WorkloadValues(e *config.Environment, management map[string]any) map[string]any {
	values := map[string]any{}
	for _, path := range inherited() {
		if value, found, _ := unstructured.NestedFieldNoCopy(management, path...); found && value != nil {
			set(values, value, path...)
		}
	}
	// A worker is one of the management cluster's, or else like its control plane.
	like, _ := management["controlPlane"].(map[string]any)
	if groups, _ := management["nodeGroups"].([]any); len(groups) > 0 {
		like, _ = groups[0].(map[string]any)
	}
	for _, key := range []string{"machineFlavor", "machineRootVolume"} {
		if value := like[key]; value != nil {
			set(values, value, "nodeGroupDefaults", key)
		}
	}
	var servers []string
	for _, server := range e.Spec.Seed.Network.DNSNameservers {
		servers = append(servers, server.String())
	}
	if len(servers) > 0 {
		set(values, texts(servers), "clusterNetworking", "dnsNameservers")
	}
	if len(e.Spec.Tags) > 0 {
		values["tags"] = texts(e.Spec.Tags)
	}
	return copied(values)
}

// inherited are the paths of values that clusters have from the management
// cluster: what depends on the cloud, the bundle and the site.
func inherited() [][]string {
	return [][]string{
		{"kubernetesVersion"}, {"machineImageId"}, {"machineImage"}, {"osDistro"}, {"machineSSHKeyName"},
		{"cloudCACert"}, {"trustedCAs"}, {"proxy"}, {"registryMirrors"}, {"registryAuth"},
		{"clusterNetworking", "externalNetworkId"}, {"clusterNetworking", "disableExternalNetwork"},
		{"apiServer", "loadBalancerProvider"}, {"apiServer", "associateFloatingIP"},
		{"controlPlane", "machineFlavor"}, {"controlPlane", "machineRootVolume"},
		{"controlPlane", "machineConfigDrive"}, {"nodeGroupDefaults", "machineConfigDrive"},
		{"addons", "cni", "type"}, {"addons", "etcdDefrag", "image"}, {"kubeletServingCertificates"},
	}
}

// set sets what is at a path of keys, and makes the tables on the way.
func set(values map[string]any, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		table, ok := values[key].(map[string]any)
		if !ok {
			table = map[string]any{}
			values[key] = table
		}
		values = table
	}
	values[path[len(path)-1]] = value
}
