package support

import (
	"time"

	"github.com/slipway-sh/slipway/internal/cause"
)

// Answers are the causes that the engine finds in snapshots: what `slipway why` prints.
type Answers struct {
	Environment string    `json:"environment"`
	Asked       string    `json:"asked,omitempty"`
	At          time.Time `json:"at"`
	// Causes are all causes, each once, with all clusters that have it.
	Causes  []*Shared `json:"causes"`
	Answers []Answer  `json:"answers"`
	// Unseen is what could not be looked at for any of them.
	Unseen []cause.Unseen `json:"unseen,omitempty"`
}

// Answer is about one cluster, or about the environment's own servers.
type Answer struct {
	// On is where the cluster's objects are: "seed" or "management"; "cloud" if no
	// Kubernetes was asked.
	On        string `json:"on"`
	Namespace string `json:"namespace,omitempty"`
	Cluster   string `json:"cluster,omitempty"`
	// Title and UUID are the cluster's in the Magnum API; empty for others.
	Title string `json:"title,omitempty"`
	UUID  string `json:"uuid,omitempty"`
	cause.Answer
}

// Explain finds the causes of all, or of what has a name or an ID. An empty namespace
// means all.
func (s Snapshots) Explain(asked, namespace string) Answers {
	r := Answers{Environment: s.Environment, Asked: asked, At: s.At, Answers: []Answer{}, Unseen: s.Unseen}
	for _, scene := range s.Scenes {
		if namespace != "" && scene.Namespace != namespace {
			continue
		}
		a := Answer{On: scene.On, Namespace: scene.Namespace, Cluster: scene.Cluster, Title: scene.Title, UUID: scene.UUID}
		switch {
		case asked == "" || scene.Called(asked):
			a.Answer = cause.Explain(scene.Snapshot)
		case scene.Cluster == "" && scene.Has(asked):
			a.Answer = cause.Explain(scene.Snapshot)
		default:
			found := cause.Explain(scene.Snapshot).About(asked)
			if len(found.Findings) == 0 && !scene.Has(asked) {
				continue
			}
			a.Answer = found
		}
		r.Answers = append(r.Answers, a)
	}
	if r.Causes = r.shared(); r.Causes == nil {
		r.Causes = []*Shared{}
	}
	return r
}
