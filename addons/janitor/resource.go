package janitor

// The kinds of resources in OpenStack, in the order of their deletion: what depends on another
// comes before it.
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

// claim is to whom a resource with the cluster's name belongs. The name alone does not tell: two
// clusters in one project may have the same name.
type claim int

const (
	unclaimed claim = iota // nothing but the name
	ours                   // on the cluster's own network, subnet or router
	foreign                // on another's
)

// Resource is a resource of the project that is named or described with the cluster's name.
type Resource struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Why says why the resource is not deleted now.
	Why string `json:"why,omitempty"`

	claim claim
	// keep means that its owner wants it kept, busy that the cloud would refuse now.
	keep, busy bool
}

func (t Resource) String() string {
	text := t.Kind + " " + t.ID
	if t.Name != "" {
		text += " (" + t.Name + ")"
	}
	if t.Why != "" {
		text += ": " + t.Why
	}
	return text
}

// plan is what is to become of the resources.
type plan struct {
	remove, wait, keep, refuse, foreign []Resource
}

// decide sorts resources into a plan. rivals are other clusters of the same name in the project
// that are to live on: if there is one, only what is identified by more than the name is deleted.
func decide(resources []Resource, rivals []string) plan {
	var p plan
	disputed := len(rivals) > 0
	for _, resource := range resources {
		disputed = disputed || resource.claim == foreign
	}
	for _, resource := range resources {
		switch {
		case resource.claim == foreign:
			p.foreign = append(p.foreign, resource)
		case resource.keep:
			p.keep = append(p.keep, resource)
		case disputed && resource.claim != ours:
			resource.Why = "only its name shows who owns it"
			p.refuse = append(p.refuse, resource)
		case resource.busy:
			p.wait = append(p.wait, resource)
		default:
			p.remove = append(p.remove, resource)
		}
	}
	return p
}
