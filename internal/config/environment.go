// Package config is the environment file: its types, strict decoding with the
// origin of every value, defaults, validation, JSON Schema and reference page.
//
// The docstrings of the types below are the descriptions in the schema and in the
// reference. Their `default` tags are the only source of defaults (YAML text), and
// their `schema` tags the rules for a single value: required, enum=a|b, min=,
// max=, minLength=, format=.
package config

// APIVersion and Kind identify an environment file.
const (
	APIVersion = "slipway.sh/v1alpha1"
	Kind       = "Environment"
)

// Environment is one management cluster with all resources that it needs.
type Environment struct {
	// Version of the file format. The first file must set it.
	APIVersion string `json:"apiVersion" schema:"required,enum=slipway.sh/v1alpha1"`
	// Kind of the file. The first file must set it.
	Kind string `json:"kind" schema:"required,enum=Environment"`
	// Identity of the environment.
	Metadata Metadata `json:"metadata" schema:"required"`
	// Desired state of the environment.
	Spec Spec `json:"spec"`
}

// Metadata is the identity of an environment.
type Metadata struct {
	// Name of the environment, the prefix of the names of all its resources and part of their ownership tags.
	// It must be a lower-case RFC 1123 label of at most 30 characters: machines' host names add the node group
	// and two random parts, and must not exceed 63 characters. You cannot change it later.
	Name string `json:"name" schema:"required,format=label,maxLength=30"`
}

// MaxNameLength is the maximum length of an environment's name, in characters.
const MaxNameLength = 30

// Spec is the desired state of an environment.
type Spec struct {
	// Entry of clouds.yaml to use. Empty: the entry that `OS_CLOUD` names, else the only entry.
	Cloud string `json:"cloud,omitempty"`
	// Region of the cloud. Empty: the region of the clouds.yaml entry.
	Region string `json:"region,omitempty"`
	// External network for the router's gateway and for floating IPs, by name or ID. Empty: the only external
	// network that the project can see; if there are several, you must choose one.
	ExternalNetwork string `json:"externalNetwork,omitempty"`
	// Give machines their user data on a config drive too, as on a cloud whose networks have no metadata service: the seed, the machines of the management
	// cluster and those of workload clusters, unless these say otherwise. A change replaces the machines; those of a workload cluster when it is next upgraded.
	ConfigDrive bool `json:"configDrive,omitempty"`
	// The seed: a server with k3s that runs Cluster API until the management cluster can.
	Seed Seed `json:"seed"`
	// Cluster API and its providers.
	ClusterAPI ClusterAPI `json:"clusterAPI"`
	// The highly available management cluster, which Cluster API on the seed creates. Empty: there is no management cluster, only
	// Cluster API on the seed.
	ManagementCluster *ManagementCluster `json:"managementCluster,omitempty"`
	// The Magnum-compatible API on the management cluster. Empty: there is no such API.
	Magnum *Magnum `json:"magnum,omitempty"`
	// The console for tenants on the management cluster (docs/guides/tenant-console.md). Empty: there is no console.
	Console *Console `json:"console,omitempty"`
	// Image manifests of node images (docs/guides/images.md). `up` uploads the images that they list. `down` keeps these images unless you give
	// `--images`.
	Images []File `json:"images,omitempty"`
	// Prometheus, Alertmanager and alerts on the management cluster (docs/operations/monitoring.md). Empty: they are not installed.
	Monitoring *Monitoring `json:"monitoring,omitempty"`
	// The application credential that Slipway creates for the environment. Your own credential never leaves your machine.
	Credential Credential `json:"credential"`
	// Proxy for outgoing HTTP of the environment's machines. Empty: no proxy.
	Proxy *Proxy `json:"proxy,omitempty"`
	// PEM file with private CA certificates. Every machine trusts them in addition to those of its operating system, and
	// the certificates of OpenStack's APIs are verified with them.
	CABundle File `json:"caBundle,omitempty"`
	// Mirrors and credentials of container registries, by host name, with the port if there is one ("docker.io",
	// "registry.example.org:5000"). You need them only for images that are not in the bundle. Clusters of the Magnum-compatible API
	// get the mirrors when they are created or next upgraded, but not the credentials.
	Registries map[string]Registry `json:"registries,omitempty"`
	// Where Slipway keeps the state of the environment.
	State State `json:"state"`
	// Backups of the management cluster (docs/operations/backup.md). Empty: `slipway backup create` needs `--target` and `--recipient`.
	Backup *Backup `json:"backup,omitempty"`
	// Folder of the bundle, which holds everything that is installed on machines. `slipway bundle build` or `pull` creates it.
	Bundle File `json:"bundle" default:"bundle"`
	// How the bundle's machine images are uploaded. `raw` is what a Ceph-backed cloud clones. `qcow2` is half as large: it is
	// compressed while it is uploaded, which takes a minute and room for the file in the temporary folder. If you change
	// it, machines are replaced.
	ImageFormat string `json:"imageFormat" default:"raw" schema:"enum=raw|qcow2"`
	// What `slipway down` does with the volumes of workloads' PersistentVolumeClaims: `delete` or `keep`.
	VolumesPolicy string `json:"volumesPolicy" default:"delete" schema:"enum=delete|keep"`
	// Additional tags for all OpenStack resources that can have tags. Each has at most 60 characters, without commas
	// and slashes, which Nova refuses. Tags that begin with "slipway" are reserved.
	Tags []string `json:"tags,omitempty" schema:"format=tag"`
}

