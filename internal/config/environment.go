// Package config is the environment file: its types, strict decoding with the
// origin of every value, defaults, validation, JSON Schema and reference page.
//
// The docstrings of the types below are the descriptions in the schema and in
// the reference, their `default` tags the only place of defaults (YAML text),
// and their `schema` tags the rules that one value alone can break: required,
// enum=a|b, min=, max=, minLength=, format=.
package config

// APIVersion and Kind head every environment file.
const (
	APIVersion = "slipway.sh/v1alpha1"
	Kind       = "Environment"
)

// Environment is one management cluster with everything that it stands on.
type Environment struct {
	// Version of this file format. The first layer must say it.
	APIVersion string `json:"apiVersion" schema:"required,enum=slipway.sh/v1alpha1"`
	// Kind of this file. The first layer must say it.
	Kind string `json:"kind" schema:"required,enum=Environment"`
	// What the environment is called.
	Metadata Metadata `json:"metadata" schema:"required"`
	// What the environment consists of.
	Spec Spec `json:"spec"`
}

// Metadata names an environment.
type Metadata struct {
	// Name of the environment: the prefix of the name of everything that it is made of, and part of its tags.
	// A lower-case RFC 1123 label of at most 30 characters, so that machines' host names, which add
	// the node group and two random parts, stay within 63. It cannot be changed later.
	Name string `json:"name" schema:"required,format=label,maxLength=30"`
}

// MaxNameLength is how long the name of an environment may be, in characters.
const MaxNameLength = 30

// Spec is what an environment consists of.
type Spec struct {
	// Entry of clouds.yaml to use. Empty: the one that `OS_CLOUD` names, else the only one there is.
	Cloud string `json:"cloud,omitempty"`
	// Region of the cloud. Empty: the one of the clouds.yaml entry.
	Region string `json:"region,omitempty"`
	// External network for the router's gateway and for floating IPs, by name or ID. Empty: the only one the
	// project can see; several are refused with their names.
	ExternalNetwork string `json:"externalNetwork,omitempty"`
	// The seed: one server with k3s, on which Cluster API runs until the management cluster can.
	Seed Seed `json:"seed"`
	// Cluster API and its providers.
	ClusterAPI ClusterAPI `json:"clusterAPI"`
	// The management cluster, highly available, that Cluster API on the seed makes. Empty: there is none, and Cluster API on the seed is all.
	ManagementCluster *ManagementCluster `json:"managementCluster,omitempty"`
	// The Magnum-compatible API on the management cluster. Empty: there is none.
	Magnum *Magnum `json:"magnum,omitempty"`
	// Manifests of node images (docs/guides/images.md): `up` brings what they list to the cloud, beside everything else. `down` leaves these images unless
	// it is told `--images`.
	Images []File `json:"images,omitempty"`
	// The application credential that is made for the environment; the operator's own never leaves the operator's machine.
	Credential Credential `json:"credential"`
	// Proxy for outgoing HTTP from the environment's machines. Empty: none.
	Proxy *Proxy `json:"proxy,omitempty"`
	// PEM file with the certificates of private authorities that every machine trusts besides those of its operating system,
	// and that OpenStack's APIs are verified with.
	CABundle File `json:"caBundle,omitempty"`
	// Mirrors and credentials of image registries, by the registry's host name, with the port if it has one ("docker.io",
	// "registry.example.org:5000"). Needed only for what is not in the bundle. Clusters of the Magnum-compatible API have the mirrors
	// from their creation or next upgrade on, without the credentials.
	Registries map[string]Registry `json:"registries,omitempty"`
	// Where Slipway keeps what it knows about the environment.
	State State `json:"state"`
	// Folder of the bundle: everything that goes on machines. `slipway bundle build` or `pull` makes it.
	Bundle File `json:"bundle" default:"bundle"`
	// What `slipway down` does with the volumes of workloads' persistent volume claims: `delete` or `keep`.
	VolumesPolicy string `json:"volumesPolicy" default:"delete" schema:"enum=delete|keep"`
	// Tags for everything in OpenStack that takes tags, besides Slipway's own. At most 60 characters each, without commas
	// and slashes, which Nova refuses; what begins with "slipway" is reserved.
	Tags []string `json:"tags,omitempty" schema:"format=tag"`
}

