package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"

	"github.com/slipway-sh/slipway/internal/ownership"
)

// ClusterCredential is an application credential of a cluster, restricted and without an
// expiry. It carries the ownership tag of its step, so that it can always be found again
// and is deleted with the environment. A cluster can have several.
type ClusterCredential struct {
	Clients Clients
	// UserID is the user of the clients' login, who owns the credential.
	UserID string
	Ownership
	// Roles and AccessRules are as in ApplicationCredentialInputs.
	Roles       []string
	AccessRules []AccessRule
	// Variant makes the name differ from those of the cluster's other credentials.
	Variant string
	// Known are IDs of credentials that are the cluster's for sure: those whose ownership tag
	// names no region are revoked in a cloud with several too.
	Known []string
}

func (c ClusterCredential) inputs() ApplicationCredentialInputs {
	return ApplicationCredentialInputs{Ownership: c.Ownership, Roles: c.Roles, AccessRules: c.AccessRules, Trigger: c.Variant}
}

func (c ClusterCredential) kind() credentialKind { return credentialKind{c.Clients, c.UserID} }

// Make creates the credential beside the cluster's others, and returns its ID and its secret,
// which Keystone does not return again.
func (c ClusterCredential) Make(ctx context.Context) (id, secret string, err error) {
	err = again(ctx, func() error {
		if _, err := c.kind().find(ctx, c.inputs()); err != nil { // one of an earlier attempt, or a foreign one
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

// Delete deletes one credential that Make returned. It is no error if it is gone.
func (c ClusterCredential) Delete(ctx context.Context, id string) error {
	return c.explain("revoking", again(ctx, func() error { return skipGone(c.kind().remove(ctx, id, ApplicationCredentialState{})) }))
}

// Revoke deletes all credentials with the ownership tag but those to keep, and returns their
// IDs. It does not see those of other users, and leaves those for other projects and regions.
func (c ClusterCredential) Revoke(ctx context.Context, keep ...string) (ids []string, err error) {
	err = again(ctx, func() error {
		client, err := c.Clients.Identity()
		if err != nil {
			return err
		}
		pages, err := applicationcredentials.List(client, c.UserID, nil).AllPages(ctx)
		if gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
			return nil // a restricted credential may not list them, and has created none
		}
		if err != nil {
			return err
		}
		list, err := applicationcredentials.ExtractApplicationCredentials(pages)
		if err != nil {
			return err
		}
		for _, one := range list {
			if at := Belongs(c.Clients, one.Description); elsewhere(client, one) || at == Away || at == Unclear && !slices.Contains(c.Known, one.ID) {
				continue
			}
			if mark, ok := ownership.FromDescription(one.Description); !ok || mark != c.mark() || slices.Contains(keep, one.ID) {
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
