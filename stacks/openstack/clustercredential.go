package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"

	"github.com/slipway-sh/slipway/internal/ownership"
)

// ClusterCredential is the application credential of a cluster, restricted and
// without an end. It is known by the mark of its step, so that it is found again
// whatever was lost, and goes with the environment.
type ClusterCredential struct {
	Clients Clients
	// UserID is the user that the clients log in as, whose the credential is.
	UserID string
	Owned
	// Roles and AccessRules are as of ApplicationCredentialInputs.
	Roles       []string
	AccessRules []AccessRule
}

func (c ClusterCredential) inputs() ApplicationCredentialInputs {
	return ApplicationCredentialInputs{Owned: c.Owned, Roles: c.Roles, AccessRules: c.AccessRules}
}

func (c ClusterCredential) kind() credentialKind { return credentialKind{c.Clients, c.UserID} }

// Make makes the credential and returns its id and its secret, which Keystone
// does not tell again. Those of before are revoked: their secrets are lost.
func (c ClusterCredential) Make(ctx context.Context) (id, secret string, err error) {
	if _, err := c.Revoke(ctx); err != nil {
		return "", "", err
	}
	err = again(ctx, func() error {
		if _, err := c.kind().find(ctx, c.inputs()); err != nil { // one that an attempt before made, or a foreign one
			return err
		}
		made, err := c.kind().create(ctx, c.inputs())
		if err == nil {
			id, secret = made.ID, made.Secret
		}
		return err
	})
	return id, secret, c.explain("making", err)
}

// Revoke deletes all credentials that carry the mark and tells their ids. Those
// that another user made are not seen.
func (c ClusterCredential) Revoke(ctx context.Context) (ids []string, err error) {
	err = again(ctx, func() error {
		client, err := c.Clients.Identity()
		if err != nil {
			return err
		}
		pages, err := applicationcredentials.List(client, c.UserID, nil).AllPages(ctx)
		if gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
			return nil // a restricted credential may not see them, and has made none
		}
		if err != nil {
			return err
		}
		list, err := applicationcredentials.ExtractApplicationCredentials(pages)
		if err != nil {
			return err
		}
		for _, one := range list {
			if mark, ok := ownership.FromDescription(one.Description); !ok || mark != c.mark() {
				continue
			}
			if err := skipGone(c.kind().remove(ctx, one.ID, ApplicationCredentialState{})); err != nil {
				return err
			}
			ids = append(ids, one.ID)
		}
		return nil
	})
	return ids, c.explain("revoking", err)
}

func (c ClusterCredential) explain(doing string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return explain(c.kind().word()+" "+c.mark().Name(), fmt.Errorf("%s: %w", doing, err))
}