// ClusterAPI is Cluster API on the seed and on the management cluster.
type ClusterAPI struct {
	// Settings of providers, by clusterctl's names: `cluster-api`, `bootstrap-kubeadm`, `control-plane-kubeadm`, `infrastructure-openstack`,
	// and `openstack-resource-controller`, which the last one needs.
	Providers map[string]Provider `json:"providers,omitempty" schema:"keys=cluster-api|bootstrap-kubeadm|control-plane-kubeadm|infrastructure-openstack|openstack-resource-controller"`
}

// Provider is the settings of one controller manager.
type Provider struct {
	// Feature gates by name, such as `MachinePool: true`. Gates that are not named keep the provider's default.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// Arguments of the manager by name without dashes, such as `v: "4"` or `sync-period: 5m`. They replace the provider's own of the same name.
	Args map[string]string `json:"args,omitempty"`
}

// Credential is the application credential that machines of the environment use.
type Credential struct {
	// Roles of the credential, by name; the operator must have them. Empty: `member`, and `load-balancer_member` and `creator` where the operator has them.
	Roles []string `json:"roles,omitempty"`
	// How long a new credential lasts, such as `8760h`; `up` replaces it when less than a third is left. 0s: it does not expire.
	ExpiresAfter Duration `json:"expiresAfter" default:"0s" schema:"format=duration"`
	// Allow the credential to make and delete application credentials and trusts. Nothing in Slipway needs it.
	Unrestricted bool `json:"unrestricted" default:"false"`
	// The only calls that the credential may make. Empty: all that its roles allow.
	AccessRules []AccessRule `json:"accessRules,omitempty"`
}

// AccessRule is an access rule of Keystone: calls that an application credential may make.
type AccessRule struct {
	// Type of the service in the catalog, such as `compute`.
	Service string `json:"service" schema:"required"`
	// HTTP method.
	Method string `json:"method" schema:"required,enum=GET|HEAD|POST|PUT|PATCH|DELETE"`
	// Path of the call as Keystone matches it: `*` is one segment, `**` any number, `{name}` one segment.
	Path string `json:"path" schema:"required,format=path"`
}

// State is where Slipway keeps what it knows about the environment. Every secret in it is encrypted.
type State struct {
	// URL of the storage. `file://` with a folder: a relative one (`file://./.slipway`) lies beside the first file of the environment.
	// `s3://bucket/prefix`, with `endpoint=` and `region=` as query parameters for others than Amazon's.
	Backend string `json:"backend" default:"file://./.slipway" schema:"format=backend"`
	// File whose content encrypts the secrets, mode 0600. Empty, and `passphraseEnv` too: `passphrase` in the folder `.slipway`, made by the first run.
	PassphraseFile File `json:"passphraseFile,omitempty"`
	// Environment variable that holds the passphrase instead of a file, for CI.
	PassphraseEnv string `json:"passphraseEnv,omitempty" schema:"format=variable"`
	// File with the age identity (private key) that decrypts `passphraseFile`, so that the latter can be kept in version control.
	AgeIdentityFile File `json:"ageIdentityFile,omitempty"`
}

// Proxy is what machines send outgoing HTTP through.
type Proxy struct {
	// URL of the proxy for http:// addresses.
	HTTPProxy string `json:"httpProxy,omitempty" schema:"format=httpURL"`
	// URL of the proxy for https:// addresses.
	HTTPSProxy string `json:"httpsProxy,omitempty" schema:"format=httpURL"`
	// Host names, domains (".example.org"), addresses and CIDRs that are reached directly. The environment's own
	// networks, the cluster domain and the metadata service are always among them.
	NoProxy []string `json:"noProxy,omitempty"`
}

// Registry is how machines reach one registry of images.
type Registry struct {
	// URLs of mirrors, tried in this order before the registry itself.
	Mirrors []string `json:"mirrors,omitempty" schema:"format=httpURL"`
	// Rewrites of image names for the mirrors: regular expression to replacement, such as `"^library/(.*)": "mirror/$1"`.
	Rewrite map[string]string `json:"rewrite,omitempty"`
	// PEM file with the authority of the registry's certificate, if `caBundle` has it not.
	CAFile File `json:"caFile,omitempty"`
	// User name at the registry.
	Username string `json:"username,omitempty"`
	// File with the user's password at the registry, mode 0600. A password has no place in this file.
	PasswordFile File `json:"passwordFile,omitempty"`
}
