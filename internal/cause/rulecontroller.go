package cause

import (
	"cmp"
	"fmt"
	"regexp"
	"time"
)

// Controller is a controller that manages clusters, on the management cluster or the
// seed.
type Controller struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Wanted    int    `json:"wanted"`
	Ready     int    `json:"ready"`
	// Words are why its pods are not ready.
	Words string `json:"words,omitempty"`
	// Since is when it became so.
	Since time.Time `json:"since,omitzero"`
	// Starting says that its pods are rolled out, and the deadline of the Deployment for that,
	// ten minutes, has not passed.
	Starting bool `json:"starting,omitempty"`
}

// restarts is how long a controller that was there may be away: its leader changes, or its node
// is busy. One that is rolled out has until its Deployment's deadline: on an emulated machine
// three starts at once took almost three minutes.
const restarts = 2 * time.Minute

// unable are words of pods that do not start by themselves: they ended again and again (as
// often as counts when they are installed, see internal/kube), or lack their image, what they
// are configured with, or a node.
var unable = regexp.MustCompile(`CrashLoopBackOff, ended ([4-9]|\d\d+) times|ErrImagePull|ImagePullBackOff|InvalidImageName|CreateContainerConfigError|CreateContainerError|nodes are available`)

// controllerRules are about the controllers of the management cluster.
func controllerRules() []Rule {
	return []Rule{{ID: "controller-down", Layer: "Cluster API", Ending: Outside, Operator: true,
		Meaning: "A controller of the management cluster does not run, so nothing that it manages continues.",
		Fix:     "see why with kubectl describe deployment and kubectl logs --previous; if it is scaled to zero, scale it back, or run slipway up",
		find:    idle}}
}

// idle are controllers without a pod that is ready.
func idle(v *scene) []hit {
	if v.cluster == nil {
		return nil
	}
	var hits []hit
	for _, c := range v.Controllers {
		if c.Ready > 0 || c.Wanted > 0 && !unable.MatchString(c.Words) && (c.Starting || v.Now.Sub(c.Since) < restarts) {
			continue
		}
		words := fmt.Sprintf("none of its %d pods is ready", c.Wanted)
		if c.Wanted == 0 {
			words = "it is scaled to zero"
		}
		if c.Words != "" {
			words += ": " + oneLine(c.Words)
		}
		object := v.under(v.top(), Ref{Kind: "Deployment", Name: c.Namespace + "/" + c.Name})
		hits = append(hits, hit{object: object, cause: words, since: c.Since, source: "Kubernetes", evidence: []string{cmp.Or(object.String(), c.Name) + ": " + words}})
	}
	return hits
}
