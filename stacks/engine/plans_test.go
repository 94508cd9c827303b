package engine

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"

	"github.com/slipway-sh/slipway/internal/fault"
)

// hidden is a secret as an export in the clear has it.
func hidden(plain string) map[string]any {
	return map[string]any{signature: "1b47061264138c4ac30d75fd1eb44270", "plaintext": plain}
}

// TestPlansHaveEachResourceOnce: the steps of a replacement are one change, whatever comes first.
func TestPlansHaveEachResourceOnce(t *testing.T) {
	t.Parallel()
	step := func(of string, op Operation) Change { return Change{Name: of, Operation: op, urn: of} }
	plan := newPlan([]Change{step("a", Same), step("b", Create), step("c", Delete), step("c", Replace), step("c", Delete), step("d", Replace), step("d", Create), step("e", Update), step("e", Update)})
	want := map[string]Operation{"b": Create, "c": Replace, "d": Replace, "e": Update}
	for _, change := range plan.Changes {
		if want[change.Name] != change.Operation {
			t.Errorf("%s: %s", change.Name, change.Operation)
		}
	}
	if len(plan.Changes) != len(want) || plan.Empty() || !reflect.DeepEqual(plan.Counts, map[Operation]int{Same: 1, Create: 1, Replace: 2, Update: 1}) {
		t.Errorf("%+v", plan)
	}
	if !newPlan([]Change{step("a", Same)}).Empty() {
		t.Error("nothing that changes is a plan")
	}
}

// TestWhatAReadingFinds: a resource that is gone, or outputs that differ, in order.
func TestWhatAReadingFinds(t *testing.T) {
	t.Parallel()
	state := func(outputs map[string]any) *apitype.StepEventStateMetadata {
		return &apitype.StepEventStateMetadata{ID: "id", Outputs: outputs}
	}
	was := map[string]any{"b": "1", "a": 1.0, "same": "x", "gone": "y"}
	now := map[string]any{"b": "2", "a": 2.0, "same": "x", "new": "z"}
	for name, test := range map[string]struct {
		step  apitype.StepEventMetadata
		want  Operation
		paths []string
	}{
		"gone":               {apitype.StepEventMetadata{Op: apitype.OpDelete, Old: state(was)}, Delete, nil},
		"as it was":          {apitype.StepEventMetadata{Op: apitype.OpRefresh, Old: state(was), New: state(was)}, Same, nil},
		"different":          {apitype.StepEventMetadata{Op: apitype.OpUpdate, Old: state(was), New: state(now)}, Update, []string{"a", "b", "gone", "new"}},
		"not known before":   {apitype.StepEventMetadata{Op: apitype.OpUpdate, New: state(now)}, Same, nil},
		"not there any more": {apitype.StepEventMetadata{Op: apitype.OpUpdate, Old: state(was)}, Same, nil},
	} {
		test.step.URN = "urn:pulumi:prod::slipway::slipway:openstack:Network::net"
		got := refreshed(test.step)
		var paths []string
		for _, p := range got.Properties {
			paths = append(paths, p.Path)
		}
		if got.Operation != test.want || !slices.Equal(paths, test.paths) {
			t.Errorf("%s: %s of %v", name, got.Operation, paths)
		}
	}
}

// TestWordsOfTheEngine become those of a plan.
func TestWordsOfTheEngine(t *testing.T) {
	t.Parallel()
	for op, want := range map[apitype.OpType]Operation{apitype.OpCreate: Create, apitype.OpImport: Create, apitype.OpUpdate: Update, apitype.OpReplace: Replace, apitype.OpCreateReplacement: Replace,
		apitype.OpDeleteReplaced: Replace, apitype.OpImportReplacement: Replace, apitype.OpDelete: Delete, apitype.OpSame: Same, apitype.OpRefresh: Same} {
		if got := operationOf(op); got != want {
			t.Errorf("%s is %s", op, got)
		}
	}
	m := apitype.StepEventMetadata{Op: apitype.OpReplace, URN: "urn:pulumi:prod::slipway::slipway:openstack:Network::net", Type: Provider + ":openstack:Network",
		DetailedDiff: map[string]apitype.PropertyDiff{"cidr": {Kind: apitype.DiffUpdateReplace}, "mtu": {Kind: apitype.DiffUpdate}, "id": {Kind: apitype.DiffAdd}},
		Old:          &apitype.StepEventStateMetadata{ID: "n", Inputs: map[string]any{"cidr": "old"}},
		New:          &apitype.StepEventStateMetadata{Inputs: map[string]any{"cidr": "new", "mtu": []any{plugin.UnknownStringValue, map[string]any{"a": plugin.UnknownNumberValue, "b": "c"}}}}}
	want := []Property{{"cidr", "old", "new", true}, {"id", nil, nil, false}, {"mtu", nil, []any{NotKnown, map[string]any{"a": NotKnown, "b": "c"}}, false}}
	if got := changeOf(m); got.ID != "n" || got.Type != "openstack:Network" || got.Name != "net" || !reflect.DeepEqual(got.Properties, want) {
		t.Errorf("%+v", got)
	}
	m.Op, m.Old = apitype.OpCreate, nil
	if got := changeOf(m); got.ID != "" || got.Properties != nil {
		t.Errorf("one that is made: %+v", got)
	}
}

