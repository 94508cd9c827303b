package faults

import "github.com/slipway-sh/slipway/internal/cause"

// deleted is the cluster that somebody deleted at nine, and what its control plane says
// meanwhile: the API is going.
const deleted = `
kind: Cluster
metadata: {name: shop, deletionTimestamp: "2026-01-02T09:00:00Z", finalizers: [cluster.cluster.x-k8s.io]}
status: {observedGeneration: 2, phase: Deleting, conditions: [{type: Deleting, status: "True", reason: WaitingForWorkersDeletion, message: "* MachineDeployments: shop-workers"},
  {type: RemoteConnectionProbe, status: "False", reason: ProbeFailed, message: "Remote connection probe failed"}]}
---
kind: KubeadmControlPlane
metadata: {name: shop-control-plane, deletionTimestamp: "2026-01-02T09:00:00Z"}
status: {observedGeneration: 1, conditions: [{type: EtcdClusterHealthy, status: "False", reason: NotHealthy, message: "Failed to get etcd members: context deadline exceeded"}]}
---
kind: Machine
metadata: {name: shop-cp1}
status: {nodeRef: {name: shop-cp1}, conditions: [{type: EtcdMemberHealthy, status: Unknown, reason: InspectionFailed, message: "Failed to connect to etcd"}]}
---
`

func deleteCases() []planted {
	return []planted{
		{fault: "deletion waits for the drain of a node", reason: "deletion-waits", object: "Machine shop-w1", objects: deleted + `
kind: Machine
metadata: {name: shop-w1, deletionTimestamp: "2026-01-02T09:00:10Z"}
status: {nodeRef: {name: shop-w1}, conditions: [{type: Deleting, status: "True", reason: DrainingNode, lastTransitionTime: "2026-01-02T09:00:20Z", message: "Drain not completed yet (started at 2026-01-02T09:00:20Z):\n* Pod shop/db-0: cannot evict pod as it would violate the pod's disruption budget. The disruption budget db needs 1 healthy pods"}]}
`},
		{fault: "deletion waits for a port that is in use", reason: "controller-says", object: "OpenStackCluster shop", objects: deleted + `
kind: OpenStackCluster
metadata: {name: shop, deletionTimestamp: "2026-01-02T09:05:00Z"}
status: {ready: true, conditions: [{type: NetworkReady, status: "False", severity: Error, reason: DeleteFailed, message: "failed to delete network: Unable to complete operation on network 5a1f. There are one or more ports still in use on the network."}]}
`},
		{fault: "deletion waits for a finalizer", reason: "deletion-waits", object: "OpenStackCluster shop", objects: `
kind: Cluster
metadata: {name: shop, deletionTimestamp: "2026-01-02T09:00:00Z"}
status: {observedGeneration: 2, phase: Deleting, conditions: [{type: Deleting, status: "True", reason: WaitingForInfrastructureDeletion, message: "Waiting for OpenStackCluster to be deleted"}]}
---
kind: OpenStackCluster
metadata: {name: shop, deletionTimestamp: "2026-01-02T09:05:00Z", finalizers: [janitor.capi.stackhpc.com]}
status: {ready: true}
`},
		{fault: "deletion without a credential", reason: "credential-refused", object: secret, objects: deleted, said: loginRefused(401, "The request you have made requires authentication. (401)")},
		{fault: "deletion without the Secret of the credential", reason: "credential-missing", object: secret, objects: deleted, said: &cause.Cloud{Refused: &cause.Refusal{Absent: true, Words: `secrets "shop-cloud-credentials" not found`}}},
		{fault: "server deleted, and a health check replaces the machine", reason: "server-deleted", object: "server shop-w1", ending: cause.Passing,
			objects: repairedWorker("True"), said: &cause.Cloud{}},
		{fault: "server deleted, and the machine cannot be replaced", reason: "server-deleted", object: "server shop-w1", ending: cause.Final,
			objects: repairedWorker("False"), said: &cause.Cloud{}},
		{fault: "no host for a machine that a health check replaces", reason: "no-valid-host", object: "server shop-w1", ending: cause.Outside,
			objects: server("ERROR", "w1", "InstanceStateError", "") + `---
kind: Machine
metadata: {name: shop-w1}
status: {phase: Provisioning, conditions: [{type: HealthCheckSucceeded, status: "True"}]}
`, said: nova("No valid host was found. There are not enough hosts available.")},
	}
}

// repairedWorker is the worker whose server is gone, in the words of CAPO, with a
// MachineHealthCheck that looks after it; able says whether its owner can replace it.
func repairedWorker(able string) string {
	remediated := `{type: OwnerRemediated, status: "False", reason: WaitingForRemediation, message: "Waiting for remediation"}`
	if able != "True" {
		remediated = `{type: OwnerRemediated, status: "False", reason: CannotBeRemediated, message: "Machine cannot be remediated"}`
	}
	return `
kind: Machine
metadata: {name: shop-w1}
spec: {providerID: "openstack:///w1"}
status: {nodeRef: {name: shop-w1}, conditions: [{type: HealthCheckSucceeded, status: "False", reason: UnhealthyMachine, message: "Health check failed"}, ` + remediated + `]}
---
kind: OpenStackMachine
metadata: {name: shop-w1}
status: {failureReason: UpdateError, failureMessage: "server was unexpectedly deleted", conditions: [{type: InstanceReady, status: "False", severity: Error, reason: InstanceDeleted, message: "server was unexpectedly deleted", lastTransitionTime: "2026-01-02T09:03:00Z"}]}
`
}
