// Package cause is the engine that finds why a cluster, or something of it, is not as
// it should be. It reads a snapshot, the objects of Cluster API and what the cloud says
// now, and returns findings: a stable reason, the object at fault, since when, who says
// so, the chain that leads there, the words of the cloud, and what to do.
//
// The engine is pure: it asks nobody and needs no client, so that every command, the
// Magnum endpoint and the tests run the same code. Rules are in one file per layer;
// docs/design/0023-causes.md says how to add one.
package cause

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Objects are the Kubernetes objects of one cluster, by kind.
type Objects map[string][]*unstructured.Unstructured

// Snapshot is what is known of one cluster at one time.
type Snapshot struct {
	// Objects of the cluster. Without a Cluster, only the servers in Servers are judged.
	Objects Objects
	// Servers are servers that no Cluster API object stands for, such as the seed. Each
	// needs an ID.
	Servers []Ref
	// Cloud is what the cloud said; nil means it was not asked.
	Cloud *Cloud
	// Inside is what the cluster itself said; nil means it was not asked. Only operators'
	// commands ask it.
	Inside *Inside
	// Controllers are those that manage the cluster; nil means they were not asked about.
	Controllers []Controller
	// Magnum is the cluster's UUID at the Magnum API; empty if it is none of its clusters.
	Magnum string
	// Unseen is what could not be read, in addition to what the cloud did not tell.
	Unseen []Unseen
	// Now is the time of the snapshot.
	Now time.Time
}

// Unseen is something that could not be looked at.
type Unseen struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Ref names an object: a kind of Kubernetes, or a word such as "server" for what is in
// the cloud.
type Ref struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// ID is the cloud's; empty for objects in Kubernetes.
	ID string `json:"id,omitempty"`
}

// String is "Machine shop-w1" or "server shop-w1".
func (r Ref) String() string { return strings.TrimSpace(r.Kind + " " + cmp.Or(r.Name, r.ID)) }

// Ending says what becomes of a cause if nobody acts.
type Ending string

// The endings. Controllers try on after a passing cause and an outside one; only a
// change from outside, such as a larger quota, ends the latter. After a final one the
// controller has given up on the object.
const (
	Passing Ending = "passing"
	Outside Ending = "outside"
	Final   Ending = "final"
)

// Finding is one cause.
type Finding struct {
	// Reason is the stable id, listed in docs/reference/reasons.md.
	Reason string `json:"reason"`
	// Object is what is at fault.
	Object Ref `json:"object"`
	// Cause is one line about the object, without its name.
	Cause string `json:"cause"`
	// Since is when it began; zero if nobody says.
	Since time.Time `json:"since,omitzero"`
	// Source is who says so: "Nova", "Cluster API".
	Source string `json:"source"`
	// Ending is what becomes of it if nobody acts.
	Ending Ending `json:"ending"`
	// Chain leads from the cluster to Object; both are in it.
	Chain []Ref `json:"chain"`
	// Evidence are the words of the cloud and of the controllers.
	Evidence []string `json:"evidence,omitempty"`
	// Fix is what an operator does about it.
	Fix string `json:"fix"`
	// Consequences are other objects that are not well because of it.
	Consequences []string `json:"consequences,omitempty"`

	rule  *Rule
	words string // of the complaint that told it, if one did
	// nodes are those whose pods are not well because of it, owners the workloads of these
	// pods, as namespace/name.
	nodes, owners []string
	machines      []string // those that are not well because of it
}

// Line is the cause in one line: object, cause, since when and who says so.
func (f Finding) Line() string {
	text := f.Object.String() + ": " + strings.TrimSuffix(f.Cause, ".") + " ("
	if !f.Since.IsZero() {
		text += "since " + f.Since.UTC().Format("2006-01-02 15:04:05 UTC") + ", "
	}
	return text + "says " + f.Source + ")"
}

// NeedsHelp reports whether waiting alone does not end the cause, whether or not the
// controller has given up on it too.
func (f Finding) NeedsHelp() bool {
	return f.Ending == Outside || f.Ending == Final && f.rule != nil && f.rule.Ending == Outside
}

// Renews reports whether the login of a cluster failed in a way that a new credential ends.
func (f Finding) Renews() bool {
	return f.rule != nil && f.words == "" && f.rule.ID != "credential-without-role" && strings.Contains(f.rule.Fix, renewal)
}

