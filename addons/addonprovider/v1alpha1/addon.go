package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// AddonSpec is what both kinds have in common.
type AddonSpec struct {
	// ClusterName is the Cluster in the same namespace.
	ClusterName string `json:"clusterName"`
	// Bootstrap installs the addon on the cluster as soon as its control plane is initialised.
	// Otherwise the addon waits for a ready cluster.
	Bootstrap bool `json:"bootstrap,omitempty"`
	// TargetNamespace is the release's namespace on the target; it is created if missing.
	TargetNamespace string `json:"targetNamespace"`
	// ReleaseName defaults to the name of the object.
	ReleaseName string `json:"releaseName,omitempty"`
	// ReleaseTimeout is a duration such as 30m, or a number of seconds.
	ReleaseTimeout *intstr.IntOrString `json:"releaseTimeout,omitempty"`
	// Paused means that nothing is done; deleting a paused addon leaves its resources on the
	// target.
	Paused         bool           `json:"paused,omitempty"`
	LifecycleHooks LifecycleHooks `json:"lifecycleHooks,omitempty"`
}

// LifecycleHooks are actions on the target around changes of the release, each
// list in order.
type LifecycleHooks struct {
	// PreUpgrade runs before installing, too.
	PreUpgrade  []LifecycleHook `json:"preUpgrade,omitempty"`
	PostUpgrade []LifecycleHook `json:"postUpgrade,omitempty"`
	PreDelete   []LifecycleHook `json:"preDelete,omitempty"`
	PostDelete  []LifecycleHook `json:"postDelete,omitempty"`
}

// HookAction is what a lifecycle hook does.
type HookAction string

// The actions of lifecycle hooks.
const (
	HookPatch   HookAction = "patch"
	HookDelete  HookAction = "delete"
	HookRestart HookAction = "restart"
)

// LifecycleHook is one action on resources in the target namespace. With
// neither name nor selector, and for kinds that the target does not have, it
// does nothing.
type LifecycleHook struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Action     HookAction `json:"action"`
	// Name wins over Selector.
	Name     string            `json:"name,omitempty"`
	Selector map[string]string `json:"selector,omitempty"`
	// Options of patch: type (strategic, the default; merge; json) and data.
	// Options of delete: propagationPolicy (Background by default).
	Options *apiextensionsv1.JSON `json:"options,omitempty"`
}

// Phase is how far an addon is.
type Phase string

// The phases. Unknown is what an object has before it is first seen.
const (
	PhaseUnknown      Phase = "Unknown"
	PhasePending      Phase = "Pending"
	PhasePreparing    Phase = "Preparing"
	PhaseDeployed     Phase = "Deployed"
	PhaseFailed       Phase = "Failed"
	PhaseInstalling   Phase = "Installing"
	PhaseUpgrading    Phase = "Upgrading"
	PhaseUninstalling Phase = "Uninstalling"
)

// AddonStatus is the status of both kinds.
type AddonStatus struct {
	Phase Phase `json:"phase,omitempty"`
	// Revision is Helm's.
	Revision int `json:"revision,omitempty"`
	// Resources are those of the release's manifest.
	Resources []ResourceReference `json:"resources,omitempty"`
	// Notes are the chart's.
	Notes string `json:"notes,omitempty"`
	// FailureMessage says what is wrong, also while the addon is retried.
	FailureMessage string `json:"failureMessage,omitempty"`
	// Failures counts the attempts that failed since the last success.
	Failures int `json:"failures,omitempty"`
	// ObservedGeneration is the generation of the spec that the rest of the status describes.
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	// ChartDigest is the digest of the chart's archive, sha256:<hex>.
	ChartDigest string `json:"chartDigest,omitempty"`
	// Digest covers everything that the deployed release was made from.
	Digest string `json:"digest,omitempty"`
}

// ResourceReference names a resource on the target.
type ResourceReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Namespace  string `json:"namespace,omitempty"`
}

// NameKey names a key of a ConfigMap or Secret.
type NameKey struct {
	Name string `json:"name"`
	// Key defaults to values.yaml.
	Key string `json:"key,omitempty"`
}

// NameKeys names keys of a ConfigMap or Secret.
type NameKeys struct {
	Name string `json:"name"`
	// Keys are all keys if empty.
	Keys        []string `json:"keys,omitempty"`
	ExcludeKeys []string `json:"excludeKeys,omitempty"`
}
