package tenant

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clustertemplates"

	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/internal/printable"
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
	f.Cost = append(f.Cost, words.T("This takes %s with %d vCPUs and %s of memory of your quota.", machines(takes.machines), takes.vcpus, memory(takes.memory)))
	missing, left := f.offered.room.without(takes)
	if missing != nil {
		f.Over = true
		f.Cost = append(f.Cost, words.T("Your quota has no room for it: %s are missing. You can send the form, and machines that do not fit wait or fail.", missing))
		return
	}
	f.Cost = append(f.Cost, words.T("Then there is left: %s.", left))
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
	v := verdict{Wrong: map[string]string{}, Over: f.Over}
	for _, one := range f.Wrong() {
		v.Wrong[one.Name] = printable.Text(s.site.Say(r, one.Error))
	}
	for _, line := range f.Cost {
		v.Cost = append(v.Cost, printable.Text(s.site.Say(r, line)))
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

// room is what is left of a quota; a negative number is without a limit.
type room struct{ machines, vcpus, memory int }

// text says what is left.
func (r room) text() words.Text {
	of := func(n int, text func(int) words.Text) words.Text {
		if n < 0 {
			return words.T("without a limit")
		}
		return text(n)
	}
	digits := func(n int) words.Text { return words.Said(strconv.Itoa(n)) }
	return words.T("vCPUs %s, memory %s, machines %s", of(r.vcpus, digits), of(r.memory, memory), of(r.machines, digits))
}

// without is what is left after a cost, or what is missing for it.
func (r room) without(c cost) (missing, left words.Text) {
	say := func(has int, takes *int, text words.Text) {
		switch {
		case has < 0:
			*takes = -1
		case *takes > has:
			missing = words.List(", ", missing, text)
			*takes = 0
		default:
			*takes = has - *takes
		}
	}
	after := room{c.machines, c.vcpus, c.memory}
	say(r.vcpus, &after.vcpus, words.T("%d vCPUs", c.vcpus-r.vcpus))
	say(r.memory, &after.memory, words.T("%s of memory", memory(c.memory-r.memory)))
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
func (f *form) unknown(name string, all []string, none func(value string) words.Text) {
	if value := f.value(name); value != "" && all != nil && !slices.Contains(all, value) {
		f.wrong(name, none(value))
	}
}

func noFlavor(value string) words.Text {
	return words.T("There is no flavor %q that you can use.", value)
}

// roomFor marks the field with the number of machines if there is no room for them.
func (f *form) roomFor(takes cost, field string) {
	if takes.unknown || f.offered.room == nil {
		return
	}
	if missing, _ := f.offered.room.without(takes); missing != nil {
		f.wrong(field, words.T("Your quota has no room for so many: %s are missing.", missing))
	}
}
