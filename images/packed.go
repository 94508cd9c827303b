package images

import (
	"context"
	"io"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"

	"github.com/slipway-sh/slipway/images/disk"
	"github.com/slipway-sh/slipway/images/manifest"
)

// packedReason is why an image with the digest of what was published is brought again.
const packedReason = "Glance kept it compressed as it was published, and no machine boots from it"

// keptPacked reports whether Glance has an image as compressed as it was published, which an
// earlier web-download could leave behind where the address did not tell. It has the right
// digest. An image that cannot be read is taken for a good one.
func (s *Syncer) keptPacked(ctx context.Context, i manifest.Image, r Record) bool {
	if i.Method != manifest.MethodWebDownload || !i.HasDigest(r.HashAlgo+":"+r.HashValue) {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the rest is not wanted
	body, err := imagedata.Download(ctx, s.Glance.client, r.ID).Extract()
	if err != nil {
		return false
	}
	defer body.Close()
	head := make([]byte, disk.HeadSize)
	n, _ := io.ReadFull(body, head) // a short image is whole
	return disk.Recognise(head[:n]).Compressed()
}
