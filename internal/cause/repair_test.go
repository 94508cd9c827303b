package cause

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestAHealthCheckRepairs: what a machine health check has replaced is no reason to end a
// wait, and the node of a machine that goes need not be there.
func TestAHealthCheckRepairs(t *testing.T) {
	t.Parallel()
	const (
		checked = `{type: HealthCheckSucceeded, status: "True", reason: Succeeded}`
		gone    = `{type: NodeHealthy, status: "False", reason: NodeDeleted, message: "Node w has been deleted", lastTransitionTime: "2026-01-02T09:00:00Z"}`
		given   = `{instanceID: "1", conditions: [{type: InstanceReady, status: "False", severity: Error, reason: InstanceDeleted, message: "server was unexpectedly deleted", lastTransitionTime: "2026-01-02T09:00:00Z"}]}`
	)
	machine := func(server string, conditions ...string) string {
		text := base + worker("w", "{failureReason: UpdateError, failureMessage: it is broken}", server)
		text = strings.Replace(text, "labels: {", "labels: {group: w, ", 1)
		return strings.Replace(text, "dataSecretName: x}}\n", "dataSecretName: x}}\nstatus: {nodeRef: {name: w}, conditions: ["+strings.Join(conditions, ", ")+"]}\n", 1)
	}
	held := func(group, allowed string) string {
		return "---\nkind: MachineHealthCheck\nmetadata: {name: check, namespace: prod}\nspec: {selector: {matchLabels: {group: " + group + "}}}\n" +
			`status: {conditions: [{type: RemediationAllowed, status: "` + allowed + `", reason: TooManyUnhealthy, message: "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (total: 3, unhealthy: 2, maxUnhealthy: 1)", lastTransitionTime: "2026-01-02T09:00:00Z"}]}` + "\n"
	}
	const sick = `{type: HealthCheckSucceeded, status: "False", reason: NodeDeleted, message: "Health check failed:\n  * Node w has been deleted"}`
	counted := func(check string, expected, healthy int) string {
		return strings.Replace(check, "status: {", fmt.Sprintf("status: {expectedMachines: %d, currentHealthy: %d, ", expected, healthy), 1)
	}
	leaving := func(text string) string {
		return strings.Replace(text, "labels:", `deletionTimestamp: "2026-01-02T09:30:00Z", labels:`, 1)
	}
	for name, test := range map[string]struct {
		objects string
		cloud   *Cloud
		want    string
		ending  Ending
		help    bool
	}{
		"a server, watched":                              {machine(given, checked), &Cloud{At: now}, "server-deleted server w", Passing, false},
		"a server that none watch":                       {machine(given), &Cloud{At: now}, "server-deleted server w", Final, false},
		"a node, watched":                                {machine("{}", gone, checked), nil, "node-gone Machine w", Passing, false},
		"a node that none watch":                         {machine("{}", gone), nil, "node-gone Machine w", Outside, true},
		"a summary of one that leaves":                   {leaving(machine("{}", `{type: Ready, status: "False", reason: NotReady, message: "* Deleting: Machine deletion in progress\n* HealthCheckSucceeded: Node w has been deleted", lastTransitionTime: "2026-01-02T09:40:00Z"}`)), nil, "", "", false},
		"a node of one that leaves":                      {leaving(machine("{}", gone)), nil, "", "", false},
		"a server, watched by a check that is held back": {machine(given, checked) + held("w", "False"), &Cloud{At: now}, "server-deleted server w", Final, false},
		"a server, watched by a check that may act":      {machine(given, checked) + held("w", "True"), &Cloud{At: now}, "server-deleted server w", Passing, false},
		"a server, and a check of others is held back":   {machine(given, checked) + held("other", "False"), &Cloud{At: now}, "server-deleted server w", Passing, false},
		"a check that is held back":                      {machine(given, strings.Replace(checked, "True", "False", 1)) + held("w", "False"), &Cloud{At: now}, "repair-held-back MachineHealthCheck check", Outside, true},
		"a check that is held back by one that starts":   {machine(given, sick) + counted(held("w", "False"), 3, 1), &Cloud{At: now}, "", "", false},
		"a check that is held back by all that are sick": {machine(given, sick) + counted(held("w", "False"), 3, 2), &Cloud{At: now}, "repair-held-back MachineHealthCheck check", Outside, true},
		"a check that is held back while all is well":    {base + held("w", "False")[4:], &Cloud{At: now}, "", "", false},
		"what no check sees": {machine(`{conditions: [{type: InstanceReady, status: "False", severity: Error, reason: InstanceCreateFailed, message: "Invalid key_name provided.", lastTransitionTime: "2026-01-02T09:00:00Z"}]}`, checked), nil,
			"key-pair-missing OpenStackServer w", Outside, true},
	} {
		a := Explain(Snapshot{Objects: read(t, test.objects), Cloud: test.cloud, Now: now})
		var ending Ending
		help := false
		for _, f := range a.Findings {
			if strings.Contains(test.want, f.Reason) {
				ending, help = f.Ending, f.NeedsHelp()
			}
		}
		if got := reasons(a); !strings.Contains(got, test.want) || test.want == "" && (strings.Contains(got, "node-gone") || strings.Contains(got, "held-back")) || ending != test.ending || help != test.help {
			t.Errorf("%s: %q, %s, needs help %t", name, got, ending, help)
		}
	}
}

