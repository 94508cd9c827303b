package janitor

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// A volume that Cinder could not delete, and refuses to delete again, is told as such. It
// goes when the operator has reset its status.
func TestAVolumeThatCinderCouldNotDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cluster("default", "prod")
	volume := s.volume(nil)
	if err := volumes.WaitForStatus(t.Context(), w.cloud.Member.BlockStorage(t), volume, "available"); err != nil {
		t.Fatal(err)
	}
	if err := w.cloud.Env.Store.Update(func(tx *store.Tx) error {
		w.cloud.Env.Model.Volume.Volumes.Change(tx, volume, func(v *model.Volume) { v.Status = "error_deleting" })
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	w.fault(faultinject.Rule{Kind: faultinject.API, Service: "volumev3", Method: http.MethodDelete, Status: http.StatusBadRequest})
	s.delete()
	s.held(ReasonDeleting, volume, "its status is error_deleting, ask the cloud's operator")
	w.heal()
	s.settle()
	absent(t, "volume", w.getVolume(volume))
}
