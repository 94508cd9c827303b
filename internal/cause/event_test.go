package cause

import (
	"strings"
	"testing"
)

// TestEventsAreJudged: one that the state of its object, a later event or its kind
// contradicts, loses; one that is as new as the state counts.
func TestEventsAreJudged(t *testing.T) {
	t.Parallel()
	event := func(kind, reason, message, at string) string {
		return "---\nkind: Event\nmetadata: {name: " + reason + at + ", namespace: prod}\ntype: Warning\nreason: " + reason + "\nmessage: '" + message +
			"'\ninvolvedObject: {kind: " + kind + "}\nlastTimestamp: \"2026-01-02T" + at + "Z\"\n"
	}
	plane := func(status, since string) string {
		return base + "kind: KubeadmControlPlane\nmetadata: {name: p, namespace: prod, creationTimestamp: \"2026-01-02T08:00:00Z\"}\n" +
			"status: {conditions: [{type: Available, status: \"" + status + "\", lastTransitionTime: \"2026-01-02T" + since + "Z\"}]}\n"
	}
	const of, no = "KubeadmControlPlane, name: p", "clock: x509: certificate has expired or is not yet valid: current time x is before y"
	server := base + worker("w", "{}", "{}")
	const port = "No more IP addresses available on network x."
	for name, test := range map[string]struct{ objects, want string }{
		"newer than the state":             {plane("False", "09:30:00") + event(of, "Unhealthy", no, "09:45:00"), "clock-skew KubeadmControlPlane p"},
		"of the same pass as the state":    {plane("False", "09:45:05") + event(of, "Unhealthy", no, "09:45:00"), "clock-skew KubeadmControlPlane p"},
		"older than the state":             {plane("False", "09:50:00") + event(of, "Unhealthy", no, "09:45:00"), ""},
		"of what is well":                  {plane("True", "09:30:00") + event(of, "Unhealthy", no, "09:45:00"), ""},
		"of a node that never was":         {plane("False", "09:30:00") + event(of, "ControlPlaneUnhealthy", "Node n does not exist", "09:45:00"), ""},
		"a port that failed":               {server + event("OpenStackServer, name: w", "FailedCreatePort", port, "09:45:00"), "address-pool-empty network x"},
		"a port that was created later":    {server + event("OpenStackServer, name: w", "FailedCreatePort", port, "09:45:00") + event("OpenStackServer, name: w", "SuccessfulCreatePort", "", "09:46:00"), ""},
		"a port that was created earlier":  {server + event("OpenStackServer, name: w", "FailedCreatePort", port, "09:45:00") + event("OpenStackServer, name: w", "SuccessfulCreatePort", "", "09:44:00"), "address-pool-empty network x"},
		"a port of another was created":    {server + event("OpenStackServer, name: w", "FailedCreatePort", port, "09:45:00") + event("OpenStackServer, name: v", "SuccessfulCreatePort", "", "09:46:00"), "address-pool-empty network x"},
		"something else succeeded later":   {server + event("OpenStackServer, name: w", "FailedCreatePort", port, "09:45:00") + event("OpenStackServer, name: w", "SuccessfulCreateServer", "", "09:46:00"), "address-pool-empty network x"},
		"an address of IPv6 in use":        {server + event("OpenStackServer, name: w", "FailedCreatePort", "IP address fd00::a already allocated in subnet x", "09:45:00"), "address-in-use address fd00::a"},
		"an address of IPv4 in use":        {server + event("OpenStackServer, name: w", "FailedCreatePort", "IP address 10.0.0.5 already allocated in subnet x.", "09:45:00"), "address-in-use address 10.0.0.5"},
		"longer ago than it would be told": {server + event("OpenStackServer, name: w", "FailedCreatePort", port, "09:15:00"), ""},
	} {
		a := Explain(Snapshot{Objects: read(t, test.objects), Now: now})
		if got := reasons(a); strings.TrimSpace(got) != test.want {
			t.Errorf("%s: %q instead of %q", name, got, test.want)
		}
	}
}

// TestAWebhookMayBeAwayForAWhile: an event that says so is believed once it was repeated for
// ten minutes. A single one, which stays for half an hour, says nothing of now.
func TestAWebhookMayBeAwayForAWhile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		first, last string
		help        bool
	}{
		"once, long ago":           {"09:35:00", "09:35:00", false},
		"for a minute":             {"09:58:00", "09:59:00", false},
		"for a quarter of an hour": {"09:44:00", "09:59:00", true},
	} {
		a := Explain(Snapshot{Now: now, Objects: read(t, base+`kind: KubeadmControlPlane
metadata: {name: p, namespace: prod, creationTimestamp: "2026-01-02T08:00:00Z"}
---
kind: Event
metadata: {name: e, namespace: prod}
type: Warning
reason: FailedScaleUp
message: 'cannot create Machine: failed calling webhook "default.machine.cluster.x-k8s.io": connect: connection refused'
involvedObject: {kind: KubeadmControlPlane, name: p}
firstTimestamp: "2026-01-02T`+test.first+`Z"
lastTimestamp: "2026-01-02T`+test.last+`Z"
`)})
		if len(a.Findings) != 1 || a.Findings[0].Reason != "webhook-down" || a.Findings[0].NeedsHelp() != test.help {
			t.Errorf("%s: %+v", name, a.Findings)
		}
	}
}

// TestWordsThatLast: those of a webhook that is away may be over by now.
func TestWordsThatLast(t *testing.T) {
	t.Parallel()
	for words, lasts := range map[string]bool{
		`failed calling webhook "default.machine.cluster.x-k8s.io": connect: connection refused`: false,
		"Quota exceeded for cores: Requested 2, but already used 0 of 0 cores":                   true,
		"subnet x not found":     true,
		"it is still being made": false,
		"Load Balancer 1f is immutable and cannot be updated. (409)": false,
		"Provider 'nobody' is not enabled. (400)":                    true,
	} {
		if Lasting(words) != lasts {
			t.Errorf("%s: lasting %t", words, !lasts)
		}
	}
}

// TestAConflictPasses: Octavia refuses changes of a load balancer for as long as it changes
// it, which is no refusal of what is asked unless it lasts.
func TestAConflictPasses(t *testing.T) {
	t.Parallel()
	for since, want := range map[string]Ending{"09:58:00": Passing, "09:49:00": Outside} {
		a := Explain(Snapshot{Now: now, Objects: read(t, base+`kind: OpenStackCluster
metadata: {name: c, namespace: prod}
status: {conditions: [{type: APIEndpointReady, status: "False", severity: Error, reason: APIEndpointConfigFailed, lastTransitionTime: "2026-01-02T`+since+`Z",
  message: "failed to reconcile load balancer: Load Balancer 1f is immutable and cannot be updated. (409)"}]}
`)})
		if len(a.Findings) != 1 || a.Findings[0].Reason != "controller-says" || a.Findings[0].Ending != want {
			t.Errorf("since %s: %+v", since, a.Findings)
		}
	}
}
