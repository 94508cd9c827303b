package status

import (
	"fmt"
	"strings"

	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// condition is how a resource of the cloud is.
type condition int

const (
	well condition = iota
	changing
	broken
)

// judge reads a resource's state, each service's in its own words.
func judge(t openstack.Thing) condition {
	state := strings.ToUpper(t.State)
	for _, word := range []string{"ERROR", "KILLED", "DEACTIVATED", "DEGRADED"} {
		if strings.Contains(state, word) {
			return broken
		}
	}
	for _, word := range []string{"PENDING", "BUILD", "CREATING", "DELETING", "ATTACHING", "DETACHING", "EXTENDING", "QUEUED", "SAVING", "IMPORTING", "REBUILD", "RESIZE", "REBOOT"} {
		if strings.Contains(state, word) {
			return changing
		}
	}
	return well
}

// verdict is one sentence: whether all is well, and if not the first cause and
// what to do.
func (r result) verdict() string {
	switch cause, fix := r.trouble(); {
	case len(r.Resources) == 0:
		return fmt.Sprintf("Nothing of %s is in cloud %s; slipway up makes it.", r.Environment, r.Cloud)
	case cause != "":
		return "Not all is well: " + strings.TrimSuffix(cause, ".") + "; " + fix + "."
	case r.shelved:
		return "All that can be seen is well; the seed is shelved, and slipway seed wake wakes it."
	}
	return fmt.Sprintf("All is well: %s, %s on the seed, %s.", counted(len(r.Resources), "resource"), counted(len(r.Seed)-nodes(r.Seed), "Deployment"), counted(len(r.Clusters), "cluster"))
}

// trouble is the first cause, from what others stand on to what stands on them,
// and what to do about it; "" is none.
func (r result) trouble() (cause, fix string) {
	const more = "slipway status --wide shows the rest"
	for _, t := range r.Resources {
		if judge(t) == broken {
			return fmt.Sprintf("%s %s is %s", t.Type, t.Name, t.State), "slipway up repairs what it made"
		}
	}
	if r.Unreachable != "" && !r.shelved {
		return "Kubernetes could not be asked: " + r.Unreachable, "slipway logs seed tells how the seed does"
	}
	if len(r.Resources) > 0 && len(r.Seed) == 0 && !r.shelved {
		return "nothing is known of Kubernetes on the seed yet", "slipway up goes on"
	}
	for _, c := range r.Seed {
		if !c.ready {
			return fmt.Sprintf("%s %s on the seed is %s", c.Kind, c.Name, c.State), more
		}
	}
	for _, c := range r.Clusters {
		if part, waiting := c.Waiting(); waiting {
			return describe(c, part), "slipway cluster describe or slipway status --wide shows the rest"
		}
	}
	for _, t := range r.Resources {
		if judge(t) == changing {
			return fmt.Sprintf("%s %s is %s", t.Type, t.Name, t.State), "it may still come right by itself"
		}
	}
	if len(r.Drift) > 0 {
		return r.Drift[0].Name + " is not as the state says", "slipway up brings it in line"
	}
	return "", ""
}

func describe(c cluster, part clusterapi.Part) string {
	text := fmt.Sprintf("%s %s of cluster %s is %s", part.Kind, part.Name, c.Name, part.State)
	if part.Kind == "Cluster" {
		text = fmt.Sprintf("cluster %s is %s", c.Name, part.State)
	}
	if part.Cause != "" {
		text += ": " + part.Cause
	}
	return text
}

func nodes(seed []component) (count int) {
	for _, c := range seed {
		if c.Kind == kindNode {
			count++
		}
	}
	return count
}

// counted is "1 cluster" or "2 clusters".
func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
