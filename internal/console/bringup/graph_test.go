package bringup

import (
	"fmt"
	"reflect"
	"testing"
)

func shown(names ...string) (steps []Step) {
	for _, name := range names {
		steps = append(steps, Step{Name: name})
	}
	return steps
}

// TestAGraphHasTheStraightEdges: what follows from others is left out, what did not change is
// passed through.
func TestAGraphHasTheStraightEdges(t *testing.T) {
	t.Parallel()
	order := map[string][]string{"network": {}, "subnet": {"network"}, "port": {"subnet", "network"}, "image": nil, "seed": {"port", "image", "network"}, "k3s": {"seed", "gone"}, "of another run": {"seed"}}
	g := NewGraph(shown("network", "image", "port", "seed", "k3s", "no resource"), order)
	after, at := map[string][]string{}, map[string]int{}
	for _, n := range g.Nodes {
		if len(n.After) > 0 {
			after[n.Name] = n.After
		}
		at[n.Name] = n.Y
	}
	if want := map[string][]string{"port": {"network"}, "seed": {"image", "port"}, "k3s": {"seed"}}; !reflect.DeepEqual(after, want) {
		t.Errorf("%v, want %v", after, want)
	}
	if len(g.Edges) != 4 || len(g.Nodes) != 6 {
		t.Errorf("%+v", g)
	}
	for _, e := range g.Edges {
		if at[e.From] >= at[e.To] || e.Path == "" {
			t.Errorf("%+v leads from %d to %d", e, at[e.From], at[e.To])
		}
	}
	if g.Of("seed").Waited() != "image, port" || g.Of("nobody").Waited() != "" {
		t.Errorf("%+v", g.Of("seed"))
	}
}

// TestAGraphFitsThePage: no row is wider, nothing is on top of something else, and a damaged
// state has an end.
func TestAGraphFitsThePage(t *testing.T) {
	t.Parallel()
	order := map[string][]string{"a": {"b"}, "b": {"a"}, "last": {}}
	steps := shown("a", "b", "last")
	for i := range 23 {
		name := fmt.Sprintf("first-%d", i)
		steps = append(steps, Step{Name: name})
		order["last"] = append(order["last"], name)
	}
	g := NewGraph(steps, order)
	places := map[[2]int]bool{}
	for _, n := range g.Nodes {
		if places[[2]int{n.X, n.Y}] || n.X+nodeWidth > g.Width || n.Y+nodeHeight > g.Height {
			t.Errorf("%+v", n)
		}
		places[[2]int{n.X, n.Y}] = true
	}
	if g.Width > 970 || len(g.Nodes) != len(steps) {
		t.Errorf("%d wide, %d nodes", g.Width, len(g.Nodes))
	}
	if none := NewGraph(steps, map[string][]string{"a": {}}); len(none.Nodes) != 0 {
		t.Errorf("of nothing: %+v", none)
	}
}
