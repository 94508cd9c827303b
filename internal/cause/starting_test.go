package cause

import (
	"fmt"
	"testing"
	"time"
)

// TestAnAPIThatHasNotStartedIsNoCause: Cluster API says from five minutes on that it cannot reach
// the API, also while no control plane has a server. A slow cloud was given up for that.
func TestAnAPIThatHasNotStartedIsNoCause(t *testing.T) {
	t.Parallel()
	const never, once = "Remote connection probe failed", "Remote connection probe failed, probe last succeeded at 2026-01-02T08:59:00Z"
	cluster := func(initialized, words string) string {
		return fmt.Sprintf(`kind: Cluster
metadata: {name: c, namespace: prod}
status: {conditions: [{type: RemoteConnectionProbe, status: "False", reason: ProbeFailed, message: "%s", lastTransitionTime: "2026-01-02T09:00:00Z"},
  {type: ControlPlaneInitialized, status: "%s", reason: NotInitialized, lastTransitionTime: "2026-01-02T09:00:00Z"}]}
`, words, initialized)
	}
	machine := func(label, provided string, since time.Duration) string {
		return fmt.Sprintf(`---
kind: Machine
metadata: {name: m, namespace: prod, labels: {%s: ""}}
status: {conditions: [{type: InfrastructureReady, status: "%s", reason: Provisioned, lastTransitionTime: "%s"}]}
`, label, provided, now.Add(-since).Format(time.RFC3339))
	}
	const plane, worker, told = "cluster.x-k8s.io/control-plane", "cluster.x-k8s.io/deployment-name", "api-unreachable Cluster c"
	for name, test := range map[string]struct{ objects, want string }{
		"no machine":                             {cluster("False", never), ""},
		"a machine without a server":             {cluster("False", never) + machine(plane, "False", time.Hour), ""},
		"a server that boots":                    {cluster("False", never) + machine(plane, "True", firstStart/2), ""},
		"a server that had the time":             {cluster("False", never) + machine(plane, "True", 2*firstStart), told},
		"a worker that had the time":             {cluster("False", never) + machine(worker, "True", 2*firstStart), ""},
		"an API that answered":                   {cluster("True", never), told},
		"an API that answered, as is remembered": {cluster("False", once), told},
	} {
		if got := reasons(Explain(Snapshot{Objects: read(t, test.objects), Now: now})); got != test.want {
			t.Errorf("%s: %q instead of %q", name, got, test.want)
		}
	}
}
