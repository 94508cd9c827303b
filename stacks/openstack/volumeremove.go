package openstack

import (
	"context"
	"fmt"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/volumeattach"
)

// remove detaches the volume first if it is attached to a server.
func (k volumeKind) remove(ctx context.Context, id string, _ VolumeState) error {
	asked := false
	return wait(ctx, func() (string, bool, error) {
		client, v, err := k.get(ctx, id)
		if err != nil {
			return "", err == errGone, skipGone(err)
		}
		switch {
		case v.Status == "deleting" || v.Status == "detaching":
		case len(v.Attachments) > 0:
			return "detaching", false, k.detach(ctx, v)
		case v.Status == "error_deleting":
			return "", false, failed(v.Status, k.cause(ctx, client, id), "ask the cloud's operator to delete the volume")
		case !asked:
			asked = true
			err := gone(volumes.Delete(ctx, client, id, nil).ExtractErr())
			return "deleting", err == errGone, skipGone(err)
		case strings.HasPrefix(v.Status, "error"):
			return vainly + "the volume is in state " + v.Status + ", and was not deleted: " + k.cause(ctx, client, id), false, nil
		}
		return "volume is " + v.Status, false, nil
	})
}

func (k volumeKind) detach(ctx context.Context, v *volumes.Volume) error {
	client, err := k.Compute()
	if err != nil {
		return err
	}
	for _, a := range v.Attachments {
		err := gone(volumeattach.Delete(ctx, client, a.ServerID, v.ID).ExtractErr())
		if err != nil && err != errGone && !gophercloud.ResponseCodeIs(err, 409) { // 409: it is being detached
			return fmt.Errorf("detaching from server %s: %w", a.ServerID, err)
		}
	}
	return nil
}

// skipGone drops errGone.
func skipGone(err error) error {
	if err == errGone {
		return nil
	}
	return err
}
