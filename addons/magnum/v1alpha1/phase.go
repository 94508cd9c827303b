package v1alpha1

import "strings"

// Phase is a status of a cluster or node group in Magnum's words.
type Phase string

// The phases that are produced. Clients of Magnum know more.
const (
	CreateInProgress Phase = "CREATE_IN_PROGRESS"
	CreateFailed     Phase = "CREATE_FAILED"
	CreateComplete   Phase = "CREATE_COMPLETE"
	UpdateInProgress Phase = "UPDATE_IN_PROGRESS"
	UpdateFailed     Phase = "UPDATE_FAILED"
	UpdateComplete   Phase = "UPDATE_COMPLETE"
	DeleteInProgress Phase = "DELETE_IN_PROGRESS"
	DeleteFailed     Phase = "DELETE_FAILED"
	DeleteComplete   Phase = "DELETE_COMPLETE"
	// Sizes that are put back after a failed resize, where that was asked for.
	RollbackInProgress Phase = "ROLLBACK_IN_PROGRESS"
	RollbackFailed     Phase = "ROLLBACK_FAILED"
	RollbackComplete   Phase = "ROLLBACK_COMPLETE"
)

// InProgress reports whether p waits for something.
func (p Phase) InProgress() bool { return p == "" || strings.HasSuffix(string(p), "_IN_PROGRESS") }

// Failed reports whether p is the end of a failure.
func (p Phase) Failed() bool { return strings.HasSuffix(string(p), "_FAILED") }

// Complete reports whether p is the good end of creation or an update.
func (p Phase) Complete() bool {
	return strings.HasSuffix(string(p), "_COMPLETE") && p != DeleteComplete
}

// HealthStatus is the health of a running cluster in Magnum's words.
// +kubebuilder:validation:Enum=HEALTHY;UNHEALTHY;UNKNOWN;""
type HealthStatus string

// The health statuses.
const (
	Healthy       HealthStatus = "HEALTHY"
	Unhealthy     HealthStatus = "UNHEALTHY"
	HealthUnknown HealthStatus = "UNKNOWN"
)

// The types of conditions of clusters and node groups.
const (
	ConditionReady          = "Ready"
	ConditionInfrastructure = "InfrastructureReady"
	ConditionControlPlane   = "ControlPlaneReady"
	ConditionWorkers        = "WorkersReady"
	ConditionAddons         = "AddonsReady"
	ConditionCredential     = "CredentialValid"
	// ReasonCredentialLost is the reason of [ConditionCredential] where its Secret is gone, or
	// Keystone refuses it.
	ReasonCredentialLost = "Lost"
	// ConditionCloudCA is true where the cluster trusts the cloud by its CA certificates of now;
	// absent where the controllers have none for it.
	ConditionCloudCA = "CloudCATrusted"
	// ConditionSettings is false where labels or properties have no effect.
	ConditionSettings = "SettingsInEffect"
	// ConditionCARotation tells what became of spec.caRotation.
	ConditionCARotation = "CertificateAuthoritiesRotated"
)

// EffectivePhase is the status a client is shown: in progress when a
// controller has not seen the present spec of the cluster or of one of groups,
// which are the node groups of the cluster, or when a group waits.
func (c *Cluster) EffectivePhase(groups []*NodeGroup) Phase {
	phase := c.Status.Phase
	switch {
	case c.DeletionTimestamp != nil && phase == DeleteFailed:
		return DeleteFailed
	case c.DeletionTimestamp != nil:
		return DeleteInProgress
	case phase == "":
		return CreateInProgress
	case c.Generation > c.Status.ObservedGeneration:
		return unseen(phase)
	case phase == CreateFailed:
		return phase
	}
	for _, g := range groups {
		if g.unseen() {
			return unseen(phase)
		}
	}
	return phase
}

// EffectivePhase is the status a client is shown; cluster is the group's, nil
// when unknown.
func (g *NodeGroup) EffectivePhase(cluster *Cluster) Phase {
	phase := g.Status.Phase
	deleting := g.DeletionTimestamp != nil || cluster != nil && cluster.DeletionTimestamp != nil
	switch {
	case deleting && phase == DeleteFailed:
		return DeleteFailed
	case deleting:
		return DeleteInProgress
	case phase == "":
		return CreateInProgress
	case g.unseen():
		return unseen(phase)
	}
	return phase
}

func (g *NodeGroup) unseen() bool {
	return g.Status.Phase == "" || g.Generation > g.Status.ObservedGeneration ||
		g.DeletionTimestamp != nil && g.Status.Phase != DeleteFailed
}

// unseen is what a phase becomes by a change nobody has looked at.
func unseen(phase Phase) Phase {
	if phase == "" || phase == CreateInProgress || phase == CreateFailed {
		return CreateInProgress
	}
	return UpdateInProgress
}
