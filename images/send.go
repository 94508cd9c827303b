package images

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imageimport"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// errImport says that Glance could not fetch the image itself: there is
// another way.
var errImport = errors.New("Glance did not fetch the image")

// errUnasked is an errImport before Glance was asked: what an earlier run left is still there.
var errUnasked = fmt.Errorf("%w itself", errImport)

// send sends the bytes the way that the image wants, or the plain one.
func (s *Syncer) send(ctx context.Context, c *content, r Record, step *event.Step) error {
	if c.image.Method == manifest.MethodGlanceDirect {
		methods, err := s.importMethods(ctx)
		if err == nil && slices.Contains(methods, manifest.MethodGlanceDirect) {
			if err := s.put(ctx, r, "stage", c, step); err != nil {
				return err
			}
			err := imageimport.Create(ctx, s.Glance.client, r.ID, imageimport.CreateOpts{Name: imageimport.GlanceDirectMethod}).ExtractErr()
			return s.Glance.cloud.Fault(r.object()+": importing", err)
		}
		step.Run("the cloud has no glance-direct: uploading directly instead")
	}
	return s.put(ctx, r, "file", c, step)
}

// put streams to Glance. The cloud is asked before the bytes come (RFC 9110,
// section 10.1.1), so that a full quota is an answer and not a broken
// connection.
func (s *Syncer) put(ctx context.Context, r Record, where string, c *content, step *event.Step) error {
	client := s.Glance.client
	response, err := client.Put(ctx, client.ServiceURL("images", r.ID, where), c.Sealed, nil, &gophercloud.RequestOpts{
		MoreHeaders: map[string]string{"Content-Type": "application/octet-stream", "Expect": "100-continue"}, OkCodes: []int{204}})
	if response != nil && response.Body != nil {
		response.Body.Close()
	}
	if err == nil || ctx.Err() != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	var answer gophercloud.ErrUnexpectedResponseCode
	if c.Complete() && !errors.As(err, &answer) {
		step.Wait("Glance received all bytes but does not answer")
		return nil // a large store takes its time: the image's status tells
	}
	return refused(s.Glance.cloud.Fault(r.object()+": uploading", err), err)
}

// refused gives the remedy for answers that Glance has for full stores.
func refused(found, err error) error {
	var f *fault.Fault
	if gophercloud.ResponseCodeIs(err, 413) && errors.As(found, &f) && f.Remedy == "" {
		return fault.New(f.Object, f.Err, "delete images that you do not need (slipway image prune), or ask the cloud's operator for space")
	}
	return found
}

func (s *Syncer) importMethods(ctx context.Context) ([]string, error) {
	info, err := imageimport.Get(ctx, s.Glance.client).Extract()
	if err != nil {
		return nil, s.Glance.cloud.Fault("import methods", err)
	}
	return info.ImportMethods.Value, nil
}

// notByWeb says why Glance cannot fetch an image itself.
func notByWeb(i manifest.Image) string {
	switch {
	case i.URL == "":
		return "it has no URL"
	case i.DiskFormat() != i.Format:
		return "it must be converted"
	case packed(i):
		return "it is compressed"
	case i.SHA512 == "":
		return "without sha512 the content that Glance fetched cannot be verified"
	case i.Signature != nil:
		return "its signature must be verified"
	}
	return ""
}

// byWeb has Glance fetch the image. An error with errImport leaves nothing,
// and the bytes may be sent instead.
func (s *Syncer) byWeb(ctx context.Context, i manifest.Image, leftover *Record, step *event.Step) (Record, error) {
	methods, err := s.importMethods(ctx)
	if err != nil || !slices.Contains(methods, manifest.MethodWebDownload) {
		return Record{}, fmt.Errorf("%w: the cloud has no web-download", errUnasked)
	}
	if err := s.checkHead(ctx, i, step); err != nil {
		return Record{}, err
	}
	r, err := s.claim(ctx, i, leftover)
	if err != nil {
		return r, err
	}
	alive := s.keepLease(ctx, r)
	defer alive.end()
	step.Wait("Glance fetches " + i.URL)
	err = imageimport.Create(ctx, s.Glance.client, r.ID, imageimport.CreateOpts{Name: imageimport.WebDownloadMethod, URI: i.URL}).ExtractErr()
	done := r
	if err == nil {
		err = s.awaitBegun(ctx, r, step)
	}
	if err == nil {
		done, err = s.awaitActive(ctx, r, step)
	}
	if err != nil {
		if cleared := s.discard(ctx, r); cleared != nil || ctx.Err() != nil {
			return r, errors.Join(err, cleared)
		}
		return r, fmt.Errorf("%w: %w", errImport, err)
	}
	if done.HashAlgo != "sha512" {
		return r, errors.Join(fmt.Errorf("%w: the cloud hashes with %s, so the content cannot be verified", errImport, done.HashAlgo), s.discard(ctx, r))
	}
	if err := checkFetched(i, done); err != nil {
		return r, errors.Join(err, s.discard(ctx, r))
	}
	_, done, err = s.settle(ctx, i, done, done.VirtualSize)
	return done, err
}

