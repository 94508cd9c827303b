package openstack

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"

	"github.com/slipway-sh/slipway/internal/ownership"
)

// resolving is how long a host name may take to be resolved.
const resolving = 5 * time.Second

// strays are endpoints of the environment's name with another URL, of which nobody knows the project.
type strays struct {
	// ours are the URLs that lead to our address: the host name has changed since.
	ours []string
	// unclear are the others, in words.
	unclear []string
	// shared says that endpoints of the name are of a project that is not ours: its users need not
	// name it.
	shared bool
}

// astray looks for them.
func (k catalogKind) astray(ctx context.Context, in CatalogEntryInputs, address netip.Addr) (found strays, err error) {
	err = again(ctx, func() error {
		found = strays{}
		id, err := k.find(ctx, in)
		if err != nil || id == "" {
			return err
		}
		_, list, err := k.endpoints(ctx, id, in.Region)
		for _, e := range list {
			if mark, ok := ownership.FromDescription(e.Description); ok && mark == in.mark() {
				found.add(ctx, e, in, k.home(in), address)
			}
		}
		return err
	})
	if err != nil {
		return strays{}, explain(k.word()+" "+in.mark().Name(), fmt.Errorf("looking for its endpoints: %w", err))
	}
	return found, nil
}

// add judges an endpoint of the name.
func (s *strays) add(ctx context.Context, e endpoints.Endpoint, in CatalogEntryInputs, home string, address netip.Addr) {
	named, word := ownership.ProjectIn(e.Description), "endpoint "+e.URL
	switch {
	case home != "" && named != "":
		s.shared = s.shared || named != home
	case e.URL == in.URL || slices.Contains(s.ours, e.URL) || slices.Contains(s.unclear, word):
	case named == "" && leadsTo(ctx, e.URL, address):
		s.ours = append(s.ours, e.URL)
	default:
		s.unclear = append(s.unclear, word)
	}
}

// leadsTo reports whether the host of a URL is an address or a name of that address alone. A name
// that cannot be resolved leads nowhere.
func leadsTo(ctx context.Context, endpoint string, address netip.Addr) bool {
	u, err := url.Parse(endpoint)
	if err != nil || !address.IsValid() {
		return false
	}
	family := "ip6"
	if address.Is4() {
		family = "ip4"
	}
	ctx, cancel := context.WithTimeout(ctx, resolving)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, family, u.Hostname())
	return err == nil && len(found) > 0 && !slices.ContainsFunc(found, func(a netip.Addr) bool { return a.Unmap() != address })
}
