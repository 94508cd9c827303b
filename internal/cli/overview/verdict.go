package overview

import (
	"fmt"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// Condition is how a resource of the cloud is.
type Condition int

// How resources are.
const (
	Well Condition = iota
	Changing
	Broken
)

// Judge reads a resource's state, each service's in its own words.
func Judge(t openstack.Resource) Condition {
	state := strings.ToUpper(t.State)
	for _, word := range []string{"ERROR", "KILLED", "DEACTIVATED", "DEGRADED"} {
		if strings.Contains(state, word) {
			return Broken
		}
	}
	for _, word := range []string{"PENDING", "BUILD", "CREATING", "DELETING", "ATTACHING", "DETACHING", "EXTENDING", "QUEUED", "SAVING", "IMPORTING", "REBUILD", "RESIZE", "REBOOT"} {
		if strings.Contains(state, word) {
			return Changing
		}
	}
	return Well
}

// Verdict is one sentence: whether all is well, and if not the first cause and
// what to do.
func (r Overview) Verdict(now time.Time) string {
	switch cause, fix := r.Trouble(now); {
	case len(r.Resources) == 0:
		return fmt.Sprintf("Cloud %[2]s has nothing of %[1]s. Run slipway up to create it.", r.Environment, r.Cloud)
	case cause != "":
		return "Not all is well: " + strings.TrimSuffix(cause, ".") + ". " + fix + "."
	case r.Shelved():
		return "All that can be checked is well. The seed is shelved: wake it with slipway seed wake."
	case r.Note == target.NoSeed:
		return fmt.Sprintf("All is well: %s, %s.", counted(len(r.Resources), "resource"), counted(len(r.Clusters), "cluster"))
	}
	return fmt.Sprintf("All is well: %s, %s on the seed, %s.", counted(len(r.Resources), "resource"), counted(r.Deployments(), "Deployment"), counted(len(r.Clusters), "cluster"))
}

// Shelved reports whether the seed is shelved.
func (r Overview) Shelved() bool { return r.shelved }

// Deployments is how many there are on the seed.
func (r Overview) Deployments() int { return len(r.Seed) - nodes(r.Seed) }

// Well reports whether Verdict has nothing to complain about.
func (r Overview) Well(now time.Time) bool {
	cause, _ := r.Trouble(now)
	return cause == "" && len(r.Resources) > 0
}

// Trouble is the first cause, from what others stand on to what stands on them,
// and what to do about it; "" is none.
func (r Overview) Trouble(now time.Time) (trouble, fix string) {
	const more = "Run slipway status --wide to see the rest"
	for _, t := range r.Resources {
		if Judge(t) == Broken {
			return fmt.Sprintf("%s %s is %s", t.Type, t.Name, t.State), "Run slipway up to repair it"
		}
	}
	if r.Unreachable != "" && !r.shelved {
		return "Kubernetes does not answer: " + r.Unreachable, "Look at the seed with slipway logs"
	}
	if len(r.Resources) > 0 && len(r.Seed) == 0 && !r.shelved && r.Note != target.NoSeed {
		return "Kubernetes on the seed is not set up yet", "Run slipway up to continue"
	}
	for _, c := range r.Seed {
		if !c.Ready {
			return fmt.Sprintf("%s %s on the seed is %s", c.Kind, c.Name, c.State), more
		}
	}
	for _, c := range r.Clusters {
		if part, waiting := c.Waiting(); waiting {
			return describe(c, part), "Run slipway cluster describe or slipway status --wide to see the rest"
		}
	}
	for _, c := range r.Clusters { // what Cluster API does not know yet
		for _, f := range c.helpless() {
			return f.Line(), "Run slipway why to see what to do"
		}
	}
	if trouble, fix := r.backupTrouble(now); trouble != "" {
		return trouble, fix
	}
	for _, t := range r.Resources {
		if Judge(t) == Changing {
			return fmt.Sprintf("%s %s is %s", t.Type, t.Name, t.State), "It may still become ready by itself"
		}
	}
	if len(r.Drift) > 0 {
		return r.Drift[0].Name + " differs from the state", "Run slipway up to correct it"
	}
	return "", ""
}

func describe(c Cluster, part clusterapi.Part) string {
	text := fmt.Sprintf("%s %s of cluster %s is %s", part.Kind, part.Name, c.Name, part.State)
	if part.Kind == "Cluster" {
		text = fmt.Sprintf("cluster %s is %s", c.Name, part.State)
	}
	if part.Cause != "" {
		text += ": " + part.Cause
	}
	return text
}

func nodes(seed []Component) (count int) {
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
