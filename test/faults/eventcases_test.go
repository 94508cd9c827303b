package faults

// told is a warning event about an object, last told at a time on the day of asked.
func told(about, kind, reason, message, at string) string {
	return `---
kind: Event
metadata: {name: ` + about + `.` + at + `}
type: ` + kind + `
reason: ` + reason + `
message: ` + message + `
involvedObject: {kind: ` + about + `}
firstTimestamp: "2026-01-02T` + at + `Z"
lastTimestamp: "2026-01-02T` + at + `Z"
`
}

// unfit is what a control plane says in an event while a machine of it is not a node yet,
// and for long afterwards is kept by the API server.
const unfit = `"Waiting for control plane to pass preflight checks to continue reconciliation: Machine shop-cp1 reports NodeHealthy condition is unknown (Node shop-cp1 does not exist)"`

// eventCases are events that are there and do not count: what the cloud says does.
func eventCases() []planted {
	plane := "KubeadmControlPlane, name: shop-control-plane"
	stopped := server("ERROR", "w1", "InstanceStateError", "")
	return []planted{
		{fault: "no valid host, beside an old event of the control plane", reason: "no-valid-host", object: "server shop-w1",
			objects: stopped + told(plane, "Warning", "ControlPlaneUnhealthy", unfit, "09:45:00"), said: nova("No valid host was found. There are not enough hosts available.")},
		{fault: "no valid host, beside an old event about a port that was created later", reason: "no-valid-host", object: "server shop-w1",
			objects: stopped + told("OpenStackServer, name: shop-w1", "Warning", "FailedCreatePort", "No more IP addresses available on network 5a1f.", "09:40:00") +
				told("OpenStackServer, name: shop-w1", "Normal", "SuccessfulCreatePort", "Created port", "09:41:00"), said: nova("No valid host was found. There are not enough hosts available.")},
		{fault: "machine health check held back", reason: "repair-held-back", object: "MachineHealthCheck shop-workers", objects: `
kind: MachineHealthCheck
metadata: {name: shop-workers}
spec: {selector: {matchLabels: {cluster.x-k8s.io/deployment-name: shop-workers}}}
status: {conditions: [{type: RemediationAllowed, status: "False", reason: TooManyUnhealthy, lastTransitionTime: "2026-01-02T09:00:00Z",
  message: "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (total: 1, unhealthy: 1, maxUnhealthy: 0)"}]}
---
kind: Machine
metadata: {name: shop-w1}
status: {nodeRef: {name: shop-w1}, conditions: [{type: HealthCheckSucceeded, status: "False", reason: NodeUnhealthy}]}
`},
	}
}
