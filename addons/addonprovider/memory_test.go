package addonprovider

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"

	"github.com/slipway-sh/slipway/addons/addonprovider/release"
	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

func TestMemoryOfFailures(t *testing.T) {
	t.Parallel()
	m, now := newMemory(10*time.Second), time.Unix(0, 0)
	m.now = func() time.Time { return now }
	key, object := types.NamespacedName{Name: "a"}, &v1alpha1.HelmRelease{}
	var last time.Duration
	for i := range 12 {
		count, delay := m.fail(key, failure{digest: "d"})
		if count != i+1 || delay < last/2 || delay > 12*time.Minute {
			t.Errorf("failure %d: %d after %s", i, count, delay)
		}
		last = delay
	}
	if last < 8*time.Minute {
		t.Errorf("the delay only grew to %s", last)
	}
	if wait, _ := m.due(key, object, "d", time.Hour); wait != last {
		t.Errorf("due in %s instead of %s", wait, last)
	}
	if wait, _ := m.due(key, object, "other", time.Hour); wait != 0 {
		t.Errorf("something else is due in %s", wait)
	}
	now = now.Add(last)
	if wait, _ := m.due(key, object, "d", time.Hour); wait != 0 {
		t.Errorf("due in %s after the delay", wait)
	}
	if count, delay := m.fail(key, failure{digest: "d", permanent: time.Hour}); count != 13 || delay != time.Hour {
		t.Errorf("permanent: %d, %s", count, delay)
	}
	if count, _ := m.fail(key, failure{digest: "d", generation: 2}); count != 1 {
		t.Errorf("a new generation begins with %d", count)
	}
	if _, delay := m.fail(key, failure{digest: "e", notBefore: now.Add(time.Hour)}); delay != time.Hour {
		t.Errorf("not before: %s", delay)
	}
}

// failing is a reconciler whose time stands still, and an addon.
func failing() (*reconciler, *v1alpha1.HelmRelease) {
	r := &reconciler{options: Options{ResyncPeriod: time.Hour}, memory: newMemory(10 * time.Second), events: record.NewFakeRecorder(10)}
	r.memory.now = func() time.Time { return time.Unix(0, 0) }
	return r, &v1alpha1.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a"}}
}

// What a deletion finds failed before does not delay it, also where only a change by
// a user would have helped. Its own failures do, as those that may go away.
func TestFailuresBeforeADeletionDoNotDelayIt(t *testing.T) {
	t.Parallel()
	for _, kind := range []release.Kind{release.Temporary, release.ChartInvalid, release.Refused, release.WorkersMissing} {
		r, object := failing()
		failed := &outcome{err: &release.Error{Kind: kind, Err: errors.New("no")}, digest: "d"}
		if delay := r.failed(object, failed); delay <= 0 {
			t.Errorf("%s: tried again after %s", kind, delay)
		}
		if wait := r.memory.wait(keyOf(object)); wait != 0 {
			t.Errorf("%s: the deletion waits %s", kind, wait)
		}
	}
	r, object := failing()
	refused := &outcome{err: &release.Error{Kind: release.Refused, Err: errors.New("no")}, uninstall: true}
	delay := r.failed(object, refused)
	if wait := r.memory.wait(keyOf(object)); wait != delay || delay <= 0 || delay > time.Minute || object.Status.Failures != 1 {
		t.Errorf("after failure %d to uninstall it waits %s, and says %s", object.Status.Failures, wait, delay)
	}
}

// proves: F126
func TestMemoryOfMissingKinds(t *testing.T) {
	t.Parallel()
	m := newMemory(time.Hour)
	key, cluster := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "c"}
	if _, delay := m.fail(key, failure{digest: "d", kindMissing: true, cluster: cluster}); delay > 2*maxKindDelay {
		t.Errorf("delay is %s", delay)
	}
	m.fail(types.NamespacedName{Name: "b"}, failure{digest: "d", cluster: cluster})
	if keys := m.waitingForKinds(types.NamespacedName{Name: "other"}); len(keys) != 0 {
		t.Errorf("of another cluster: %v", keys)
	}
	if keys := m.waitingForKinds(cluster); len(keys) != 1 || keys[0] != key {
		t.Errorf("got %v", keys)
	}
	if wait, _ := m.due(key, &v1alpha1.Manifests{}, "d", time.Hour); wait != 0 {
		t.Errorf("due in %s", wait)
	}
}

