package takeover

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/slipway-sh/slipway/internal/fault"
)

const (
	provider  = "deployments capi-addon-system/cluster-api-addon-provider"
	janitor   = "deployments capi-janitor-system/cluster-api-janitor-openstack"
	itsRecord = "secrets kube-system/slipway-adopted-environment"
)

// TestThePlan says of each object what becomes of it.
func TestThePlan(t *testing.T) {
	t.Parallel()
	w := azimuth(t)
	for name, of := range map[string]string{"prod": "openstack-cluster", "flux": "flux2"} {
		w.must(w.records("default").Create("sh.helm.release.v1."+name+".v1", &helmrelease.Release{Name: name, Namespace: "default", Version: 1,
			Chart: &chart.Chart{Metadata: &chart.Metadata{Name: of, Version: "1.0.0"}}, Info: &helmrelease.Info{Status: helmrelease.StatusDeployed}}))
	}
	c := w.look(Options{Image: image}).Clusters[0]
	for object, want := range map[string]Item{
		"Deployment capi-addon-system/cluster-api-addon-provider":          {Verdict: Replace, Version: "0.12.1", Note: "its pods end before Slipway's begin"},
		"Deployment capi-janitor-system/cluster-api-janitor-openstack":     {Verdict: Replace, Version: "0.12.1", Note: "its pods end before Slipway's begin"},
		"ClusterRole cluster-api-addon-provider":                           {Verdict: Change},
		"CustomResourceDefinition manifests.addons.stackhpc.com":           {Verdict: Change},
		"CustomResourceDefinition helmreleases.addons.stackhpc.com":        {Verdict: Same},
		"PodDisruptionBudget capi-addon-system/cluster-api-addon-provider": {Verdict: Create},
		"HelmRelease default/prod-cni":                                     {Verdict: Keep, Version: "1.2.3"},
		"Manifests default/prod-config":                                    {Verdict: Keep, Note: "gets a new revision with the same resources"},
		"ConfigMap capi-addon-system/cluster-api-addon-provider":           {Verdict: Leave, Note: "stays unused, for --hand-back"},
		"release default/prod":                                             {Verdict: Leave, Version: "openstack-cluster 1.0.0", Note: "a cluster: slipway adopt cluster takes it over"},
		"release default/flux":                                             {Verdict: Leave, Version: "flux2 1.0.0"},
		"Deployment capo-system/capo-controller-manager":                   {Verdict: Leave, Version: "v0.14.7", Note: "runs on; who upgraded it before does so from now on"},
	} {
		i := slices.IndexFunc(c.Items, func(item Item) bool { return item.Object == object })
		if i < 0 {
			t.Errorf("no %s", object)
			continue
		}
		got := c.Items[i]
		if got.Verdict != want.Verdict || got.Version != want.Version || got.Note != want.Note || (len(got.Differences) > 0) != (want.Verdict == Change || want.Verdict == Replace) {
			t.Errorf("%s: %+v, want %+v", object, got, want)
		}
	}
	for _, item := range c.Items {
		if strings.HasPrefix(item.Object, "release capi-") {
			t.Errorf("an operator's release is told of: %+v", item)
		}
	}
	if c.State != New || c.Untouched["Cluster"] != 1 || c.Untouched["Machine"] != 1 || c.Untouched["OpenStackMachine"] != 0 {
		t.Errorf("%s, %v", c.State, c.Untouched)
	}
}

// TestTakenAndGivenBack: the operators end, Slipway's controllers begin, Helm has no say any more, a
// second run does nothing, and all is as it was after it is given back.
func TestTakenAndGivenBack(t *testing.T) {
	t.Parallel()
	w := azimuth(t)
	before, generations := w.everything(), w.generations()
	p := w.look(Options{Image: image})
	w.must(p.Refused())
	var told []string
	changed, err := p.Take(t.Context(), func(text string) { told = append(told, text) })
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	if want := []string{"management cluster: ending cluster-api-addon-provider", "management cluster: ending cluster-api-janitor-openstack", "management cluster: installing Slipway's controllers"}; !slices.Equal(told, want) {
		t.Errorf("it told %q", told)
	}
	w.taken(generations)
	again := w.look(Options{})
	w.must(again.Refused())
	at := len(w.server.Changes())
	if changed, err := again.Take(t.Context(), silent); changed || err != nil || again.Clusters[0].State != Done || len(w.server.Changes()) != at {
		t.Errorf("a second run: %v %v %s", changed, err, again.Clusters[0].State)
	}
	w.givenBack(before)
	if diff := cmp.Diff(generations, w.generations()); diff != "" {
		t.Errorf("Cluster API: %s", diff)
	}
	if err := HandBack(t.Context(), []Site{w.site}, silent); fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("given back twice: %v", err)
	}
}

