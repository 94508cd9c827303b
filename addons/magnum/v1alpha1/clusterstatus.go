package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterStatus is what is known of a cluster.
type ClusterStatus struct {
	// Phase is Magnum's status of spec in generation ObservedGeneration. Show
	// [Cluster.EffectivePhase] instead.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// StatusReason is the first real cause of a failure or what is waited for. Of a
	// complete cluster it names addons that need workers, if it has none.
	// +optional
	StatusReason string `json:"statusReason,omitempty"`
	// ObservedGeneration is the generation Phase speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// UpdatedAt is when a phase was last entered after the first.
	// +optional
	UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`

	// APIAddress is https://<host>:<port>.
	// +optional
	APIAddress string `json:"apiAddress,omitempty"`
	// COEVersion is the Kubernetes version, v1.34.2.
	// +optional
	COEVersion string `json:"coeVersion,omitempty"`
	// ContainerVersion is the version of the container runtime.
	// +optional
	ContainerVersion string `json:"containerVersion,omitempty"`
	// HealthStatus of the running cluster.
	// +optional
	HealthStatus HealthStatus `json:"healthStatus,omitempty"`
	// HealthStatusReason maps what was looked at to what was found.
	// +optional
	HealthStatusReason map[string]string `json:"healthStatusReason,omitempty"`

	// Release is the Helm release as it was last brought in line.
	// +optional
	Release *ReleaseStatus `json:"release,omitempty"`
	// CredentialID is the application credential the cluster is known to use.
	// +optional
	CredentialID string `json:"credentialID,omitempty"`
	// CredentialChangedAt is when the cluster was first seen to use CredentialID.
	// +optional
	CredentialChangedAt *metav1.Time `json:"credentialChangedAt,omitempty"`
	// RevokedCredentials are ids out of spec.credential.superseded that are
	// gone.
	// +optional
	RevokedCredentials []string `json:"revokedCredentials,omitempty"`
	// CloudCA is about the cloud's CA certificates in the cluster's Secret. Absent: the
	// controllers write none.
	// +optional
	CloudCA *CloudCAStatus `json:"cloudCA,omitempty"`
	// CARotationID is the id of the last rotation that was carried out.
	// +optional
	CARotationID string `json:"caRotationID,omitempty"`
	// Conditions, see the Condition constants.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CloudCAStatus says which CA certificates of the cloud a cluster has.
type CloudCAStatus struct {
	// Digest of the certificates in the cluster's Secret.
	Digest string `json:"digest"`
	// ChangedAt is when the Secret got them. Absent: it has had no others.
	// +optional
	ChangedAt *metav1.Time `json:"changedAt,omitempty"`
	// RestartedFor is the digest of those for which pods on the cluster were last restarted.
	// +optional
	RestartedFor string `json:"restartedFor,omitempty"`
}

// ReleaseStatus is what a Helm release was made of.
type ReleaseStatus struct {
	// Revision of the release in Helm.
	// +optional
	Revision int `json:"revision,omitempty"`
	// Digest of the values and the chart; the same again is nothing to do.
	// +optional
	Digest string `json:"digest,omitempty"`
	// Chart is name and version, openstack-cluster-0.27.0.
	// +optional
	Chart string `json:"chart,omitempty"`
	// TemplateUUID is the template whose adoption or upgrade chose the chart: a
	// cluster keeps its chart until it is upgraded.
	// +optional
	TemplateUUID string `json:"templateUUID,omitempty"`
	// SiteValues are the operator's values of the chart that the release was made
	// with, which the cluster keeps as long as its chart. Absent: none.
	// +optional
	SiteValues *apiextensionsv1.JSON `json:"siteValues,omitempty"`
	// Foreign says that another program made the release with a chart that
	// cannot be rendered again; only sizes change until the next upgrade.
	// +optional
	Foreign bool `json:"foreign,omitempty"`
}
