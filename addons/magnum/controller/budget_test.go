package controller

import (
	"context"
	"go/build"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// keyed gives each of several worlds keys of its own in one cache.
type keyed struct {
	Clouds
	of string
}

func (k keyed) Look(ctx context.Context, key string, o cloud.Options) (*cause.Cloud, time.Duration) {
	return k.Clouds.Look(ctx, k.of+key, o)
}

// reads counts the calls that read from each service, without Keystone's: a login for each
// credential shows whether that works.
func reads(t *testing.T, box *sandboxtest.Cloud) func() map[string]int {
	t.Helper()
	ids := map[string]string{}
	for _, service := range []string{"compute", "network", "load-balancer", "image"} {
		r := value(box.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: service, Method: "GET", Delay: faultinject.Duration(time.Microsecond)}))(t)
		ids[r.ID] = service
	}
	return func() map[string]int {
		calls := map[string]int{}
		for _, r := range box.Faults.List() {
			if service := ids[r.ID]; service != "" {
				calls[service] = r.Calls
			}
		}
		return calls
	}
}

// broken plants a load balancer in ERROR.
func broken(t *testing.T, box *sandboxtest.Cloud) {
	t.Helper()
	name := "k8s-clusterapi-cluster-" + namespace + "-" + stack + "-kubeapi"
	value(box.Faults.Add(faultinject.Rule{Kind: faultinject.BalancerError, Service: "load-balancer", Resource: name}))(t)
	n := value(networks.Create(t.Context(), box.Member.Network(t), networks.CreateOpts{Name: "n"}).Extract())(t)
	s := value(subnets.Create(t.Context(), box.Member.Network(t), subnets.CreateOpts{NetworkID: n.ID, IPVersion: 4, CIDR: "10.7.0.0/24"}).Extract())(t)
	lb := value(loadbalancers.Create(t.Context(), box.Member.LoadBalancer(t), loadbalancers.CreateOpts{Name: name, VipSubnetID: s.ID}).Extract())(t)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if value(loadbalancers.Get(t.Context(), box.Member.LoadBalancer(t), lb.ID).Extract())(t).ProvisioningStatus == "ERROR" {
			return
		}
	}
	t.Fatal("it is not in ERROR")
}

// TestSickClustersOfAProjectAskTheCloudOnceAMinute: four clusters with credentials of their
// own and many passes read as much as one cluster, and no more within the minute.
func TestSickClustersOfAProjectAskTheCloudOnceAMinute(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	broken(t, box)
	calls := reads(t, box)
	now := time.Now()
	cache := look.NewCache(func() time.Time { return now })
	var once map[string]int
	var all []*harness
	first, _, _ := inCloud(t, box)
	login := &corev1.Secret{}
	if err := first.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: stack + "-cloud-credentials"}, login); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		h := start(t, func(c *v1alpha1.Cluster) { c.CreationTimestamp = metav1.Time{Time: now} })
		h.clock = now
		own := secret("")
		own.Data = login.Data
		h.update(own)
		before := calls()
		h.r.Clouds = keyed{cache, strings.Repeat("x", i)}
		h.told("provisioning status is ERROR")
		all = append(all, h)
		if i == 0 {
			once = calls()
		}
		for service, n := range calls() {
			if i == 0 && n == before[service] {
				t.Errorf("%s was not read", service)
			}
		}
	}
	for range 20 {
		for _, h := range all {
			h.pass()
		}
	}
	for service, n := range calls() {
		// What opening a client asks, such as the versions of a service, is no list.
		if n > once[service] {
			t.Errorf("%s was read %d times for four clusters, and %d times for one", service, n, once[service])
		}
	}
}

// TestTheEndpointAsksNoCloudForCauses: what serves tenants' requests has neither the engine
// nor what asks clouds or clusters on its behalf.
func TestTheEndpointAsksNoCloudForCauses(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	var walk func(path string)
	walk = func(path string) {
		if seen[path] || !strings.HasPrefix(path, "github.com/slipway-sh/slipway/") {
			return
		}
		seen[path] = true
		p, err := build.ImportDir("../../../"+strings.TrimPrefix(path, "github.com/slipway-sh/slipway/"), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range p.Imports {
			walk(i)
		}
	}
	walk("github.com/slipway-sh/slipway/addons/magnum/api")
	if len(seen) < 5 {
		t.Errorf("only %v", seen)
	}
	walked := len(seen)
	for path := range seen {
		if strings.Contains(path, "/internal/cause") || strings.HasSuffix(path, "/internal/cloud") {
			t.Errorf("the endpoint has %s", path)
		}
	}
	// The controllers ask the cloud, but never a tenant's cluster itself.
	walk("github.com/slipway-sh/slipway/addons/magnum/controller")
	if len(seen) == walked || seen["github.com/slipway-sh/slipway/internal/cause/inside"] {
		t.Error("the controllers have what asks clusters themselves")
	}
}

// gauge is the metric of a reason; -1 if there is none.
func gauge(t *testing.T, c prometheus.Collector, reason string) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families := value(registry.Gather())(t)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "slipway_clusters_with_cause" && m.GetLabel()[0].GetValue() == reason {
				return m.GetGauge().GetValue()
			}
		}
	}
	return -1
}

// TestCausesAreMetricsAndEvents: a gauge per reason that goes with the cause, and one event
// for each new cause that waiting does not end.
func TestCausesAreMetricsAndEvents(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	broken(t, box)
	h, _, _ := inCloud(t, box)
	h.events.IncludeObject = true
	h.told("provisioning status is ERROR")
	for range 3 {
		h.pass()
	}
	if n := gauge(t, h.r.known, "load-balancer-error"); n != 1 {
		t.Errorf("the metric of load-balancer-error is %g", n)
	}
	told := map[string]int{}
	for len(h.events.Events) > 0 {
		if e := <-h.events.Events; strings.HasPrefix(e, "Warning load-balancer-error load balancer k8s-clusterapi-cluster-") {
			_, object, _ := strings.Cut(e, "involvedObject")
			told[object]++
		}
	}
	// The operator's, and the tenant's, which is a Go type that does not name its kind.
	for _, object := range []string{"{kind=Cluster,apiVersion=cluster.x-k8s.io/v1beta2}", "{kind=,apiVersion=}"} {
		if told[object] != 1 {
			t.Errorf("events about the load balancer %v, none or more on %s", told, object)
		}
	}
	h.r.forget(client.ObjectKey{Namespace: namespace, Name: stack})
	if n := gauge(t, h.r.known, "load-balancer-error"); n != -1 {
		t.Errorf("after the cluster is gone the metric is %g", n)
	}
}