// taken looks at a cluster that was taken over.
func (w *world) taken(generations map[string]int64) {
	w.Helper()
	for _, path := range []string{provider, janitor} {
		d := w.get(path)
		if !ours(d) || !slices.Contains(images(d), image) {
			w.Errorf("%s: %v", path, images(d))
		}
	}
	if d := w.get("clusterroles cluster-api-addon-provider"); d.GetAnnotations()["meta.helm.sh/release-name"] != "" || d.GetLabels()["helm.sh/chart"] != "" {
		w.Errorf("Helm's marks: %v %v", d.GetAnnotations(), d.GetLabels())
	}
	for _, o := range operators() {
		if last, err := w.site.Clusters.Releases.Last(o.namespace, o.name); last != nil || err != nil {
			w.Errorf("Helm still has release %s: %v", o.name, err)
		}
	}
	if diff := cmp.Diff(generations, w.generations()); diff != "" {
		w.Errorf("Cluster API: %s", diff)
	}
}

// givenBack gives a cluster back and compares all of it.
func (w *world) givenBack(before map[string]any) {
	w.Helper()
	w.must(HandBack(w.Context(), []Site{w.site}, silent))
	if diff := cmp.Diff(before, w.everything()); diff != "" {
		w.Errorf("not as before: %s", diff)
	}
}

// TestKilledAnywhere ends each direction some writes later each time, until it gets through; `make
// proofs` does after every write, with a real API server.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	w := azimuth(t)
	before, generations := w.everything(), w.generations()
	w.untilThrough(func(ctx context.Context) error {
		p, err := Look(ctx, []Site{w.site}, Options{Image: image})
		if err != nil {
			return err
		}
		w.must(p.Refused())
		_, err = p.Take(ctx, silent)
		return err
	})
	w.taken(generations)
	w.untilThrough(func(ctx context.Context) error { return HandBack(ctx, []Site{w.site}, silent) })
	if diff := cmp.Diff(before, w.everything()); diff != "" {
		t.Errorf("not as before: %s", diff)
	}
}

// untilThrough repeats what dies, each time some writes later.
func (w *world) untilThrough(do func(context.Context) error) {
	w.Helper()
	for times := int64(0); times < 100; times += 5 {
		ctx, kill := context.WithCancel(w.Context())
		left := &atomic.Int64{}
		left.Store(times)
		w.server.Refuse = func(r *http.Request) (int, string) {
			if writes(r) && left.Add(-1) < 0 {
				kill()
				return http.StatusForbidden, "Forbidden"
			}
			return 0, ""
		}
		err := do(ctx)
		kill()
		w.server.Refuse = nil
		if err == nil {
			w.Logf("through with %d writes", times)
			return
		}
	}
	w.Fatal("it does not get through")
}

// TestTheRecordComesFirst: whoever stops the first run after any write finds all that it changed.
func TestTheRecordComesFirst(t *testing.T) {
	t.Parallel()
	w := azimuth(t)
	before := w.everything()
	p := w.look(Options{Image: image})
	at := len(w.server.Changes())
	if _, err := p.Take(t.Context(), silent); err != nil {
		t.Fatal(err)
	}
	changes := w.server.Changes()[at:]
	if changes[0] != "POST "+itsRecord || changes[len(changes)-1] != "PUT "+itsRecord {
		t.Errorf("%s … %s", changes[0], changes[len(changes)-1])
	}
	r, err := p.Clusters[0].readRecord(t.Context())
	if err != nil || !r.Complete || r.Environment != "" || r.before(kindDeployment, "capi-addon-system", "cluster-api-addon-provider") == nil {
		t.Errorf("%+v, %v", r, err)
	}
	if secret := w.get(itsRecord); secret.Object["type"] != string(recordType) || secret.GetLabels()[partOf] != "slipway" {
		t.Errorf("%v", secret.Object)
	}
	w.givenBack(before)
}

