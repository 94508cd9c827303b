package kubernetes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/slipway-sh/slipway/internal/fault"
)

// thing is a kind that notes what is done to it; its input is its error.
type thing struct{ did *[]string }

type thingInputs struct {
	Fails string `pulumi:"fails"`
	Size  int    `pulumi:"size,optional"`
}

type thingState struct {
	thingInputs
	Made bool
}

func (s thingState) inputs() thingInputs { return s.thingInputs }

func (thing) object(thingInputs) string { return "thing" }

func (thing) id(thingInputs) string { return "id" }

func (thing) blank(in thingInputs) thingState { return thingState{thingInputs: in} }

func (k thing) settle(_ context.Context, in thingInputs) (thingState, error) {
	*k.did = append(*k.did, "settle")
	if in.Fails != "" {
		return k.blank(in), errors.New(in.Fails)
	}
	return thingState{in, true}, nil
}

// kept is a thing that is also updated and removed by itself.
type kept struct{ thing }

func (k kept) update(_ context.Context, old thingState, in thingInputs) (thingState, error) {
	*k.did = append(*k.did, "update")
	if in.Fails != "" {
		return old, fault.New("its part", errors.New(in.Fails), "mend the part")
	}
	return thingState{in, true}, nil
}

func (k kept) remove(_ context.Context, state thingState) error {
	*k.did = append(*k.did, "remove")
	if state.Fails != "" {
		return errors.New(state.Fails)
	}
	return nil
}

// TestAPlanChangesNothing: neither a creation nor an update that is only planned is done.
func TestAPlanChangesNothing(t *testing.T) {
	t.Parallel()
	var did []string
	c := controller[thingInputs, thingState]{kept{thing{&did}}}
	made, err := c.Create(t.Context(), infer.CreateRequest[thingInputs]{Inputs: thingInputs{Size: 3}, DryRun: true})
	if err != nil || made.ID != "id" || made.Output != (thingState{thingInputs: thingInputs{Size: 3}}) {
		t.Errorf("%+v, %v", made, err)
	}
	was := thingState{thingInputs{Size: 2}, true}
	changed, err := c.Update(t.Context(), infer.UpdateRequest[thingInputs, thingState]{State: was, Inputs: thingInputs{Size: 3}, DryRun: true})
	if err != nil || changed.Output != was {
		t.Errorf("%+v, %v", changed, err)
	}
	if len(did) > 0 {
		t.Errorf("a plan did %q", did)
	}
}

// TestResourcesAreSettled: created, updated by what they were if they can be, and removed if they
// do not go with their machine.
func TestResourcesAreSettled(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		of  func(*[]string) kind[thingInputs, thingState]
		did []string
	}{
		"goes with its machine": {func(did *[]string) kind[thingInputs, thingState] { return thing{did} }, []string{"settle", "settle"}},
		"goes by itself":        {func(did *[]string) kind[thingInputs, thingState] { return kept{thing{did}} }, []string{"settle", "update", "remove"}},
	} {
		var did []string
		c := controller[thingInputs, thingState]{test.of(&did)}
		in := thingInputs{Size: 1}
		made, err := c.Create(t.Context(), infer.CreateRequest[thingInputs]{Inputs: in})
		if err != nil || !made.Output.Made || made.ID != "id" {
			t.Errorf("%s: %+v, %v", name, made, err)
		}
		changed, err := c.Update(t.Context(), infer.UpdateRequest[thingInputs, thingState]{State: thingState{}, Inputs: in})
		if err != nil || !changed.Output.Made {
			t.Errorf("%s: %+v, %v", name, changed, err)
		}
		if _, err := c.Delete(t.Context(), infer.DeleteRequest[thingState]{State: made.Output}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(did, test.did) {
			t.Errorf("%s: did %q", name, did)
		}
	}
}

// TestAResourceThatFailsIsNamed, with what to do: what its own error says, else where to look.
func TestAResourceThatFailsIsNamed(t *testing.T) {
	t.Parallel()
	var did []string
	c := controller[thingInputs, thingState]{kept{thing{&did}}}
	in := thingInputs{Fails: "no room"}
	made, err := c.Create(t.Context(), infer.CreateRequest[thingInputs]{Inputs: in})
	if err == nil || err.Error() != "thing: no room" || !strings.Contains(fault.Remedy(err), "slipway logs --console") || made.Output.Fails != "no room" {
		t.Errorf("created: %v (%s)", err, fault.Remedy(err))
	}
	_, err = c.Update(t.Context(), infer.UpdateRequest[thingInputs, thingState]{Inputs: in})
	if err == nil || !strings.Contains(err.Error(), "no room") || fault.Remedy(err) != "mend the part" {
		t.Errorf("updated: %v (%s)", err, fault.Remedy(err))
	}
	_, err = c.Delete(t.Context(), infer.DeleteRequest[thingState]{State: thingState{thingInputs: in}})
	if err == nil || err.Error() != "thing: no room" {
		t.Errorf("removed: %v", err)
	}
}

// TestDifferencesAreUpdatesInPlace: each field that differs is one, and nothing else is.
func TestDifferencesAreUpdatesInPlace(t *testing.T) {
	t.Parallel()
	var did []string
	c := controller[thingInputs, thingState]{thing{&did}}
	was := thingState{thingInputs{Fails: "a", Size: 1}, true}
	for name, test := range map[string]struct {
		now     thingInputs
		changed []string
	}{
		"none": {thingInputs{"a", 1}, nil}, "one": {thingInputs{"a", 2}, []string{"size"}}, "both": {thingInputs{"b", 2}, []string{"fails", "size"}},
	} {
		got, err := c.Diff(t.Context(), infer.DiffRequest[thingInputs, thingState]{State: was, Inputs: test.now})
		if err != nil || got.HasChanges != (test.changed != nil) || len(got.DetailedDiff) != len(test.changed) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		for _, field := range test.changed {
			if got.DetailedDiff[field].Kind != p.Update {
				t.Errorf("%s: %s is %v", name, field, got.DetailedDiff[field].Kind)
			}
		}
	}
	blank := infer.DiffResponse{}
	outdated(&blank, "kubeconfig")
	if !blank.HasChanges || blank.DetailedDiff["kubeconfig"].Kind != p.Update {
		t.Errorf("what is outdated: %+v", blank)
	}
	// Nothing of an anonymous struct counts by itself, but its fields do.
	nested := inPlace(ControllersInputs{Login: Login{Address: "a"}}, ControllersInputs{Login: Login{Address: "b"}})
	if len(nested.DetailedDiff) != 1 || nested.DetailedDiff["address"].Kind != p.Update {
		t.Errorf("nested: %+v", nested)
	}
}
