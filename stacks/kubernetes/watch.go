package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Watch returns an error with the cause as soon as a server cannot come up any more, and
// nil when the context ends.
type Watch func(ctx context.Context, serverID string) error

// A booting server is checked every watchEvery, and its console at every consoleLooks-th
// check: the cloud has to fetch a console from the hypervisor.
const (
	watchEvery   = 3 * time.Second
	consoleLooks = 4
)

// consoleLines is how many lines of the console are read each time.
const consoleLines = 200

// fatal matches console messages after which a boot cannot succeed.
func fatal() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`Kernel panic.*`),
		regexp.MustCompile(`slipway: data volume .*`),
		regexp.MustCompile(`(?i)no bootable device.*`),
		regexp.MustCompile(`You are in emergency mode.*`),
		regexp.MustCompile(`(?i)no space left on device.*`),
	}
}

// WatchServer watches the server's state and its console in Nova.
func WatchServer(compute func() (*gophercloud.ServiceClient, error)) Watch {
	return func(ctx context.Context, id string) error {
		for look := 1; ; look++ {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(watchEvery):
			}
			client, err := compute()
			if err != nil {
				continue // the caller has its own timeout
			}
			if err := serverEnded(ctx, client, id); err != nil {
				return err
			}
			if look%consoleLooks != 0 {
				continue
			}
			if err := consoleEnded(ctx, client, id); err != nil {
				return err
			}
		}
	}
}

func serverEnded(ctx context.Context, client *gophercloud.ServiceClient, id string) error {
	server, err := servers.Get(ctx, client, id).Extract()
	switch {
	case gophercloud.ResponseCodeIs(err, 404):
		return fault.New("server "+id, errors.New("it was deleted while slipway waited for it"), "run the same command again, which creates it again")
	case err != nil:
		return nil
	case server.Status == "ERROR":
		return fault.New("server "+server.Name, fmt.Errorf("it went to ERROR: %s", server.Fault.Message), "run the same command again, which creates it again")
	case server.Status == "SHUTOFF" && server.TaskState == "":
		return fault.New("server "+server.Name, errors.New("it was shut off while slipway waited for it"), "run the same command again, which starts it")
	}
	return nil
}

// printed returns the last lines of a server's console; "" if the cloud does not provide
// it.
func printed(ctx context.Context, client *gophercloud.ServiceClient, id string, lines int) string {
	text, err := servers.ShowConsoleOutput(ctx, client, id, servers.ShowConsoleOutputOpts{Length: lines}).Extract()
	if err != nil {
		return ""
	}
	return text
}

func consoleEnded(ctx context.Context, client *gophercloud.ServiceClient, id string) error {
	text := printed(ctx, client, id, consoleLines)
	for _, pattern := range fatal() {
		if line := pattern.FindString(text); line != "" {
			return fault.New("server "+id, fmt.Errorf("its console says: %s", strings.TrimSpace(line)), "see the console log with slipway logs --console")
		}
	}
	return nil
}
