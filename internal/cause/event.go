package cause

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// recent is how old an event may be: controllers repeat what keeps failing.
const recent = 30 * time.Minute

// slack is how much older an event may be than the state of its object: a controller
// writes the event first, and the status at the end of the same pass.
const slack = 10 * time.Second

// events are what warning events say of objects in the scene. CAPO writes some failures
// nowhere else: a port that it cannot create leaves no condition (networking/port.go).
// An event that is over loses.
func (v *scene) events() []complaint {
	var all []complaint
	for _, e := range v.Objects["Event"] {
		about := find(v.Objects[text(e, "involvedObject", "kind")], text(e, "involvedObject", "name"))
		first, last := times(e)
		if about == nil || text(e, "type") != "Warning" || v.Now.Sub(last) > recent || v.past(about, e, last) {
			continue
		}
		if v.ending() && !ofDeletion(text(e, "reason")+" "+text(e, "message")) {
			continue
		}
		all = append(all, complaint{object: refOf(about), kind: "event", reason: text(e, "reason"), message: oneLine(text(e, "message")), since: first, last: last})
	}
	return all
}

// times are when an event happened first and last.
func times(e *unstructured.Unstructured) (first, last time.Time) {
	at := func(path ...string) time.Time { t, _ := time.Parse(time.RFC3339, text(e, path...)); return t }
	last = later(at("lastTimestamp"), later(at("eventTime"), at("series", "lastObservedTime")))
	if last.IsZero() {
		last = e.GetCreationTimestamp().Time
	}
	if first = at("firstTimestamp"); first.IsZero() {
		first = last
	}
	return first, last
}

// past reports whether an event speaks of what is over: of an object that is well by now,
// of an earlier object of the same name, of a state that the object has left since, or of
// something that succeeded later.
func (v *scene) past(about, e *unstructured.Unstructured, last time.Time) bool {
	if flag(about, "status", "ready") || last.Before(about.GetCreationTimestamp().Time) {
		return true
	}
	for _, c := range Conditions(about) {
		switch {
		case c.outdated(about):
		case c.Status == "True" && (c.Type == "Ready" || c.Type == "Available"):
			return true
		case c.Since.After(last.Add(slack)) && !inverse(c.Type):
			return true
		}
	}
	failed, ok := strings.CutPrefix(text(e, "reason"), "Failed")
	for _, other := range v.Objects["Event"] {
		_, then := times(other)
		if ok && then.After(last) && text(other, "reason") == "Successful"+failed && same(other, e) {
			return true
		}
	}
	return false
}

// same reports whether two events are about one object.
func same(a, b *unstructured.Unstructured) bool {
	for _, field := range []string{"kind", "name"} {
		if text(a, "involvedObject", field) != text(b, "involvedObject", field) {
			return false
		}
	}
	return true
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
