package upkeep

import (
	"fmt"
	"maps"
	"testing"
	"time"

	volumequotas "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	balancerquotas "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

// TestQuotasAreServed as the cloud has them, all that Slipway uses, and nothing of one without
// a limit but what is used.
func TestQuotasAreServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.served(); len(got) > 0 {
		t.Errorf("a process that has not looked serves %v", got)
	}
	got := w.look()
	for _, resource := range []string{"instances", "cores", "ram", "volumes", "gigabytes", "ports", "floating_ips"} {
		if limit := got["quota_limit{resource="+resource+"}"]; limit <= 0 {
			t.Errorf("the quota of %s is %v", resource, limit)
		}
	}
	if used := got["quota_used{resource=volumes}"]; used != 0 {
		t.Errorf("%v volumes are used", used)
	}
	if _, limited := got["quota_limit{resource=load_balancers}"]; limited || got["quota_used{resource=load_balancers}"] != 0 {
		t.Errorf("load balancers, which have no limit: %v", of(got, "quota_limit"))
	}
	two, none := 2, -1
	client := w.box.Member.BlockStorage(t)
	made, err := volumes.Create(t.Context(), client, volumes.CreateOpts{Name: "v", Size: 1}, nil).Extract()
	if err == nil {
		_, err = volumequotas.Update(t.Context(), w.box.Admin.BlockStorage(t), w.project, volumequotas.UpdateOpts{Volumes: &two}).Extract()
	}
	if err == nil {
		_, err = quotas.Update(t.Context(), w.box.Admin.Network(t), w.project, quotas.UpdateOpts{Port: &none}).Extract()
	}
	if err == nil {
		_, err = balancerquotas.Update(t.Context(), w.box.Admin.LoadBalancer(t), w.project, balancerquotas.UpdateOpts{Loadbalancer: &two}).Extract()
	}
	if err != nil {
		t.Fatal(err)
	}
	got = w.look()
	if got["quota_limit{resource=load_balancers}"] != 2 {
		t.Errorf("load balancers: %v", of(got, "quota_limit"))
	}
	if got["quota_limit{resource=volumes}"] != 2 || got["quota_used{resource=volumes}"] != 1 || got["quota_used{resource=gigabytes}"] != 1 {
		t.Errorf("with a volume: %v, %v", of(got, "quota_limit"), of(got, "quota_used"))
	}
	if _, limited := got["quota_limit{resource=ports}"]; limited {
		t.Error("ports without a limit have one")
	}
	if err := volumes.Delete(t.Context(), client, made.ID, nil).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if got = w.look(); got["quota_used{resource=volumes}"] != 0 {
		t.Errorf("without a volume: %v", of(got, "quota_used"))
	}
}

// TestASilentServiceIsLate, from when the process began to look, and keeps what it said; the
// others are not.
func TestASilentServiceIsLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fault := faultinject.Rule{Kind: faultinject.API, Service: "volumev3", Status: 403}
	began := w.clock.Add(every)
	added, err := w.box.Faults.Add(fault)
	if err != nil {
		t.Fatal(err)
	}
	w.look()
	got := w.look()
	age := func(what string) time.Duration {
		return w.clock.Sub(time.Unix(0, int64(got["upkeep_looked_timestamp_seconds{what="+what+"}"]*1e9))).Round(time.Second)
	}
	if late := age("block-storage"); late != w.clock.Sub(began).Round(time.Second) || age("compute") != 0 || age("clusters") != 0 || age("cluster-templates") != 0 {
		t.Errorf("Cinder %s, looked at %v", late, of(got, "upkeep_looked_timestamp_seconds"))
	}
	w.box.Faults.Remove(added.ID)
	if got = w.look(); age("block-storage") != 0 || got["quota_limit{resource=volumes}"] == 0 {
		t.Errorf("when it answers again: %v", got)
	}
}

// TestTheEndOfTheEnvironmentsLogin is that of the credential that is in use, whatever others
// of its step are left; a step's last one counts. A login that is refused has ended.
func TestTheEndOfTheEnvironmentsLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := of(w.look(), "credential_expiry_timestamp_seconds"); len(got) > 0 {
		t.Errorf("a password without an end ends: %v", got)
	}
	day := func(n int) time.Time {
		return time.Now().UTC().Add(time.Duration(n) * 24 * time.Hour).Truncate(time.Second)
	}
	own := w.credential("credential", day(10))
	w.credential("credential", day(3))
	w.credential("backup-login", day(20))
	w.credential("backup-login", day(30))
	w.credential("seed-backup-login", day(40))
	w.credential("seed-backup-login", time.Time{})
	w.credential(ownership.ClusterStep("prod", "shop"), day(1)) // is in the cluster's Secret
	w.begin(w.login(own))
	want := map[string]float64{"name=credential,of=environment": seconds(day(10)), "name=backup-login,of=environment": seconds(day(30))}
	if got := of(w.look(), "credential_expiry_timestamp_seconds"); !maps.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
	w.revoke(own)
	w.watch.look(t.Context()) // notices that nothing answers
	w.clock = w.clock.Add(every)
	if err := w.watch.look(t.Context()); err == nil {
		t.Error("a credential that is revoked works")
	}
	revoked := seconds(w.clock)
	w.clock = w.clock.Add(every)
	w.watch.look(t.Context())
	if got := of(w.served(), "credential_expiry_timestamp_seconds"); got["name=credential,of=environment"] != revoked {
		t.Errorf("refused since %v, served %v", revoked, got)
	}
	w.begin(w.login(w.credential("credential", time.Time{}))) // as slipway up does
	if got := of(w.look(), "credential_expiry_timestamp_seconds"); len(got) != 1 {
		t.Errorf("after a renewal without an end: %v", got)
	}
}

