package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HelmReleaseSpec is a chart and the values for it.
type HelmReleaseSpec struct {
	AddonSpec `json:",inline"`
	Chart     Chart `json:"chart"`
	// ValuesSources are merged in order: maps by key, lists one after the
	// other, later ones win, null changes nothing.
	ValuesSources []ValuesSource `json:"valuesSources,omitempty"`
}

// Chart names a chart in a repository.
type Chart struct {
	// Repo is an address that begins with http, https or oci.
	Repo string `json:"repo"`
	Name string `json:"name"`
	// Version is an exact version.
	Version string `json:"version"`
	// Digest is the digest that the archive must have, sha256:<hex>; optional.
	Digest string `json:"digest,omitempty"`
}

// ValuesSource sets exactly one of its fields.
type ValuesSource struct {
	ConfigMap *NameKey `json:"configMap,omitempty"`
	Secret    *NameKey `json:"secret,omitempty"`
	Template  *string  `json:"template,omitempty"`
}

// HelmRelease is a release of a chart on a cluster.
//
// +kubebuilder:object:root=true
type HelmRelease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   HelmReleaseSpec `json:"spec"`
	Status AddonStatus     `json:"status,omitempty"`
}

// HelmReleaseList is a list of releases.
//
// +kubebuilder:object:root=true
type HelmReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HelmRelease `json:"items"`
}

// ManifestsSpec is manifests for a cluster.
type ManifestsSpec struct {
	AddonSpec       `json:",inline"`
	ManifestSources []ManifestSource `json:"manifestSources,omitempty"`
}

// ManifestSource sets exactly one of its fields.
type ManifestSource struct {
	ConfigMap *NameKeys `json:"configMap,omitempty"`
	Secret    *NameKeys `json:"secret,omitempty"`
	Template  *string   `json:"template,omitempty"`
}

// Manifests are resources on a cluster, held together as a Helm release.
//
// +kubebuilder:object:root=true
type Manifests struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ManifestsSpec `json:"spec"`
	Status AddonStatus   `json:"status,omitempty"`
}

// ManifestsList is a list of Manifests.
//
// +kubebuilder:object:root=true
type ManifestsList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Manifests `json:"items"`
}

// Addon is the spec that both kinds have in common.
func (r *HelmRelease) Addon() *AddonSpec { return &r.Spec.AddonSpec }

// Addon is the spec that both kinds have in common.
func (m *Manifests) Addon() *AddonSpec { return &m.Spec.AddonSpec }

// AddonStatus is the status.
func (r *HelmRelease) AddonStatus() *AddonStatus { return &r.Status }

// AddonStatus is the status.
func (m *Manifests) AddonStatus() *AddonStatus { return &m.Status }
