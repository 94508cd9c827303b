package janitor

// The kinds of things in OpenStack, in the order of their deletion: what stands
// on another comes before it.
const (
	kindAddress  = "floating IP"
	kindBalancer = "load balancer"
	kindGroup    = "security group"
	kindSnapshot = "snapshot"
	kindVolume   = "volume"
)

func kinds() []string {
	return []string{kindAddress, kindBalancer, kindGroup, kindSnapshot, kindVolume}
}

// claim is whose a thing is that bears the cluster's name. The name alone does
// not tell: two clusters in one project may have the same.
type claim int

const (
	unclaimed claim = iota // nothing but the name
	ours                   // on the cluster's own network, subnet or router
	foreign                // on another's
)

// Thing is something in the project with the cluster's name in its mark.
type Thing struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Why says why it is not deleted now.
	Why string `json:"why,omitempty"`

	claim claim
	// keep says that its owner wants it kept, busy that the cloud would refuse now.
	keep, busy bool
}

func (t Thing) String() string {
	text := t.Kind + " " + t.ID
	if t.Name != "" {
		text += " (" + t.Name + ")"
	}
	if t.Why != "" {
		text += ": " + t.Why
	}
	return text
}

// plan is what is to become of the things.
type plan struct {
	remove, wait, keep, refuse, foreign []Thing
}

// decide sorts things into a plan. rivals are other clusters of the same name in
// the project that are to live on: beside one of those, only what is identified
// by more than the name is deleted.
func decide(things []Thing, rivals []string) plan {
	var p plan
	disputed := len(rivals) > 0
	for _, thing := range things {
		disputed = disputed || thing.claim == foreign
	}
	for _, thing := range things {
		switch {
		case thing.claim == foreign:
			p.foreign = append(p.foreign, thing)
		case thing.keep:
			p.keep = append(p.keep, thing)
		case disputed && thing.claim != ours:
			thing.Why = "only its name shows who owns it"
			p.refuse = append(p.refuse, thing)
		case thing.busy:
			p.wait = append(p.wait, thing)
		default:
			p.remove = append(p.remove, thing)
		}
	}
	return p
}