// TestARepairThatIsHeldBackNamesTheMachines that the check would replace, with why.
func TestARepairThatIsHeldBackNamesTheMachines(t *testing.T) {
	t.Parallel()
	const objects = `
kind: Machine
metadata: {name: w, namespace: prod, labels: {group: w}}
status: {conditions: [{type: HealthCheckSucceeded, status: "False", reason: NodeDeleted, message: "Health check failed:\n  * Node w has been deleted"}]}
---
kind: MachineHealthCheck
metadata: {name: check, namespace: prod}
spec: {selector: {matchLabels: {group: w}}}
status: {conditions: [{type: RemediationAllowed, status: "False", reason: TooManyUnhealthy, message: "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (total: 1, unhealthy: 1, maxUnhealthy: 0)", lastTransitionTime: "2026-01-02T09:00:00Z"}]}
`
	for _, f := range Explain(Snapshot{Objects: read(t, objects), Now: now}).Findings {
		if f.Reason == "repair-held-back" {
			if !strings.HasSuffix(f.Cause, "maxUnhealthy: 0); Machine w: Node w has been deleted") {
				t.Errorf("the cause: %s", f.Cause)
			}
			return
		}
	}
	t.Error("it is no cause")
}

// TestTheLifeInsideAClusterThatGoes: etcd and the API end with the last machine, which is
// no reason to end the wait for the deletion.
func TestTheLifeInsideAClusterThatGoes(t *testing.T) {
	t.Parallel()
	const words = `status: {conditions: [{type: Available, status: "False", reason: NotAvailable, message: "* Deleting: Waiting for KubeadmControlPlane to be deleted\\n* ControlPlaneAvailable: Failed to get etcd members", lastTransitionTime: "2026-01-02T09:40:00Z"}]}`
	for metadata, help := range map[string]bool{
		`{name: c, namespace: prod}`: true,
		`{name: c, namespace: prod, deletionTimestamp: "2026-01-02T09:30:00Z"}`: false,
	} {
		a := Explain(Snapshot{Objects: read(t, "kind: Cluster\nmetadata: "+metadata+"\n"+words), Now: now})
		if len(a.Findings) == 0 || !strings.Contains(reasons(a), "etcd-unhealthy Cluster c") {
			t.Fatalf("%s: %q", metadata, reasons(a))
		}
		for _, f := range a.Findings {
			if f.NeedsHelp() != help {
				t.Errorf("%s: %s needs help: %t", metadata, f.Reason, f.NeedsHelp())
			}
		}
	}
}

