package cause

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// recent is how old an event may be: controllers repeat what keeps failing.
const recent = 30 * time.Minute

// events are what warning events say of objects in the scene. CAPO writes some failures
// nowhere else: a port that it cannot create leaves no condition (networking/port.go).
// An event about a server that is there by now is over.
func (v *scene) events() []complaint {
	var all []complaint
	for _, e := range v.Objects["Event"] {
		last, _ := time.Parse(time.RFC3339, text(e, "lastTimestamp"))
		if last.IsZero() {
			last = e.GetCreationTimestamp().Time
		}
		about := find(v.Objects[text(e, "involvedObject", "kind")], text(e, "involvedObject", "name"))
		if about == nil || text(e, "type") != "Warning" || v.Now.Sub(last) > recent || flag(about, "status", "ready") || last.Before(about.GetCreationTimestamp().Time) {
			continue
		}
		if v.ending() && !ofDeletion(text(e, "reason")+" "+text(e, "message")) {
			continue
		}
		since, _ := time.Parse(time.RFC3339, text(e, "firstTimestamp"))
		if since.IsZero() {
			since = last
		}
		all = append(all, complaint{object: refOf(about), kind: "event", reason: text(e, "reason"), message: oneLine(text(e, "message")), since: since})
	}
	return all
}

// answered reports whether Nova was asked for the server and refused: its answer is the
// cause then, and not what it might have lacked.
func (m member) answered() bool {
	for _, o := range []*unstructured.Unstructured{m.infra, m.server} {
		for _, c := range Conditions(o) {
			if c.Status == "False" && c.Reason == "InstanceCreateFailed" {
				return true
			}
		}
	}
	return false
}

// waiting are the machines that have all they need from Cluster API, and no server.
func (v *scene) waiting() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, m := range v.members {
		if m.infra == nil || m.nova != nil || m.id != "" || m.leaving() || m.answered() || text(m.machine, "spec", "bootstrap", "dataSecretName") == "" || v.Now.Sub(m.since()) < time.Minute {
			continue
		}
		all = append(all, m.infra)
	}
	return all
}
