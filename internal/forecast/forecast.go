// Package forecast says what an upgrade or a change of an environment would replace, and
// roughly for how long, before anything is changed.
package forecast

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Forecast is what would happen.
type Forecast struct {
	// Clusters are the management cluster, then the workload clusters.
	Clusters []Cluster `json:"clusters"`
	// Seed is why the seed's server is replaced; empty if it stays.
	Seed string `json:"seed,omitempty"`
	// Controllers are those that change their version.
	Controllers []Controller `json:"controllers"`
	// Surge is what is needed while machines are replaced, beside what is left.
	Surge []Need `json:"surge"`
	// Duration is how long the replacement of machines takes.
	Duration Duration `json:"duration"`
	// Unknown is what could not be looked at, each with the cause.
	Unknown []string `json:"unknown,omitempty"`
}

// Versions are an older and a newer one; an empty one is not known, or there is none.
type Versions struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Cluster is what happens to the machines of a cluster.
type Cluster struct {
	// Name is the environment's for the management cluster, else "namespace/name".
	Name       string `json:"name"`
	Management bool   `json:"management,omitempty"`
	Machines   int    `json:"machines"`
	// Replaced of them are replaced; AtMost says that it may be fewer.
	Replaced int  `json:"replaced"`
	AtMost   bool `json:"atMost,omitempty"`
	// Reason is why they are replaced, or why none is.
	Reason string `json:"reason"`
	// Kubernetes and Image are set where they change.
	Kubernetes *Versions `json:"kubernetes,omitempty"`
	Image      *Versions `json:"image,omitempty"`
	Groups     []Group   `json:"groups,omitempty"`
}

// Group is a control plane or a node group.
type Group struct {
	Name     string `json:"name"`
	Machines int    `json:"machines"`
	Replaced int    `json:"replaced"`
	Reason   string `json:"reason,omitempty"`
}

// Controller is one that changes its version.
type Controller struct {
	// On is "seed" or "management cluster".
	On   string `json:"on"`
	Name string `json:"name"`
	Versions
}

// Need is what is needed of a quota beside what is used.
type Need struct {
	Resource string `json:"resource"`
	Need     int    `json:"need"`
	// Left is what is not used; -1 is unlimited.
	Left int `json:"left"`
}

// Fits is an error for each quota in which there is no room for the surge, each a fault with
// the exit code of a refused check.
func (f Forecast) Fits() error {
	var errs []error
	for _, n := range f.Surge {
		if n.Left >= 0 && n.Need > n.Left {
			errs = append(errs, &fault.Fault{Exit: fault.ExitPreflight, Object: "quota of " + n.Resource, Err: fmt.Errorf("replacing machines one after the other needs %d more, but only %d are free", n.Need, n.Left),
				Remedy: fmt.Sprintf("delete what you do not need, or ask the cloud's operator for %d more (check quota)", n.Need-n.Left)})
		}
	}
	return errors.Join(errs...)
}

// Replaced are the machines of all clusters that are replaced: those of the management
// cluster, and those of tenants.
func (f Forecast) Replaced() (own, tenants int) {
	for _, c := range f.Clusters {
		if c.Management {
			own += c.Replaced
		} else {
			tenants += c.Replaced
		}
	}
	return own, tenants
}

// Lines is the forecast for people.
func (f Forecast) Lines() []string {
	lines := []string{"what is replaced:"}
	if f.Seed != "" {
		lines = append(lines, "  seed: its server, on the same data; "+f.Seed)
	}
	tenants, machines, told := 0, 0, false
	for _, c := range f.Clusters {
		if !c.Management {
			tenants, machines = tenants+1, machines+c.Machines
		}
		if c.Management || c.Replaced > 0 {
			lines, told = append(lines, c.lines()...), told || !c.Management
		}
	}
	switch {
	case tenants > 0 && !told:
		lines = append(lines, fmt.Sprintf("  workload clusters: 0 of %d machines of %s; %s", machines, count(tenants, "cluster"), Kept))
	case tenants > 0:
		lines = append(lines, fmt.Sprintf("  other workload clusters: 0 machines; %s", Kept))
	}
	for _, c := range f.Controllers {
		lines = append(lines, fmt.Sprintf("  on the %s: %s %s", c.On, c.Name, c.Versions))
	}
	if len(f.Surge) > 0 {
		var words []string
		for _, n := range f.Surge {
			words = append(words, n.String())
		}
		lines = append(lines, "needed meanwhile: "+strings.Join(words, ", "))
	}
	if own, more := f.Replaced(); own+more > 0 {
		lines = append(lines, "takes "+f.Duration.String())
	}
	for _, cause := range f.Unknown {
		lines = append(lines, "not known: "+cause)
	}
	return lines
}

// Kept is why machines of workload clusters stay.
const Kept = "they keep their chart, image and Kubernetes version until their owner upgrades them"

func (c Cluster) lines() []string {
	what, name := "machines", c.Name
	if c.Management {
		name = "management cluster"
	}
	if c.Replaced > 0 {
		what += ", one after the other"
	}
	head := fmt.Sprintf("  %s: %s%d of %d %s; %s", name, map[bool]string{true: "at most "}[c.AtMost], c.Replaced, c.Machines, what, c.Reason)
	lines := []string{head}
	if c.Kubernetes != nil {
		lines = append(lines, fmt.Sprintf("    Kubernetes %s", *c.Kubernetes))
	}
	if c.Image != nil {
		lines = append(lines, fmt.Sprintf("    image %s", *c.Image))
	}
	for _, g := range c.Groups {
		if g.Replaced > 0 {
			lines = append(lines, fmt.Sprintf("    %s: %s; %s", g.Name, count(g.Replaced, "machine"), g.Reason))
		}
	}
	return lines
}

// String is "v1 → v2".
func (v Versions) String() string {
	known := func(text string) string {
		if text == "" {
			return "(none)"
		}
		return text
	}
	return known(v.From) + " → " + known(v.To)
}

// String is "2 cores (8 left)".
func (n Need) String() string {
	if n.Left < 0 {
		return fmt.Sprintf("%d %s (no limit)", n.Need, n.Resource)
	}
	return fmt.Sprintf("%d %s (%d left)", n.Need, n.Resource, n.Left)
}

func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// Duration is how long something takes, and how that is known.
type Duration struct {
	Seconds float64 `json:"seconds"`
	// Run is the run of the log that it is known from; empty means that it is an estimate.
	Run string `json:"run,omitempty"`
	// Basis says of what it is made.
	Basis string `json:"basis"`
}

// String is "about 9m, measured in run …".
func (d Duration) String() string {
	about := time.Duration(d.Seconds * float64(time.Second)).Round(time.Minute)
	return "about " + strings.TrimSuffix(about.String(), "0s") + ": " + d.Basis
}
