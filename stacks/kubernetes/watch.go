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

// Watch returns an error as soon as a server cannot come up any more, with the
// cause, and nil when the context ends.
type Watch func(ctx context.Context, serverID string) error

// watchEvery is how often the cloud is asked about a server that boots.
const watchEvery = 3 * time.Second

// consoleLines are how many lines of the console are looked at each time.
const consoleLines = 200

// fatal are the words on a console after which nothing good comes.
func fatal() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`Kernel panic.*`),
		regexp.MustCompile(`slipway: data volume .*`),
		regexp.MustCompile(`(?i)no bootable device.*`),
		regexp.MustCompile(`You are in emergency mode.*`),
		regexp.MustCompile(`(?i)no space left on device.*`),
	}
}

// WatchServer watches by Nova's API: the server's state and its console.
func WatchServer(compute func() (*gophercloud.ServiceClient, error)) Watch {
	return func(ctx context.Context, id string) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(watchEvery):
			}
			client, err := compute()
			if err != nil {
				continue // who waits has its own time limit
			}
			if err := serverEnded(ctx, client, id); err != nil {
				return err
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
		return fault.New("server "+id, errors.New("it was deleted while it was waited for"), "run the same command again: it is made anew")
	case err != nil:
		return nil
	case server.Status == "ERROR":
		return fault.New("server "+server.Name, fmt.Errorf("it went to ERROR: %s", server.Fault.Message), "run the same command again: it is made anew")
	case server.Status == "SHUTOFF" && server.TaskState == "":
		return fault.New("server "+server.Name, errors.New("it was shut off while it was waited for"), "run the same command again: it is started")
	}
	return nil
}

// printed are the last lines of a server's console; "" where the cloud does not
// show it.
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
			return fault.New("server "+id, fmt.Errorf("its console says: %s", strings.TrimSpace(line)), "slipway console shows the rest")
		}
	}
	return nil
}