// ClusterAPI configures Cluster API on the seed and on the management cluster.
type ClusterAPI struct {
	// Settings of providers, by their clusterctl names: `cluster-api`, `bootstrap-kubeadm`, `control-plane-kubeadm`, `infrastructure-openstack`,
	// and `openstack-resource-controller`, which `infrastructure-openstack` needs.
	Providers map[string]Provider `json:"providers,omitempty" schema:"keys=cluster-api|bootstrap-kubeadm|control-plane-kubeadm|infrastructure-openstack|openstack-resource-controller"`
}

// Provider configures one controller manager.
type Provider struct {
	// Feature gates by name, such as `MachinePool: true`. Other gates keep the provider's default.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// Arguments of the manager by name without dashes, such as `v: "4"` or `sync-period: 5m`. They override the provider's own arguments of the same name.
	Args map[string]string `json:"args,omitempty"`
}

// Credential is the application credential that the environment's machines use.
type Credential struct {
	// Roles of the credential, by name; you must have them yourself. Empty: `member`, and those of `load-balancer_member` and `creator` that you have.
	Roles []string `json:"roles,omitempty"`
	// Lifetime of a new credential, such as `8760h`; `up` replaces it when less than a third is left. 0s: it does not expire.
	ExpiresAfter Duration `json:"expiresAfter" default:"0s" schema:"format=duration"`
	// Allow the credential to create and delete application credentials and trusts. Slipway does not need this.
	Unrestricted bool `json:"unrestricted" default:"false"`
	// The only API calls that the credential may make. Empty: all that its roles allow.
	AccessRules []AccessRule `json:"accessRules,omitempty"`
	// Give each cluster of `slipway cluster create` two credentials: one for Cluster API, with `accessRules` or else those that
	// Cluster API needs, and one for its cloud controller manager and CSI drivers, which cannot create servers. Existing
	// clusters get them from `slipway cluster rotate-credential`.
	Separate bool `json:"separate" default:"false"`
	// The only API calls that the second credential may make. Empty: those that the cloud controller manager and the CSI drivers need.
	CloudProviderAccessRules []AccessRule `json:"cloudProviderAccessRules,omitempty"`
}

// AccessRule is a Keystone access rule: API calls that an application credential may make.
type AccessRule struct {
	// Type of the service in the catalog, such as `compute`.
	Service string `json:"service" schema:"required"`
	// HTTP method.
	Method string `json:"method" schema:"required,enum=GET|HEAD|POST|PUT|PATCH|DELETE"`
	// Path of the call as Keystone matches it: `*` and `{name}` match one segment, `**` any number.
	Path string `json:"path" schema:"required,format=path"`
}

// State is where Slipway keeps the state of the environment. All secrets in it are encrypted.
type State struct {
	// URL of the storage. `file://` with a folder; a relative folder (`file://./.slipway`) is relative to the folder of the first environment
	// file. Or `s3://bucket/prefix`, with the query parameters `endpoint=` and `region=` for a server that is not Amazon's. Or the `https://`
	// address of a state in GitLab, or on a server for Terraform's `http` backend.
	Backend string `json:"backend" default:"file://./.slipway" schema:"format=backend"`
	// File with the passphrase that encrypts the secrets, mode 0600. If this and `passphraseEnv` are empty: `passphrase` in the folder
	// `.slipway`, which the first run creates.
	PassphraseFile File `json:"passphraseFile,omitempty"`
	// Environment variable with the passphrase, instead of a file; for CI.
	PassphraseEnv string `json:"passphraseEnv,omitempty" schema:"format=variable"`
	// File with the age identity (private key) that decrypts `passphraseFile`, so that you can keep `passphraseFile` in version control.
	AgeIdentityFile File `json:"ageIdentityFile,omitempty"`
}

// Proxy is the HTTP proxy of the environment's machines.
type Proxy struct {
	// URL of the proxy for http:// addresses.
	HTTPProxy string `json:"httpProxy,omitempty" schema:"format=httpURL"`
	// URL of the proxy for https:// addresses.
	HTTPSProxy string `json:"httpsProxy,omitempty" schema:"format=httpURL"`
	// Host names, domains (".example.org"), addresses and CIDRs that machines reach without the proxy. The environment's own
	// networks, the cluster domain and the metadata service are always included.
	NoProxy []string `json:"noProxy,omitempty"`
}

// Registry is how machines reach one container registry.
type Registry struct {
	// URLs of mirrors. Machines try them in this order before the registry itself.
	Mirrors []string `json:"mirrors,omitempty" schema:"format=httpURL"`
	// Rewrites of image names for the mirrors, from regular expression to replacement, such as `"^library/(.*)": "mirror/$1"`.
	Rewrite map[string]string `json:"rewrite,omitempty"`
	// PEM file with the CA of the registry's certificate, if `caBundle` does not contain it.
	CAFile File `json:"caFile,omitempty"`
	// User name for the registry.
	Username string `json:"username,omitempty"`
	// File with the password for the registry, mode 0600. Do not write passwords into the environment file.
	PasswordFile File `json:"passwordFile,omitempty"`
}