// TestSomebodyElseMeanwhile is told, and what was made can be given back.
func TestSomebodyElseMeanwhile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meanwhile func(*world)
		want      string
	}{
		"a Machine changes": {func(w *world) { w.edit("machines default/prod-0", "other", "spec", "clusterName") }, "Cluster API: meanwhile Machine default/prod-0 was changed"},
		"a Machine goes": {func(w *world) {
			w.must(w.site.Clusters.Client.Delete(w.Context(), w.get("machines default/prod-0")))
		}, "Cluster API: meanwhile Machine default/prod-0 is gone"},
		"another Machine comes": {func(w *world) { w.put("Machine", "cluster.x-k8s.io/v1beta2", "default", "prod-1", `{}`) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := azimuth(t)
			p := w.look(Options{Image: image})
			_, err := p.Take(t.Context(), func(text string) {
				if strings.Contains(text, "installing") {
					test.meanwhile(w)
				}
			})
			if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || fault.ExitCode(err) != fault.ExitPartial || fault.Remedy(err) == "") {
				t.Errorf("%v, want %q", err, test.want)
			}
			if p := w.look(Options{}); (p.Clusters[0].State == Interrupted) != (test.want != "") {
				t.Errorf("then it is %s", p.Clusters[0].State)
			}
		})
	}
}

// TestInstalledAgainMeanwhile: an operator that comes back in a takeover that goes on is somebody's.
func TestInstalledAgainMeanwhile(t *testing.T) {
	t.Parallel()
	w := azimuth(t)
	stop := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := w.look(Options{Image: image}).Take(ctx, func(text string) {
		if strings.Contains(text, "ending cluster-api-janitor") {
			cancel(stop)
		}
	})
	if err == nil || w.server.Get(provider) != nil {
		t.Fatalf("%v, %v", err, w.server.Get(provider))
	}
	w.must(w.look(Options{}).Refused()) // the janitor is the one of before
	w.put("Deployment", "apps/v1", "capi-addon-system", "cluster-api-addon-provider", `{spec: {template: {spec: {containers: [{image: "x/cluster-api-addon-provider:1"}]}}}}`)
	err = w.look(Options{}).Refused()
	if err == nil || !strings.Contains(err.Error(), "Deployment capi-addon-system/cluster-api-addon-provider: somebody installed it again after it was adopted") {
		t.Error(err)
	}
}

// TestInstalledSinceThePlan: what a plan did not see is not ended.
func TestInstalledSinceThePlan(t *testing.T) {
	t.Parallel()
	w := azimuth(t)
	p := w.look(Options{Image: image})
	o := w.get(provider)
	w.must(w.site.Clusters.Client.Delete(t.Context(), o.DeepCopy()))
	c := p.Clusters[0]
	w.must(c.keep(t.Context(), ""))
	w.must(c.retire(t.Context(), c.operators[0], silent)) // it is gone: nothing to do
	o.SetUID("")
	o.SetResourceVersion("")
	w.must(w.site.Clusters.Client.Create(t.Context(), o))
	err := c.retire(t.Context(), c.operators[0], func(text string) { t.Errorf("it went on: %s", text) })
	if err == nil || !strings.Contains(err.Error(), "somebody installed it meanwhile") || fault.Remedy(err) == "" {
		t.Error(err)
	}
}

// TestPodsThatDoNotEnd are named when time is up.
func TestPodsThatDoNotEnd(t *testing.T) {
	t.Parallel()
	w := azimuth(t)
	w.put("Pod", "v1", "capi-addon-system", "stays", `{metadata: {labels: {a: b}}}`)
	c := w.look(Options{}).Clusters[0]
	ctx, stop := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("not in time"))
	defer stop()
	if err := c.podsGone(ctx, "capi-addon-system", "a=b"); err == nil || err.Error() != "not in time\npod stays is still there" {
		t.Error(err)
	}
	if err := c.podsGone(t.Context(), "capi-addon-system", "a=c"); err != nil {
		t.Error(err)
	}
	w.server.Refuse = func(*http.Request) (int, string) { return http.StatusForbidden, "Forbidden" }
	ctx, stop = context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("not in time"))
	defer stop()
	if err := c.podsGone(ctx, "capi-addon-system", "a=b"); err == nil || !strings.Contains(err.Error(), "refused: Forbidden") {
		t.Error(err)
	}
}
