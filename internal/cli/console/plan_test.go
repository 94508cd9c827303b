package console

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/forecast"
	"github.com/slipway-sh/slipway/stacks/engine"
)

func outlook() target.Outlook {
	f := &forecast.Forecast{Seed: "it gets another image", Controllers: []forecast.Controller{{On: "seed", Name: "capo", Versions: forecast.Versions{From: "v0.13.0", To: "v0.14.2"}}},
		Surge: []forecast.Need{{Resource: "cores", Need: 4, Left: 2}}, Duration: forecast.Duration{Seconds: 540, Basis: "an estimate"}, Unknown: []string{"something"}}
	f.Clusters = []forecast.Cluster{{Name: "prod", Management: true, Machines: 5, Replaced: 3, AtMost: true, Reason: "Kubernetes", Kubernetes: &forecast.Versions{From: "v1", To: "v2"}, Groups: []forecast.Group{{Name: "control-plane", Machines: 3, Replaced: 3, Reason: "Kubernetes"}, {Name: "md-0", Machines: 2}}}}
	for i := range 1000 {
		f.Clusters = append(f.Clusters, forecast.Cluster{Name: fmt.Sprintf("team/k8s-%d", i), Machines: 2, Reason: forecast.Kept})
	}
	f.Clusters[7].Reason = "its owner is changing it"
	return target.Outlook{Forecast: f, Shelved: fault.New("seed prod-seed", errors.New("it is shelved"), "wake it"),
		Plan: engine.Plan{Counts: map[engine.Operation]int{engine.Replace: 1, engine.Same: 40}, Changes: []engine.Change{{Operation: engine.Replace, Name: "node-image", Type: "openstack:Image",
			Properties: []engine.Property{{Path: "sha256", Old: strings.Repeat("a", 64), New: nil, Replaces: true}}}}}}
}

// TestAPlanWithWhatItReplaces: the management cluster and its groups, workload clusters of which
// there is something to say, all others in one line, and why up would refuse.
func TestAPlanWithWhatItReplaces(t *testing.T) {
	t.Parallel()
	p := plan(outlook())
	want := []console.Replacement{
		{Name: words.T("management cluster %s", "prod"), Machines: 5, Replaced: 3, AtMost: true, Why: words.Said("Kubernetes"), Versions: []words.Text{words.Said("Kubernetes v1 → v2")}},
		{Name: words.Said("control-plane"), Level: 1, Machines: 3, Replaced: 3, Why: words.Said("Kubernetes")}, {Name: words.Said("md-0"), Level: 1, Machines: 2},
		{Name: words.Said("team/k8s-6"), Machines: 2, Why: words.Said("its owner is changing it")}, {Name: words.T("%d other workload clusters", 999), Machines: 1998, Why: words.Said(forecast.Kept)},
	}
	if !p.Foreseen || !reflect.DeepEqual(p.Replaced, want) {
		t.Errorf("replaced %+v", p.Replaced)
	}
	if p.Summary.String() != "1 to replace, 40 unchanged" || p.Takes != "about 9m: an estimate" || !slices.Equal(p.Meanwhile, []string{"4 cores (2 left)"}) || !slices.Equal(p.Unknown, []string{"something"}) ||
		words.English(words.List("|", p.Others...)) != "the seed: its server, on the same data; it gets another image|on the seed: capo v0.13.0 → v0.14.2" {
		t.Errorf("%+v", p)
	}
	if len(p.Obstacles) != 2 || p.Obstacles[0].Fix != "wake it" || !strings.Contains(p.Obstacles[1].Why, "needs 4 more, but only 2 are free") || p.Health() != console.Broken {
		t.Errorf("refused because of %+v", p.Obstacles)
	}
	if c := p.Changes[0]; c.Kind != "openstack Image" || c.Operation != "replace" || c.Properties[0] != (console.Property{Path: "sha256", Old: strings.Repeat("a", 57) + "...", New: "(none)", Replaces: true}) {
		t.Errorf("%+v", c)
	}
	if none := plan(target.Outlook{Plan: engine.Plan{Counts: map[engine.Operation]int{engine.Same: 44}}}); none.Foreseen || none.Summary.String() != "no changes, 44 unchanged" || none.Health() != console.Well {
		t.Errorf("of nothing: %+v", none)
	}
}
