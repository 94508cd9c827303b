package cause

import (
	"cmp"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Rule is one reason: what it means, what to do, and how it is recognised, by the
// state of objects and of the cloud, by words of a controller, or by both.
type Rule struct {
	// ID is the stable reason id.
	ID string
	// Layer is where the cause lies: "Nova", "Neutron", "Kubernetes".
	Layer string
	// Meaning and Fix are for operators. Fix is a sentence with the command.
	Meaning, Fix string
	// Ending is what becomes of it unless the controller has given up.
	Ending Ending
	// lasts is how long what controllers say must have lasted before it counts as Ending and not
	// as passing: they try again with growing pauses, and say until then what was.
	lasts time.Duration
	// healthCheck is set if a machine health check sees it and has the machine replaced:
	// then it is passing where such a check watches the machine.
	healthCheck bool
	// Operator is set if only the operator can see and fix it; tenants get Meaning.
	Operator bool

	// find looks at objects and cloud.
	find func(*scene) []hit
	// fault matches Nova's fault of a server in ERROR, console the lines that a server which
	// is no node yet wrote to its console.
	fault, console *regexp.Regexp
	// over matches what a server writes only if what it wrote for console before has passed.
	over *regexp.Regexp
	// words matches what controllers say. A named group "object" is the name of the object
	// at fault, which is of the kind in kind; without it the object is the one that says so.
	words *regexp.Regexp
	kind  string
	// kinds are those of the objects whose words count; nil means all.
	kinds []string
	// of names the object at fault where the words do not; nil is the one that says so.
	of func(v *scene, c complaint) string
	// not takes a match back, for words that the cloud contradicts now.
	not func(v *scene, c complaint, object string) bool
	// adds is what the words leave out, such as which machines; nil adds nothing.
	adds func(v *scene, c complaint) string
}

// hit is one occurrence of a rule.
type hit struct {
	object   Ref
	cause    string
	since    time.Time
	source   string
	evidence []string
	final    bool
	// refused is set if what ends a passing cause by itself was refused: then it is an outside one.
	refused bool
	// nodes, owners and consequences are those of pods, see Finding.
	nodes, owners, consequences []string
	// machines are those that are not well with the object.
	machines []string
}

// Rules are all rules, in the order in which they are tried: what is nearest to the
// cause comes first.
func Rules() []Rule { return slices.Clone(rules()) }

var rules = sync.OnceValue(func() []Rule {
	return slices.Concat(quotaRules(), serverRules(), imageRules(), volumeRules(), networkRules(), balancerRules(), treeRules(), goneRules(), driftRules(), bootRules(), deleteRules(), repairRules(), controllerRules(), clusterRules(), apiRules(), nodeRules(), podRules(), serviceRules(), addonRules(), identityRules(), lastRules())
})

// look runs the rules that look at objects and cloud.
func (v *scene) look() []Finding {
	var found []Finding
	printedOf, faultOf := map[Ref]bool{}, map[string]bool{}
	for i := range v.rules {
		r := &v.rules[i]
		var hits []hit
		if r.find != nil {
			hits = r.find(v)
		}
		if r.fault != nil {
			hits = append(hits, v.faulted(r, faultOf)...)
		}
		if r.console != nil {
			// What a machine prints later follows from what an earlier rule knows: a full disk
			// or kubeadm's preflight makes kubeadm and cloud-init fail too.
			for _, h := range printed(v, *r) {
				if !printedOf[h.object] {
					hits = append(hits, h)
				}
				printedOf[h.object] = true
			}
		}
		for _, h := range hits {
			found = append(found, v.finding(r, h))
		}
	}
	return found
}

func (v *scene) finding(r *Rule, h hit) Finding {
	f := Finding{Reason: r.ID, Object: h.object, Cause: cmp.Or(h.cause, r.Meaning), Since: h.since, Source: cmp.Or(h.source, r.Layer), Ending: r.Ending,
		Evidence: h.evidence, Fix: r.Fix, Consequences: h.consequences, rule: r, nodes: h.nodes, owners: h.owners, machines: h.machines}
	switch {
	case h.final:
		f.Ending = Final
	case h.refused && f.Ending == Passing:
		f.Ending = Outside
	}
	return f
}

// hear adds what controllers say: what a rule knows the words of, and the loud rest.
func (v *scene) hear(found []Finding) []Finding {
	known := map[Ref]bool{}
	heard := map[[2]string]bool{}
	for _, c := range v.spoken {
		r, object := match(v, v.rules, c)
		if r == nil {
			continue
		}
		known[c.object] = true
		if object == (Ref{}) { // contradicted
			continue
		}
		if key := [2]string{r.ID, object.String()}; heard[key] {
			continue
		} else {
			heard[key] = true
		}
		f := v.finding(r, hit{object: v.under(c.object, object), cause: Plain(c.message), since: c.since, source: speaker(c.object.Kind), final: c.final})
		if f.Ending == Outside && r.lasts > 0 && c.lasted(v.Now) < r.lasts {
			f.Ending = Passing
		}
		if f.words = c.text(); c.message == "" {
			f.Cause = r.Meaning
		}
		if r.adds != nil {
			f.Cause += r.adds(v, c)
		}
		f.Evidence = []string{c.object.String() + " " + c.kind + ": " + c.text()}
		found = append(found, f)
	}
	found = append(found, v.rest(known)...)
	if len(found) == 0 {
		found = v.waits(known)
	}
	return found
}

// onlyWaits is the rule for when there is no error at all.
func onlyWaits() Rule {
	return Rule{ID: "not-ready", Layer: "Cluster API", Ending: Passing, Meaning: "A part of the cluster is not ready for long, and neither its controllers nor the cloud report an error; the words say what it waits for.",
		Fix: "see what it waits for with kubectl describe, and the log of its controller with kubectl logs, such as kubectl logs --namespace capo-system deployment/capo-controller-manager"}
}

// withoutWorkers is the reason of an addon that needs workers where there are to be none.
const withoutWorkers = "WaitingForWorkers"

// long is how long a part may not be ready without anybody reporting an error.
const long = 10 * time.Minute

// waits is what is not ready for long, if there is no cause at all: the deepest part of which
// no rule knows better.
func (v *scene) waits(known map[Ref]bool) []Finding {
	if v.ending() {
		return nil
	}
	rule := onlyWaits()
	for _, kind := range []string{"OpenStackServer", "OpenStackMachine", "Machine", "ServerGroup", "OpenStackCluster", "KubeadmControlPlane", "MachineDeployment", "HelmRelease", "Manifests", "Cluster"} {
		for _, c := range v.spoken {
			if c.object.Kind != kind || c.kind == "event" || c.reason == withoutWorkers || c.message == "" || c.since.IsZero() || v.Now.Sub(c.since) < long || known[c.object] {
				continue
			}
			f := v.finding(&rule, hit{object: c.object, cause: c.kind + ": " + c.message, since: c.since, source: speaker(kind), evidence: []string{c.object.String() + " " + c.kind + ": " + c.text()}})
			f.words = c.text()
			return []Finding{f}
		}
	}
	return nil
}

// named is the object at fault of which the words have the name.
func (r *Rule) named(name string) Ref {
	if r.kind == "quota" {
		name = quotaName(name)
	}
	return Ref{Kind: r.kind, Name: name}
}

// match returns the first rule whose words a complaint has, and the object at fault; no
// object if the cloud contradicts the words.
func match(v *scene, rules []Rule, c complaint) (*Rule, Ref) {
	for i := range rules {
		r := &rules[i]
		if r.words == nil || r.kinds != nil && !slices.Contains(r.kinds, c.object.Kind) {
			continue
		}
		found := r.words.FindStringSubmatch(c.text())
		if found == nil {
			continue
		}
		name := ""
		if at := r.words.SubexpIndex("object"); at >= 0 {
			name = found[at]
		}
		if name == "" && r.of != nil {
			name = r.of(v, c)
		}
		switch {
		case r.not != nil && r.not(v, c, name):
			return r, Ref{}
		case name != "":
			return r, r.named(name)
		}
		return r, c.object
	}
	return nil, Ref{}
}

// rest are the loud complaints of objects of which no rule knows the words: the best one
// of each object, because the others summarise it.
func (v *scene) rest(known map[Ref]bool) []Finding {
	best := map[Ref]complaint{}
	var order []Ref
	for _, c := range v.spoken {
		if !c.loud || known[c.object] {
			continue
		}
		b, there := best[c.object]
		if !there {
			order = append(order, c.object)
		}
		if !there || b.message == "" && c.message != "" {
			best[c.object] = c
		}
	}
	said := controllerSays()
	var found []Finding
	for _, object := range order {
		c := best[object]
		f := v.finding(&said, hit{object: object, cause: cmp.Or(Plain(c.message), c.reason), since: c.since, source: speaker(object.Kind), final: c.final})
		f.words, f.Evidence = c.text(), []string{object.String() + " " + c.kind + ": " + c.text()}
		if object.Kind == "ServerGroup" || stubborn.MatchString(f.words) || conflict.MatchString(f.words) && c.lasted(v.Now) >= pending {
			f.Ending = Outside // the server group's controller asks again only when the group is another
		}
		found = append(found, f)
	}
	return found
}

// stubborn are words after which trying again does not help: the cloud refuses what it
// is asked, not the moment.
var stubborn = regexp.MustCompile(`(?i)\b40[0-68]\b|not found|could not find|unable to find|invalid|unauthorized|forbidden|in error state|exceed|insufficient|not enough|no availability zone`)

// conflict is the status of a request that the state of an object does not allow, such as
// Octavia's answer while it changes the load balancer. It passes, unless it lasts for longer
// than a load balancer may be pending.
var conflict = regexp.MustCompile(`\b409\b`)

// Lasting reports whether words of a controller are about what does not pass: what a rule
// knows that says so, or what the cloud refuses.
func Lasting(words string) bool { return lasting(rules(), words) }

func lasting(rules []Rule, words string) bool {
	for _, r := range rules {
		if r.words != nil && r.words.MatchString(words) {
			return r.Ending != Passing && r.lasts == 0 // words alone do not say for how long
		}
	}
	return stubborn.MatchString(words)
}

// controllerSays is the rule of last resort.
func controllerSays() Rule {
	return Rule{ID: "controller-says", Layer: "Cluster API", Meaning: "A controller reports an error that has no rule of its own; its words are the cause.", Ending: Passing,
		Fix: "read the words of the controller, fix what they name, and see the controller's log with kubectl logs, such as kubectl logs --namespace capo-system deployment/capo-controller-manager"}
}

// speaker is who writes the status of a kind.
func speaker(kind string) string {
	switch kind {
	case "OpenStackCluster", "OpenStackMachine", "OpenStackServer":
		return "Cluster API's OpenStack provider"
	case "ServerGroup", "Image":
		return "the OpenStack resource controller"
	case "HelmRelease", "Manifests":
		return "the addon provider"
	case "Node":
		return "the cluster's Kubernetes"
	}
	return "Cluster API"
}
