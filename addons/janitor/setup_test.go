package janitor

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// TestWhatTheJanitorIsToldOf: changes that it goes by, and none that it makes itself.
func TestWhatTheJanitorIsToldOf(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	for name, test := range map[string]struct {
		change func(*metav1.PartialObjectMetadata)
		want   bool
	}{
		"nothing":          {func(*metav1.PartialObjectMetadata) {}, false},
		"status alone":     {func(o *metav1.PartialObjectMetadata) { o.ResourceVersion = "8" }, false},
		"its report":       {func(o *metav1.PartialObjectMetadata) { o.Annotations[ReportAnnotation] = "{}" }, false},
		"an annotation":    {func(o *metav1.PartialObjectMetadata) { o.Annotations[RetryAnnotation] = "1" }, true},
		"a label":          {func(o *metav1.PartialObjectMetadata) { o.Labels = map[string]string{"a": "b"} }, true},
		"a finalizer":      {func(o *metav1.PartialObjectMetadata) { o.Finalizers = nil }, true},
		"its deletion":     {func(o *metav1.PartialObjectMetadata) { o.DeletionTimestamp = &now }, true},
		"what is wanted":   {func(o *metav1.PartialObjectMetadata) { o.Generation = 3 }, true},
		"both, and report": {func(o *metav1.PartialObjectMetadata) { o.Generation, o.Annotations[ReportAnnotation] = 3, "{}" }, true},
	} {
		was := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Generation: 2, ResourceVersion: "7", Finalizers: []string{Finalizer}, Annotations: map[string]string{"x": "y"}}}
		is := was.DeepCopy()
		test.change(is)
		if got := relevant().Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	was := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}
	if relevant().Update(event.UpdateEvent{ObjectOld: was, ObjectNew: was.DeepCopy()}) {
		t.Error("a deletion is told once more")
	}
}

// TestMetricsAreSharedInAProcess, but not with what has their name and is another.
func TestMetricsAreSharedInAProcess(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	first, err := newMeters(registry)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := newMeters(registry); err != nil || again.cleanups != first.cleanups || again.waiting != first.waiting || again.removed != first.removed {
		t.Errorf("another time: %v", err)
	}
	for _, name := range []string{"capi_janitor_cleanups_total", "capi_janitor_removed_total", "capi_janitor_waiting_clusters"} {
		taken := prometheus.NewRegistry()
		taken.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: "another's"}))
		if _, err := newMeters(taken); err == nil {
			t.Errorf("%s is taken, and nobody says so", name)
		}
	}
}

// TestSettingsThatAreWrongStartNothing.
func TestSettingsThatAreWrongStartNothing(t *testing.T) {
	t.Parallel()
	if err := Setup(nil, Options{}); err == nil {
		t.Error("it was set up")
	}
	edge := DefaultOptions()
	edge.RetryDelay, edge.Workers, edge.AttemptTime = firstDelay, 2, 1
	if err := edge.Validate(); err != nil {
		t.Errorf("the least that is allowed: %v", err)
	}
}

// TestWhoseAnAddressIs: its load balancer's, else that of the router it goes through.
func TestWhoseAnAddressIs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		port, router string
		routers      set
		want         claim
	}{
		"its load balancer's": {"vip", "theirs", set{"mine": true}, ours}, "its router's": {"", "mine", set{"mine": true}, ours}, "another's": {"", "theirs", set{"mine": true}, foreign},
		"of a router, and ours are not known": {"", "theirs", nil, unclaimed}, "of nothing": {"", "", set{"mine": true}, unclaimed}, "of another port": {"x", "mine", set{"mine": true}, ours},
	} {
		s := &survey{target: target{routers: test.routers}, vips: map[string]claim{"vip": ours, "": foreign}}
		if got := s.claimAddress(floatingips.FloatingIP{PortID: test.port, RouterID: test.router}); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// TestConditionsAndTheirEvents: an event tells a new reason that somebody has to see to, and the time
// is that of another status, not of other words.
func TestConditionsAndTheirEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(o.Object, []any{"odd", map[string]any{"type": "Ready", "status": "True"}}, "status", "conditions")
	})
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, step := range []struct {
		reason, message string
		event           bool
		since           time.Duration
	}{
		{ReasonDeleting, "2 left", false, 0}, {ReasonDeleting, "1 left", false, 0}, {ReasonNameConflict, "whose is it", true, 0}, {ReasonNameConflict, "whose is it", false, 0},
		{ReasonCleanupFailed, "no answer", true, 0}, {ReasonCleaned, "nothing is left", false, 5 * time.Hour},
	} {
		w.r.now = func() time.Time { return begin.Add(time.Duration(i) * time.Hour) }
		if err := w.r.tell(t.Context(), read(s.object()), step.reason, step.message); err != nil {
			t.Fatal(err)
		}
		condition := conditionOf(s.object())
		if got := w.told(); (got != "") != step.event || step.event && got != "Warning "+step.reason+" "+step.message {
			t.Errorf("%d: event %q", i, got)
		}
		if condition["message"] != step.message || condition["lastTransitionTime"] != begin.Add(step.since).Format(time.RFC3339) || (condition["severity"] == nil) != (step.reason == ReasonCleaned) {
			t.Errorf("%d: %v", i, condition)
		}
		all, _, _ := unstructured.NestedSlice(s.object().Object, "status", "conditions")
		if len(all) != 3 || all[1].(map[string]any)["type"] != "Ready" {
			t.Errorf("%d: conditions %v", i, all)
		}
	}
}

