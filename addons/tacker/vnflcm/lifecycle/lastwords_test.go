package lifecycle

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// lastWords: a subscriber who is away while an instance is changed and deleted gets all of it, in
// order.
func lastWords(t *testing.T, w *world) {
	n := newNFVO(t)
	d := w.open(t, "ddddddd2", n.trusting(t))
	d.do("POST", "subscriptions", object{"callbackUri": n.URL + "/last"}).want(201)
	id := d.create(w.onboard(t, build(t, "last", "1.34.4")).ID)
	want := "VnfIdentifierCreationNotification"
	eventually(t, "the creation", func() (bool, string) {
		i := &v1alpha1.VNFInstance{}
		err := w.client.Get(t.Context(), named(d.namespace, id), i)
		return err == nil && i.Status.Announced && n.said("/last") == want, n.said("/last")
	})
	n.mu.Lock()
	n.away = 3
	n.mu.Unlock()
	location := d.do("PATCH", "vnf_instances/"+id, object{"vnfInstanceName": "new"}).want(202).header.Get("Location")
	d.reach(location[strings.LastIndexByte(location, '/')+1:], v1alpha1.Completed)
	d.do("DELETE", "vnf_instances/"+id, nil).want(204)
	want += "; MODIFY_INFO PROCESSING START; MODIFY_INFO COMPLETED RESULT; VnfIdentifierDeletionNotification"
	eventually(t, "the rest", func() (bool, string) { return n.said("/last") == want, n.said("/last") })
}
