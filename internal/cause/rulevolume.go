package cause

import (
	"regexp"
	"strings"
)

// volumeRules are about Cinder.
func volumeRules() []Rule {
	return []Rule{
		{ID: "volume-error", Layer: "Cinder", Ending: Outside, Meaning: "A volume of a machine is in an error state.", kind: "volume",
			Fix:  "see why with openstack volume show VOLUME, and ask the cloud's operator about storage" + again,
			find: badVolumes, words: regexp.MustCompile(`volume (?P<object>\S+) is in error state`)},
		{ID: "volume-not-created", Layer: "Cinder", Ending: Outside, Meaning: "Cinder could not create or attach the root volume of a server.",
			Fix:   "ask the cloud's operator about storage, or choose another volume type" + again,
			fault: regexp.MustCompile(`(?i)block device mapping|volume .*(did not finish being created|failed|error)|build of instance .* aborted: (volume|failure prepping block device)`),
			words: regexp.MustCompile(`(?i)block device mapping is invalid|volume type .*(not be found|not found|is disabled)`)},
	}
}

// badVolumes are volumes of the cluster's servers in an error state.
func badVolumes(v *scene) []hit {
	if !v.Cloud.knows(ListVolumes) {
		return nil
	}
	var hits []hit
	for _, volume := range v.Cloud.Volumes {
		if !strings.HasPrefix(volume.Status, "error") {
			continue
		}
		for _, m := range v.members {
			if m.leaving() || !(m.id != "" && volume.Server == m.id || m.infra != nil && volume.Name == m.infra.GetName()+"-root") {
				continue
			}
			parent := m.ref()
			if _, known := v.parents[parent]; !known && m.infra != nil {
				parent = refOf(m.infra)
			}
			object := v.under(parent, Ref{Kind: "volume", Name: volume.Name, ID: volume.ID})
			hits = append(hits, hit{object: object, cause: "it is " + volume.Status, since: volume.Updated, source: "Cinder", evidence: []string{"Cinder: volume " + volume.Name + " is " + volume.Status}})
		}
	}
	return hits
}
