package faults

import (
	"time"

	"github.com/slipway-sh/slipway/internal/cause"
)

const kubeadmHook = "webhook default.kubeadmconfig.bootstrap.cluster.x-k8s.io"

// refusedByHook is a control plane for which no machine can be made since a time of the day,
// because a webhook does not answer.
func refusedByHook(since string) string {
	return `
kind: KubeadmControlPlane
metadata: {name: shop-control-plane}
status: {observedGeneration: 1, conditions: [{type: MachinesCreated, status: "False", severity: Error, reason: MachineGenerationFailed,
  lastTransitionTime: "2026-01-02T` + since + `Z",
  message: "Failed to create KubeadmConfig: Internal error occurred: failed calling webhook \"default.kubeadmconfig.bootstrap.cluster.x-k8s.io\": failed to call webhook: Post \"https://capi-kubeadm-bootstrap-webhook-service.capi-kubeadm-bootstrap-system.svc:443/mutate?timeout=10s\": connection refused"}]}
`
}

func clusterCases() []planted {
	etcd := func(message string) string { return node("shop-cp1", "EtcdPodHealthy", message) }
	return []planted{
		{fault: "cluster paused", reason: "paused", object: "Cluster shop", objects: "kind: Cluster\nmetadata: {name: shop}\nspec: {paused: true}\n"},
		{fault: "webhook down", reason: "webhook-down", object: kubeadmHook, ending: cause.Outside, objects: refusedByHook("09:45:00")},
		{fault: "webhook that did not answer a moment ago", reason: "webhook-down", object: kubeadmHook, ending: cause.Passing, objects: refusedByHook("09:55:00")},
		{fault: "webhook whose controller crashes", reason: "controller-down", object: "Deployment capi-kubeadm-bootstrap-system/capi-kubeadm-bootstrap-controller-manager",
			ending: cause.Outside, objects: refusedByHook("09:59:00"), controllers: []cause.Controller{{Namespace: "capi-kubeadm-bootstrap-system",
				Name: "capi-kubeadm-bootstrap-controller-manager", Wanted: 1, Words: "CrashLoopBackOff, ended 7 times", Since: asked.Add(-time.Minute)}}},
		{fault: "certificate of the control plane expired", reason: "certificate-expired", object: "Cluster shop", objects: `
kind: Cluster
metadata: {name: shop}
status: {observedGeneration: 2, conditions: [{type: RemoteConnectionProbe, status: "False", reason: ProbeFailed, message: "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-01-02T09:00:00Z is after 2026-01-01T00:00:00Z"}]}
`},
		{fault: "clock of a machine wrong", reason: "clock-skew", object: "Machine shop-cp1",
			objects: etcd("Failed to connect to etcd: x509: certificate has expired or is not yet valid: current time 2020-01-02T09:00:00Z is before 2026-01-02T08:00:00Z")},
		{fault: "etcd out of space", reason: "etcd-no-space", object: "Machine shop-cp1", objects: etcd("Etcd reports alarms: NOSPACE on member shop-cp1")},
		{fault: "API of the cluster unreachable", reason: "api-unreachable", object: "Cluster shop", objects: `
kind: Cluster
metadata: {name: shop}
status: {observedGeneration: 2, conditions: [{type: RemoteConnectionProbe, status: "False", reason: ProbeFailed, message: "Remote connection probe failed, probe last succeeded at 2026-01-02T08:59:00Z"}]}
`},
		{fault: "version skew of control plane and workers", reason: "version-skew", object: "MachineDeployment shop-workers", objects: `
kind: MachineDeployment
metadata: {name: shop-workers}
status: {observedGeneration: 1, conditions: [{type: ScalingUp, status: "True"}, {type: MachinesReady, status: "False", severity: Warning, reason: PreflightCheckFailed,
  message: "MachineSet version (1.36.0) and ControlPlane version (1.34.4) do not conform to the kubernetes version skew policy (\"KubernetesVersionSkew\" preflight check failed)"}]}
`},
		{fault: "etcd of a control plane does not answer", reason: "etcd-unhealthy", object: "Machine shop-cp1", objects: etcd("Failed to connect to etcd: context deadline exceeded")},
	}
}
