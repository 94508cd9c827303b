package cloud

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
)

// Upkeep is a snapshot of what ends or is used up: quotas, and the application credentials of
// the user. A service that does not answer for long costs its own lists, and no others.
func (c *Cloud) Upkeep(ctx context.Context) (*Snapshot, error) {
	return c.take(ctx, []listing{
		{Compute, ListQuotas, computeQuotas}, {Network, ListQuotas, networkQuotas}, {Volume, ListQuotas, volumeQuotas},
		{LoadBalancer, ListQuotas, balancerQuotas}, {LoadBalancer, ListBalancers, listBalancers}, {Identity, ListCredentials, listCredentials},
	}, diagnosisTime)
}

// LoginEnds is when the login stops working: the end of its application credential, or of the
// user's password. It is zero if that is never, or if the login may not ask.
func (c *Cloud) LoginEnds(ctx context.Context) (time.Time, error) {
	token, err := c.Token()
	if err != nil || token.CredentialID == "" {
		return token.PasswordExpiresAt, err
	}
	client, err := c.Identity()
	if err != nil {
		return time.Time{}, err
	}
	found, err := applicationcredentials.Get(ctx, client, token.UserID, token.CredentialID).Extract()
	if again := (*gophercloud.ErrErrorAfterReauthentication)(nil); errors.As(err, &again) { // it hides the answer
		err = again.ErrOriginal
	}
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound} {
		if gophercloud.ResponseCodeIs(err, status) { // access rules need not allow it
			return time.Time{}, nil
		}
	}
	if err != nil {
		return time.Time{}, c.Fault("application credential "+token.CredentialID, err)
	}
	return found.ExpiresAt, nil
}
