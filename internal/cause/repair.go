package cause

// repaired reports whether Cluster API replaces the machine of a finding by itself: a
// machine health check watches it, which sees what the rule tells. The check says so on
// every Machine that it watches by a condition, also while the Machine is well.
func (v *scene) repaired(f Finding) bool {
	if f.rule == nil || !f.rule.healthCheck {
		return false
	}
	machine := find(v.Objects["Machine"], f.Of("Machine").Name)
	if machine == nil {
		return false
	}
	for _, c := range Conditions(machine) {
		if c.Type == "HealthCheckSucceeded" {
			return true
		}
	}
	return false
}
