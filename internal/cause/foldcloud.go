package cause

import "slices"

// entails reports whether b follows from a, where both are told by the cloud: what one part
// of it is made of, or leads to, is gone or closed.
func (v *scene) entails(a, b *Finding) bool {
	if a.Reason == "cloud-service-error" && b.Reason == a.Reason {
		return a.words == "" && b.words != "" // what is asked now beats what was said
	}
	if a.words != "" || b.words != "" {
		return false
	}
	switch b.Reason {
	case "floating-ip-lost", "load-balancer-incomplete", "load-balancer-disabled":
		return a.Reason == "load-balancer-gone" || a.Object.Kind == "network" && a.Reason == "network-gone"
	case "router-without-interface", "port-missing", "subnet-changed", "load-balancer-gone":
		return a.Reason == "network-gone" && a.Object.Kind != "security group" && a.Object.Kind != "router"
	case "port-changed":
		return a.Reason == "network-gone" && a.Object.Kind == "security group"
	case "load-balancer-member-down":
		// The load balancer does not reach what nobody lets it reach.
		return slices.Contains([]string{"security-group-closed", "network-gone", "network-disabled", "port-changed"}, a.Reason) && a.Of("Machine") == (Ref{}) ||
			len(b.machines) > 0 && subset(b.machines, []string{a.Of("Machine").Name})
	case "subnet-differs":
		return a.Reason == "network-gone" && a.Object.Kind == "subnet"
	}
	return false
}
