package images

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/members"

	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// accepted is the status of a member that took the offer.
const accepted = "accepted"

// share makes the projects of an image its members, and accepts for them where
// a login allows it (F61).
func (s *Syncer) share(ctx context.Context, i manifest.Image, r Record, step *event.Step) (bool, error) {
	if i.Visibility != manifest.VisibilityShared || len(i.Share) == 0 {
		return false, nil
	}
	there, err := s.members(ctx, r)
	if err != nil {
		return false, err
	}
	changed := false
	var errs []error
	for _, m := range i.Share {
		status, known := there[m.Project]
		if known && status == accepted {
			continue
		}
		step.Run("sharing with project " + m.Project)
		if err := s.shareWith(ctx, r, m, known); err != nil {
			errs = append(errs, err)
			continue
		}
		changed = true
	}
	return changed, errors.Join(errs...)
}

// members are the projects that an image is shared with, and their answers.
func (s *Syncer) members(ctx context.Context, r Record) (map[string]string, error) {
	pages, err := members.List(s.Glance.client, r.ID).AllPages(ctx)
	if err != nil {
		return nil, s.Glance.cloud.Fault(r.object()+": members", err)
	}
	list, err := members.ExtractMembers(pages)
	if err != nil {
		return nil, s.Glance.cloud.Fault(r.object()+": members", err)
	}
	out := map[string]string{}
	for _, m := range list {
		out[m.MemberID] = m.Status
	}
	return out, nil
}

func (s *Syncer) shareWith(ctx context.Context, r Record, m manifest.Member, known bool) error {
	object := fmt.Sprintf("%s: sharing with project %s", r.object(), m.Project)
	if !known {
		err := members.Create(ctx, s.Glance.client, r.ID, m.Project).Err
		if err != nil && !gophercloud.ResponseCodeIs(err, 409) {
			return s.Glance.cloud.Fault(object, err)
		}
	}
	client := s.Glance.client
	if m.Cloud != "" && s.MemberLogin != nil {
		var err error
		if client, err = s.MemberLogin(ctx, m.Cloud); err != nil {
			return fmt.Errorf("%s: %w", object, err)
		}
	}
	err := members.Update(ctx, client, r.ID, m.Project, members.UpdateOpts{Status: accepted}).Err
	if gophercloud.ResponseCodeIs(err, 403) || gophercloud.ResponseCodeIs(err, 404) {
		return fault.New(object, errors.New("it is offered but not accepted: only the project itself can accept it"),
			fmt.Sprintf("set the project's entry of clouds.yaml as `cloud` of the share, or run as that project: openstack image set --accept %s", r.ID))
	}
	return s.Glance.cloud.Fault(object, err)
}

func number(n int) string { return strconv.Itoa(n) }
func truth(b bool) string { return strconv.FormatBool(b) }
func join(list []string) string {
	list = slices.Clone(list)
	slices.Sort(list)
	return strings.Join(list, ",")
}
