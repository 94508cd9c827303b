package lifecycle

import (
	"context"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/api"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/worker"
)

// quicker is a client that is a moment late with its first deletion of an instance: somebody
// else writes to it before.
type quicker struct {
	client.Client
	once sync.Once
}

func (q *quicker) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	var err error
	if i, ok := o.(*v1alpha1.VNFInstance); ok {
		q.once.Do(func() {
			other := i.DeepCopy()
			before := client.MergeFrom(i.DeepCopy())
			other.Annotations = map[string]string{"written": "meanwhile"}
			err = q.Patch(ctx, other, before)
		})
	}
	if err != nil {
		return err
	}
	return q.Client.Delete(ctx, o, opts...)
}

// conflicts: an instance is deleted although the worker wrote to it in between, which it does
// also after an operation has ended.
func conflicts(t *testing.T, w *world) {
	d := w.open(t, "89898989", func(o *worker.Options, _ *api.Options) { o.Client = &quicker{Client: o.Client} })
	p := w.onboard(t, build(t, "conflict", "1.34.4"))
	id := d.create(p.ID)
	d.do("DELETE", "vnf_instances/"+id, nil).want(204)
	d.do("GET", "vnf_instances/"+id, nil).want(404)
}
