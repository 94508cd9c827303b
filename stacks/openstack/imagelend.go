package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	glance "github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/members"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Lending lends images of the environment's project to the project of a cluster.
type Lending struct {
	// Owner is logged in to the environment's project, Member to the other one; Member is nil
	// if that is not made yet.
	Owner, Member Clients
	// ProjectID is the other project.
	ProjectID string
}

// Loan is an image that a cluster in another project boots from.
type Loan struct {
	ID string
	// Offer and Accept say what is missing until the project can use it.
	Offer, Accept bool
}

// Look finds an image by its ID and says what is missing until the project can use it. path is
// the value that names it. It refuses an image that cannot be shared.
func (l Lending) Look(ctx context.Context, path, id string) (Loan, error) {
	owner, err := l.Owner.Image()
	if err != nil {
		return Loan{}, err
	}
	image, err := l.see(ctx, id)
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return Loan{}, fault.Usage(path, fmt.Errorf("there is no image %s, or neither the environment's project nor that of the cluster can see it", id),
			"name another image, or have its owner share it with project "+l.ProjectID)
	}
	if err != nil {
		return Loan{}, explain(path+": image "+id, err)
	}
	switch {
	case image.Visibility == glance.ImageVisibilityPublic, image.Visibility == glance.ImageVisibilityCommunity, image.Owner == l.ProjectID:
		return Loan{ID: id}, nil
	case image.Visibility == glance.ImageVisibilityShared && l.Member != nil:
		status, err := l.membership(ctx, id)
		if err != nil {
			return Loan{}, explain(path+": image "+id, err)
		}
		if status != "" {
			return Loan{ID: id, Accept: status != memberAccepted}, nil
		}
	}
	if image.Owner != projectOf(owner) {
		return Loan{}, fault.Usage(path, fmt.Errorf("image %s is %s and belongs to project %s, so the environment's project cannot share it", id, image.Visibility, image.Owner),
			"have its owner share it with the project of the cluster, or name another image")
	}
	return Loan{ID: id, Offer: true, Accept: true}, nil
}

// see reads an image as the project that can see it.
func (l Lending) see(ctx context.Context, id string) (*glance.Image, error) {
	client, err := l.Owner.Image()
	if err != nil {
		return nil, err
	}
	image, err := glance.Get(ctx, client, id).Extract()
	if l.Member == nil || !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return image, err
	}
	if client, err = l.Member.Image(); err != nil {
		return nil, err
	}
	return glance.Get(ctx, client, id).Extract()
}

// membership is the project's answer to an offer; "" if there was none.
func (l Lending) membership(ctx context.Context, id string) (string, error) {
	client, err := l.Member.Image()
	if err != nil {
		return "", err
	}
	member, err := members.Get(ctx, client, id, l.ProjectID).Extract()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return member.Status, nil
}

// Named returns the ID of the one image with a name, as Cluster API's provider would find it,
// or of the one that can be lent.
func (l Lending) Named(ctx context.Context, path, name string) (string, error) {
	for _, one := range []Clients{l.Member, l.Owner} {
		if one == nil {
			continue
		}
		client, err := one.Image()
		if err != nil {
			return "", err
		}
		pages, err := glance.List(client, glance.ListOpts{Name: name}).AllPages(ctx)
		if err != nil {
			return "", explain(path+": image "+name, err)
		}
		list, err := glance.ExtractImages(pages)
		if err != nil {
			return "", explain(path+": image "+name, err)
		}
		if len(list) > 1 {
			return "", fault.Usage(path, fmt.Errorf("%d images have the name %s", len(list), name), "name one by its ID in machineImageId")
		}
		if len(list) == 1 {
			return list[0].ID, nil
		}
	}
	return "", fault.Usage(path, errors.New("there is no image "+name), "list images with openstack image list, and name one of them")
}

const memberAccepted = "accepted"

// Lend does what is missing. An image that was private is shared from then on, and its
// property says so.
func (l Lending) Lend(ctx context.Context, loan Loan) error {
	return l.explain("sharing", loan.ID, again(ctx, func() error {
		if loan.Offer {
			if err := l.offer(ctx, loan.ID); err != nil {
				return err
			}
		}
		if !loan.Accept {
			return nil
		}
		member, err := l.Member.Image()
		if err != nil {
			return err
		}
		return members.Update(ctx, member, loan.ID, l.ProjectID, members.UpdateOpts{Status: memberAccepted}).Err
	}))
}

func (l Lending) offer(ctx context.Context, id string) error {
	owner, err := l.Owner.Image()
	if err != nil {
		return err
	}
	image, err := glance.Get(ctx, owner, id).Extract()
	if err != nil {
		return err
	}
	if image.Visibility == glance.ImageVisibilityPrivate {
		err := glance.Update(ctx, owner, id, glance.UpdateOpts{glance.UpdateVisibility{Visibility: glance.ImageVisibilityShared},
			glance.UpdateImageProperty{Op: glance.AddOp, Name: images.PropertyLent, Value: "true"}}).Err
		if err != nil {
			return err
		}
	}
	err = members.Create(ctx, owner, id, l.ProjectID).Err
	if gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		return nil // a run before this one did it
	}
	return err
}

// Return ends a loan, and makes an image that nobody has on loan any more private again if it
// was. It is no error if the image is gone.
func (l Lending) Return(ctx context.Context, id string) error {
	return l.explain("ending the sharing of", id, skipGone(again(ctx, func() error {
		owner, err := l.Owner.Image()
		if err != nil {
			return err
		}
		image, err := glance.Get(ctx, owner, id).Extract()
		if err != nil {
			return gone(err)
		}
		if image.Visibility != glance.ImageVisibilityShared {
			return nil
		}
		if err := skipGone(gone(members.Delete(ctx, owner, id, l.ProjectID).ExtractErr())); err != nil {
			return err
		}
		pages, err := members.List(owner, id).AllPages(ctx)
		if err != nil {
			return gone(err)
		}
		left, err := members.ExtractMembers(pages)
		if err != nil || len(left) > 0 || !lent(*image) {
			return err
		}
		return glance.Update(ctx, owner, id, glance.UpdateOpts{glance.UpdateVisibility{Visibility: glance.ImageVisibilityPrivate},
			glance.UpdateImageProperty{Op: glance.RemoveOp, Name: images.PropertyLent}}).Err
	})))
}

// Lent lists the images of the environment's project that Slipway shares for clusters.
func (l Lending) Lent(ctx context.Context) (ids []string, err error) {
	owner, err := l.Owner.Image()
	if err != nil {
		return nil, err
	}
	pages, err := glance.List(owner, glance.ListOpts{Owner: projectOf(owner), Visibility: glance.ImageVisibilityShared}).AllPages(ctx)
	if err != nil {
		return nil, explain("shared images", err)
	}
	list, err := glance.ExtractImages(pages)
	if err != nil {
		return nil, explain("shared images", err)
	}
	for _, image := range list {
		if lent(image) {
			ids = append(ids, image.ID)
		}
	}
	return ids, nil
}

// lent reports whether Slipway shares an image for clusters in other projects.
func lent(image glance.Image) bool {
	return image.Visibility == glance.ImageVisibilityShared && image.Properties[images.PropertyLent] != nil
}

func (l Lending) explain(doing, id string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return explain("image "+id, fmt.Errorf("%s it with project %s: %w", doing, l.ProjectID, err))
}
