package v1alpha1

// Labels, and the finalizer, that other software depends on.
const (
	// Finalizer holds an addon until its release is gone from the target.
	Finalizer = Group + "/finalizer"
	// ClusterLabel has the name of the addon's cluster. The Magnum driver
	// finds addons by it.
	ClusterLabel = Group + "/cluster"
	// ReleaseNamespaceLabel and ReleaseNameLabel name the release on the target.
	ReleaseNamespaceLabel = Group + "/release-namespace"
	ReleaseNameLabel      = Group + "/release-name"
	// WatchLabel is on every Secret and ConfigMap that an addon refers to; only
	// labelled ones are watched.
	WatchLabel = Group + "/watch"
	// RestartedAtAnnotation is set on pod templates by the hook action restart.
	RestartedAtAnnotation = Group + "/restarted-at"
	// MovedAnnotation is set by `clusterctl move` on objects that it deletes because they live on
	// elsewhere.
	MovedAnnotation = "clusterctl.cluster.x-k8s.io/delete-for-move"
	// DigestLabel is on the release's Secrets on the target; it has the digest of the chart and
	// values that the release was made from.
	DigestLabel = Group + "/digest"
)

// Condition types.
const (
	// ReadyCondition is true while the release is deployed as specified.
	ReadyCondition = "Ready"
	// StalledCondition is true if only a change by a user can help.
	StalledCondition = "Stalled"
)

// Reasons of the condition Ready.
const (
	ReasonDeployed           = "Deployed"
	ReasonProgressing        = "Progressing"
	ReasonPaused             = "Paused"
	ReasonClusterMissing     = "ClusterMissing"
	ReasonClusterNotReady    = "ClusterNotReady"
	ReasonClusterUnreachable = "ClusterUnreachable"
	ReasonSourceMissing      = "SourceMissing"
	ReasonKindMissing        = "KindMissing"
	ReasonTemplateFailed     = "TemplateFailed"
	ReasonChartUnavailable   = "ChartUnavailable"
	ReasonChartInvalid       = "ChartInvalid"
	ReasonReleaseFailed      = "ReleaseFailed"
	ReasonRefused            = "Refused"
	ReasonHookFailed         = "HookFailed"
	// ReasonWaitingForWorkers is the reason while the release cannot run, or cannot even be
	// installed, because the cluster is to have no workers.
	ReasonWaitingForWorkers = "WaitingForWorkers"
	ReasonDeleting          = "Deleting"
)
