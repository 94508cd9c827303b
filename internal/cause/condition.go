package cause

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Condition is a condition of an object, of Cluster API's or of Kubernetes' own form.
type Condition struct {
	Type, Status, Reason, Message string
	// Severity is only in Cluster API's older form: Info, Warning or Error.
	Severity string
	Since    time.Time

	observed int64 // the generation that it speaks of; 0 if it does not say
}

// Conditions returns all conditions of an object, those of its own contract first:
// Cluster API keeps those of the other contract elsewhere in the status.
func Conditions(o *unstructured.Unstructured) []Condition {
	if o == nil {
		return nil
	}
	var all []Condition
	for _, path := range [][]string{{"status", "conditions"}, {"status", "deprecated", "v1beta1", "conditions"}, {"status", "v1beta2", "conditions"}} {
		entries, _, _ := unstructured.NestedSlice(o.Object, path...)
		for _, entry := range entries {
			c, _ := entry.(map[string]any)
			get := func(key string) string { value, _ := c[key].(string); return value }
			since, _ := time.Parse(time.RFC3339, get("lastTransitionTime"))
			observed, _ := c["observedGeneration"].(int64)
			all = append(all, Condition{get("type"), get("status"), get("reason"), get("message"), get("severity"), since, observed})
		}
	}
	return all
}

// outdated reports whether a condition speaks of another object than there is now: of an
// earlier generation, or of an object of the same name that was deleted.
func (c Condition) outdated(o *unstructured.Unstructured) bool {
	observed, told, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	switch {
	case c.observed > 0:
		return c.observed < o.GetGeneration()
	case told && observed < o.GetGeneration():
		return true
	}
	created := o.GetCreationTimestamp()
	return !created.IsZero() && !c.Since.IsZero() && c.Since.Before(created.Time.Truncate(time.Second))
}

// awaited are the reasons of conditions that only wait for something else, each with
// what shows that the wait is over. A condition that waits for what is there has not
// been written again since: CAPO keeps WaitingForBootstrapData until a server is ready.
func (v *scene) over(o *unstructured.Unstructured, reason string) bool {
	machine := o
	if o.GetKind() != "Machine" {
		machine = v.machineOf(o.GetName())
	}
	switch reason {
	case "WaitingForBootstrapData":
		return text(machine, "spec", "bootstrap", "dataSecretName") != ""
	case "WaitingForClusterInfrastructure":
		return flag(v.infrastructure, "status", "ready")
	}
	return false
}

// complaint is something that an object says of itself.
type complaint struct {
	object                Ref
	kind, reason, message string
	since                 time.Time
	// last is when an event was told last; zero for what is said of now.
	last time.Time
	// loud complaints are causes even if no rule knows their words; others only summarise.
	loud bool
	// final is set if the controller has given up on the object.
	final bool
}

// lasted is how long the complaint has been true; 0 if nobody says since when. An event was true
// no longer than it was repeated.
func (c complaint) lasted(now time.Time) time.Duration {
	switch {
	case c.since.IsZero():
		return 0
	case !c.last.IsZero():
		return c.last.Sub(c.since)
	}
	return now.Sub(c.since)
}

// text is what rules match.
func (c complaint) text() string {
	return strings.TrimPrefix(strings.TrimSuffix(c.reason+": "+c.message, ": "), ": ")
}

// pointer is what CAPO writes into failureMessage of a server in ERROR: it formats the
// address of the state instead of the state.
var pointer = regexp.MustCompile(`^instance state 0x[0-9a-f]+ is unexpected$`)

// complaints returns what an object says is wrong now. Conditions that are outdated, or
// that wait for what is there, lose.
func (v *scene) complaints(o *unstructured.Unstructured) []complaint {
	object := refOf(o)
	given := v.givenUp(o)
	var all []complaint
	if message := failureMessage(o); message != "" && !pointer.MatchString(message) && !(v.goes(o) && !ofDeletion(message)) {
		all = append(all, complaint{object: object, kind: "failure", message: oneLine(message), loud: given || !addon(o), final: given || !addon(o)})
	}
	var summaries []complaint
	for _, c := range Conditions(o) {
		if c.Status != "False" && !(c.Status == "Unknown" && c.Message != "") || c.outdated(o) || v.over(o, c.Reason) || inverse(c.Type) {
			continue
		}
		if v.goes(o) && !ofDeletion(c.Reason+" "+c.Message) {
			continue // what is being deleted is not well, and need not be
		}
		one := complaint{object: object, kind: c.Type, reason: c.Reason, message: oneLine(c.Message), since: c.Since, final: given, loud: loud(o, c)}
		if c.Type == "Ready" || c.Type == "Available" {
			summaries = append(summaries, one)
			continue
		}
		all = append(all, one)
	}
	return append(all, summaries...)
}

// addon reports whether an object is one of the addon provider, which keeps the words of its last
// attempt while it tries again: only its phase says that it has given up.
func addon(o *unstructured.Unstructured) bool {
	return o.GetKind() == "HelmRelease" || o.GetKind() == "Manifests"
}

