// Package faultinject makes the sandbox fail where a test or a person wants it to: API calls,
// machines, quotas, scheduling, load balancers and tokens. Faults are rules that are listed,
// counted and removed.
package faultinject

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/pattern"
)

// Kind is what a rule makes fail.
type Kind string

// The kinds of rules. API rules act on calls; the services ask for the others
// with Hit.
const (
	API           Kind = "api"
	NoBoot        Kind = "no-boot"
	NoNetwork     Kind = "no-network"
	DiskFull      Kind = "disk-full"
	SlowDisk      Kind = "slow-disk"
	Quota         Kind = "quota"
	NoValidHost   Kind = "no-valid-host"
	BalancerError Kind = "load-balancer-error"
	TokenExpiry   Kind = "token-expiry"
)

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{API, NoBoot, NoNetwork, DiskFull, SlowDisk, Quota, NoValidHost, BalancerError, TokenExpiry}
}

// Rule says when something fails and how. An empty condition always holds.
type Rule struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`

	// Service is a service's type ("compute").
	Service string `json:"service,omitempty"`
	Method  string `json:"method,omitempty"`
	// Path is a pattern below the service's address: "/v2.1/servers/*".
	Path string `json:"path,omitempty"`
	// Resource is a shell pattern for the name of a resource: of one whose id is in the path, or
	// the name in the request's body.
	Resource string `json:"resource,omitempty"`

	// Nth makes only the n-th of the matching calls fail, counted from 1.
	Nth int `json:"nth,omitempty"`
	// Times is the number of failures after which the rule no longer acts; 0 is no limit.
	Times int `json:"times,omitempty"`
	// Probability makes that share of the calls fail, chosen by Seed; 0 means all calls.
	Probability float64 `json:"probability,omitempty"`
	Seed        uint64  `json:"seed,omitempty"`

	// Status and Body are the answer, Body unchanged; if it is empty, the answer has the service's
	// own error body. Status 0 lets the call pass after Delay.
	Status int      `json:"status,omitempty"`
	Body   string   `json:"body,omitempty"`
	Delay  Duration `json:"delay,omitempty"`
	// Drop closes the connection without an answer.
	Drop bool `json:"drop,omitempty"`

	// Calls counts the matches, Hits the failures.
	Calls int `json:"calls"`
	Hits  int `json:"hits"`
}

// Duration is a time.Duration that JSON writes as text ("1.5s").
type Duration time.Duration

// MarshalText writes the duration as Go does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// Validate returns what is wrong with a rule.
func (r Rule) Validate() error {
	var errs []error
	if !slices.Contains(Kinds(), r.Kind) {
		errs = append(errs, fmt.Errorf("unknown kind %q", r.Kind))
	}
	if _, err := pattern.Compile(r.Path); err != nil {
		errs = append(errs, err)
	}
	if _, err := path.Match(r.Resource, ""); err != nil {
		errs = append(errs, fmt.Errorf("resource pattern %q: %w", r.Resource, err))
	}
	if r.Kind == API && r.Status == 0 && r.Delay == 0 && !r.Drop {
		errs = append(errs, errors.New("an api rule needs a status, a delay or drop"))
	}
	if r.Status != 0 && (r.Status < 100 || r.Status > 599) {
		errs = append(errs, fmt.Errorf("status %d is none of HTTP", r.Status))
	}
	if r.Probability < 0 || r.Probability > 1 {
		errs = append(errs, fmt.Errorf("probability %g is not between 0 and 1", r.Probability))
	}
	if r.Nth < 0 || r.Times < 0 || r.Delay < 0 {
		errs = append(errs, errors.New("nth, times and delay cannot be negative"))
	}
	return errors.Join(errs...)
}

func (r Rule) matches(c Occasion) bool {
	if r.Kind != c.Kind || (r.Service != "" && r.Service != c.Service) ||
		(r.Method != "" && !strings.EqualFold(r.Method, c.Method)) {
		return false
	}
	if r.Path != "" && !pattern.Match(r.Path, c.Path) {
		return false
	}
	if r.Resource == "" {
		return true
	}
	return slices.ContainsFunc(c.Names, func(name string) bool {
		matched, _ := path.Match(r.Resource, name)
		return matched
	})
}

// count counts an occasion that matches and reports whether it fails. The chance depends only on
// seed and count, so that a run can be repeated and continues in the same way after a restart.
func (r *Rule) count() bool {
	if r.Times > 0 && r.Hits >= r.Times {
		return false
	}
	r.Calls++
	hit := r.Nth == 0 || r.Calls == r.Nth
	if r.Probability > 0 {
		hit = hit && rand.New(rand.NewPCG(r.Seed, uint64(r.Calls))).Float64() < r.Probability
	}
	if hit {
		r.Hits++
	}
	return hit
}
