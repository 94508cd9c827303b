package recovery

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/fault"
)

// State is the result of a check.
type State string

// The results. A warning stops nothing; a failed check stops the rebuild with
// everything paused.
const (
	Passed  State = "passed"
	Warned  State = "warning"
	Refuted State = "failed"
)

// Finding is what a check found at one object.
type Finding struct {
	Object string `json:"object"`
	// Cluster is the "namespace/name" of the Cluster that the object is of.
	Cluster string `json:"cluster,omitempty"`
	Cause   string `json:"cause"`
	Remedy  string `json:"remedy,omitempty"`
}

// Check is the result of one proof.
type Check struct {
	// ID is stable: "machines".
	ID    string `json:"id"`
	Claim string `json:"claim"`
	State State  `json:"state"`
	// Checked is how many objects were looked at.
	Checked  int       `json:"checked"`
	Findings []Finding `json:"findings,omitempty"`
}

// settled is the check with its state: level where it found something.
func (c Check) settled(level State) Check {
	c.State = Passed
	if len(c.Findings) > 0 {
		c.State = level
	}
	return c
}

func (c *Check) find(object, remedy, format string, args ...any) {
	c.Findings = append(c.Findings, Finding{Object: object, Cause: fmt.Sprintf(format, args...), Remedy: remedy})
}

func (c *Check) at(o *unstructured.Unstructured, remedy, format string, args ...any) {
	c.find(Describe(o), remedy, format, args...)
	c.Findings[len(c.Findings)-1].Cluster = clusterOf(o)
}

func (c *Check) ofCluster(name, remedy, format string, args ...any) {
	c.find("Cluster "+name, remedy, format, args...)
	c.Findings[len(c.Findings)-1].Cluster = name
}

// Leave makes failed checks warnings whose every finding is of a cluster that stays
// paused.
func Leave(checks []Check, clusters []string) []Check {
	checks = slices.Clone(checks)
	for i, c := range checks {
		others := slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Cluster == "" || !slices.Contains(clusters, f.Cluster) })
		if c.State == Refuted && !others {
			checks[i].State = Warned
		}
	}
	return checks
}

// Err is an error for each finding of a failed check, nil where none failed.
func Err(checks []Check) error {
	var all []error
	for _, c := range checks {
		if c.State != Refuted {
			continue
		}
		for _, f := range c.Findings {
			all = append(all, fault.New(f.Object, fmt.Errorf("%s (check %s)", f.Cause, c.ID), f.Remedy))
		}
	}
	return errors.Join(all...)
}
