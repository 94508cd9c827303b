package cause

import "cmp"

// zoneOf is the availability zone that a machine is to be in: Nova does not name it when it
// refuses it.
func zoneOf(v *scene, c complaint) string {
	for _, m := range v.members {
		for _, o := range []string{m.name(), text(m.server, "metadata", "name")} {
			if o == c.object.Name {
				return cmp.Or(text(m.server, "spec", "availabilityZone"), text(m.machine, "spec", "failureDomain"))
			}
		}
	}
	return ""
}

// name is that of the machine's infrastructure.
func (m member) name() string {
	switch {
	case m.infra != nil:
		return m.infra.GetName()
	case m.machine != nil:
		return m.machine.GetName()
	}
	return m.own.Name
}
