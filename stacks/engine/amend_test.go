package engine_test

import (
	"testing"

	"github.com/slipway-sh/slipway/stacks/engine"
)

// TestAmend: a resource gets a property that it had, so that the next plan changes it again,
// also a secret one of the same key; other resources stay as they are.
func TestAmend(t *testing.T) {
	t.Parallel()
	e := newEngine(t, newCloud(), t.TempDir(), nil)
	up(t, e, "a", "b")
	former, err := e.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	up(t, e, "c", "d")
	for range 2 { // also when it is run again
		if _, err := e.Amend(t.Context(), former, []string{"thing-0"}, []string{"label", "secret", "nothing"}); err != nil {
			t.Fatal(err)
		}
		plan, err := e.Preview(t.Context(), program("c", "d"))
		if err != nil || len(plan.Changes) != 1 || plan.Changes[0].Name != "thing-0" || plan.Changes[0].Operation != engine.Update || plan.Changes[0].Properties[0].Old != "a" {
			t.Errorf("the plan is %+v, %v", plan.Changes, err)
		}
	}
	if n, err := e.Amend(t.Context(), former, []string{"thing-0"}, []string{"label"}); err != nil || n != 0 {
		t.Errorf("%d are amended again, %v", n, err)
	}
	if _, err := e.Amend(t.Context(), []byte("no state"), []string{"thing-0"}, nil); err == nil {
		t.Error("what is no state is taken")
	}
}

// TestAmendASecret: one that is changed and amended is changed again by the next plan.
func TestAmendASecret(t *testing.T) {
	t.Parallel()
	e := newEngine(t, newCloud(), t.TempDir(), nil)
	up(t, e, "a")
	former, err := e.Export(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Up(t.Context(), programWith("another", "a")); err != nil {
		t.Fatal(err)
	}
	if n, err := e.Amend(t.Context(), former, []string{"thing-0"}, []string{"secret"}); err != nil || n != 1 {
		t.Fatalf("%d are amended, %v", n, err)
	}
	plan, err := e.Preview(t.Context(), programWith("another", "a"))
	if err != nil || len(plan.Changes) != 1 || len(plan.Changes[0].Properties) != 1 || plan.Changes[0].Properties[0].Path != "secret" {
		t.Errorf("the plan is %+v, %v", plan.Changes, err)
	}
	if plan, err := e.Preview(t.Context(), program("a")); err != nil || !plan.Empty() {
		t.Errorf("with the former secret the plan is %+v, %v", plan.Changes, err)
	}
}
