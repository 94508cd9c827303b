package config

import "net/netip"

// ManagementCluster is the cluster that Cluster API on the seed creates, and that
// runs Cluster API for all workload clusters.
type ManagementCluster struct {
	// Kubernetes version, such as `v1.34.4`. Empty: the bundle's.
	KubernetesVersion string `json:"kubernetesVersion,omitempty" schema:"format=version"`
	// Image of the nodes, by name or ID; if several active images have the name, the newest is used. Empty: the bundle's own image, uploaded once as a private image.
	Image string `json:"image,omitempty"`
	// The servers that run the Kubernetes API and etcd.
	ControlPlane ControlPlane `json:"controlPlane"`
	// Groups of workers. Empty: the control plane runs all workloads.
	NodeGroups []NodeGroup `json:"nodeGroups,omitempty"`
	// How you reach the Kubernetes API.
	APIServer APIServer `json:"apiServer"`
	// Address range of pods.
	PodCIDR netip.Prefix `json:"podCIDR" default:"10.244.0.0/16" schema:"format=cidr"`
	// Address range of Services.
	ServiceCIDR netip.Prefix `json:"serviceCIDR" default:"10.245.0.0/16" schema:"format=cidr"`
	// Logins for people and pipelines, in addition to the administrator's client certificate.
	Kubeconfig *Kubeconfig `json:"kubeconfig,omitempty"`
	// Pod network. `flannel` is in the bundle, `cilium` in one that was built with it, `calico` is fetched.
	CNI string `json:"cni" default:"flannel" schema:"enum=flannel|calico|cilium"`
	// Programs that are installed on the management cluster on request.
	Addons Addons `json:"addons"`
	// Helm chart of the cluster. Empty: Slipway's own.
	Chart *Chart `json:"chart,omitempty"`
	// Additional values of the chart (docs/guides/openstack-cluster-chart.md). They override the values that the other settings produce.
	Values map[string]any `json:"values,omitempty"`
}

// Kubeconfig configures additional kubeconfigs of the management cluster.
type Kubeconfig struct {
	// Kubeconfig with the token of a ServiceAccount. `up` writes it beside the others as `management-token.kubeconfig`. Empty: no such kubeconfig; an existing token is revoked.
	Token *TokenKubeconfig `json:"token,omitempty"`
}

// TokenKubeconfig is a kubeconfig that logs in with a token.
type TokenKubeconfig struct {
	// Lifetime of a token, at least `10m`. `up` and `slipway kubeconfig` replace the token when less than a third is left, and revoke the old one.
	Lifetime Duration `json:"lifetime" default:"720h" schema:"format=duration"`
	// ClusterRole of the token's ServiceAccount.
	ClusterRole string `json:"clusterRole" default:"cluster-admin"`
}

// ControlPlane is the control plane of a cluster.
type ControlPlane struct {
	// Number of servers: 1, 3, 5 or 7, because etcd decides by majority.
	Count int `json:"count" default:"3" schema:"min=1,max=7"`
	// Flavor, by name or ID. Empty: the flavor with the least memory that has at least 2 vCPUs, 4 GiB of memory and,
	// without `rootVolume`, 20 GB of disk.
	Flavor string `json:"flavor,omitempty"`
	// Boot from volumes. Empty: boot from the flavor's disk.
	RootVolume *RootVolume `json:"rootVolume,omitempty"`
	// Separate volume for etcd on each server. Empty: etcd is on the root disk.
	EtcdVolume *EtcdVolume `json:"etcdVolume,omitempty"`
	// Availability zones over which the servers are spread. Empty: the scheduler chooses.
	AvailabilityZones []string `json:"availabilityZones,omitempty"`
}

// EtcdVolume is a volume for etcd.
type EtcdVolume struct {
	// Size in GiB.
	SizeGiB int `json:"sizeGiB" default:"10" schema:"min=1,max=100"`
	// Volume type. Empty: the cloud's default. etcd needs one with low write latency.
	Type string `json:"type,omitempty"`
}

// NodeGroup is a group of identical workers.
type NodeGroup struct {
	// Name of the group: a lower-case RFC 1123 label of 3 to 30 characters.
	Name string `json:"name" schema:"required,format=label,maxLength=30"`
	// Number of servers.
	Count int `json:"count" default:"1" schema:"min=0,max=1000,zero"`
	// Flavor, by name or ID. Empty: the control plane's.
	Flavor string `json:"flavor,omitempty"`
	// Boot from volumes. Empty: boot from the flavor's disk.
	RootVolume *RootVolume `json:"rootVolume,omitempty"`
	// Availability zone of the servers. Empty: the scheduler chooses.
	AvailabilityZone string `json:"availabilityZone,omitempty"`
	// Labels of the nodes.
	Labels map[string]string `json:"labels,omitempty"`
}

// APIServer is how a Kubernetes API is reached.
type APIServer struct {
	// Give the API's load balancer a floating IP, so that you can reach the API from outside. Without one, `slipway` reaches it through the seed.
	FloatingIP bool `json:"floatingIP" default:"true"`
	// Address ranges that may reach the API. Empty: all addresses. The nodes' network, the router that Slipway makes and the seed are always allowed. On a network of your own, allow the external address of its router: nodes come from there.
	AllowedCIDRs []netip.Prefix `json:"allowedCIDRs,omitempty" schema:"format=cidr"`
	// Octavia provider of the load balancer: `amphora` or `ovn`. Empty: `amphora` if the cloud has it, else the first provider.
	LoadBalancerProvider string `json:"loadBalancerProvider,omitempty"`
}

// Chart is a Helm chart in a repository.
type Chart struct {
	// URL of the repository.
	Repo string `json:"repo" default:"https://azimuth-cloud.github.io/capi-helm-charts" schema:"format=httpURL"`
	// Name of the chart.
	Name string `json:"name" default:"openstack-cluster"`
	// Version of the chart.
	Version string `json:"version" schema:"required"`
}