// TestPropertiesThatAreTakenOver: those that differ, and secrets only of the same key.
func TestPropertiesThatAreTakenOver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		to, from map[string]any
		secrets  bool
		want     map[string]any
		changed  bool
	}{
		"another":           {map[string]any{"a": "1", "b": "2"}, map[string]any{"a": "9", "b": "9"}, false, map[string]any{"a": "9", "b": "2"}, true},
		"the same":          {map[string]any{"a": "1"}, map[string]any{"a": "1"}, false, map[string]any{"a": "1"}, false},
		"none before":       {map[string]any{"a": "1"}, map[string]any{}, false, map[string]any{}, true},
		"none in either":    {map[string]any{"b": "1"}, map[string]any{}, false, map[string]any{"b": "1"}, false},
		"nothing to give":   {nil, map[string]any{"a": "1"}, false, nil, false},
		"a secret":          {map[string]any{"a": hidden("1")}, map[string]any{"a": hidden("9")}, true, map[string]any{"a": hidden("9")}, true},
		"of another key":    {map[string]any{"a": hidden("1")}, map[string]any{"a": hidden("9")}, false, map[string]any{"a": hidden("1")}, false},
		"was a secret once": {map[string]any{"a": "1"}, map[string]any{"a": hidden("9")}, false, map[string]any{"a": "1"}, false},
		"is a secret now":   {map[string]any{"a": hidden("1")}, map[string]any{"a": "9"}, false, map[string]any{"a": hidden("1")}, false},
	} {
		to := map[string]any{}
		if test.to != nil {
			to["inputs"] = test.to
		}
		if changed := take(to, map[string]any{"inputs": test.from}, []string{"a"}, test.secrets); changed != test.changed || test.want != nil && !reflect.DeepEqual(to["inputs"], test.want) {
			t.Errorf("%s: %t, %v", name, changed, to)
		}
	}
	if _, _, err := named([]byte("no state"), nil); err == nil {
		t.Error("what is no state is read")
	}
}

// TestSecretsOfAState are found wherever they are, and nothing else is.
func TestSecretsOfAState(t *testing.T) {
	t.Parallel()
	var all []string
	secretsIn(map[string]any{"a": "open", "b": hidden(`"one"`), "c": []any{"open", hidden(`{"d": ["two", 3], "e": {"f": "three"}}`)}, "g": map[string]any{"plaintext": "no secret"}, "h": hidden("broken")}, false, &all)
	slices.Sort(all)
	if !slices.Equal(all, []string{"one", "three", "two"}) {
		t.Errorf("%q", all)
	}
	got := clear(map[string]any{"a": "open", "b": hidden(`"one"`), "c": hidden("broken"), "d": hidden("[1]")})
	if want := map[string]any{"a": "open", "b": "one", "c": hidden("broken"), "d": []any{1.0}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	for _, value := range []any{"text", nil, map[string]any{"plaintext": "x"}, []any{}} {
		if IsSecret(value) {
			t.Errorf("%v is a secret", value)
		}
	}
}

// TestErrorsOfOperations: the causes of resources, else the engine's words; what was done before makes
// it a half.
func TestErrorsOfOperations(t *testing.T) {
	t.Parallel()
	failed := errors.New("exit status 255")
	for name, test := range map[string]struct {
		err  error
		took []Took
		said []string
		want string
		exit fault.Exit
	}{
		"none":                 {nil, nil, []string{"x"}, "", fault.ExitOK},
		"the process alone":    {failed, nil, nil, "exit status 255", fault.ExitFailure},
		"the engine's words":   {failed, nil, []string{"no plugin", "no plugin", "no room"}, "no plugin; no room", fault.ExitFailure},
		"after something done": {failed, []Took{{}}, []string{"no room"}, "no room", fault.ExitPartial},
	} {
		w := newWatcher(nil, &failures{})
		w.took, w.errors = test.took, test.said
		err := w.explain(test.err)
		if (err == nil) != (test.want == "") || err != nil && err.Error() != test.want || fault.ExitCode(err) != test.exit {
			t.Errorf("%s: %v, exit code %d", name, err, fault.ExitCode(err))
		}
	}
}

// TestHoldersOfLocks are read from the engine's words and from its files.
func TestHoldersOfLocks(t *testing.T) {
	t.Parallel()
	err := parseLock("the stack is currently locked by 2 lock(s).\n file:///a.json: created by me@here (pid 7) at 2026-01-02T03:04:05Z\n b: created by @there (pid 8) at 2026-01-02T03:04:06Z")
	var locked *Locked
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if want := []Holder{{"me", "here", 7, since}, {"", "there", 8, since.Add(time.Second)}}; !errors.As(err, &locked) || !reflect.DeepEqual(locked.Holders, want) || !strings.Contains(fault.Remedy(err), "slipway state unlock") {
		t.Errorf("%v", err)
	}
	if err := parseLock("it is locked"); errors.As(err, &locked) || err.Error() != "it is locked" {
		t.Errorf("words without a holder: %v", err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"lock": `{"pid": 7, "username": "me", "hostname": "here", "timestamp": "2026-01-02T03:04:05Z"}`, "half": `{"pid": 7`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{"lock": true, "half": false, "none": false} {
		if h, ok := readHolder(filepath.Join(dir, name)); ok != want || ok && h != (Holder{"me", "here", 7, since}) || !ok && h != (Holder{}) {
			t.Errorf("%s: %+v, %t", name, h, ok)
		}
	}
}
