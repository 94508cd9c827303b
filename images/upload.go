package images

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// bring is carry, which an image with the name makes way for. It has its place again
// unless the new one is there.
func (s *Syncer) bring(ctx context.Context, i manifest.Image, choice Choice, step *event.Step) (Record, int64, error) {
	if choice.Replaced == nil {
		return s.carry(ctx, i, choice, step)
	}
	if err := s.makeWay(ctx, *choice.Replaced); err != nil {
		return Record{}, 0, err
	}
	r, sent, err := s.carry(ctx, i, choice, step)
	if err != nil && !r.Active() {
		err = errors.Join(err, s.putBack(ctx, *choice.Replaced))
	}
	return r, sent, err
}

// carry brings the bytes of an image to Glance, describes it, and returns it
// with the number of bytes that were sent. Whatever fails, no half-made image
// is left; after a kill, the next run finds what is left by its mark.
func (s *Syncer) carry(ctx context.Context, i manifest.Image, choice Choice, step *event.Step) (Record, int64, error) {
	if i.Method == manifest.MethodWebDownload {
		if reason := notByWeb(i); reason != "" {
			step.Run("no web-download: " + reason)
		} else if r, err := s.byWeb(ctx, i, choice.Record, step); err == nil {
			return r, 0, nil
		} else if ctx.Err() != nil || !errors.Is(err, errImport) {
			return r, 0, err
		} else {
			step.Run(fmt.Sprintf("%v; uploading instead", err))
			if !errors.Is(err, errUnasked) {
				choice.Record = nil
			}
		}
	}
	c, err := s.prepare(ctx, i, step)
	if err != nil {
		return Record{}, 0, err
	}
	defer c.Close()
	r, err := s.claim(ctx, c.image, choice.Record)
	if err != nil {
		return r, 0, err
	}
	done, err := s.fill(ctx, c, r, step)
	if err != nil {
		return r, 0, errors.Join(err, s.discard(ctx, r))
	}
	_, done, err = s.settle(ctx, c.image, done, max(c.virtual, done.VirtualSize))
	return done, c.sums.Size(), err
}

// fill sends the bytes and looks at what Glance made of them.
func (s *Syncer) fill(ctx context.Context, c *content, r Record, step *event.Step) (Record, error) {
	alive := s.keepLease(ctx, r)
	defer alive.end() // Glance may still import the bytes, which can take longer than the lease
	err := s.send(ctx, c, r, step)
	if own := c.Err(); own != nil { // the connection only says that it broke
		return r, c.fault(own, digestRemedy)
	}
	if err != nil {
		return r, err
	}
	done, err := s.awaitActive(ctx, r, step)
	if err != nil {
		return r, err
	}
	if c.virtual < 0 {
		c.virtual = c.sums.Size()
	}
	if c.image.Digest() == "" {
		c.image.SHA512 = c.digest
	}
	return done, checkStored(done, c.sums.Size(), map[string]string{"sha256": c.sums.Hex("sha256"), "sha512": c.sums.Hex("sha512")})
}

// checkStored compares what Glance stored with what was sent.
func checkStored(r Record, size int64, sums map[string]string) error {
	if r.Size != size {
		return fault.New(r.object(), fmt.Errorf("Glance has %d bytes, but %d were sent", r.Size, size), "run the same command again; if it stays, tell the cloud's operator")
	}
	if want := sums[r.HashAlgo]; want != "" && want != r.HashValue {
		return fault.New(r.object(), fmt.Errorf("Glance has different content than was sent: %s %s, not %s", r.HashAlgo, abbreviated(r.HashValue), abbreviated(want)),
			"run the same command again; if it stays, tell the cloud's operator")
	}
	return nil
}

// claim takes over the record of an earlier run, or makes one.
func (s *Syncer) claim(ctx context.Context, i manifest.Image, leftover *Record) (Record, error) {
	if leftover != nil {
		if leftover.Status == string(images.ImageStatusQueued) && leftover.DiskFormat == i.DiskFormat() {
			return s.Glance.patch(ctx, *leftover, images.UpdateOpts{images.UpdateImageProperty{Op: operation(*leftover, PropertyLease), Name: PropertyLease, Value: s.until()}})
		}
		if err := s.Glance.delete(ctx, *leftover); err != nil {
			return Record{}, err
		}
	}
	visibility, hidden := images.ImageVisibility(i.Visibility), i.Hidden
	properties := wantedProperties(i)
	delete(properties, PropertyDigest) // nobody vouches for the bytes before they are compared
	delete(properties, PropertySHA256)
	properties[PropertyLease] = s.until()
	if s.UploadedBy != "" {
		properties[PropertyUploadedBy] = s.UploadedBy
	}
	made, err := images.Create(ctx, s.Glance.client, images.CreateOpts{Name: i.Name, Visibility: &visibility, Hidden: &hidden, Tags: i.Tags,
		ContainerFormat: "bare", DiskFormat: i.DiskFormat(), MinDisk: i.MinDisk, MinRAM: i.MinRAM, Properties: properties}).Extract()
	if err != nil {
		return Record{}, refused(s.Glance.cloud.Fault("image "+i.Name+": creating", err), err)
	}
	return newRecord(*made), nil
}

// discard removes what was begun, also when the command is being ended.
func (s *Syncer) discard(ctx context.Context, r Record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	if err := s.Glance.delete(ctx, r); err != nil {
		return fmt.Errorf("removing the unfinished image: %w", err)
	}
	return nil
}

// makeWay hides an image that is being replaced and renames it. Users that refer to it by
// ID are not affected.
func (s *Syncer) makeWay(ctx context.Context, r Record) error {
	changes := images.UpdateOpts{images.ReplaceImageName{NewName: r.Name + " " + r.ID[:8]}, images.ReplaceImageHidden{NewHidden: true},
		images.UpdateImageProperty{Op: operation(r, PropertyHidden), Name: PropertyHidden, Value: time.Now().UTC().Format(time.RFC3339)}}
	_, err := s.Glance.patch(ctx, r, changes)
	return err
}

// putBack undoes makeWay, also when the command is being ended.
func (s *Syncer) putBack(ctx context.Context, r Record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	_, err := s.Glance.patch(ctx, r, images.UpdateOpts{images.ReplaceImageName{NewName: r.Name}, images.ReplaceImageHidden{NewHidden: false},
		images.UpdateImageProperty{Op: images.RemoveOp, Name: PropertyHidden}})
	if err != nil {
		return fmt.Errorf("giving the former image its name back: %w", err)
	}
	return nil
}

func (s *Syncer) until() string { return time.Now().Add(s.Lease).UTC().Format(time.RFC3339) }

// lease is kept alive by a goroutine.
type lease struct {
	stop context.CancelFunc
	done sync.WaitGroup
}

// keepLease says every while that this run is alive, so that another one does
// not take the unfinished image for a leftover.
func (s *Syncer) keepLease(ctx context.Context, r Record) *lease {
	ctx, stop := context.WithCancel(ctx)
	l := &lease{stop: stop}
	l.done.Go(func() {
		for pause(ctx, s.Lease/3) == nil {
			_, _ = s.Glance.patch(ctx, r, images.UpdateOpts{images.UpdateImageProperty{Op: images.ReplaceOp, Name: PropertyLease, Value: s.until()}}) // the next one may come through
		}
	})
	return l
}

func (l *lease) end() {
	l.stop()
	l.done.Wait()
}

// operation is how a property is set: JSON Patch tells adding from replacing.
func operation(r Record, name string) images.UpdateOp {
	if _, there := r.Properties[name]; there {
		return images.ReplaceOp
	}
	return images.AddOp
}