func TestRestartGoesByTheStatus(t *testing.T) {
	t.Parallel()
	object := &v1alpha1.HelmRelease{Status: v1alpha1.AddonStatus{Phase: v1alpha1.PhaseDeployed, Digest: "d", ChartDigest: "sha256:1"}}
	key := types.NamespacedName{Name: "a"}
	for range 20 {
		m := newMemory(time.Second)
		if wait, deployed := m.due(key, object, "d", time.Hour); wait <= 0 || wait > time.Hour || !deployed {
			t.Errorf("due in %s, %v", wait, deployed)
		}
		if wait, _ := m.due(key, object, "other", time.Hour); wait != 0 {
			t.Errorf("a change is due in %s", wait)
		}
	}
	if wait, deployed := newMemory(time.Second).due(key, object, "d", -1); wait >= 0 || !deployed {
		t.Errorf("without resync due in %s", wait)
	}
	object.Spec.Chart.Digest = "sha256:2"
	if wait, _ := newMemory(time.Second).due(key, object, "d", time.Hour); wait != 0 {
		t.Errorf("another pinned chart is due in %s", wait)
	}
}

func TestPhasesAfterFailures(t *testing.T) {
	t.Parallel()
	fresh, deployed := v1alpha1.AddonStatus{Phase: v1alpha1.PhasePending}, v1alpha1.AddonStatus{Phase: v1alpha1.PhaseDeployed, Revision: 3, Digest: "d"}
	installing, upgrading := &outcome{phase: v1alpha1.PhaseInstalling}, &outcome{phase: v1alpha1.PhaseUpgrading}
	for name, c := range map[string]struct {
		kind    release.Kind
		count   int
		status  v1alpha1.AddonStatus
		outcome *outcome
		want    v1alpha1.Phase
	}{
		"permanent":            {release.ChartInvalid, 1, fresh, installing, v1alpha1.PhaseFailed},
		"template":             {release.TemplateInvalid, 1, deployed, &outcome{}, v1alpha1.PhaseFailed},
		"not ready":            {release.NotReady, 1, fresh, installing, v1alpha1.PhaseFailed},
		"temporary":            {release.Temporary, 1, fresh, installing, v1alpha1.PhaseInstalling},
		"temporary for long":   {release.Temporary, patience, fresh, installing, v1alpha1.PhaseFailed},
		"chart":                {release.ChartUnavailable, 2, deployed, upgrading, v1alpha1.PhaseUpgrading},
		"kind":                 {release.KindMissing, 20, fresh, installing, v1alpha1.PhasePending},
		"kind for long":        {release.KindMissing, longPatience, fresh, installing, v1alpha1.PhaseFailed},
		"unreachable":          {release.Unreachable, 5, fresh, &outcome{}, v1alpha1.PhasePending},
		"unreachable deployed": {release.Unreachable, 1000, deployed, &outcome{}, v1alpha1.PhaseDeployed},
		"uninstalling":         {release.Refused, 5, deployed, &outcome{uninstall: true}, v1alpha1.PhaseUninstalling},
	} {
		if got := phaseAfter(c.kind, c.count, &c.status, c.outcome); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestLabelValues(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 60)
	for _, text := range []string{"short", long + "-bcd", long + "-bce", strings.Repeat("a-", 200)} {
		value := labelValue(text)
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			t.Errorf("%s: %v", value, problems)
		}
	}
	if labelValue(long+"-bcd") == labelValue(long+"-bce") || labelValue("short") != "short" {
		t.Error("values are mixed up")
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"30m": 30 * time.Minute, "x": 0, "-1s": 0, "10": 0} {
		got, err := timeout(ptr.To(intstr.FromString(text)), time.Hour)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	if got, err := timeout(ptr.To(intstr.FromInt32(600)), time.Hour); got != 10*time.Minute || err != nil {
		t.Errorf("600: %s, %v", got, err)
	}
	if got, err := timeout(nil, time.Hour); got != time.Hour || err != nil {
		t.Errorf("none: %s, %v", got, err)
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	r := &v1alpha1.HelmRelease{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: v1alpha1.HelmReleaseSpec{ValuesSources: []v1alpha1.ValuesSource{
		{Secret: &v1alpha1.NameKey{Name: "s"}}, {Template: ptr.To("x")}, {ConfigMap: &v1alpha1.NameKey{Name: "c"}}}}}
	if got := strings.Join(references(r), " "); got != "Secret/s ConfigMap/c" {
		t.Errorf("got %s", got)
	}
	i, cluster := newIdentities(), types.NamespacedName{Namespace: "n", Name: "c"}
	i.set(cluster, "one")
	i.set(cluster, "two")
	if i.clusters(types.NamespacedName{Namespace: "n", Name: "one"}) != nil || len(i.clusters(types.NamespacedName{Namespace: "n", Name: "two"})) != 1 {
		t.Error("the credential of a cluster was not followed")
	}
}