// checkHead reads the beginning of the image here: what is dangerous or no
// image is not left to Glance, nor what is compressed under a name that does not
// tell, which Glance would keep so.
func (s *Syncer) checkHead(ctx context.Context, i manifest.Image, step *event.Step) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := s.prepare(ctx, i, step)
	if err != nil {
		return err
	}
	if err := c.Close(); err != nil || !c.packed {
		return err
	}
	return fmt.Errorf("%w: it is compressed", errUnasked)
}

func checkFetched(i manifest.Image, r Record) error {
	if compare(i, Record{DiskFormat: r.DiskFormat, HashAlgo: r.HashAlgo, HashValue: r.HashValue}, false) == same {
		return nil
	}
	return fault.New("image "+i.Name+" from "+redacted(i.URL), fmt.Errorf("%w: Glance fetched %s:%s", errDigest, r.HashAlgo, abbreviated(r.HashValue)), digestRemedy)
}

// beginTime is how long Glance may take to begin an import that it accepted.
const beginTime = 15 * time.Second

// awaitBegun waits until Glance has begun to fetch an image, at most beginTime. Glance answers
// first and begins in the background: until then the image is in the queue, as it is again when
// the import has failed, but then one of its tasks has, too.
func (s *Syncer) awaitBegun(ctx context.Context, r Record, step *event.Step) error {
	since, wait := time.Now(), s.Poll
	for {
		now, err := s.Glance.Get(ctx, r.ID)
		if err != nil || now.Status != string(images.ImageStatusQueued) || time.Since(since) > min(beginTime, s.ImportWait) || s.failedTask(ctx, r) != "" {
			return err
		}
		step.Wait("Glance has it as " + now.Status)
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(wait*3/2, time.Second)
	}
}

// awaitActive waits until Glance has the image, at most ImportWait. An import
// that failed puts the image back in the queue.
func (s *Syncer) awaitActive(ctx context.Context, r Record, step *event.Step) (Record, error) {
	since, wait := time.Now(), s.Poll
	for {
		now, err := s.Glance.Get(ctx, r.ID)
		switch {
		case err != nil:
			return r, err
		case now.Active():
			return now, nil
		case now.Status == string(images.ImageStatusQueued), now.Status == string(images.ImageStatusKilled), now.Status == string(images.ImageStatusDeleted):
			return r, fault.New(r.object(), s.taskError(ctx, r, now.Status), "see the message, or Glance's log for details")
		case time.Since(since) > s.ImportWait:
			return r, fault.New(r.object(), fmt.Errorf("it is %s for %s", now.Status, time.Since(since).Round(time.Second)), "Glance may be overloaded: check its log, or raise --import-wait")
		}
		step.Wait("Glance has it as " + now.Status)
		if err := pause(ctx, wait); err != nil {
			return r, err
		}
		wait = min(wait*3/2, 5*time.Second)
	}
}

// taskError is what the image's last task says.
func (s *Syncer) taskError(ctx context.Context, r Record, status string) error {
	if message := s.failedTask(ctx, r); message != "" {
		return errors.New(message)
	}
	return fmt.Errorf("Glance did not accept the image: its status is %s", status)
}

// failedTask is what a failed task of the image says, "" if none has failed.
func (s *Syncer) failedTask(ctx context.Context, r Record) string {
	var answer struct {
		Tasks []struct {
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"tasks"`
	}
	client := s.Glance.client
	response, err := client.Get(ctx, client.ServiceURL("images", r.ID, "tasks"), &answer, nil)
	if err == nil {
		response.Body.Close()
	}
	for _, task := range answer.Tasks {
		if task.Status == "failure" && task.Message != "" {
			return task.Message
		}
	}
	return ""
}