// ofDeletion reports whether words are about a deletion, such as "failed to delete port".
func ofDeletion(words string) bool { return has(words, "delet", "detach", "drain") }

// goes reports whether an object is being deleted: with its cluster, or as a machine, or
// of one.
func (v *scene) goes(o *unstructured.Unstructured) bool {
	if v.ending() {
		return true
	}
	switch o.GetKind() {
	case "Machine", "OpenStackMachine", "OpenStackServer":
		m := v.machineOf(o.GetName())
		return o.GetDeletionTimestamp() != nil || m != nil && m.GetDeletionTimestamp() != nil
	}
	return false
}

// inverse reports whether False is the good status of a condition.
func inverse(kind string) bool {
	return slices.Contains([]string{"Paused", "Deleting", "RollingOut", "ScalingUp", "ScalingDown", "Remediating", "MaxReplicas"}, kind)
}

// loud reports whether a condition is a cause by itself. Cluster API's own kinds only
// summarise others; CAPO marks what is only a wait with the severity Info.
func loud(o *unstructured.Unstructured, c Condition) bool {
	switch o.GetKind() {
	case "OpenStackCluster", "OpenStackMachine", "OpenStackServer":
		return c.Status == "False" && c.Severity != "Info" && (c.Message != "" || c.Severity == "Error")
	case "ServerGroup", "Image":
		return c.Type == "Progressing" && (c.Reason == "InvalidConfiguration" || c.Reason == "UnrecoverableError")
	}
	return c.Severity == "Error"
}

// givenUp reports whether the controller of an object does not try again: CAPO after a
// server went to ERROR, the resource controller after what the cloud refused.
func (v *scene) givenUp(o *unstructured.Unstructured) bool {
	switch {
	case o.GetKind() == "OpenStackServer":
		return text(o, "status", "instanceState") == "ERROR"
	case addon(o):
		return text(o, "status", "phase") == "Failed"
	}
	if failureMessage(o) != "" {
		return true
	}
	return slices.ContainsFunc(Conditions(o), func(c Condition) bool {
		return c.Status == "False" && slices.Contains([]string{"InstanceStateError", "InvalidMachineSpec", "InstanceDeleted"}, c.Reason) && !c.outdated(o)
	})
}

func failureMessage(o *unstructured.Unstructured) string {
	for _, path := range [][]string{{"status", "failureMessage"}, {"status", "deprecated", "v1beta1", "failureMessage"}} {
		if message := text(o, path...); message != "" {
			return message
		}
	}
	return ""
}

// longest is how much of a message is kept; Magnum's clients print it in a table.
const longest = 1000

// Text puts a message of a controller on one line, and bounds it.
func Text(message string) string { return oneLine(message) }

// call is how gophercloud tells of a call that failed; the last group is the answer.
var call = regexp.MustCompile(`Expected HTTP response code \[[\d ]*\] when accessing \[\w+ [^\]]*\], but got (\d+) instead: (\{.*\})`)

// Plain puts the cloud's own words where gophercloud shows the whole call and answer.
func Plain(message string) string {
	return call.ReplaceAllStringFunc(message, func(found string) string {
		parts := call.FindStringSubmatch(found)
		var answer map[string]any
		if json.Unmarshal([]byte(parts[2]), &answer) != nil {
			return found
		}
		if words := said(answer); words != "" {
			return words + " (" + parts[1] + ")"
		}
		return found
	})
}

// said finds the message in an error answer: at the top, or in the one object there is.
func said(answer map[string]any) string {
	for _, key := range []string{"message", "faultstring", "description"} {
		if words, _ := answer[key].(string); words != "" {
			return words
		}
	}
	for _, inner := range answer {
		if inside, ok := inner.(map[string]any); ok {
			if words := said(inside); words != "" {
				return words
			}
		}
	}
	return ""
}

// oneLine puts a message that is a nested list on one line.
func oneLine(message string) string {
	var b strings.Builder
	for line := range strings.Lines(message) {
		line = strings.TrimLeft(strings.TrimSpace(line), "* ")
		switch {
		case line == "":
			continue
		case strings.HasSuffix(b.String(), ":"): // the heading of what follows
			b.WriteString(" ")
		case b.Len() > 0:
			b.WriteString("; ")
		}
		b.WriteString(strings.Join(strings.Fields(line), " "))
	}
	whole := b.String()
	return strings.ToValidUTF8(whole[:min(len(whole), longest)], "")
}

func text(o *unstructured.Unstructured, path ...string) string {
	if o == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(o.Object, path...)
	return value
}

func flag(o *unstructured.Unstructured, path ...string) bool {
	if o == nil {
		return false
	}
	value, _, _ := unstructured.NestedBool(o.Object, path...)
	return value
}

func refOf(o *unstructured.Unstructured) Ref { return Ref{Kind: o.GetKind(), Name: o.GetName()} }
