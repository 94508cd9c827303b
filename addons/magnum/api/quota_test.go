package api

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const quotas = "/v1/quotas"

// proves: M-Q1, M-Q2, M-Q3, M-Q4, M-Q5, M-Q6, M-Q7, M-Q8, M-Q9, M-Q10
func TestQuotas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	own := quotas + "/" + b.project + "/Cluster"
	b.do(member, http.MethodGet, quotas, nil).want(403)
	unset := b.do(reader, http.MethodGet, own, nil).want(200).is("hard_limit", 20)
	sameKeys(t, unset.body, "project_id resource hard_limit")
	b.do(alien, http.MethodGet, own, nil).want(403)
	b.do(admin, http.MethodGet, own, nil).want(200)
	b.do(member, http.MethodGet, quotas+"/"+b.project, nil).want(404)
	b.do(member, http.MethodGet, quotas+"/"+b.project+"/Node", nil).want(404)
	good := object{"project_id": b.project, "resource": "Cluster", "hard_limit": 10}
	b.do(member, http.MethodPost, quotas, good).want(403)
	b.do(admin, http.MethodPatch, own, good).want(404)
	b.do(admin, http.MethodDelete, own, nil).want(404)
	made := b.do(admin, http.MethodPost, quotas, good).want(201).is("hard_limit", 10).is("updated_at", nil)
	sameKeys(t, made.body, "id project_id resource hard_limit created_at updated_at")
	b.do(admin, http.MethodPost, quotas, good).want(409)
	b.do(admin, http.MethodPost, quotas, good.over("project_id", unknown())).want(404)
	b.do(admin, http.MethodPost, quotas, good.without("project_id")).want(400)
	b.do(admin, http.MethodPost, quotas, good.over("project_id", "")).want(400)
	b.do(admin, http.MethodPost, quotas, good.over("resource", "Node")).want(400)
	b.do(admin, http.MethodPost, quotas, good.over("hard_limit", -1)).want(400)
	b.do(admin, http.MethodPatch, own, good.over("hard_limit", 3)).want(202).is("hard_limit", 3)
	b.do(admin, http.MethodPatch, quotas, good.over("hard_limit", 4)).want(202).is("hard_limit", 4)
	b.do(member, http.MethodPatch, own, good).want(403)
	b.do(member, http.MethodGet, own, nil).want(200).is("hard_limit", 4)
	if list := b.do(admin, http.MethodGet, quotas, nil).want(200).list("quotas"); len(list) != 0 {
		t.Errorf("own project: %v", list)
	}
	list := b.do(admin, http.MethodGet, quotas+"?all_tenants=True&limit=1", nil).want(200)
	if items := list.list("quotas"); len(items) != 1 || items[0]["project_id"] != b.project || !strings.Contains(list.str("next"), "all_tenants=True") {
		t.Errorf("%v", list.text)
	}
	if rest := b.do(admin, http.MethodGet, list.str("next"), nil).want(200).list("quotas"); len(rest) != 0 {
		t.Errorf("after the last: %v", rest)
	}
	b.do(admin, http.MethodGet, quotas+"?marker=x", nil).want(400)
	b.do(member, http.MethodDelete, own, nil).want(403)
	b.do(admin, http.MethodDelete, own, nil).want(204)
	b.do(admin, http.MethodGet, own, nil).want(200).is("hard_limit", 20)
}

// Creations at the same moment do not exceed a quota, and one that fails gives
// its place back.
func TestQuotaAtTheSameMoment(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	template := b.template()
	b.do(admin, http.MethodPost, quotas, object{"project_id": b.project, "resource": "Cluster", "hard_limit": 3}).want(201)
	body := object{"name": "shop", "cluster_template_id": template, "keypair": "ops"}
	b.do(member, http.MethodPost, clusters, body.over("keypair", "nothing")).want(404)
	var group errgroup.Group
	var accepted, refused atomic.Int32
	for range 12 {
		group.Go(func() error {
			switch status := b.do(member, http.MethodPost, clusters, body).status; status {
			case http.StatusAccepted:
				accepted.Add(1)
			case http.StatusForbidden:
				refused.Add(1)
			default:
				return fmt.Errorf("it answered %d", status)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil || accepted.Load() != 3 || refused.Load() != 9 {
		t.Errorf("%d accepted, %d refused, %v", accepted.Load(), refused.Load(), err)
	}
	if coming := b.server.places.coming; len(coming) != 0 {
		t.Errorf("places that nobody gave back: %v", coming)
	}
}

// proves: M-Q11, M-Q12, M-Q13, M-Q16
func TestStats(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ready("master_count", 3, "node_count", 2)
	b.do(member, http.MethodGet, "/v1/stats", nil).want(200).is("clusters", 1).is("nodes", 5)
	b.do(alien, http.MethodGet, "/v1/stats", nil).want(200).is("clusters", 0).is("nodes", 0)
	b.do(admin, http.MethodGet, "/v1/stats", nil).want(200).is("clusters", 1)
	b.do(alien, http.MethodGet, "/v1/stats?project_id="+b.project, nil).want(403)
	b.do(admin, http.MethodGet, "/v1/stats?project_id="+b.project+"&type=Cluster", nil).want(200).is("nodes", 5)
	b.do(member, http.MethodGet, "/v1/stats?type=foo", nil).want(400)
	b.do(reader, http.MethodGet, "/v1/federations", nil).want(200).is("federations", []any{})
	b.do(reader, http.MethodGet, "/v1/federations/detail", nil).want(200).is("federations", []any{})
	b.do(member, http.MethodGet, "/v1/federations/x", nil).want(404)
	b.do(member, http.MethodPost, "/v1/federations", object{}).want(501)
}

// proves: M-Q14, M-Q15
func TestServices(t *testing.T) {
	t.Parallel()
	lease := types.NamespacedName{Namespace: "default", Name: "slipway-magnum"}
	b := newBench(t, func(o *Options) { o.Lease = lease })
	b.do(member, http.MethodGet, "/v1/mservices", nil).want(403)
	down := b.do(admin, http.MethodGet, "/v1/mservices", nil).want(200).list("mservices")[0]
	if down["state"] != "down" {
		t.Errorf("without a lease: %v", down)
	}
	now := time.Now()
	b.must(b.kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}))
	made := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("mgmt-0"), LeaseDurationSeconds: ptr.To(int32(15)), AcquireTime: ptr.To(metav1.NewMicroTime(now.Add(-time.Minute))), RenewTime: ptr.To(metav1.NewMicroTime(now))}}
	b.must(b.kube.Create(t.Context(), made))
	list := b.do(admin, http.MethodGet, "/v1/mservices", nil).want(200).list("mservices")
	if s := list[0]; len(list) != 1 || s["id"] != 1.0 || s["binary"] != "magnum-conductor" || s["state"] != "up" || s["report_count"] != 13.0 || s["host"] != "mgmt-0" || s["disabled"] != false {
		t.Errorf("%v", list)
	}
	made.Spec.RenewTime = ptr.To(metav1.NewMicroTime(now.Add(-4 * time.Minute)))
	b.must(b.kube.Update(t.Context(), made))
	if s := b.do(admin, http.MethodGet, "/v1/mservices", nil).want(200).list("mservices")[0]; s["state"] != "down" {
		t.Errorf("an old heartbeat: %v", s)
	}
}
