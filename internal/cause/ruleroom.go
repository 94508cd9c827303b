package cause

import "slices"

// noHost is the reason of servers that found no host.
const noHost = "no-valid-host"

// homeless are the shapes of servers that found no host: Placement may know what is short.
func (v *scene) homeless() []Shape {
	i := slices.IndexFunc(v.rules, func(r Rule) bool { return r.ID == noHost })
	var all []Shape
	for _, m := range v.members {
		if m.nova == nil || m.nova.Status != "ERROR" || !v.rules[i].fault.MatchString(m.nova.Fault) {
			continue
		}
		if s := m.shape(); s.Flavor != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// shape is what a machine's server needs of a host.
func (m member) shape() Shape {
	_, onVolume, _ := nestedMap(content(m.infra), "spec", "rootVolume")
	return Shape{Flavor: m.nova.Flavor, OnVolume: onVolume}
}

// housed adds what Placement says of the hosts to a server that found none.
func (v *scene) housed(h hit) hit {
	for _, m := range v.members {
		if m.nova == nil || m.nova.ID != h.object.ID {
			continue
		}
		for _, r := range v.Cloud.Rooms {
			if r.Shape == m.shape() {
				h.evidence = append(slices.Clone(h.evidence), "Placement: "+r.Words)
			}
		}
	}
	return h
}
