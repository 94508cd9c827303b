package cause

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// late is how long a server may build.
const late = 15 * time.Minute

// again is the fix of what failed for good: Cluster API makes another machine.
const again = "; then delete the Machine so that Cluster API creates another: kubectl delete machine NAME"

// ServerFault returns what to do about Nova's fault of a server that is not Cluster API's, "" if no
// rule knows the fault.
func ServerFault(fault string) string {
	for _, r := range rules() {
		if r.fault != nil && r.fault.MatchString(fault) {
			fix, _, _ := strings.Cut(r.Fix, "; then delete the Machine")
			return fix
		}
	}
	return ""
}

// serverRules are about Nova's servers.
func serverRules() []Rule {
	return []Rule{
		{ID: noHost, Layer: "Nova", Ending: Outside, Meaning: "No host of the cloud has room for the server, or none satisfies its server group, availability zone or flavor.",
			Fix:   "choose a smaller flavor or another availability zone, relax the server group, or ask the cloud's operator for capacity" + again,
			fault: regexp.MustCompile(`(?i)no valid host|exhausted all hosts|not enough hosts|insufficient compute resources|compute resources are insufficient|insufficient PCI|PCI device request.* fail|NUMA topology cannot fit|host .* is not (up|available)`), words: regexp.MustCompile(`(?i)no valid host|not enough hosts available`)},
		{ID: "zone-missing", Layer: "Nova", Ending: Outside, Meaning: "The availability zone of the machines does not exist, or has no host.", kind: "availability zone",
			Fix:   "choose one of openstack availability zone list for the machines" + again,
			words: regexp.MustCompile(`(?i)availability zone (?:'?(?P<object>[\w.-]+)'? )?is (?:not available|invalid)`), of: zoneOf},
		{ID: "port-binding-failed", Layer: "Neutron", Ending: Outside, Meaning: "Neutron could not connect a port on the server's host.",
			Fix:   "ask the cloud's operator to look at the network agent of the host" + again,
			fault: regexp.MustCompile(`(?i)binding failed for port|failed to allocate the network|vif plugging|virtual interface creation failed`), words: regexp.MustCompile(`(?i)binding failed for port|PortBindingFailed`)},
		{ID: "image-unusable", Layer: "Glance", Ending: Outside, Meaning: "Nova cannot start a server from the image: it is damaged, of another format, or has a wrong property.",
			Fix:   "upload the image again with slipway image sync, or correct its properties with openstack image set" + again,
			fault: regexp.MustCompile(`(?i)image .*(unacceptable|corrupt|invalid|checksum|signature)|(invalid|unsupported) .*image|hw_\w+`), words: regexp.MustCompile(`(?i)invalid image metadata|invalid image property`)},
		{ID: "server-error", Layer: "Nova", Ending: Outside, Meaning: "Nova put the server into ERROR.",
			Fix:  "read Nova's fault; see what was done with openstack server event list SERVER" + again,
			find: unknownFaults, words: regexp.MustCompile(`^InstanceStateError`), not: func(v *scene, c complaint, _ string) bool { return v.now(c.object.Name, "ACTIVE") }},
		{ID: "server-deleted", Layer: "Nova", Ending: Final, healthCheck: true, Meaning: "Somebody deleted the server outside Cluster API.",
			Fix:  "delete the Machine so that Cluster API creates another: kubectl delete machine NAME; see who deleted the server with openstack server event list",
			find: deleted, words: regexp.MustCompile(`(?i)server was unexpectedly deleted|instance has been deleted|^InstanceDeleted|^InstanceNotFound`)},
		{ID: "server-stopped", Layer: "Nova", Ending: Outside, Meaning: "The server does not run: somebody or its host stopped it.",
			Fix: "start it with openstack server start SERVER, or end its state with openstack server unpause, resume, unrescue, unshelve or unlock (slipway seed wake for the seed); see who stopped it with openstack server event list SERVER",
			find: servers(func(m member, s Server) (string, bool) {
				words := "it is " + s.Status
				if s.Locked {
					words += ", and somebody locked it"
				}
				return words, !slices.Contains(alive(), s.Status) && s.Task == ""
			})},
		{ID: "server-locked", Layer: "Nova", Ending: Outside, Meaning: "The server is to be deleted, and somebody locked it, so Nova refuses that.",
			Fix: "unlock it with openstack server unlock SERVER; Cluster API then continues by itself", find: locked},
		{ID: "server-slow", Layer: "Nova", Ending: Passing, Meaning: "The server has been building, or doing something else such as a reboot, for a long time.",
			Fix:  "ask the cloud's operator about the host and the image's download; delete the Machine to try on another host: kubectl delete machine NAME",
			find: slow},
		{ID: "machine-given-up", Layer: "Cluster API", Ending: Final, Meaning: "Cluster API gave up on the machine after an error of its server, although the server is well now.",
			Fix: "delete the Machine so that Cluster API creates another: kubectl delete machine NAME", find: abandoned},
	}
}

// alive are the states of Nova in which a server runs or is about to, and ERROR, which other
// rules tell. A server in any other state does not run.
func alive() []string {
	return []string{"ACTIVE", "BUILD", "ERROR", "REBUILD", "REBOOT", "HARD_REBOOT", "PASSWORD", "MIGRATING", "RESIZE", "VERIFY_RESIZE", "REVERT_RESIZE", "DELETED", ""}
}

