package main

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
)

// openReal uses a cloud that runs, of the entries name and name-admin in
// clouds.yaml. What prepare makes stays there.
func openReal(ctx context.Context, name string) (*cloud, error) {
	c := &cloud{passwords: map[string]string{}, close: func() error { return nil }}
	for user, entry := range map[string]string{"demo": name, "admin": name + "-admin"} {
		auth, _, _, err := clouds.Parse(clouds.WithCloudName(entry))
		if err != nil {
			return nil, fmt.Errorf("reading clouds.yaml: %w", err)
		}
		if auth.Username != user {
			return nil, fmt.Errorf("entry %s of clouds.yaml is of user %q, the tests want %s in a project of that name", entry, auth.Username, user)
		}
		c.url, c.passwords[user] = auth.IdentityEndpoint, auth.Password
	}
	if err := c.prepare(ctx); err != nil {
		return nil, fmt.Errorf("preparing %s: %w", name, err)
	}
	return c, nil
}
