package support

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/redact"
)

// Snapshots are the snapshots of an environment's clusters, for the engine of causes.
type Snapshots struct {
	Environment string
	At          time.Time
	Scenes      []Scene
	// Unseen is what could not be looked at for any of them.
	Unseen []cause.Unseen
}

// Scene is the snapshot of one cluster, or of the environment's own servers.
type Scene struct {
	// On is where the cluster's objects are: "seed" or "management"; "cloud" if no
	// Kubernetes was asked.
	On                 string
	Namespace, Cluster string
	// Title and UUID are the cluster's in the Magnum API; empty for others.
	Title, UUID string
	cause.Snapshot
}

// Called reports whether the cluster has a name: that of its objects, or its name or UUID in
// the Magnum API.
func (s Scene) Called(name string) bool {
	return name != "" && (s.Cluster == name || s.Title == name || strings.EqualFold(s.UUID, name))
}

// stored is a Snapshots as JSON: clouds that scenes share are in it once.
type stored struct {
	Environment string         `json:"environment"`
	At          time.Time      `json:"at"`
	Unseen      []cause.Unseen `json:"unseen,omitempty"`
	Clouds      []*cause.Cloud `json:"clouds,omitempty"`
	Scenes      []storedScene  `json:"scenes"`
}

type storedScene struct {
	On        string         `json:"on"`
	Namespace string         `json:"namespace,omitempty"`
	Cluster   string         `json:"cluster,omitempty"`
	Title     string         `json:"title,omitempty"`
	UUID      string         `json:"uuid,omitempty"`
	Now       time.Time      `json:"now"`
	Servers   []cause.Ref    `json:"servers,omitempty"`
	Unseen    []cause.Unseen `json:"unseen,omitempty"`
	// Cloud is an index of Clouds; -1 means that it was not asked.
	Cloud       int                         `json:"cloud"`
	Inside      *cause.Inside               `json:"inside,omitempty"`
	Controllers []cause.Controller          `json:"controllers,omitempty"`
	Objects     map[string][]map[string]any `json:"objects,omitempty"`
}

// MarshalJSON writes the snapshots without what holds secrets by its structure.
func (s Snapshots) MarshalJSON() ([]byte, error) {
	out := stored{Environment: s.Environment, At: s.At, Unseen: s.Unseen, Scenes: []storedScene{}}
	for _, scene := range s.Scenes {
		one := storedScene{On: scene.On, Namespace: scene.Namespace, Cluster: scene.Cluster, Title: scene.Title, UUID: scene.UUID, Now: scene.Now, Servers: scene.Servers, Unseen: scene.Unseen, Inside: scene.Inside, Controllers: scene.Controllers, Cloud: -1}
		if scene.Cloud != nil {
			if one.Cloud = slices.Index(out.Clouds, scene.Cloud); one.Cloud < 0 {
				one.Cloud = len(out.Clouds)
				out.Clouds = append(out.Clouds, scene.Cloud)
			}
		}
		for kind, list := range scene.Objects {
			for _, o := range list {
				if o == nil {
					continue
				}
				if one.Objects == nil {
					one.Objects = map[string][]map[string]any{}
				}
				one.Objects[kind] = append(one.Objects[kind], redact.Object(o.Object))
			}
		}
		out.Scenes = append(out.Scenes, one)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Snapshots) UnmarshalJSON(text []byte) error {
	var in stored
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*s = Snapshots{Environment: in.Environment, At: in.At, Unseen: in.Unseen}
	for _, one := range in.Scenes {
		scene := Scene{On: one.On, Namespace: one.Namespace, Cluster: one.Cluster, Title: one.Title, UUID: one.UUID, Snapshot: cause.Snapshot{Now: one.Now, Servers: one.Servers, Unseen: one.Unseen, Inside: one.Inside, Controllers: one.Controllers, Magnum: one.UUID}}
		if one.Cloud >= len(in.Clouds) {
			return fmt.Errorf("cluster %s names cloud %d of %d", one.Cluster, one.Cloud, len(in.Clouds))
		}
		if one.Cloud >= 0 {
			scene.Cloud = in.Clouds[one.Cloud]
		}
		for kind, list := range one.Objects {
			if scene.Objects == nil {
				scene.Objects = cause.Objects{}
			}
			for _, o := range list {
				scene.Objects[kind] = append(scene.Objects[kind], &unstructured.Unstructured{Object: whole(o).(map[string]any)})
			}
		}
		s.Scenes = append(s.Scenes, scene)
	}
	return nil
}

// whole makes whole numbers of JSON's, as the API server's client does.
func whole(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = whole(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = whole(inner)
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return value
}
