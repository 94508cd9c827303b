package cause

import "regexp"

const layerAddons = "addons"

// addonRules are about what runs on a cluster, as its releases tell.
func addonRules() []Rule {
	return []Rule{
		{ID: "registry-unreachable", Layer: layerAddons, Ending: Outside, Meaning: "A container registry cannot be reached, or gives no more for now.",
			Fix:   "see whether nodes reach it (curl -v https://REGISTRY/v2/), or set spec.registries to a mirror",
			find:  unreached,
			words: regexp.MustCompile(`(?i)(registry|/v2/|pull)\S*"?.*: (dial tcp|.*(no such host|connection refused|i/o timeout))`)},
		{ID: "image-pull", Layer: layerAddons, Ending: Outside, Meaning: "A node cannot pull a container image: it does not exist, or needs a login.",
			Fix: "correct the image or its registry; on clusters without internet, add it to the bundle", find: unpulled, words: regexp.MustCompile(`ErrImagePull|ImagePullBackOff|manifest unknown|pull access denied|failed to resolve reference`)},
		// The addon provider tries again as soon as another addon has been installed.
		{ID: "kind-missing", Layer: layerAddons, Ending: Passing, Meaning: "An addon needs a kind of objects that the cluster does not have yet.",
			Fix:   "wait for the addon that defines it; if none of the cluster's does, enable it",
			words: regexp.MustCompile(`(?i)unable to build kubernetes objects.*no matches for kind`)},
		{ID: "chart-failed", Layer: layerAddons, Ending: Outside, Meaning: "The chart of an addon cannot be installed.", Fix: "read the words of Helm, and correct the addon's values",
			words: regexp.MustCompile(`(?i)unable to build kubernetes objects|chart .*not (be )?found|execution error at|values don't meet the specifications|cannot patch|rendered manifests contain`)},
		{ID: "addon-failed", Layer: layerAddons, Ending: Passing, Meaning: "An addon of the cluster failed.", Fix: "see its pods on the cluster; its controller tries again by itself",
			find: failedAddons},
	}
}

// failedAddons are releases that the addon provider calls failed, without words that
// another rule knows.
func failedAddons(v *scene) []hit {
	var hits []hit
	for _, kind := range []string{"HelmRelease", "Manifests"} {
		for _, o := range v.Objects[kind] {
			if text(o, "status", "phase") != "Failed" {
				continue
			}
			h := hit{object: refOf(o), source: speaker(kind), final: true}
			known := false
			for _, c := range v.complaints(o) {
				r, _ := match(v, v.rules, c)
				known = known || r != nil
				if h.cause == "" && c.message != "" {
					h.cause, h.since = c.message, c.since
					h.evidence = []string{h.object.String() + " " + c.kind + ": " + c.text()}
				}
				if h.since.IsZero() {
					h.since = c.since
				}
			}
			if !known {
				hits = append(hits, h)
			}
		}
	}
	return hits
}
