package faultinject_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

func open(t *testing.T, path string) *faultinject.Rules {
	t.Helper()
	rules, err := faultinject.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func add(t *testing.T, rules *faultinject.Rules, rule faultinject.Rule) faultinject.Rule {
	t.Helper()
	added, err := rules.Add(rule)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// hits counts for n equal occasions which of them fail, from 1.
func hits(rules *faultinject.Rules, c faultinject.Occasion, n int) []int {
	failed := []int{}
	for i := range n {
		if _, hit := rules.Check(c); hit {
			failed = append(failed, i+1)
		}
	}
	return failed
}

func TestConditions(t *testing.T) {
	t.Parallel()
	call := faultinject.Occasion{Kind: faultinject.API, Service: "compute", Method: "POST", Path: "/v2.1/servers/abc/action", Names: []string{"worker-1"}}
	for name, c := range map[string]struct {
		rule faultinject.Rule
		want []int
	}{
		"all":              {faultinject.Rule{}, []int{1, 2, 3, 4}},
		"same service":     {faultinject.Rule{Service: "compute"}, []int{1, 2, 3, 4}},
		"other service":    {faultinject.Rule{Service: "network"}, []int{}},
		"other method":     {faultinject.Rule{Method: "GET"}, []int{}},
		"method, any case": {faultinject.Rule{Method: "post"}, []int{1, 2, 3, 4}},
		"one segment":      {faultinject.Rule{Path: "/v2.1/servers/*/action"}, []int{1, 2, 3, 4}},
		"any segments":     {faultinject.Rule{Path: "/v2.1/**"}, []int{1, 2, 3, 4}},
		"prefix only":      {faultinject.Rule{Path: "/v2.1/servers"}, []int{}},
		"resource":         {faultinject.Rule{Resource: "worker-*"}, []int{1, 2, 3, 4}},
		"other resource":   {faultinject.Rule{Resource: "control-*"}, []int{}},
		"other kind":       {faultinject.Rule{Kind: faultinject.Quota}, []int{}},
		"third":            {faultinject.Rule{Nth: 3}, []int{3}},
		"twice":            {faultinject.Rule{Times: 2}, []int{1, 2}},
		"never by chance":  {faultinject.Rule{Probability: 1e-12, Seed: 1}, []int{}},
		"always by chance": {faultinject.Rule{Probability: 1, Seed: 1}, []int{1, 2, 3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := open(t, "")
			c.rule.Status = 500
			add(t, rules, c.rule)
			if got := hits(rules, call, 4); !slices.Equal(got, c.want) {
				t.Errorf("failed %v, want %v", got, c.want)
			}
			if counted := rules.List()[0]; counted.Hits != len(c.want) {
				t.Errorf("counted %d hits, want %d", counted.Hits, len(c.want))
			}
		})
	}
}

func TestChanceIsRepeatable(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64) []int {
		rules := open(t, "")
		add(t, rules, faultinject.Rule{Kind: faultinject.NoBoot, Probability: 0.3, Seed: seed})
		return hits(rules, faultinject.Occasion{Kind: faultinject.NoBoot}, 1000)
	}
	first := draw(7)
	if !slices.Equal(first, draw(7)) {
		t.Error("one seed gave two sequences")
	}
	if slices.Equal(first, draw(8)) {
		t.Error("two seeds gave one sequence")
	}
	if len(first) < 230 || len(first) > 370 {
		t.Errorf("%d of 1000 failed with probability 0.3", len(first))
	}
}

func TestRulesAndCountsSurvive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "faults.json")
	rules := open(t, path)
	third := add(t, rules, faultinject.Rule{Status: 500, Nth: 3})
	gone := add(t, rules, faultinject.Rule{Status: 501})
	if err := rules.Remove(gone.ID); err != nil {
		t.Fatal(err)
	}
	if got := hits(rules, faultinject.Occasion{Kind: faultinject.API}, 2); len(got) != 0 {
		t.Fatalf("failed %v", got)
	}
	again := open(t, path)
	if list := again.List(); len(list) != 1 || list[0].ID != third.ID || list[0].Calls != 2 {
		t.Fatalf("after reopening: %+v", list)
	}
	if got := hits(again, faultinject.Occasion{Kind: faultinject.API}, 2); !slices.Equal(got, []int{1}) {
		t.Errorf("after reopening failed %v, want the third of all", got)
	}
	if err := again.Remove(gone.ID); !errors.Is(err, faultinject.ErrNotFound) {
		t.Errorf("removing twice: %v", err)
	}
	if err := again.Clear(); err != nil || len(open(t, path).List()) != 0 {
		t.Errorf("clearing: %v", err)
	}
}

func TestBadRules(t *testing.T) {
	t.Parallel()
	rules := open(t, "")
	for name, rule := range map[string]faultinject.Rule{
		"nothing happens": {},
		"unknown kind":    {Kind: "magic"},
		"status":          {Status: 42},
		"probability":     {Status: 500, Probability: 1.5},
		"path":            {Status: 500, Path: "/v2/{open"},
		"resource":        {Status: 500, Resource: "[a"},
		"negative":        {Status: 500, Nth: -1},
	} {
		if _, err := rules.Add(rule); err == nil {
			t.Errorf("%s: the rule was taken", name)
		}
	}
}
