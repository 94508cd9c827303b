package cause

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// skipRemediation is the annotation that keeps a MachineHealthCheck from a machine.
const skipRemediation = "cluster.x-k8s.io/skip-remediation"

// repairs reports whether a MachineHealthCheck replaces a machine that is not well. It
// marks every machine that it looks after with the condition HealthCheckSucceeded, True or
// False; the machine's owner says in OwnerRemediated if it cannot replace it
// (machinehealthcheck_controller.go and remediation.go of Cluster API 1.12).
func repairs(machine *unstructured.Unstructured) bool {
	if machine == nil {
		return false
	}
	if _, skipped := machine.GetAnnotations()[skipRemediation]; skipped {
		return false
	}
	watched := false
	for _, c := range Conditions(machine) {
		switch {
		case c.Type == "HealthCheckSucceeded":
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
	if v.needless(f.Reason) {
		f.Ending = Passing
		return
	}
	machine := find(v.Objects["Machine"], f.Of("Machine").Name)
	if f.Ending == Passing || !repairs(machine) || f.Ending != Final && !f.rule.healthCheck {
		return
	}
	if f.Ending = f.rule.Ending; f.Ending == Final || f.rule.healthCheck {
		f.Ending = Passing
		f.Fix = "wait: the cluster's MachineHealthCheck replaces the machine by itself; if it does not, " + f.Fix
	}
}
