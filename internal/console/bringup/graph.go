package bringup

import (
	"fmt"
	"slices"
	"strings"
)

// Graph is which step came after which, drawn from top to bottom.
type Graph struct {
	Nodes         []Node
	Edges         []Edge
	Width, Height int
}

// Node is a step at its place.
type Node struct {
	Step
	X, Y int
	// After are the steps that it came after, straight.
	After []string
}

// Edge leads from a step to one that came after it.
type Edge struct{ From, To, Path string }

// Sizes of the drawing. Five nodes side by side fit into the page.
const (
	nodeWidth, nodeHeight = 184, 30
	gapX, gapY            = 10, 26
	mostInRow             = 5
)

// NewGraph draws steps by what each comes after. What is not among the steps, because it did
// not change, is passed through; what follows from other edges has none of its own. It is empty
// if nothing is known to come after anything else.
func NewGraph(steps []Step, order map[string][]string) (g Graph) {
	before := straight(steps, order)
	rows := layers(steps, before)
	place := map[string]Node{}
	y := 1
	for _, row := range rows {
		for part := range slices.Chunk(row, mostInRow) {
			for i, s := range part {
				n := Node{Step: s, X: 1 + i*(nodeWidth+gapX), Y: y, After: before[s.Name]}
				place[s.Name] = n
				g.Nodes = append(g.Nodes, n)
				g.Width = max(g.Width, n.X+nodeWidth+1)
			}
			y += nodeHeight + gapY
		}
	}
	g.Height = y - gapY + 1
	for _, n := range g.Nodes {
		for _, name := range n.After {
			from := place[name]
			x1, y1, x2, y2 := from.X+nodeWidth/2, from.Y+nodeHeight, n.X+nodeWidth/2, n.Y
			g.Edges = append(g.Edges, Edge{name, n.Name, fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1, y1+gapY, x2, y2-gapY, x2, y2)})
		}
	}
	if len(g.Edges) == 0 {
		return Graph{}
	}
	return g
}

// straight is what each step comes after among the steps, without what another of these comes
// after itself.
func straight(steps []Step, order map[string][]string) map[string][]string {
	shown := map[string]bool{}
	for _, s := range steps {
		shown[s.Name] = true
	}
	all := map[string]map[string]bool{} // all that a step comes after, of those that are shown
	var reach func(name string, under []string) map[string]bool
	reach = func(name string, under []string) map[string]bool {
		if known, ok := all[name]; ok || slices.Contains(under, name) { // a circle would be a damaged state
			return known
		}
		found := map[string]bool{}
		for _, needed := range order[name] {
			if shown[needed] && needed != name {
				found[needed] = true
			}
			for one := range reach(needed, append(under, name)) {
				found[one] = true
			}
		}
		delete(found, name)
		all[name] = found
		return found
	}
	before := map[string][]string{}
	for _, s := range steps {
		for one := range reach(s.Name, nil) {
			by := func(other string) bool { return other != one && all[s.Name][other] && all[other][one] }
			if !slices.ContainsFunc(names(all[s.Name]), by) {
				before[s.Name] = append(before[s.Name], one)
			}
		}
		slices.Sort(before[s.Name])
	}
	return before
}

func names(set map[string]bool) (list []string) {
	for name := range set {
		list = append(list, name)
	}
	return list
}

// layers are the steps by how many come one after the other before them, each in the order in
// which they began.
func layers(steps []Step, before map[string][]string) (rows [][]Step) {
	depth := map[string]int{}
	var deep func(name string, under int) int
	deep = func(name string, under int) int {
		d, known := depth[name]
		if known || under > len(steps) {
			return d
		}
		for _, one := range before[name] {
			d = max(d, deep(one, under+1)+1)
		}
		depth[name] = d
		return d
	}
	for _, s := range steps {
		d := deep(s.Name, 0)
		for len(rows) <= d {
			rows = append(rows, nil)
		}
		rows[d] = append(rows[d], s)
	}
	return slices.DeleteFunc(rows, func(row []Step) bool { return len(row) == 0 })
}

// Of is the node of a step; its After is empty if nothing is known.
func (g Graph) Of(name string) Node {
	i := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return Node{}
	}
	return g.Nodes[i]
}

// Waited is what a step came after, in words.
func (n Node) Waited() string { return strings.Join(n.After, ", ") }
