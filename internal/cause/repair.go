package cause

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// skipRemediation is the annotation that keeps a MachineHealthCheck from a machine.
const skipRemediation = "cluster.x-k8s.io/skip-remediation"

// remediation is the condition of a MachineHealthCheck that is False while more machines
// are not well than it may replace (maxUnhealthy, or outside unhealthyRange).
const remediation = "RemediationAllowed"

// repairRules are about machine health checks.
func repairRules() []Rule {
	return []Rule{{ID: "repair-held-back", Layer: "Cluster API", Ending: Outside, Meaning: "A machine health check replaces no machine, because more of them are not well than it may replace at a time.",
		Fix:   "fix the cause that the machines have in common; if they are not to come back, delete them one by one with kubectl delete machine, or raise maxUnhealthy of the health check",
		words: regexp.MustCompile(`Remediation is not allowed, the number of not started or unhealthy machines`),
		not: func(v *scene, c complaint, _ string) bool {
			check := find(v.Objects["MachineHealthCheck"], c.object.Name)
			sick := len(v.sickOf(check))
			return sick == 0 || unstarted(check) > int64(sick)
		},
		adds: func(v *scene, c complaint) string {
			return v.sickness(find(v.Objects["MachineHealthCheck"], c.object.Name))
		}}}
}

// unhealthy is the condition of a machine that its health check calls unhealthy while it is False.
const unhealthy = "HealthCheckSucceeded"

// sickOf are the machines that a health check looks after and that it calls unhealthy, each with
// that condition.
func (v *scene) sickOf(check *unstructured.Unstructured) map[string]Condition {
	sick := map[string]Condition{}
	for _, m := range v.Objects["Machine"] {
		for _, c := range Conditions(m) {
			if watches(check, m) && c.Type == unhealthy && c.Status == "False" {
				sick[m.GetName()] = c
				break
			}
		}
	}
	return sick
}

// sickness names the machines that a health check calls unhealthy, with why.
func (v *scene) sickness(check *unstructured.Unstructured) string {
	sick := v.sickOf(check)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sick)) {
		why := strings.TrimPrefix(strings.Join(strings.Fields(sick[name].Message), " "), "Health check failed: * ")
		text.WriteString("; Machine " + name + ": " + cmp.Or(why, sick[name].Reason))
	}
	return text.String()
}

// unstarted is how many machines a health check does not count as well. While machines start
// these are more than it calls unhealthy, and the check holds back because of them: it replaces
// the unhealthy ones when the others are well. What keeps those from starting is a cause of its own.
func unstarted(check *unstructured.Unstructured) int64 {
	if check == nil {
		return 0
	}
	expected, _, _ := unstructured.NestedInt64(check.Object, "status", "expectedMachines")
	healthy, _, _ := unstructured.NestedInt64(check.Object, "status", "currentHealthy")
	return expected - healthy
}

// watches reports whether a health check looks after a machine.
func watches(check, machine *unstructured.Unstructured) bool {
	if check == nil || machine == nil {
		return false
	}
	selector := metav1.LabelSelector{}
	fields, _, _ := unstructured.NestedMap(check.Object, "spec", "selector")
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &selector) != nil {
		return false
	}
	chosen, err := metav1.LabelSelectorAsSelector(&selector)
	return err == nil && !chosen.Empty() && chosen.Matches(labels.Set(machine.GetLabels()))
}

// heldBack reports whether a health check that looks after a machine may replace none now.
func (v *scene) heldBack(machine *unstructured.Unstructured) bool {
	for _, check := range v.Objects["MachineHealthCheck"] {
		for _, c := range Conditions(check) {
			if c.Type == remediation && c.Status == "False" && !c.outdated(check) && watches(check, machine) {
				return true
			}
		}
	}
	return false
}

// etcdJoins is how long a member of etcd may be unhealthy before waiting counts as vain:
// while another one joins, on machines that start much at once, it was seen not to answer
// for more than a minute, and to be well afterwards.
const etcdJoins = 5 * time.Minute

// joining takes back what Cluster API says of a member that was just added: it has no name, and
// no Machine, until its etcd runs.
func joining(v *scene, c complaint, _ string) bool {
	return strings.Contains(c.text(), "(Name not yet assigned)") && v.Now.Sub(c.since) < etcdJoins
}

// etcdStarts reports whether etcd has not answered yet on the machine of a finding, or on any if the
// finding is about the cluster, and may still start. Cluster API calls such a member Unknown from the
// creation of its Machine on, whatever it waits for, so the time of the condition tells nothing.
func (v *scene) etcdStarts(f *Finding) bool {
	name := f.Of("Machine").Name
	return slices.ContainsFunc(v.Objects["Machine"], func(machine *unstructured.Unstructured) bool {
		up := v.upFor(machine)
		if name != "" && machine.GetName() != name || !controls(machine) || up <= 0 || up > firstStart {
			return false
		}
		return slices.ContainsFunc(Conditions(machine), func(c Condition) bool { return c.Type == "EtcdMemberHealthy" && c.Status == "Unknown" })
	})
}

// repairs reports whether a MachineHealthCheck replaces a machine that is not well. It
// marks every machine that it looks after with the condition HealthCheckSucceeded, True or
// False; the machine's owner says in OwnerRemediated if it cannot replace it
// (machinehealthcheck_controller.go and remediation.go of Cluster API 1.12).
func (v *scene) repairs(machine *unstructured.Unstructured) bool {
	if machine == nil || v.heldBack(machine) {
		return false
	}
	if _, skipped := machine.GetAnnotations()[skipRemediation]; skipped {
		return false
	}
	watched := false
	for _, c := range Conditions(machine) {
		switch {
		case c.Type == unhealthy:
			watched = true
		case c.Type == "OwnerRemediated" && c.Status == "False" && c.Reason == "CannotBeRemediated":
			return false
		}
	}
	return watched
}

// repair makes a cause that a MachineHealthCheck sees a passing one, and a final cause of
// a machine that it replaces what it would be without the machine: one that the next
// machine does not have passes, others stay.
func (v *scene) repair(f *Finding) {
	if v.needless(f.Reason) || f.Reason == "etcd-unhealthy" && (v.Now.Sub(f.Since) < etcdJoins || v.etcdStarts(f)) {
		f.Ending = Passing
		return
	}
	machine := find(v.Objects["Machine"], f.Of("Machine").Name)
	if f.Ending == Passing || !v.repairs(machine) || f.Ending != Final && !f.rule.healthCheck {
		return
	}
	if f.Ending = f.rule.Ending; f.Ending == Final || f.rule.healthCheck {
		f.Ending = Passing
		f.Fix = "wait: the cluster's MachineHealthCheck replaces the machine by itself; if it does not, " + f.Fix
	}
}
