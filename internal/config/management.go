package config

import "net/netip"

// ManagementCluster is the cluster that Cluster API on the seed makes, and on
// which Cluster API runs for all others.
type ManagementCluster struct {
	// Version of Kubernetes, such as `v1.34.4`. Empty: the bundle's.
	KubernetesVersion string `json:"kubernetesVersion,omitempty" schema:"format=version"`
	// Image of the nodes, by name or ID; of several active images of a name the newest. Empty: the bundle's own, uploaded once as a private image.
	Image string `json:"image,omitempty"`
	// The servers with the Kubernetes API and etcd.
	ControlPlane ControlPlane `json:"controlPlane"`
	// Groups of workers. Empty: the control plane runs everything.
	NodeGroups []NodeGroup `json:"nodeGroups,omitempty"`
	// How the Kubernetes API is reached.
	APIServer APIServer `json:"apiServer"`
	// Range of pods' addresses.
	PodCIDR netip.Prefix `json:"podCIDR" default:"10.244.0.0/16" schema:"format=cidr"`
	// Range of services' addresses.
	ServiceCIDR netip.Prefix `json:"serviceCIDR" default:"10.245.0.0/16" schema:"format=cidr"`
	// How people and pipelines log in, besides the administrator's client certificate.
	Kubeconfig *Kubeconfig `json:"kubeconfig,omitempty"`
	// Pod network: `flannel` is in the bundle, `calico` and `cilium` are fetched from their chart repositories.
	CNI string `json:"cni" default:"flannel" schema:"enum=flannel|calico|cilium"`
	// Chart of the cluster. Empty: Slipway's own.
	Chart *Chart `json:"chart,omitempty"`
	// Further values of the chart (docs/guides/openstack-cluster-chart.md), merged last into those that the settings above make.
	Values map[string]any `json:"values,omitempty"`
}

// Kubeconfig is a further kubeconfig of the management cluster.
type Kubeconfig struct {
	// Kubeconfig with a token of a ServiceAccount: `up` writes it beside the others as `management-token.kubeconfig`. Empty: none; one that was there is revoked.
	Token *TokenKubeconfig `json:"token,omitempty"`
}

// TokenKubeconfig is a kubeconfig whose user is a token.
type TokenKubeconfig struct {
	// How long a token lasts, at least `10m`. `up` and `slipway kubeconfig` replace it when less than a third is left, which revokes the one before.
	Lifetime Duration `json:"lifetime" default:"720h" schema:"format=duration"`
	// ClusterRole of the token's ServiceAccount.
	ClusterRole string `json:"clusterRole" default:"cluster-admin"`
}

// ControlPlane is the control plane of a cluster.
type ControlPlane struct {
	// How many servers: 1, 3, 5 or 7, for etcd decides by majority.
	Count int `json:"count" default:"3" schema:"min=1,max=7"`
	// Flavor, by name or ID. Empty: the one with the least memory of those with at least 2 vCPUs, 4 GiB of memory and,
	// unless `rootVolume` is given, 20 GB of disk.
	Flavor string `json:"flavor,omitempty"`
	// Boot from volumes. Empty: boot from the flavor's disk.
	RootVolume *RootVolume `json:"rootVolume,omitempty"`
	// A volume of its own for etcd on each server. Empty: etcd is on the root disk.
	EtcdVolume *EtcdVolume `json:"etcdVolume,omitempty"`
	// Availability zones that the servers are spread over. Empty: the scheduler's choice.
	AvailabilityZones []string `json:"availabilityZones,omitempty"`
}

// EtcdVolume is a volume for etcd.
type EtcdVolume struct {
	// Size in GiB.
	SizeGiB int `json:"sizeGiB" default:"10" schema:"min=1,max=100"`
	// Volume type. Empty: the cloud's default. etcd wants one with short write times.
	Type string `json:"type,omitempty"`
}

// NodeGroup is a group of equal workers.
type NodeGroup struct {
	// Name of the group: a lower-case RFC 1123 label of 3 to 30 characters.
	Name string `json:"name" schema:"required,format=label,maxLength=30"`
	// How many servers.
	Count int `json:"count" default:"1" schema:"min=0,max=1000,zero"`
	// Flavor, by name or ID. Empty: the control plane's.
	Flavor string `json:"flavor,omitempty"`
	// Boot from volumes. Empty: boot from the flavor's disk.
	RootVolume *RootVolume `json:"rootVolume,omitempty"`
	// Availability zone of the servers. Empty: the scheduler's choice.
	AvailabilityZone string `json:"availabilityZone,omitempty"`
	// Labels of the nodes.
	Labels map[string]string `json:"labels,omitempty"`
}

// APIServer is the way to a Kubernetes API.
type APIServer struct {
	// Give the load balancer of the API a floating IP, so that it is reached from outside. Without, `slipway` reaches it through the seed.
	FloatingIP bool `json:"floatingIP" default:"true"`
	// Ranges from which the API is open. Empty: everyone. The network of the nodes and the seed are always allowed.
	AllowedCIDRs []netip.Prefix `json:"allowedCIDRs,omitempty" schema:"format=cidr"`
	// Provider of the load balancer: `amphora` or `ovn`. Empty: amphora where it is, else the first.
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
