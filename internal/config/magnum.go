package config

import "net/netip"

// Magnum is the Magnum-compatible API on the management cluster, by which
// tenants make clusters of their own.
type Magnum struct {
	// Entry of clouds.yaml of an administrator of Keystone: makes the service users, the service and its endpoints, and is used for nothing else.
	// Empty: the environment's own login.
	AdminCloud string `json:"adminCloud,omitempty"`
	// Name in the catalog and in the certificate. Empty: the floating IP.
	Hostname string `json:"hostname,omitempty" schema:"format=hostname"`
	// Floating IP of the API, one that the project has already. Empty: a new one, which stays the same for the life of the environment.
	FloatingIP netip.Addr `json:"floatingIP,omitzero" schema:"format=ip"`
	// Certificate of the API. Empty: an authority of the environment's own signs one and renews it; `slipway up` writes the authority's certificate into a file.
	TLS *KeyPair `json:"tls,omitempty"`
	// How many replicas of the API run. Each answers alone when the others are gone.
	Replicas int `json:"replicas" default:"2" schema:"min=1,max=9"`
	// Rules in oslo.policy's language (YAML or JSON) that are laid over Magnum's defaults.
	PolicyFile File `json:"policyFile,omitempty"`
	// Clusters that a project may have unless its quota says otherwise.
	DefaultQuota int `json:"defaultQuota" default:"20" schema:"min=1,max=100000"`
	// How long the former credential of a cluster stays valid after a change, in which the new one reaches all that uses it; a minute at least.
	CredentialOverlap Duration `json:"credentialOverlap" default:"10m" schema:"format=duration"`
	// Pod network of clusters whose template names none: `flannel` is in the bundle, `calico` and `cilium` are fetched from their chart repositories.
	NetworkDriver string `json:"networkDriver" default:"flannel" schema:"enum=flannel|calico|cilium"`
	// Labels of clusters that neither they nor their template have, such as `boot_volume_size: "20"`.
	Labels map[string]string `json:"labels,omitempty"`
	// File of cluster templates (docs/guides/images.md) that are made. Empty: one template of the management cluster's image and flavors, for the environment's own project.
	TemplatesFile File `json:"templatesFile,omitempty"`
	// Project of the service users, in the domain of the administrator. It is made if it is not there.
	ServiceProject string `json:"serviceProject" default:"service"`
}

// KeyPair is a certificate with its key.
type KeyPair struct {
	// PEM file with the certificate, followed by those between it and its authority.
	CertificateFile File `json:"certificateFile" schema:"required"`
	// PEM file with the key.
	KeyFile File `json:"keyFile" schema:"required"`
}
