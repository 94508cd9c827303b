// Package fabric carries the networks of the sandbox on this host. Each network is a bridge in a
// network namespace of its own, each router a namespace with forwarding and NAT, and the filters of
// ports are nftables rules next to the bridge. Only one link per external network, with its address
// and route, is in the host's namespace.
package fabric

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// Names inside the namespaces.
const (
	bridge   = "br0"
	uplink   = "host"
	netSpace = "net-"
	rtrSpace = "rtr-"
)

// MetadataAddress is where machines find the metadata service.
const MetadataAddress = "169.254.169.254"

// routeProtocol marks routes that the fabric has added, to tell those that are no longer wanted
// from routes of others (rtnetlink(7); 4 and up are free to use).
const routeProtocol netlink.RouteProtocol = 83

// Options say where a fabric is.
type Options struct {
	// Dir has the files of the fabric's namespaces.
	Dir string
	// Tag tells the host's links of this sandbox from links of another sandbox.
	Tag string
	// Host is the network namespace that external networks are connected to; empty means the
	// namespace of the process.
	Host string
}

// Fabric implements machine.Fabric on this host.
type Fabric struct {
	Options

	// mu makes operations run one at a time: they are short, and most touch two namespaces.
	mu       sync.Mutex
	networks map[string]machine.Network
	filters  map[string]machine.Filter
	routers  map[string]machine.Router
	passOns  map[string]PassOn
}

var _ machine.Fabric = (*Fabric)(nil)

// New returns a fabric. It adopts what an earlier process left when that is applied again.
func New(o Options) *Fabric {
	if o.Host == "" {
		o.Host = "/proc/self/ns/net"
	}
	return &Fabric{Options: o, networks: map[string]machine.Network{}, filters: map[string]machine.Filter{},
		routers: map[string]machine.Router{}, passOns: map[string]PassOn{}}
}

func (f *Fabric) space(kind, id string) string { return filepath.Join(f.Dir, kind+filepath.Base(id)) }

// Space returns the name of a network's namespace.
func (f *Fabric) Space(networkID string) string { return f.space(netSpace, networkID) }

// networkTime is how long a port waits for its network: machines and load balancers can be ready
// before their network, after a start of the sandbox and right after the network was created.
const networkTime = 10 * time.Second

// await waits until a network exists.
func (f *Fabric) await(ctx context.Context, networkID string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, networkTime, fmt.Errorf("network %s is not there yet", networkID))
	defer cancel()
	for !namespace.Exists(f.Space(networkID)) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// Listen opens a listener inside a network.
func (f *Fabric) Listen(ctx context.Context, networkID, network, address string) (net.Listener, error) {
	var l net.Listener
	err := namespace.Do(f.Space(networkID), func() (err error) {
		l, err = (&net.ListenConfig{}).Listen(ctx, network, address)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listening in network %s: %w", networkID, err)
	}
	return l, nil
}

// Shutdown removes everything that the fabric has on the host, also what an earlier process
// created.
func (f *Fabric) Shutdown(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.networks)
	clear(f.filters)
	clear(f.routers)
	clear(f.passOns)
	err := f.removeUplinks("")
	entries, readErr := os.ReadDir(f.Dir)
	if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
		err = errors.Join(err, readErr)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), netSpace) || strings.HasPrefix(e.Name(), rtrSpace) {
			err = errors.Join(err, namespace.Delete(filepath.Join(f.Dir, e.Name())))
		}
	}
	return err
}

// Sweep removes the networks and routers of an earlier process that are not in the lists to keep.
func (f *Fabric) Sweep(ctx context.Context, networks, routers map[string]bool) error {
	entries, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if id, ok := strings.CutPrefix(e.Name(), rtrSpace); ok && !routers[id] {
			err = errors.Join(err, f.DeleteRouter(ctx, id))
		}
		if id, ok := strings.CutPrefix(e.Name(), netSpace); ok && !networks[id] {
			err = errors.Join(err, f.DeleteNetwork(ctx, id))
		}
	}
	return err
}

// at returns a netlink handle for a namespace, and the namespace.
func at(space string) (*netlink.Handle, netns.NsHandle, error) {
	ns, err := netns.GetFromPath(space)
	if err != nil {
		return nil, -1, fmt.Errorf("opening network namespace %s: %w", filepath.Base(space), err)
	}
	h, err := netlink.NewHandleAt(ns)
	if err != nil {
		ns.Close()
		return nil, -1, fmt.Errorf("entering network namespace %s: %w", filepath.Base(space), err)
	}
	return h, ns, nil
}

// inside runs do with a netlink handle for a namespace.
func inside(space string, do func(h *netlink.Handle) error) error {
	h, ns, err := at(space)
	if err != nil {
		return err
	}
	defer ns.Close()
	defer h.Close()
	return do(h)
}

// settings writes kernel settings of a namespace, by path below /proc/sys/net.
func settings(space string, values map[string]string) error {
	return namespace.Do(space, func() error {
		var err error
		for name, value := range values {
			e := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0)
			if !errors.Is(e, fs.ErrNotExist) { // a kernel without it, as without IPv6
				err = errors.Join(err, e)
			}
		}
		return err
	})
}

// short turns long names into a name that is short enough for a link (15 characters).
func short(prefix string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	return prefix + hex.EncodeToString(sum[:])[:12-len(prefix)]
}

// tap returns the name of the network's end of a port, as in Neutron.
func tap(portID string) string { return "tap" + portID[:min(11, len(portID))] }

func missing(err error) bool {
	var not netlink.LinkNotFoundError
	return errors.As(err, &not)
}
