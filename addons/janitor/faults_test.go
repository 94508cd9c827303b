package janitor

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	volumequotas "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

func (w *world) fault(rule faultinject.Rule) {
	w.Helper()
	if _, err := w.cloud.Faults.Add(rule); err != nil {
		w.Fatal(err)
	}
}

func (w *world) heal() {
	w.Helper()
	if err := w.cloud.Faults.Clear(); err != nil {
		w.Fatal(err)
	}
}

func (w *world) projectID() string {
	w.Helper()
	project, err := w.cloud.Member.Provider.GetAuthResult().(tokens.CreateResult).ExtractProject()
	return must(w, project, err).ID
}

// proves: F149
func TestVolumesOfEveryPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many := 6000
	boss := w.cloud.Admin.BlockStorage(t)
	if err := volumequotas.Update(t.Context(), boss, w.projectID(), volumequotas.UpdateOpts{Volumes: &many, Gigabytes: &many}).Err; err != nil {
		t.Fatal(err)
	}
	s := w.cluster("default", "prod")
	const count = 2500
	stays := s.volume(map[string]string{ClusterKey: "another"})
	for range count {
		s.volume(nil)
	}
	s.delete()
	s.settle()
	pages, err := volumes.List(w.cloud.Member.BlockStorage(t), volumes.ListOpts{}).AllPages(t.Context())
	left, err := volumes.ExtractVolumes(must(t, pages, err))
	if err != nil || len(left) != 1 || left[0].ID != stays {
		t.Errorf("%d volumes are left (%v), want another's", len(left), err)
	}
	if removed := w.count("capi_janitor_removed_total", kindVolume); removed != count {
		t.Errorf("%v deletions counted", removed)
	}
}

// TestAVolumeOnALaterPageHoldsTheCluster has pages of which the first is another
// cluster's but for one volume: a janitor that read it alone would find nothing
// more in its next attempt, and let the cluster go with a volume left behind.
//
// proves: F149
func TestAVolumeOnALaterPageHoldsTheCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	many := 6000
	boss := w.cloud.Admin.BlockStorage(t)
	if err := volumequotas.Update(t.Context(), boss, w.projectID(), volumequotas.UpdateOpts{Volumes: &many, Gigabytes: &many}).Err; err != nil {
		t.Fatal(err)
	}
	s := w.cluster("default", "prod")
	const page = 1000 // Cinder's osapi_max_limit, and the sandbox's
	first := s.volume(nil)
	for range page {
		s.volume(map[string]string{ClusterKey: "another"})
	}
	last := s.volume(nil)
	pages := 0
	err := volumes.List(w.cloud.Member.BlockStorage(t), volumes.ListOpts{}).EachPage(t.Context(), func(context.Context, pagination.Page) (bool, error) { pages++; return true, nil })
	if err != nil || pages != 2 {
		t.Fatalf("%d pages (%v)", pages, err)
	}
	s.delete()
	s.settle()
	absent(t, "the first volume", w.getVolume(first))
	absent(t, "the last volume", w.getVolume(last))
	if removed := w.count("capi_janitor_removed_total", kindVolume); removed != 2 {
		t.Errorf("%v deletions counted", removed)
	}
}

// proves: F150
func TestACloudWithoutOctavia(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	volume := s.volume(nil)
	boss := w.cloud.Admin.Identity(t)
	pages, err := services.List(boss, services.ListOpts{ServiceType: "load-balancer"}).AllPages(t.Context())
	found, err := services.ExtractServices(must(t, pages, err))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d services (%v)", len(found), err)
	}
	if err := services.Delete(t.Context(), boss, found[0].ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	s.delete()
	s.settle()
	absent(t, "volume", w.getVolume(volume))
}

// Every listing that fails holds the cluster, and stops nothing else: what the
// others found is deleted all the same.
//
// proves: F150
func TestAListThatFailsIsNeverIgnored(t *testing.T) {
	t.Parallel()
	for what, path := range map[string]struct{ service, path string }{
		"load balancers":  {"load-balancer", "/**/loadbalancers"},
		"floating IPs":    {"network", "/v2.0/floatingips"},
		"security groups": {"network", "/v2.0/security-groups"},
		"volumes":         {"volumev3", "/**/snapshots/detail"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.cluster("default", "prod")
			web, volume := s.service("web"), s.volume(nil)
			w.fault(faultinject.Rule{Service: path.service, Method: http.MethodGet, Path: path.path, Status: http.StatusNotImplemented})
			s.delete()
			s.held(ReasonCleanupFailed, "listing "+what)
			if hits := w.cloud.Faults.List()[0].Hits; hits == 0 {
				t.Fatal("the fault was never met")
			}
			gone := 0
			for _, err := range []error{w.getBalancer(web.balancer), w.getAddress(web.address), w.getGroup(web.group), w.getVolume(volume)} {
				if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
					gone++
				}
			}
			if gone != 3 {
				t.Errorf("%d of the 3 others are deleted", gone)
			}
			if told := w.told(); !strings.Contains(told, "Warning "+ReasonCleanupFailed) {
				t.Errorf("events:\n%s", told)
			}
			w.heal()
			s.settle()
			absent(t, "load balancer", w.getBalancer(web.balancer))
		})
	}
}

