package router

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/magnum/magnumtest"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// TestProjectsAreSpreadAndStay: each new project is where the fewest are, and all that it makes is
// there, whichever router it asks.
func TestProjectsAreSpreadAndStay(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one", "two")
	second := f.router(nil)
	f.ask("other/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusOK)
	for i, project := range []string{"shop", "bank", "mill", "farm"} {
		made := f.ask(project+"/member", http.MethodPost, "/v1/clustertemplates", newTemplate("t-"+project)).want(http.StatusCreated)
		want := []string{"two", "one"}[i%2]
		if got := f.placed(project); got != want {
			t.Errorf("%s is on %q, not on %s", project, got, want)
		}
		uuid := made.body["uuid"].(string)
		for name, at := range f.sites {
			status := f.at(at.front, project+"/member", http.MethodGet, "/v1/clustertemplates/"+uuid, nil).status
			if (status == http.StatusOK) != (name == want) {
				t.Errorf("%s answers %d about the template of %s", name, status, project)
			}
		}
		for _, front := range []string{f.front.URL, second.URL} {
			f.ask(project+"/member", http.MethodGet, front+"/v1/clustertemplates/t-"+project, nil).want(http.StatusOK, uuid)
			f.ask("other/member", http.MethodGet, front+"/v1/clustertemplates/"+uuid, nil).want(http.StatusNotFound)
		}
		f.ask(project+"/member", http.MethodPatch, "/v1/clustertemplates/"+uuid, []map[string]any{{"op": "replace", "path": "/name", "value": "new"}}).want(http.StatusOK, `"new"`)
		f.ask(project+"/member", http.MethodDelete, "/v1/clustertemplates/"+uuid, nil).want(http.StatusNoContent)
	}
}

// TestProjectsThatComeTogetherAreSpread, although memory has none of their placements yet.
func TestProjectsThatComeTogetherAreSpread(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one", "two")
	front := f.router(func(o *Options) { o.Placements = magnumtest.NewKube(t) })
	const projects = 12
	var all sync.WaitGroup
	for i := range projects {
		all.Go(func() {
			if a := f.at(front, fmt.Sprintf("p%d/reader", i), http.MethodGet, "/v1/clusters", nil); a.status != http.StatusOK {
				t.Errorf("%s: %d %s", a.what, a.status, a.text)
			}
		})
	}
	all.Wait()
	count := map[string]int{}
	for i := range projects {
		count[f.placed(fmt.Sprintf("p%d", i))]++
	}
	if count["one"] != projects/2 || count["two"] != projects/2 {
		t.Errorf("they are placed %v", count)
	}
}

// TestAPlaceIsWaitedForNoLongerThanARequest: behind a placement that hangs, a request ends by its own
// time, and gives nothing back that it never had.
func TestAPlaceIsWaitedForNoLongerThanARequest(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one")
	server := f.server(func(o *Options) { o.RequestTime = 2 * time.Second })
	front := f.serve(server)
	f.must(server.placing.Acquire(t.Context(), 1))
	f.at(front, "shop/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusServiceUnavailable)
	if server.placing.TryAcquire(1) {
		t.Error("the request that waited gave away the place of another")
	}
	server.placing.Release(1)
	f.at(front, "shop/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusOK)
	if got := f.placed("shop"); got != "one" {
		t.Errorf("the project is on %q", got)
	}
}

// TestAProjectIsWhereItsThingsAre: what was there before the router decides, not the numbers.
func TestAProjectIsWhereItsThingsAre(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one", "two")
	f.cluster("two", "shop", "old")
	f.template("two", "bank", "old", false)
	f.template("two", "ops", "for-all", true)
	for project, want := range map[string]string{"shop": "two", "bank": "two"} {
		f.ask(project+"/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusOK)
		if got := f.placed(project); got != want {
			t.Errorf("%s is on %q", project, got)
		}
	}
	f.ask("new/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusOK)
	if got := f.placed("new"); got != "one" {
		t.Errorf("a public template of others makes it %q", got)
	}
	f.template("one", "mill", "everywhere", false)
	f.template("two", "mill", "everywhere", false)
	f.cluster("two", "mill", "c")
	f.template("one", "farm", "everywhere", false)
	f.template("two", "farm", "everywhere", false)
	for project, want := range map[string]string{"mill": "two", "farm": "one"} {
		f.ask(project+"/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusOK)
		if got := f.placed(project); got != want {
			t.Errorf("%s is on %q", project, got)
		}
	}
	f.cluster("one", "both", "a")
	f.cluster("two", "both", "b")
	f.ask("both/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusConflict, "one, two", "operator")
	if got := f.placed("both"); got != "" {
		t.Errorf("it was placed on %q", got)
	}
	p := &v1alpha1.Placement{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace("both")}, Spec: v1alpha1.PlacementSpec{ProjectID: "both", ManagementCluster: "two"}}
	f.must(f.home.Create(t.Context(), p))
	if got := f.ask("both/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusOK).names("clusters"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("clusters %v", got)
	}
}

// TestClosedClustersGetNoNewProjects, but keep those that have something on them.
func TestClosedClustersGetNoNewProjects(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one", "two")
	f.cluster("one", "old", "c")
	closed := slices.Clone(f.members)
	closed[0].Closed = true
	front := f.router(func(o *Options) { o.Members = closed })
	for project, want := range map[string]string{"old": "one", "a": "two", "b": "two", "c": "two"} {
		f.at(front, project+"/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusOK)
		if got := f.placed(project); got != want {
			t.Errorf("%s is on %q", project, got)
		}
	}
	closed[1].Closed = true
	front = f.router(func(o *Options) { o.Members = closed })
	f.at(front, "d/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusServiceUnavailable, "No management cluster takes new projects")
}

// TestRoutersAgree: two that place a project at the same moment send it to the same place.
func TestRoutersAgree(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one", "two")
	second := f.router(func(o *Options) { o.Members = []Member{f.members[1], f.members[0]} })
	for i := range 20 {
		project := numbered("p", i)
		var all sync.WaitGroup
		for _, front := range []string{f.front.URL, second.URL, f.front.URL, second.URL} {
			all.Go(func() {
				f.ask(project+"/member", http.MethodPost, front+"/v1/clustertemplates", newTemplate("t")).want(http.StatusCreated)
			})
		}
		all.Wait()
		if got := f.ask(project+"/reader", http.MethodGet, "/v1/clustertemplates", nil).want(http.StatusOK).names("clustertemplates"); len(got) != 4 {
			t.Fatalf("%s has %d templates on %s, of four", project, len(got), f.placed(project))
		}
	}
}

// TestAManagementClusterThatIsAway is named to those who are on it; others do not notice.
func TestAManagementClusterThatIsAway(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one", "two")
	f.ask("shop/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusOK)
	f.ask("bank/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusOK)
	f.sites["one"].front.Close()
	f.ask("bank/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusOK)
	const words = "The management cluster one does not answer. Try again."
	for what, a := range map[string]*answered{
		"its project":       f.ask("shop/reader", http.MethodGet, "/v1/clusters", nil),
		"a creation":        f.ask("shop/member", http.MethodPost, "/v1/clustertemplates", newTemplate("t")),
		"all projects":      f.ask("bank/admin", http.MethodGet, "/v1/clusters", nil),
		"all numbers":       f.ask("bank/admin", http.MethodGet, "/v1/stats", nil),
		"an object of one":  f.ask("bank/admin", http.MethodGet, "/v1/clusters/elsewhere", nil),
		"a new project":     f.ask("mill/reader", http.MethodGet, "/v1/clusters", nil),
		"its quota, by ops": f.ask("bank/admin", http.MethodGet, "/v1/quotas/shop/Cluster", nil),
	} {
		a.want(http.StatusServiceUnavailable, words)
		if a.header.Get("Retry-After") == "" || a.header.Get("X-Openstack-Request-Id") == "" {
			t.Errorf("%s: headers %v", what, a.header)
		}
	}
	if got := f.placed("mill"); got != "" {
		t.Errorf("a project was placed on %q while nobody knows whether it has something on one", got)
	}
	f.ask("", http.MethodGet, "/", nil).want(http.StatusOK, "max_version")
	f.ask("", http.MethodGet, "/v1/", nil).want(http.StatusOK, "clustertemplates")
	f.ask("", http.MethodGet, "/healthcheck", nil).want(http.StatusOK, "OK")
}

// TestAProjectOfAnUnknownManagementCluster is not placed a second time.
func TestAProjectOfAnUnknownManagementCluster(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one")
	p := &v1alpha1.Placement{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace("shop")}, Spec: v1alpha1.PlacementSpec{ProjectID: "shop", ManagementCluster: "gone"}}
	f.must(f.home.Create(t.Context(), p))
	f.ask("shop/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusServiceUnavailable, "on the management cluster gone")
}

// TestWhoCallsIsChecked here and there: the router has no rights of its own.
func TestWhoCallsIsChecked(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one", "two")
	f.ask("nobody", http.MethodGet, "/v1/clusters", nil).want(http.StatusUnauthorized)
	if at := f.sites["one"].last.Load(); at != nil {
		t.Errorf("a request without a valid token was sent on: %s", at.URL)
	}
	f.ask("shop/member", http.MethodGet, "/v1/clusters", nil).want(http.StatusOK)
	f.sites["one"].tokens.revoked.Store(true)
	f.ask("shop/member", http.MethodGet, "/v1/clusters", nil).want(http.StatusUnauthorized)
	if !f.tokens.forgotten.Load() {
		t.Error("the router remembers a token that is revoked")
	}
	f.cluster("two", "bank", "theirs")
	f.sites["one"].tokens.revoked.Store(false)
	for path, status := range map[string]int{"/v1/clusters/theirs": http.StatusNotFound, "/v1/clusters?all_tenants=1": http.StatusBadRequest, "/v1/quotas/bank/Cluster": http.StatusForbidden,
		"/v1/stats?project_id=bank": http.StatusForbidden, "/v1/mservices": http.StatusForbidden, "/v1/clusters/..%2F..%2Fstats": http.StatusNotFound} {
		f.ask("shop/member", http.MethodGet, path, nil).want(status)
	}
	if got := f.placed("bank"); got != "" {
		t.Errorf("what a stranger asked placed a project on %q", got)
	}
}

// TestWhatIsSentOn: the address that the client used, and nothing that it claims about itself.
func TestWhatIsSentOn(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one")
	front := f.router(func(o *Options) { o.PublicEndpoint, o.MaxBody = "https://cloud.example/container-infra/v1", 2000 })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+"/container-infra/v1/clustertemplates", nil)
	f.must(err)
	r.Header = http.Header{"X-Auth-Token": {"shop/reader"}, "X-Forwarded-Host": {"evil.example"}, "X-Forwarded-Port": {"1"}, "Forwarded": {"host=evil.example"}, "Connection": {"X-Auth-Token"}}
	response, err := http.DefaultClient.Do(r)
	f.must(err)
	response.Body.Close() //nolint:errcheck // nobody reads it
	last := f.sites["one"].last.Load()
	if last == nil || last.Host != "cloud.example" || last.Header.Get("X-Forwarded-Host") != "cloud.example" || last.Header.Get("X-Forwarded-Port") != "" || last.Header.Get("Forwarded") != "" {
		t.Errorf("sent on: %+v", last)
	}
	made := f.at(front, "shop/member", http.MethodPost, "/v1/clustertemplates", newTemplate("t")).want(http.StatusCreated, `"https://cloud.example/container-infra/v1/clustertemplates/`)
	if got := made.header.Get("OpenStack-API-Version"); got != "container-infrastructure-management 1.14" {
		t.Errorf("version %q", got)
	}
	large := newTemplate(strings.Repeat("x", 3000))
	f.at(front, "shop/member", http.MethodPost, "/v1/clustertemplates", large).want(http.StatusRequestEntityTooLarge, "2000 bytes")
	f.at(front, "shop/admin", http.MethodPost, "/v1/certificates", large).want(http.StatusRequestEntityTooLarge, "2000 bytes")
}

// TestAMemberThatIsSlow ends with an answer before load balancers end the connection.
func TestAMemberThatIsSlow(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one")
	f.ask("shop/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusOK)
	release := make(chan struct{})
	defer close(release)
	f.sites["one"].front.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })
	front := f.router(func(o *Options) { o.RequestTime = 50 * time.Millisecond })
	f.at(front, "shop/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusServiceUnavailable, "management cluster one does not answer")
}

// TestARouterThatStarts sends nothing anywhere: it does not know yet who is where.
func TestARouterThatStarts(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one")
	front := f.router(func(o *Options) { o.Synced = func() bool { return false } })
	f.at(front, "", http.MethodGet, "/healthcheck", nil).want(http.StatusServiceUnavailable, "STARTING")
	f.at(front, "shop/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusServiceUnavailable, "starting")
	if got := f.placed("shop"); got != "" {
		t.Errorf("it placed a project on %q", got)
	}
	if _, err := New(Options{}); err == nil {
		t.Error("a router without members")
	}
}