// Layer is where the cause lies: "Nova", "Neutron", "Kubernetes".
func (f Finding) Layer() string {
	if f.rule == nil {
		return ""
	}
	return f.rule.Layer
}

// Of returns the first object of a kind in the chain, the zero Ref if there is none.
func (f Finding) Of(kind string) Ref {
	if i := slices.IndexFunc(f.Chain, func(r Ref) bool { return r.Kind == kind }); i >= 0 {
		return f.Chain[i]
	}
	return Ref{}
}

// Answer is what the engine found.
type Answer struct {
	// Findings are the independent causes, the worst first, then the oldest.
	Findings []Finding `json:"findings"`
	// Well is what was looked at and is well.
	Well []string `json:"well,omitempty"`
	// Unseen is what could not be looked at.
	Unseen []Unseen `json:"unseen,omitempty"`
}

// TheCloud is what is not seen if the cloud of a cluster could not be asked.
const TheCloud = "the cloud"

// WithinCluster is what is not seen if a cluster itself could not be asked.
const WithinCluster = "inside the cluster"

// Explain finds the causes in a snapshot. Consequences of a cause are folded under it;
// independent causes are all returned.
func Explain(s Snapshot) Answer {
	v := newScene(s)
	all := v.hear(v.look())
	for i := range all {
		all[i].Chain = v.chain(all[i].Object)
		v.repair(&all[i])
		all[i].Fix = strings.Replace(all[i].fill(v.space()), renewal, v.renewal(), 1)
	}
	a := Answer{Findings: fold(v, all), Well: v.well(all), Unseen: slices.Clone(s.Unseen)}
	switch {
	case s.Cloud == nil && !slices.ContainsFunc(a.Unseen, func(u Unseen) bool { return u.What == TheCloud }):
		a.Unseen = append(a.Unseen, Unseen{TheCloud, "it was not asked"})
	case s.Cloud != nil:
		a.Unseen = append(a.Unseen, s.Cloud.Missing...)
	}
	a.Unseen = append(a.Unseen, v.dark()...)
	if a.Findings == nil {
		a.Findings = []Finding{}
	}
	return a
}

// worst orders findings: what a controller gave up on, what needs help from outside,
// the rest; then the oldest first, because what came later often follows from it.
func worst(a, b Finding) int {
	weight := map[Ending]int{Final: 0, Outside: 1, Passing: 2}
	return cmp.Or(cmp.Compare(weight[a.Ending], weight[b.Ending]), undated(a.Since).Compare(undated(b.Since)), cmp.Compare(a.Object.String(), b.Object.String()),
		cmp.Compare(a.Reason, b.Reason))
}

// undated puts what has no date last.
func undated(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(1<<40, 0)
	}
	return t
}

// Involves reports whether a finding is about an object with a name or an id, or about
// something that it consists of.
func (f Finding) Involves(name string) bool {
	return slices.ContainsFunc(f.Chain, func(r Ref) bool { return r.Name == name || r.ID == name && name != "" })
}

// Has reports whether an object with a name or an id is in the snapshot: in Kubernetes,
// or as the server or load balancer of the cluster.
func (s Snapshot) Has(name string) bool {
	v := newScene(s)
	if b := v.api(); b != nil && (b.Name == name || b.ID == name) {
		return true
	}
	for _, list := range v.Objects {
		if slices.ContainsFunc(list, func(o *unstructured.Unstructured) bool { return o.GetName() == name }) {
			return true
		}
	}
	return slices.ContainsFunc(v.members, func(m member) bool { r := m.ref(); return r.Name == name || r.ID == name })
}

// About returns the answer with the findings that involve an object alone. A finding on
// which the object stands without being part of it, such as the cluster's network, is
// kept too if the object is not well because of it.
func (a Answer) About(name string) Answer {
	var kept []Finding
	for _, f := range a.Findings {
		follows := slices.ContainsFunc(f.Consequences, func(c string) bool { return slices.Contains(strings.Fields(strings.ReplaceAll(c, ":", " ")), name) })
		if f.Involves(name) || follows {
			kept = append(kept, f)
		}
	}
	a.Findings = kept
	if a.Findings == nil {
		a.Findings = []Finding{}
	}
	return a
}
