package cause

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// volumeRules are about Cinder.
func volumeRules() []Rule {
	return []Rule{
		{ID: "volume-error", Layer: "Cinder", Ending: Outside, Meaning: "A volume of a machine is in an error state.", kind: "volume",
			Fix:  "see why with openstack volume show VOLUME, and ask the cloud's operator about storage" + again,
			find: volumes(badVolume), words: regexp.MustCompile(`volume (?P<object>\S+) is in error state`)},
		{ID: "volume-detached", Layer: "Cinder", Ending: Outside, Meaning: "A volume of a machine is attached to another server, or to none.",
			Fix:  "see where it belongs with openstack volume show VOLUME; attach it again with openstack server add volume SERVER VOLUME, or give the machine up" + again,
			find: volumes(looseVolume)},
		{ID: "volume-slow", Layer: "Cinder", Ending: Passing, Meaning: "A volume of a machine stays in a state that Cinder should end.",
			Fix:  "ask the cloud's operator about storage: only they can end a state that stays",
			find: volumes(slowVolume)},
		{ID: "volume-not-created", Layer: "Cinder", Ending: Outside, Meaning: "Cinder could not create or attach a volume of a server.",
			Fix:   "ask the cloud's operator about storage (openstack volume service list), or choose another volume type" + again,
			fault: regexp.MustCompile(`(?i)block device mapping|volume .*(did not finish being created|failed|error)|build of instance .* aborted: (volume|failure prepping block device|unable to \w+ (the )?attachment)`),
			words: regexp.MustCompile(`(?i)block device mapping is invalid|volume type .*(not be found|not found|is disabled)`)},
	}
}

// volumesOf are the volumes of a machine: those that are attached to its server, and those
// that CAPO named after it.
func (v *scene) volumesOf(m member) []Volume {
	var own []Volume
	devices, _, _ := nestedSlice(content(m.infra), "spec", "additionalBlockDevices")
	names := []string{m.name() + "-root"}
	for _, one := range devices {
		if fields, ok := one.(map[string]any); ok {
			name, _ := fields["name"].(string)
			names = append(names, m.name()+"-"+name)
		}
	}
	for _, volume := range v.Cloud.Volumes {
		if m.id != "" && volume.Server == m.id || m.infra != nil && slices.Contains(names, volume.Name) {
			own = append(own, volume)
		}
	}
	return own
}

// volumes are hits for volumes of machines that stay, about which told says something.
func volumes(told func(v *scene, m member, volume Volume) string) func(*scene) []hit {
	return func(v *scene) []hit {
		if !v.Cloud.knows(ListVolumes) || len(v.Cloud.Volumes) == 0 {
			return nil
		}
		var hits []hit
		for _, m := range v.members {
			if m.leaving() || v.ending() {
				continue
			}
			for _, volume := range v.volumesOf(m) {
				words := told(v, m, volume)
				if words == "" {
					continue
				}
				parent := m.ref()
				if _, known := v.parents[parent]; !known && m.infra != nil {
					parent = refOf(m.infra)
				}
				object := v.under(parent, Ref{Kind: "volume", Name: volume.Name, ID: volume.ID})
				hits = append(hits, hit{object: object, cause: words, since: volume.Updated, source: "Cinder", evidence: []string{"Cinder: volume " + volume.Name + " is " + volume.Status}})
			}
		}
		return hits
	}
}

// badVolume is about a volume in an error state.
func badVolume(_ *scene, _ member, volume Volume) string {
	if strings.HasPrefix(volume.Status, "error") {
		return "it is " + volume.Status
	}
	return ""
}

// looseVolume is about a volume that another server has, or none while its own runs.
func looseVolume(v *scene, m member, volume Volume) string {
	switch {
	case m.id == "" || volume.Server == m.id || strings.HasPrefix(volume.Status, "error"):
		return ""
	case volume.Server != "":
		words := "it is attached to another server, " + volume.Server
		if s := v.Cloud.server(volume.Server, ""); s != nil {
			words = "it is attached to another server, " + s.Name
		}
		return words
	case m.nova != nil && m.nova.Status == "ACTIVE" && volume.Status == "available" && v.listed(m):
		return "it is attached to no server"
	}
	return ""
}

// slowVolume is about a volume that stays in a state which Cinder should end.
func slowVolume(v *scene, _ member, volume Volume) string {
	passing := []string{"creating", "downloading", "attaching", "detaching", "reserved", "extending", "retyping", "maintenance", "restoring-backup"}
	if !slices.Contains(passing, volume.Status) || volume.Updated.IsZero() || v.Now.Sub(volume.Updated) < late {
		return ""
	}
	return fmt.Sprintf("it is %s for more than %s", volume.Status, late)
}
