package cause

import (
	"slices"
	"strings"
)

// fold keeps independent causes and puts what follows from them under them.
func fold(v *scene, all []Finding) []Finding {
	slices.SortStableFunc(all, worst)
	causes := make([]int, len(all)) // which finding covers one; its own index if none does
	for i := range all {
		causes[i] = i
		for j := range all {
			if i != j && v.covers(&all[j], &all[i]) && !v.covers(&all[i], &all[j]) {
				causes[i] = j
				break
			}
		}
	}
	var kept []Finding
	at := map[int]int{}
	for i, f := range all {
		if causes[i] == i {
			at[i] = len(kept)
			kept = append(kept, f)
		}
	}
	for i := range all {
		top, steps := i, 0
		for causes[top] != top && steps < len(all) {
			top, steps = causes[top], steps+1
		}
		if k, ok := at[top]; ok && top != i {
			kept[k].absorb(all[i])
		}
	}
	slices.SortStableFunc(kept, worst)
	return kept
}

// absorb folds a consequence in: it may know more words and an earlier time, and if its
// controller has given up, so has the cause.
func (f *Finding) absorb(c Finding) {
	prefix := c.Object.String() + ": "
	if c.Object != f.Object && !slices.ContainsFunc(f.Consequences, func(told string) bool { return strings.HasPrefix(told, prefix) }) {
		f.Consequences = append(f.Consequences, prefix+c.Cause)
	}
	for _, words := range c.Evidence {
		if !slices.Contains(f.Evidence, words) {
			f.Evidence = append(f.Evidence, words)
		}
	}
	below := slices.Contains(f.Chain, c.Object)
	if below && c.Ending == Final {
		f.Ending = Final
	}
	if below && f.Since.IsZero() {
		f.Since = c.Since
	}
}

// covers reports whether b follows from a.
func (v *scene) covers(a, b *Finding) bool {
	switch {
	case v.coversInside(a, b) || v.entails(a, b):
		return true
	case b.Reason == "webhook-down" && a.Reason == "controller-down":
		return answers(a.Object.Name, b.words)
	case a.Object == b.Object:
		return specific(a) > specific(b)
	case b.Reason == "deletion-waits" && a.Reason != b.Reason:
		// What keeps one part keeps those that are deleted after it, and the whole; without
		// a login nothing can be deleted.
		return ofDeletion(a.words) || a.Reason == "server-locked" && (b.Object == v.top() || slices.Contains(a.Chain, b.Object) || b.Of("Machine") == (Ref{})) || a.rule.Layer == layerIdentity && a.rule.find != nil
	case slices.Contains(a.Chain, b.Object):
		return a.Reason == b.Reason || repeats(b) && specific(b) <= specific(a)
	case a.rule.Layer == layerIdentity && a.rule.find != nil:
		// Without a login nothing can be created or repaired.
		return b.words != ""
	case b.rule.Layer == layerAddons && b.owners == nil:
		return v.stands(a)
	}
	// While the infrastructure is not ready, machines and the control plane wait for it.
	return b.Reason == "controller-says" && v.infrastructure != nil && !flag(v.infrastructure, "status", "ready") &&
		slices.Contains(a.Chain, refOf(v.infrastructure)) && !slices.Contains(b.Chain, refOf(v.infrastructure))
}

// answers reports whether a controller, namespace/name, is in the namespace of the service of a
// webhook that an API server says it cannot call.
func answers(controller, words string) bool {
	namespace, _, _ := strings.Cut(controller, "/")
	return strings.Contains(words, "."+namespace+".svc")
}

// repeats reports whether a finding about something that is made of others only says
// that one of them is not well. What a rule knows of a cluster is a cause of its own.
func repeats(f *Finding) bool {
	return f.Reason == "controller-says" || f.Reason == "addon-failed" || slices.Contains([]string{"Machine", "OpenStackMachine", "OpenStackServer"}, f.Object.Kind) && (f.words != "" || f.Reason == "machine-given-up")
}

// stands reports whether addons stand on what a finding is about: the infrastructure or
// the control plane of a cluster, or its only machines.
func (v *scene) stands(a *Finding) bool {
	if a.rule.Layer == layerAddons {
		return false
	}
	return slices.ContainsFunc(a.Chain, func(r Ref) bool {
		return r.Kind == "OpenStackCluster" || r.Kind == "KubeadmControlPlane" || r.Kind == "MachineDeployment"
	})
}

// specific ranks how much a finding knows: the state of the cloud before words, and
// words that a rule knows before any others.
func specific(f *Finding) int {
	switch {
	case f.Reason == "controller-says":
		return 0
	case f.words != "":
		return 1
	}
	return 2
}