// A member of etcd that has just become unhealthy is waited for: others join.
func TestEtcdIsGivenTime(t *testing.T) {
	t.Parallel()
	for since, help := range map[string]bool{"2026-01-02T09:40:00Z": true, now.Add(-time.Minute).UTC().Format(time.RFC3339): false} {
		a := Explain(Snapshot{Objects: read(t, base+"kind: Machine\nmetadata: {name: c, namespace: prod, labels: {cluster.x-k8s.io/control-plane: \"\"}}\n"+
			`status: {conditions: [{type: EtcdMemberHealthy, status: Unknown, reason: InspectionFailed, message: "Failed to connect to etcd: failed to get etcd status: context deadline exceeded", lastTransitionTime: "`+since+`"}]}`), Now: now})
		if len(a.Findings) != 1 || a.Findings[0].Reason != "etcd-unhealthy" || a.Findings[0].NeedsHelp() != help || (a.Findings[0].Ending == Passing) == help {
			t.Errorf("since %s: %+v", since, a.Findings)
		}
	}
}

// Cluster API calls a member Unknown from the creation of its Machine on: one whose machine has just
// started is waited for, however long ago that was.
func TestEtcdIsGivenTimeToStart(t *testing.T) {
	t.Parallel()
	const unknown = `{type: EtcdMemberHealthy, status: Unknown, reason: InspectionFailed, message: "Failed to connect to etcd: failed to get etcd status: context deadline exceeded", lastTransitionTime: "2026-01-02T09:00:00Z"}`
	ready := func(minutes int) string {
		return fmt.Sprintf(`, {type: InfrastructureReady, status: "True", lastTransitionTime: %q}`, now.Add(-time.Duration(minutes)*time.Minute).UTC().Format(time.RFC3339))
	}
	machine := func(name, conditions string) string {
		return "kind: Machine\nmetadata: {name: " + name + ", namespace: prod, labels: {cluster.x-k8s.io/control-plane: \"\"}}\nstatus: {conditions: [" + conditions + "]}\n"
	}
	const plane = "---\nkind: KubeadmControlPlane\nmetadata: {name: c, namespace: prod}\n" +
		`status: {conditions: [{type: EtcdClusterHealthy, status: Unknown, reason: EtcdClusterInspectionFailed, message: "Failed to get etcd members", lastTransitionTime: "2026-01-02T09:00:00Z"}]}`
	for name, test := range map[string]struct {
		objects string
		help    bool
	}{
		"its server is new":             {machine("a", unknown+ready(6)), false},
		"its server is old":             {machine("a", unknown+ready(21)), true},
		"it has no server":              {machine("a", unknown), true},
		"another one's server is new":   {machine("a", unknown+ready(21)) + "---\n" + machine("b", strings.Replace(unknown, "Unknown", `"True"`, 1)+ready(6)), true},
		"the cluster's":                 {machine("a", unknown+ready(6)) + plane, false},
		"the cluster's, no one's":       {machine("a", strings.TrimPrefix(ready(6), ", ")) + plane, true},
		"it says what is wrong with it": {machine("a", strings.Replace(unknown, "Unknown", `"False"`, 1)+ready(6)), true},
	} {
		a := Explain(Snapshot{Objects: read(t, base+test.objects), Now: now})
		if len(a.Findings) == 0 {
			t.Fatalf("%s: no finding", name)
		}
		for _, f := range a.Findings {
			if f.Reason != "etcd-unhealthy" || f.NeedsHelp() != test.help {
				t.Errorf("%s: %s of %s needs help: %t", name, f.Reason, f.Object, f.NeedsHelp())
			}
		}
	}
}

// A member of etcd that was just added has no name and no Machine; one that stays so is a cause.
func TestAMemberThatJoinsIsNoCause(t *testing.T) {
	t.Parallel()
	for since, want := range map[time.Time]string{now.Add(-time.Minute): "", now.Add(-2 * etcdJoins): "etcd-unhealthy KubeadmControlPlane c"} {
		a := Explain(Snapshot{Objects: read(t, base+"kind: KubeadmControlPlane\nmetadata: {name: c, namespace: prod}\n"+
			`status: {conditions: [{type: EtcdClusterHealthy, status: "False", reason: EtcdClusterUnhealthy, message: "Etcd member 72 (Name not yet assigned) does not have a corresponding Machine", lastTransitionTime: "`+
			since.UTC().Format(time.RFC3339)+`"}]}`), Now: now})
		if got := reasons(a); got != want {
			t.Errorf("since %s: %q instead of %q", since, got, want)
		}
	}
}
