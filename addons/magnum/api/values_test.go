package api

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/magnumtest"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// A patch may add where Magnum has null or nothing.
func TestEmptyIsWhatMagnumHasForNull(t *testing.T) {
	t.Parallel()
	for _, value := range []any{nil, "", map[string]string{}, []any{}} {
		if !empty(value) {
			t.Errorf("%#v is not empty", value)
		}
	}
	for _, value := range []any{"x", map[string]string{"a": ""}, []any{nil}, false, json.Number("0")} {
		if empty(value) {
			t.Errorf("%#v is empty", value)
		}
	}
}

// updated_at is the later of the endpoint's change and the controllers'.
func TestUpdatedIsTheLatestChange(t *testing.T) {
	t.Parallel()
	early, late := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	at := func(at time.Time) *metav1.Time { return &metav1.Time{Time: at} }
	for name, test := range map[string]struct {
		here   string
		status *metav1.Time
		want   any
	}{
		"never":               {"", nil, nil},
		"by the endpoint":     {timeText(early), nil, timeText(early)},
		"by the controllers":  {"", at(early), timeText(early)},
		"the endpoint later":  {timeText(late), at(early), timeText(late)},
		"a controller later":  {timeText(early), at(late), timeText(late)},
		"an unreadable one":   {"yesterday", nil, nil},
		"one beside a status": {"yesterday", at(early), timeText(early)},
	} {
		o := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationUpdatedAt: test.here}}}
		if got := updated(o, test.status); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// A number is text only where an id or a name refers to something.
func TestANumberIsTextOnlyAsAReference(t *testing.T) {
	t.Parallel()
	if got, err := (&attribute{name: "flavor_id", kind: reference, max: 255}).text(json.Number("42")); err != nil || got != "42" {
		t.Errorf("%v %v", got, err)
	}
	if got, err := (&attribute{name: "name", max: 255}).text(json.Number("42")); err == nil {
		t.Errorf("%v", got)
	}
}

// Booleans may be numbers, 0 and 1 only.
func TestANumberIsABooleanIfItIsOneOrZero(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{"1": true, "0": false, "2": nil} {
		if got, err := (&attribute{name: "public"}).boolean(json.Number(text)); got != want || (err == nil) != (want != nil) {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
}

// A taint's value may be null, but nothing else than text and null.
func TestTaintsAreText(t *testing.T) {
	t.Parallel()
	if got, err := taints([]any{map[string]any{"key": "gpu", "value": nil, "effect": "NoSchedule"}}); err != nil || len(got) != 1 || got[0].Value != "" {
		t.Errorf("%+v %v", got, err)
	}
	for _, wrong := range []map[string]any{{"key": "gpu", "value": []any{}, "effect": "NoSchedule"}, {"key": "gpu", "more": "x", "effect": "NoSchedule"}} {
		if got, err := taints([]any{wrong}); err == nil {
			t.Errorf("%v is %+v", wrong, got)
		}
	}
}

// A server that lacks a part must not start: it would fail at the first request that needs it.
func TestAServerNeedsItsParts(t *testing.T) {
	t.Parallel()
	rules, err := policy.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	all := func() Options {
		return Options{Client: client.WithWatch(magnumtest.NewKube(t)), Inventory: &inventory.Inventory{}, Tokens: anybody{}, Cloud: &openstack.Cloud{}, Policy: rules}
	}
	if _, err := New(all()); err != nil {
		t.Fatal(err)
	}
	for name, without := range map[string]func(*Options){
		"client": func(o *Options) { o.Client = nil }, "inventory": func(o *Options) { o.Inventory = nil }, "tokens": func(o *Options) { o.Tokens = nil },
		"cloud": func(o *Options) { o.Cloud = nil }, "policy": func(o *Options) { o.Policy = nil },
	} {
		o := all()
		without(&o)
		if _, err := New(o); err == nil {
			t.Errorf("a server without its %s starts", name)
		}
	}
}
