package tenant

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clustertemplates"

	"github.com/slipway-sh/slipway/internal/console/frame"
)

// jsonType is what a page asks for that has a form checked while somebody fills it in.
const jsonType = "application/json"

// verdict is what such a page is told.
type verdict struct {
	// Wrong are mistakes by the names of their fields.
	Wrong map[string]string `json:"wrong"`
	Cost  []string          `json:"cost"`
	Over  bool              `json:"over"`
}

// judge says what is wrong with what was typed, and reports whether nothing is.
func (c change) judge(q *request, f *form) bool {
	f.check()
	if c.check != nil {
		c.check(q, f)
	}
	return len(f.Wrong()) == 0
}

// count says what the form takes of the quota. Without numbers it says nothing.
func (c change) count(q *request, f *form) {
	if c.cost == nil || f.offered == nil || f.offered.room == nil {
		return
	}
	f.Cost, f.Over = nil, false
	takes := c.cost(q, f)
	if takes.unknown || takes == (cost{}) {
		return
	}
	f.Cost = append(f.Cost, "This takes "+takes.text()+" of your quota.")
	missing, left := f.offered.room.without(takes)
	if missing != "" {
		f.Over = true
		f.Cost = append(f.Cost, "Your quota has no room for it: "+missing+" are missing. You can send the form, and machines that do not fit wait or fail.")
		return
	}
	f.Cost = append(f.Cost, "Then there is left: "+left+".")
}

// checked answers with what is wrong, and changes nothing.
func (s *Server) checked(w http.ResponseWriter, r *http.Request, c change, q *request, f *form) {
	if c.known != nil && f.offered != nil {
		c.known(q, f)
	}
	c.count(q, f)
	if !q.quick {
		s.showForm(w, r, f, http.StatusOK)
		return
	}
	v := verdict{Wrong: map[string]string{}, Cost: f.Cost, Over: f.Over}
	for _, one := range f.Wrong() {
		v.Wrong[one.Name] = frame.Visible(one.Error)
	}
	for i, line := range v.Cost {
		v.Cost[i] = frame.Visible(line)
	}
	w.Header().Set("Content-Type", jsonType)
	_ = json.NewEncoder(w).Encode(v) // a browser that went away is no failure
}

// cost is what machines take.
type cost struct {
	machines, vcpus, memory int // memory in MiB
	// unknown is set if a flavor or a number is not known.
	unknown bool
}

func (c cost) plus(o cost) cost {
	return cost{c.machines + o.machines, c.vcpus + o.vcpus, c.memory + o.memory, c.unknown || o.unknown}
}

func (c cost) text() string {
	return fmt.Sprintf("%s with %d vCPUs and %s of memory", machines(c.machines), c.vcpus, memory(c.memory))
}

// room is what is left of a quota; a negative number is without a limit.
type room struct{ machines, vcpus, memory int }

// text says what is left.
func (r room) text() string {
	of := func(n int, text func(int) string) string {
		if n < 0 {
			return "without a limit"
		}
		return text(n)
	}
	return fmt.Sprintf("vCPUs %s, memory %s, machines %s", of(r.vcpus, strconv.Itoa), of(r.memory, memory), of(r.machines, strconv.Itoa))
}

// without is what is left after a cost, or what is missing for it.
func (r room) without(c cost) (missing, left string) {
	say := func(has int, takes *int, text string) {
		switch {
		case has < 0:
			*takes = -1
		case *takes > has:
			if missing != "" {
				missing += ", "
			}
			missing += text
			*takes = 0
		default:
			*takes = has - *takes
		}
	}
	after := room{c.machines, c.vcpus, c.memory}
	say(r.vcpus, &after.vcpus, fmt.Sprintf("%d vCPUs", c.vcpus-r.vcpus))
	say(r.memory, &after.memory, memory(c.memory-r.memory)+" of memory")
	say(r.machines, &after.machines, machines(c.machines-r.machines))
	return missing, after.text()
}

// price is what so many machines of a flavor take; a number that is nil is unknown.
func (c *choices) price(flavor string, n *int) cost {
	if n != nil && *n == 0 {
		return cost{}
	}
	size, ok := c.sizes[flavor]
	if n == nil || !ok || *n < 0 || *n > mostMachines {
		return cost{unknown: true}
	}
	return cost{machines: *n, vcpus: *n * size.vcpus, memory: *n * size.memory}
}

// mostMachines keeps what numbers that somebody types amount to from becoming negative.
const mostMachines = 1_000_000

// template is the one that a form names; nil if it is not offered.
func (c *choices) template(name string) *clustertemplates.ClusterTemplate {
	at := slices.IndexFunc(c.templates, func(t clustertemplates.ClusterTemplate) bool { return t.UUID == name || t.Name == name })
	if at < 0 {
		return nil
	}
	return &c.templates[at]
}

// unknown notes a field whose value is not among what the cloud has, if that is known.
func (f *form) unknown(name string, all []string, what string) {
	if value := f.value(name); value != "" && all != nil && !slices.Contains(all, value) {
		f.wrong(name, fmt.Sprintf("There is no %s %q that you can use.", what, value))
	}
}

// roomFor marks the field with the number of machines if there is no room for them.
func (f *form) roomFor(takes cost, field string) {
	if takes.unknown || f.offered.room == nil {
		return
	}
	if missing, _ := f.offered.room.without(takes); missing != "" {
		f.wrong(field, "Your quota has no room for so many: "+missing+" are missing.")
	}
}
