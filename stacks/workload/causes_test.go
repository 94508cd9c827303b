package workload

import (
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

// causes: a load balancer in ERROR ends a wait, and is named by describe and list, before
// Cluster API says a word of it; so is a credential that was revoked.
func causes(w *world) {
	key, _ := w.create(wanted(w.T, "broken", small))
	name := "k8s-clusterapi-cluster-" + key.Namespace + "-" + key.Name + "-kubeapi"
	check := func(err error) {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
	}
	_, err := w.box.Faults.Add(faultinject.Rule{Kind: faultinject.BalancerError, Service: "load-balancer", Resource: name})
	check(err)
	n, err := networks.Create(w.Context(), w.box.Member.Network(w.T), networks.CreateOpts{Name: "n"}).Extract()
	check(err)
	s, err := subnets.Create(w.Context(), w.box.Member.Network(w.T), subnets.CreateOpts{NetworkID: n.ID, IPVersion: 4, CIDR: "10.7.0.0/24"}).Extract()
	check(err)
	lb, err := loadbalancers.Create(w.Context(), w.box.Member.LoadBalancer(w.T), loadbalancers.CreateOpts{Name: name, VipSubnetID: s.ID}).Extract()
	check(err)
	w.eventually("the load balancer in ERROR", func() bool {
		b, err := loadbalancers.Get(w.Context(), w.box.Member.LoadBalancer(w.T), lb.ID).Extract()
		return err == nil && b.ProvisioningStatus == "ERROR"
	})
	c := wanted(w.T, "broken", small)
	c.Wait = WaitReady
	began := time.Now()
	if err := w.start(w.Context(), c).end(w.T); err == nil || !strings.Contains(err.Error(), "load balancer "+name+": its provisioning status is ERROR") || time.Since(began) > time.Minute {
		w.Errorf("after %s a wait ends with %v", time.Since(began), err)
	}
	began = time.Now()
	d, err := w.Describe(w.Context(), key)
	check(err)
	if len(d.Findings) != 1 || d.Findings[0].Reason != "load-balancer-error" || d.Findings[0].Object.Name != name || time.Since(began) > 30*time.Second { // 10 s on a machine that is not busy with others
		w.Errorf("after %s describe finds %+v, not seen %v", time.Since(began), d.Findings, d.Unseen)
	}
	cause, reason := w.listed(key)
	if reason != "load-balancer-error" || !strings.HasPrefix(cause, "load balancer "+name+": its provisioning status is ERROR") {
		w.Errorf("list says %s: %s", reason, cause)
	}
	for _, id := range w.credentials(key.Name) {
		check(applicationcredentials.Delete(w.Context(), w.box.Member.Identity(w.T), w.cloud.UserID, id).ExtractErr())
	}
	if cause, reason = w.listed(key); reason != "credential-revoked" {
		w.Errorf("with a revoked credential list says %s: %s", reason, cause)
	}
}

// listed is what a list says of a cluster.
func (w *world) listed(key Key) (cause, reason string) {
	w.Helper()
	list, err := w.List(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, one := range list {
		if one.Namespace == key.Namespace && one.Name == key.Name {
			return one.Cause, one.Reason
		}
	}
	w.Fatalf("cluster %s is not listed", key)
	return "", ""
}
