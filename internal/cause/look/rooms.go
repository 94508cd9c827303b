package look

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/slipway-sh/slipway/internal/cause"
)

// candidatesVersion is the microversion of Placement that has a limit for candidates.
const candidatesVersion = "1.16"

// rooms asks Placement which inventory is short for the shapes that found no host. Most clouds
// let only administrators ask; that is noted once.
func (d *detailed) rooms(ctx context.Context) {
	if len(d.wanted.Shapes) == 0 {
		return
	}
	client, err := openstack.NewPlacementV1(d.opened.Provider, d.opened.Endpoint)
	if err == nil {
		client.Microversion = candidatesVersion
		for _, s := range d.wanted.Shapes {
			var words string
			if words, err = d.room(ctx, client, s); err != nil {
				break
			}
			d.cloud.Rooms = append(d.cloud.Rooms, cause.Room{Shape: s, Words: words})
		}
	}
	if err != nil {
		d.cloud.Missing = append(slices.Clone(d.cloud.Missing), cause.Unseen{What: cause.ListRooms, Why: d.opened.Fault("Placement", err).Error()})
	}
}

// need is an amount of a resource class.
type need struct {
	class  string
	amount int
}

func (n need) String() string { return fmt.Sprintf("%s:%d", n.class, n.amount) }

// needs are what a server of a shape takes of its host.
func (d *detailed) needs(s cause.Shape) []need {
	i := slices.IndexFunc(d.cloud.Flavors, func(f cause.Flavor) bool { return f.Name == s.Flavor })
	if i < 0 {
		return nil
	}
	f := d.cloud.Flavors[i]
	all := []need{{"VCPU", f.VCPUs}, {"MEMORY_MB", f.RAM}, {"DISK_GB", f.Disk}}
	return slices.DeleteFunc(all, func(n need) bool { return n.amount == 0 || n.class == "DISK_GB" && s.OnVolume })
}

// room says what no host has for a shape.
func (d *detailed) room(ctx context.Context, client *gophercloud.ServiceClient, s cause.Shape) (string, error) {
	all := d.needs(s)
	if len(all) == 0 {
		return "the flavor " + s.Flavor + " is gone, so nobody knows what it needs", nil
	}
	if fits, err := candidates(ctx, client, all...); err != nil || fits {
		return "a host has " + joined(all) + ", so it is not room that is short: see server group, availability zone, traits and the state of hosts", err
	}
	var short []need
	for _, n := range all {
		fits, err := candidates(ctx, client, n)
		if err != nil {
			return "", err
		}
		if !fits {
			short = append(short, n)
		}
	}
	if len(short) == 0 {
		return "hosts have each of " + joined(all) + ", but none has them together", nil
	}
	return "no host has " + joined(short) + " free", nil
}

func joined(all []need) string {
	var words []string
	for _, n := range all {
		words = append(words, n.String())
	}
	return strings.Join(words, ", ")
}

// candidates reports whether a host has room for all of it.
func candidates(ctx context.Context, client *gophercloud.ServiceClient, all ...need) (bool, error) {
	query := url.Values{"limit": {"1"}, "resources": {strings.ReplaceAll(joined(all), ", ", ",")}}
	var body struct {
		Requests []any `json:"allocation_requests"`
	}
	_, err := client.Get(ctx, client.ServiceURL("allocation_candidates")+"?"+query.Encode(), &body, nil)
	return len(body.Requests) > 0, err
}
