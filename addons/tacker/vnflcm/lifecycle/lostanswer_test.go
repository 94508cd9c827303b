package lifecycle

import (
	"context"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/api"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/worker"
)

// lostAnswers: an operation whose result is written, though the answer to that was lost, has not
// failed in between.
func lostAnswers(t *testing.T, w *world) {
	plain, err := client.NewWithWatch(w.server.Config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	var lost atomic.Bool
	lossy := interceptor.NewClient(plain, interceptor.Funcs{SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
		err := c.SubResource(sub).Update(ctx, o, opts...)
		if i, ok := o.(*v1alpha1.VNFInstance); ok && err == nil && i.Status.Ended == v1alpha1.Completed && lost.CompareAndSwap(false, true) {
			return apierrors.NewTimeoutError("the answer is lost", 0)
		}
		return err
	}})
	d := w.open(t, "90909090", func(o *worker.Options, _ *api.Options) { o.Client = lossy })
	p := w.onboard(t, build(t, "lost", "1.34.4"))
	op := d.start(d.create(p.ID), "instantiate", d.instantiation(p.Deploy))
	d.reach(op, v1alpha1.Completed)
	o := &v1alpha1.VNFOperation{}
	if err := w.client.Get(t.Context(), named(d.namespace, op), o); err != nil || !lost.Load() || o.Status.Failure != nil {
		t.Errorf("lost %v, it failed by %v: %v", lost.Load(), o.Status.Failure, err)
	}
}

// lostCreation: an operation that was made, though the answer to that was lost, keeps the secrets
// that it needs.
func lostCreation(t *testing.T, w *world) {
	plain, err := client.NewWithWatch(w.server.Config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	var lost atomic.Bool
	lossy := interceptor.NewClient(plain, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		err := c.Create(ctx, o, opts...)
		if _, ok := o.(*v1alpha1.VNFOperation); ok && err == nil && lost.CompareAndSwap(false, true) {
			return apierrors.NewTimeoutError("the answer is lost", 0)
		}
		return err
	}})
	d := w.open(t, "91919191", func(o *worker.Options, _ *api.Options) { o.Client = lossy })
	p := w.onboard(t, build(t, "unanswered", "1.34.4"))
	id := d.create(p.ID)
	body := d.instantiation(p.Deploy)
	body["vimConnectionInfo"] = object{"vim1": object{"vimType": "ETSINFV.KUBERNETES.V_1", "accessInfo": object{"bearer_token": d.account("cluster-admin")}}}
	d.do("POST", "vnf_instances/"+id+"/instantiate", body).want(503)
	all := d.do("GET", "vnf_lcm_op_occs", nil).want(200).documents()
	if len(all) != 1 {
		t.Fatalf("operations %v", all)
	}
	op, _ := all[0]["id"].(string)
	d.reach(op, v1alpha1.Completed)
	d.gone(1)
}
