package target

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cloud"
)

// ConsoleLog returns the last lines of the seed's console log, as the cloud keeps it. It does
// not log in to the seed.
func ConsoleLog(ctx context.Context, from environment.Flags, lines int) (string, error) {
	seed, loaded, err := OpenSeed(ctx, from)
	if err != nil {
		return "", err
	}
	if seed.Local != "" {
		return "", ErrNoSeed()
	}
	c, err := cloud.Open(ctx, environment.CloudOptions(loaded))
	if err != nil {
		return "", err
	}
	client, err := c.Compute()
	if err != nil {
		return "", err
	}
	text, err := servers.ShowConsoleOutput(ctx, client, seed.ServerID, servers.ShowConsoleOutputOpts{Length: lines}).Extract()
	if err != nil {
		return "", c.Fault("server "+seed.Name, err)
	}
	return text, nil
}