// A load balancer that changes answers 409, a volume in use 400: both are for
// the next attempt, and no failure.
func TestRefusalsForNowAreNoFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	web, volume := s.service("web"), s.volume(nil)
	w.fault(faultinject.Rule{Service: "load-balancer", Method: http.MethodDelete, Status: http.StatusConflict})
	w.fault(faultinject.Rule{Service: "volumev3", Method: http.MethodDelete, Status: http.StatusBadRequest})
	s.delete()
	s.held(ReasonDeleting, web.balancer, volume)
	if failures := w.count("capi_janitor_cleanups_total", "failure"); failures != 0 {
		t.Errorf("%v failures counted", failures)
	}
	w.heal()
	s.settle()
	absent(t, "load balancer", w.getBalancer(web.balancer))
	absent(t, "volume", w.getVolume(volume))
}

// TestAnAttemptWhoseTimeIsOver goes on with the next one, and is no failure: a cluster may have
// more volumes than a slow cloud deletes in an attempt. One that achieved nothing says so once.
func TestAnAttemptWhoseTimeIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	var all []Resource
	for range 2*parallelDeletes + 1 { // a project may have ten
		all = append(all, Resource{Kind: kindVolume, ID: s.volume(nil)})
	}
	for _, one := range all {
		if err := volumes.WaitForStatus(t.Context(), w.cloud.Member.BlockStorage(t), one.ID, "available"); err != nil {
			t.Fatal(err)
		}
	}
	credential, err := w.r.credential(t.Context(), read(s.object()))
	if err != nil {
		t.Fatal(err)
	}
	opened, _, err := credential.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := purge(ctx, opened, all, func(Resource) { cancel() }); err != nil {
		t.Errorf("after a deletion: %v", err)
	}
	nothing := func(resource Resource) { t.Errorf("%s was deleted", resource) }
	if err := purge(ctx, opened, all, nothing); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("without a deletion: %v", err)
	}
}

func TestOneRefusedDeletionStopsNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	first, second := s.volume(nil), s.volume(nil)
	w.fault(faultinject.Rule{Service: "volumev3", Method: http.MethodDelete, Path: "/**/" + first, Status: http.StatusForbidden})
	s.delete()
	s.held(ReasonCleanupFailed, first)
	absent(t, "the other volume", w.getVolume(second))
	present(t, "the refused volume", w.getVolume(first))
}

// proves: F152
func TestCountersAndEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	s.service("web")
	w.fault(faultinject.Rule{Service: "network", Method: http.MethodGet, Path: "/v2.0/floatingips", Status: http.StatusNotImplemented, Times: 1})
	s.delete()
	s.once()
	if got := w.count("capi_janitor_cleanups_total", "failure"); got != 1 {
		t.Errorf("failures %v, want 1", got)
	}
	if got := w.count("capi_janitor_waiting_clusters", ReasonCleanupFailed); got != 1 {
		t.Errorf("waiting %v, want 1", got)
	}
	s.settle()
	for name, want := range map[[2]string]float64{
		{"capi_janitor_cleanups_total", "success"}: 1, {"capi_janitor_cleanups_total", "failure"}: 1, {"capi_janitor_removed_total", kindBalancer}: 1,
		{"capi_janitor_removed_total", kindAddress}: 1, {"capi_janitor_waiting_clusters", ReasonCleanupFailed}: 0,
	} {
		if got := w.count(name[0], name[1]); got != want {
			t.Errorf("%s of %s is %v, want %v", name[0], name[1], got, want)
		}
	}
	told := w.told()
	for _, want := range []string{"Warning " + ReasonCleanupFailed, "Normal " + EventSucceeded} {
		if !strings.Contains(told, want) {
			t.Errorf("no event %q:\n%s", want, told)
		}
	}
}

// count reads a metric with one label from the registry.
func (w *world) count(name, label string) float64 {
	w.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			if metric.GetLabel()[0].GetValue() == label {
				return metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// A cloud that hangs keeps its share of the workers at most, and an attempt
// ends when its time is over.
//
// proves: F146
func TestACloudThatHangsLeavesWorkersForOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.Workers, o.AttemptTime = 4, 2*time.Second })
	healthy := w.cluster("default", "healthy")
	volume := healthy.volume(nil)
	silent := silentServer(t)
	var stuck []*site
	for i := range 4 {
		s := w.cluster("default", fmt.Sprintf("stuck-%d", i))
		w.secret("default", s.Name+"-cloud-credentials", strings.ReplaceAll(w.clouds(w.credential(false)), w.cloud.URL(), silent), nil)
		s.delete()
		stuck = append(stuck, s)
	}
	ended := make(chan time.Duration, len(stuck))
	for _, s := range stuck {
		go func() {
			begin := time.Now()
			_, _ = s.r.Reconcile(t.Context(), s.request())
			ended <- time.Since(begin)
		}()
	}
	time.Sleep(200 * time.Millisecond) // they are at it
	begin := time.Now()
	healthy.delete()
	healthy.settle()
	absent(t, "volume", w.getVolume(volume))
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the healthy cluster took %s", took)
	}
	quick := 0
	for range stuck {
		if took := <-ended; took < time.Second {
			quick++
		} else if took > 15*time.Second {
			t.Errorf("an attempt took %s", took)
		}
	}
	if quick != 2 {
		t.Errorf("%d of 4 gave their worker back at once, want 2", quick)
	}
}
