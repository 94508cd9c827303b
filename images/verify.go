package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/images/disk"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Finding is one thing that is not as the manifest says.
type Finding struct {
	Image    string `json:"image"`
	ID       string `json:"id,omitempty"`
	Property string `json:"property,omitempty"`
	Cause    string `json:"cause"`
	Remedy   string `json:"remedy"`
}

const syncRemedy = "slipway image sync"

// Verify compares what is in Glance with the manifest and changes nothing:
// whether the bytes are there, by their digest; the description; the members;
// whether the cloud can read the bytes. content reads all of them.
func (s *Syncer) Verify(ctx context.Context, m *manifest.Manifest, content bool) ([]Finding, error) {
	m, without := s.withDigests(ctx, m, always)
	if len(m.Spec.Images) == 0 || ctx.Err() != nil {
		return nil, without
	}
	list, err := s.look(ctx, m)
	if err != nil {
		return nil, err
	}
	found, errs := make([][]Finding, len(m.Spec.Images)), make([]error, len(m.Spec.Images))
	var group errgroup.Group
	group.SetLimit(max(s.Jobs, 2))
	for n, i := range m.Spec.Images {
		group.Go(func() error {
			step := event.Start(s.Events, "image "+i.Name, "verifying")
			found[n], errs[n] = s.verifyOne(ctx, m, i, list, content, step)
			step.End(fmt.Sprint("findings: ", len(found[n])), errs[n])
			return nil
		})
	}
	_ = group.Wait() // each has its own error
	var all []Finding
	for _, f := range found {
		all = append(all, f...)
	}
	return all, errors.Join(append(errs, without)...)
}

func (s *Syncer) verifyOne(ctx context.Context, m *manifest.Manifest, i manifest.Image, list []Record, content bool, step *event.Step) ([]Finding, error) {
	choice, err := Identify(i, list, s.Glance.Project, m.Spec.TrustedOwners, false, time.Now())
	if err != nil {
		return []Finding{finding(i, "", err)}, nil
	}
	if choice.Action != Use && choice.Action != Borrow {
		cause := "no image has its content"
		if choice.Record != nil {
			cause = choice.Reason
		}
		return []Finding{{Image: i.Name, Cause: cause, Remedy: syncRemedy}}, nil
	}
	r := *choice.Record
	var all []Finding
	if choice.Action == Use {
		if s.keptPacked(ctx, i, r) {
			all = append(all, Finding{Image: i.Name, ID: r.ID, Cause: packedReason, Remedy: syncRemedy})
		}
		for _, d := range Describe(i, r, r.VirtualSize) {
			all = append(all, Finding{i.Name, r.ID, d.Property, fmt.Sprintf("it is %q, but the manifest has %q", d.Has, d.Wants), syncRemedy})
		}
		missing, err := s.missingMembers(ctx, i, r)
		if err != nil {
			return all, err
		}
		all = append(all, missing...)
	}
	if i.KubernetesVersion != "" {
		for _, err := range fault.All(Gate(r, Wanted{KubernetesVersion: i.KubernetesVersion})) {
			all = append(all, finding(i, r.ID, err))
		}
	}
	if err := s.readable(ctx, i, r, content, step); err != nil {
		all = append(all, finding(i, r.ID, err))
	}
	return all, ctx.Err()
}

func finding(i manifest.Image, id string, err error) Finding {
	return Finding{Image: i.Name, ID: id, Cause: err.Error(), Remedy: fault.Remedy(err)}
}

func (s *Syncer) missingMembers(ctx context.Context, i manifest.Image, r Record) ([]Finding, error) {
	if i.Visibility != manifest.VisibilityShared || r.Visibility != manifest.VisibilityShared || len(i.Share) == 0 {
		return nil, nil
	}
	there, err := s.members(ctx, r)
	if err != nil {
		return nil, err
	}
	var all []Finding
	for _, m := range i.Share {
		if status := cmp.Or(there[m.Project], "not offered"); status != accepted {
			all = append(all, Finding{i.Name, r.ID, "members", "project " + m.Project + ": " + status, syncRemedy})
		}
	}
	return all, nil
}

// readable reads the beginning of the bytes in Glance, or all of them.
func (s *Syncer) readable(ctx context.Context, i manifest.Image, r Record, all bool, step *event.Step) error {
	body, err := imagedata.Download(ctx, s.Glance.client, r.ID).Extract()
	if err != nil {
		return s.Glance.cloud.Fault(r.object()+": reading its content", err)
	}
	defer body.Close()
	sums := disk.NewSums("sha256", "sha512")
	source := io.Reader(&meter{r: body, total: r.Size, step: step})
	if !all {
		sums, source = disk.NewSums(), io.LimitReader(body, 1)
	}
	n, err := io.Copy(sums, source)
	switch {
	case err != nil:
		return s.Glance.cloud.Fault(r.object()+": reading its content", err)
	case n == 0 && r.Size > 0:
		return fault.New(r.object(), errors.New("Glance has no content of it"), "delete it, then "+syncRemedy)
	case !all:
		return nil
	}
	if err := checkStored(r, sums.Size(), map[string]string{"sha256": sums.Hex("sha256"), "sha512": sums.Hex("sha512")}); err != nil {
		return fault.New(r.object(), fmt.Errorf("the content in the store is not what Glance received: %w", errors.Unwrap(err)), "delete it, then "+syncRemedy)
	}
	if i.Convert == "" && !packed(i) {
		return compareDigest(i, sums, -1)
	}
	return nil
}
