package config

import "net/netip"

// Magnum is the Magnum-compatible API on the management cluster, with which
// tenants create workload clusters.
type Magnum struct {
	// Entry of clouds.yaml of a Keystone administrator. It creates the service users, the service and its endpoints, and is used for nothing else.
	// Empty: the environment's own login.
	AdminCloud string `json:"adminCloud,omitempty"`
	// Host name of the API in the catalog and in the certificate. Empty: the floating IP.
	Hostname string `json:"hostname,omitempty" schema:"format=hostname"`
	// Existing floating IP of the project for the API. Empty: a new one, which stays the same for the life of the environment.
	FloatingIP netip.Addr `json:"floatingIP,omitzero" schema:"format=ip"`
	// Certificate of the API. Empty: the environment's own CA issues and renews one; `slipway up` writes the CA certificate into a file.
	TLS *KeyPair `json:"tls,omitempty"`
	// Number of replicas of the API. A single one is enough to serve requests.
	Replicas int `json:"replicas" default:"2" schema:"min=1,max=9"`
	// oslo.policy file (YAML or JSON) whose rules override Magnum's defaults.
	PolicyFile File `json:"policyFile,omitempty"`
	// Number of clusters that a project may have, unless it has a quota of its own.
	DefaultQuota int `json:"defaultQuota" default:"20" schema:"min=1,max=100000"`
	// How long the old credential of a cluster stays valid after a change, until the new one is in use everywhere; at least one minute.
	CredentialOverlap Duration `json:"credentialOverlap" default:"10m" schema:"format=duration"`
	// Pod network of clusters whose template names none. `flannel` is in the bundle, `cilium` in one that was built with it, `calico` is fetched.
	NetworkDriver string `json:"networkDriver" default:"flannel" schema:"enum=flannel|calico|cilium"`
	// Default labels of clusters, used where neither the cluster nor its template sets them, such as `boot_volume_size: "20"`.
	Labels map[string]string `json:"labels,omitempty"`
	// File of cluster templates to create (docs/guides/images.md). Empty: one template with the management cluster's image and flavors, for the environment's own project.
	TemplatesFile File `json:"templatesFile,omitempty"`
	// Project of the service users, in the administrator's domain. It is created if it does not exist.
	ServiceProject string `json:"serviceProject" default:"service"`
	// Whether the API is registered in the catalog. Turn it off if clients use it through another environment, which has it in its `managementClusters`.
	Catalog bool `json:"catalog" default:"true"`
	// Other management clusters, whose clusters are served by this API too: environments of their own, with `catalog: false` (docs/guides/magnum-router.md).
	ManagementClusters []OtherManagementCluster `json:"managementClusters,omitempty"`
	// Management clusters that get no new projects: names in `managementClusters`, or this environment's.
	Closed []string `json:"closed,omitempty" schema:"format=label"`
}

// OtherManagementCluster is a management cluster of another environment.
type OtherManagementCluster struct {
	// Name that stores where projects are, such as the environment's. It must not change.
	Name string `json:"name" schema:"required,format=label"`
	// URL of its Magnum API, as its `slipway status` prints it.
	URL string `json:"url" schema:"required,format=httpURL"`
	// PEM file of the API's CA certificates, such as `.slipway/magnum-ca.pem` of its environment. Empty: the certificate is one that every machine trusts.
	CAFile File `json:"caFile,omitempty"`
}

// KeyPair is a TLS certificate with its key.
type KeyPair struct {
	// PEM file with the certificate, followed by any intermediate CA certificates.
	CertificateFile File `json:"certificateFile" schema:"required"`
	// PEM file with the key.
	KeyFile File `json:"keyFile" schema:"required"`
}