// TestThePasswordOfALoginEnds when Keystone says so.
func TestThePasswordOfALoginEnds(t *testing.T) {
	t.Parallel()
	at := time.Now().UTC().Add(time.Hour)
	own, found := ends(&cloud.Snapshot{Token: cloud.Token{PasswordExpiresAt: at}}, "prod")
	if own != ownLogin || !found[ownLogin].Equal(at) {
		t.Errorf("%s: %v", own, found)
	}
	own, found = ends(&cloud.Snapshot{Token: cloud.Token{CredentialID: "c", PasswordExpiresAt: at}}, "prod")
	if !found[own].IsZero() {
		t.Errorf("of a credential: %v", found)
	}
}

// TestOrphansAreCounted: clusters that a credential is left of, of this environment.
func TestOrphansAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cluster("prod", "shop", "{}", "{}")
	w.credential(ownership.ClusterStep("prod", "shop"), time.Time{})
	const series = "orphaned_clusters{}"
	if got, known := w.look()[series]; got != 0 || !known {
		t.Errorf("with a cluster that exists: %v, %v", got, known)
	}
	left := []*applicationcredentials.ApplicationCredential{w.credential(ownership.ClusterStep("other", "shop"), time.Time{}), w.credential(ownership.ClusterStep("other", "shop"), time.Time{})}
	if got := w.look()[series]; got != 1 {
		t.Errorf("two credentials of one that is gone: %v", got)
	}
	w.delete("clusters", "cluster.x-k8s.io/v1beta2", "prod", "shop")
	if got := w.look()[series]; got != 2 {
		t.Errorf("with the other gone: %v", got)
	}
	for _, c := range left {
		w.revoke(c)
	}
	if got := w.look()[series]; got != 1 {
		t.Errorf("after one is swept: %v", got)
	}
}

// TestOnlyCredentialsOfTheRegionCount: an environment of the same name in another region has
// its credentials in the same list.
func TestOnlyCredentialsOfTheRegionCount(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for region, counts := range map[string]bool{"RegionOne": true, "": true, "RegionTwo": false} {
		said := &cloud.Snapshot{Region: "RegionOne"}
		for _, step := range []string{"backup-login", ownership.ClusterStep("prod", "shop")} {
			owner := ownership.New("prod", step)
			said.Credentials = append(said.Credentials, cloud.CredentialInfo{Resource: cloud.Resource{ID: step, Name: owner.Name() + "-1", Owner: &owner}, Region: region, ExpiresAt: at})
		}
		want := 0
		if counts {
			want = 1
		}
		if got := orphans(said, "prod", nil); got != want {
			t.Errorf("region %q: %d clusters that are gone, want %d", region, got, want)
		}
		if _, found := ends(said, "prod"); found["backup-login"].Equal(at) != counts {
			t.Errorf("region %q: logins end %v", region, found)
		}
	}
}

// TestThereAreFewSeries: of many clusters, those whose logins end first, and always the
// environment.
func TestThereAreFewSeries(t *testing.T) {
	t.Parallel()
	w := &world{T: t, watch: &watch{tally: newTally()}}
	ending := map[string]time.Time{}
	for i := range 3 * most {
		ending[fmt.Sprintf("prod/c%03d", i)] = time.Unix(int64(1000+i), 0)
	}
	w.watch.tally.setEnds(ofCluster, ending)
	w.watch.tally.setEnds(ofEnvironment, map[string]time.Time{"credential": time.Unix(9000, 0)})
	got := of(w.served(), "credential_expiry_timestamp_seconds")
	if len(got) != most || got["name=credential,of=environment"] != 9000 || got["name=prod/c000,of=cluster"] != 1000 {
		t.Errorf("%d series: %v", len(got), got)
	}
	w.watch.tally.refuse(ofEnvironment, "credential", time.Unix(9500, 0)) // it was known to end before
	w.watch.tally.refuse(ofCluster, "prod/c000", time.Unix(500, 0))
	if got := of(w.served(), "credential_expiry_timestamp_seconds"); got["name=credential,of=environment"] != 9000 || got["name=prod/c000,of=cluster"] != 500 {
		t.Errorf("after refusals: %v", got)
	}
}