// TestWhatMayHaveRun: any sign of machines is one.
func TestWhatMayHaveRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		object map[string]any
		want   bool
	}{
		"nothing":        {map[string]any{}, true},
		"an address":     {map[string]any{"spec": map[string]any{"controlPlaneEndpoint": map[string]any{"host": "203.0.113.9"}}}, false},
		"ready":          {map[string]any{"status": map[string]any{"ready": true}}, false},
		"provisioned":    {map[string]any{"status": map[string]any{"initialization": map[string]any{"provisioned": true}}}, false},
		"a network":      {map[string]any{"status": map[string]any{"network": map[string]any{"id": "n"}}}, false},
		"no network yet": {map[string]any{"status": map[string]any{"network": map[string]any{"id": ""}}}, true},
	} {
		if got := read(&unstructured.Unstructured{Object: test.object}).neverProvisioned(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestRefusedCredentials are those of which Keystone says so, not those it cannot look up now.
func TestRefusedCredentials(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{http.StatusUnauthorized: true, http.StatusForbidden: true, http.StatusNotFound: true, http.StatusTooManyRequests: false, http.StatusServiceUnavailable: false, 0: false} {
		if refused(status) != want {
			t.Errorf("%d: %t", status, !want)
		}
	}
}

// TestAClusterOfTheSameNameThatCameLater is not the one that it belonged to: nothing waits for it.
func TestAClusterOfTheSameNameThatCameLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	w.ownedBy(s, func(o *unstructured.Unstructured) { o.SetUID("another") })
	volume := s.volume(nil)
	s.delete()
	s.settle()
	absent(t, "volume", w.getVolume(volume))
}

// TestTheFinalizerIsAddedToWhatIsThere: a change in between is no error, and neither is a deletion.
func TestTheFinalizerIsAddedToWhatIsThere(t *testing.T) {
	t.Parallel()
	of := schema.GroupResource{Resource: "openstackclusters"}
	for name, test := range map[string]struct {
		err   error
		again time.Duration
		want  string
	}{
		"changed in between": {apierrors.NewConflict(of, "prod", errAway), firstDelay, ""}, "deleted in between": {apierrors.NewNotFound(of, "prod"), 0, ""}, "not written": {errAway, 0, "adding the finalizer: the API server is away"},
	} {
		w := newWorld(t)
		s := w.cluster("default", "prod", finalized(capoFinalizer))
		w.breaks("patch OpenStackCluster", test.err)
		result, err := w.r.Reconcile(t.Context(), s.request())
		if result.RequeueAfter != test.again || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: again in %s, %v", name, result.RequeueAfter, err)
		}
	}
}

// TestResourcesForPeople have the name and the reason that there are, and lists end after some.
func TestResourcesForPeople(t *testing.T) {
	t.Parallel()
	full := Resource{Kind: kindVolume, ID: "v", Name: "pvc-1", Why: "in use"}
	for want, r := range map[string]Resource{"volume v": {Kind: kindVolume, ID: "v"}, "volume v (pvc-1)": {Kind: kindVolume, ID: "v", Name: "pvc-1"}, "volume v: in use": {Kind: kindVolume, ID: "v", Why: "in use"}, "volume v (pvc-1): in use": full} {
		if got := r.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	five := []Resource{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}, {ID: "e"}}
	if got := names(five); strings.Contains(got, "more") {
		t.Errorf("five: %q", got)
	}
	if got := names(append(five, full, full)); !strings.HasSuffix(got, "; and 2 more") || strings.Contains(got, "pvc-1") {
		t.Errorf("seven: %q", got)
	}
}