// locked are servers of machines that are being deleted, which Nova does not let go.
func locked(v *scene) []hit {
	var hits []hit
	for _, m := range v.members {
		if m.nova == nil || !m.nova.Locked || !m.leaving() && !v.ending() {
			continue
		}
		hits = append(hits, hit{object: m.ref(), cause: "it is to be deleted, and somebody locked it", since: m.nova.Updated, source: "Nova", evidence: []string{"Nova: server " + m.nova.Name + " is locked"}})
	}
	return hits
}

// servers is a hit for each server of a machine that stays about which told returns true.
func servers(told func(member, Server) (string, bool)) func(*scene) []hit {
	return func(v *scene) []hit {
		var hits []hit
		for _, m := range v.members {
			if m.nova == nil || m.leaving() {
				continue
			}
			if words, yes := told(m, *m.nova); yes {
				since := m.nova.FaultAt
				if since.IsZero() {
					since = m.nova.Updated
				}
				h := hit{object: m.ref(), cause: words, since: since, source: "Nova", evidence: []string{fmt.Sprintf("Nova: server %s is %s", m.nova.Name, m.nova.Status)}}
				if m.nova.Fault != "" {
					h.evidence[0] += ": " + m.nova.Fault
				}
				hits = append(hits, h)
			}
		}
		return hits
	}
}

// faulted is a hit for each server in ERROR whose fault has the words of a rule, and of no
// earlier one. The words may name the object at fault.
func (v *scene) faulted(r *Rule, told map[string]bool) []hit {
	hits := servers(func(_ member, s Server) (string, bool) {
		return s.Fault, s.Status == "ERROR" && !told[s.ID] && r.fault.MatchString(s.Fault)
	})(v)
	for i := range hits {
		told[hits[i].object.ID] = true
		if r.ID == noHost {
			hits[i] = v.housed(hits[i])
		}
		at := r.fault.SubexpIndex("object")
		if at < 0 {
			continue
		}
		if name := r.fault.FindStringSubmatch(hits[i].cause)[at]; name != "" {
			hits[i].object = v.under(hits[i].object, r.named(name))
		}
	}
	return hits
}

// unknownFaults are servers in ERROR whose fault no rule knows.
func unknownFaults(v *scene) []hit {
	return servers(func(_ member, s Server) (string, bool) {
		if s.Status == "ERROR" && s.Fault == "" {
			return "it is in ERROR, and Nova gives no fault", true
		}
		known := slices.ContainsFunc(v.rules, func(r Rule) bool { return r.fault != nil && r.fault.MatchString(s.Fault) })
		return s.Fault, s.Status == "ERROR" && !known
	})(v)
}

// deleted are the servers that Cluster API knows and Nova does not.
func deleted(v *scene) []hit {
	if !v.Cloud.knows(ListServers) {
		return nil
	}
	var hits []hit
	for _, m := range v.members {
		if m.id != "" && m.nova == nil && !m.leaving() && v.listed(m) {
			hits = append(hits, hit{object: m.ref(), cause: "Nova has no server with the id " + m.id, source: "Nova", evidence: []string{"Nova: no server " + m.id}})
		}
	}
	return hits
}

// listed reports whether the list of servers is younger than a member's server: an older
// one does not have it yet.
func (v *scene) listed(m member) bool {
	if v.Cloud.At.IsZero() || m.machine == nil {
		return true
	}
	since := m.since().Add(late) // where nobody says when the server was there
	for _, o := range []*unstructured.Unstructured{m.infra, m.server} {
		for _, c := range Conditions(o) {
			if c.Type == "InstanceReady" && c.Severity != "Info" && !c.Since.IsZero() {
				since = c.Since
			}
		}
	}
	return since.Before(v.Cloud.At)
}

// slow are servers that build for too long.
func slow(v *scene) []hit {
	return servers(func(_ member, s Server) (string, bool) {
		since := s.Created
		if s.Status != "BUILD" {
			since = s.Updated // when its task began
		}
		return fmt.Sprintf("it is %s for more than %s%s", s.Status, late, doing(s.Task)), (s.Status == "BUILD" || s.Task != "" && s.Status != "ERROR") && !since.IsZero() && v.Now.Sub(since) > late
	})(v)
}

func doing(task string) string {
	if task == "" {
		return ""
	}
	return " (" + strings.ReplaceAll(task, "_", " ") + ")"
}

// abandoned are machines that CAPO gave up on, whose server runs.
func abandoned(v *scene) []hit {
	var hits []hit
	for _, m := range v.members {
		if m.infra == nil || m.nova == nil || m.nova.Status != "ACTIVE" || m.leaving() || !v.givenUp(m.infra) && (m.server == nil || !v.givenUp(m.server)) {
			continue
		}
		object, words := refOf(m.infra), failureMessage(m.infra)
		hits = append(hits, hit{object: object, source: "Cluster API's OpenStack provider", evidence: []string{object.String() + ": " + words, "Nova: server " + m.nova.Name + " is ACTIVE"}})
	}
	return hits
}

// now reports whether the server of a machine has a status in Nova now.
func (v *scene) now(name, status string) bool {
	for _, m := range v.members {
		if m.nova != nil && m.nova.Status == status && (m.infra != nil && m.infra.GetName() == name || m.machine != nil && m.machine.GetName() == name) {
			return true
		}
	}
	return false
}
