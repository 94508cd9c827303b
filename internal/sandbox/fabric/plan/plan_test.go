package plan_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/fabric/plan"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/network"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// world is what a client made: a network with a port behind a router.
type world struct {
	*testing.T
	cloud                             *sandboxtest.Cloud
	client                            *gophercloud.ServiceClient
	external, network, subnet, router string
	port, group, floating, address    string
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, cloud: sandboxtest.Start(t)}
	ctx, c := t.Context(), w.cloud.Member.Network(t)
	w.client = c
	_ = w.cloud.Env.Store.View(func(r store.Reader) error {
		for n := range w.cloud.Env.Model.Network.Networks.All(r) {
			if n.External {
				w.external = n.ID
			}
		}
		return nil
	})
	w.network = must[*networks.Network](t)(networks.Create(ctx, c, networks.CreateOpts{Name: "n"}).Extract()).ID
	w.subnet = must[*subnets.Subnet](t)(subnets.Create(ctx, c, subnets.CreateOpts{NetworkID: w.network, CIDR: "10.5.0.0/24",
		IPVersion: gophercloud.IPv4, DNSNameservers: []string{"9.9.9.9"}}).Extract()).ID
	w.router = must[*routers.Router](t)(routers.Create(ctx, c, routers.CreateOpts{Name: "r",
		GatewayInfo: &routers.GatewayInfo{NetworkID: w.external}}).Extract()).ID
	must[*routers.InterfaceInfo](t)(routers.AddInterface(ctx, c, w.router, routers.AddInterfaceOpts{SubnetID: w.subnet}).Extract())
	w.group = must[*groups.SecGroup](t)(groups.Create(ctx, c, groups.CreateOpts{Name: "g"}).Extract()).ID
	pairs := []ports.AddressPair{{IPAddress: "10.5.0.200"}}
	port := must[*ports.Port](t)(ports.Create(ctx, c, ports.CreateOpts{NetworkID: w.network, SecurityGroups: &[]string{w.group},
		AllowedAddressPairs: pairs}).Extract())
	w.port, w.address = port.ID, port.FixedIPs[0].IPAddress
	w.floating = must[*floatingips.FloatingIP](t)(floatingips.Create(ctx, c, floatingips.CreateOpts{FloatingNetworkID: w.external,
		PortID: w.port}).Extract()).FloatingIP
	return w
}

func (w *world) rule(o rules.CreateOpts) {
	w.Helper()
	o.SecGroupID = w.group
	must[*rules.SecGroupRule](w.T)(rules.Create(w.Context(), w.client, o).Extract())
}

func (w *world) plan() plan.Plan {
	var p plan.Plan
	_ = w.cloud.Env.Store.View(func(r store.Reader) error {
		p = plan.Of(r, &w.cloud.Env.Model.Network, network.NewCore(w.cloud.Env))
		return nil
	})
	return p
}

func TestPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rule(rules.CreateOpts{Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP, PortRangeMin: 80, PortRangeMax: 90})
	w.rule(rules.CreateOpts{Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolICMP})
	w.rule(rules.CreateOpts{Direction: rules.DirIngress, EtherType: rules.EtherType4, RemoteGroupID: w.group})
	w.rule(rules.CreateOpts{Direction: rules.DirIngress, EtherType: rules.EtherType6, RemoteIPPrefix: "fd00::/8"})
	p := w.plan()
	if n := p.Networks[w.external]; !n.External || n.Subnets[0].Gateway != netip.MustParseAddr("172.24.4.1") {
		t.Errorf("external network: %+v", n)
	}
	if n := p.Networks[w.network]; n.External || n.MTU == 0 || n.Subnets[0].Prefix.String() != "10.5.0.0/24" || len(n.Subnets[0].Nameservers) != 1 {
		t.Errorf("network: %+v", n)
	}
	r := p.Routers[w.router]
	if r.Gateway == nil || !r.SNAT || r.Gateway.NetworkID != w.external || r.Gateway.Addresses[0].Gateway != netip.MustParseAddr("172.24.4.1") {
		t.Fatalf("router: %+v", r)
	}
	if len(r.Interfaces) != 1 || r.Interfaces[0].Addresses[0].Prefix.String() != "10.5.0.1/24" {
		t.Errorf("interfaces: %+v", r.Interfaces)
	}
	want := machine.Translation{Floating: netip.MustParseAddr(w.floating), Fixed: netip.MustParseAddr(w.address)}
	if !slices.Equal(r.Translations, []machine.Translation{want}) {
		t.Errorf("translations: %+v, want %+v", r.Translations, want)
	}
	if len(p.Filters) != 1 {
		t.Errorf("%d filters, want that of the one port that is not a router's", len(p.Filters))
	}
	f := p.Filters[w.port]
	if f.Disabled || f.AllowedPairs[0].Prefix.String() != "10.5.0.200/32" {
		t.Errorf("filter: %+v", f)
	}
	found := map[string]machine.Rule{}
	for _, rule := range f.Rules {
		switch {
		case !rule.Ingress:
			found["egress"] = rule
		case rule.IPv6:
			found["prefix"] = rule
		case rule.Protocol == "":
			found["group"] = rule
		default:
			found[rule.Protocol] = rule
		}
	}
	if r := found["tcp"]; r.PortMin != 80 || r.PortMax != 90 || r.Remotes != nil {
		t.Errorf("TCP: %+v", r)
	}
	if r := found["icmp"]; r.PortMin != -1 || r.PortMax != -1 {
		t.Errorf("ICMP: %+v", r)
	}
	if r := found["group"]; len(r.Remotes) != 2 || r.Remotes[0].Addr().String() != w.address {
		t.Errorf("group: %+v", r)
	}
	if r := found["prefix"]; len(r.Remotes) != 1 || r.Remotes[0].String() != "fd00::/8" {
		t.Errorf("prefix: %+v", r)
	}
	if r, ok := found["egress"]; !ok || r.Remotes != nil {
		t.Errorf("egress: %+v", r)
	}
}

func TestWhatIsSwitchedOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	down, off := false, false
	must[*routers.Router](t)(routers.Update(t.Context(), w.client, w.router, routers.UpdateOpts{AdminStateUp: &down}).Extract())
	must[*ports.Port](t)(ports.Update(t.Context(), w.client, w.port, ports.UpdateOpts{AdminStateUp: &off}).Extract())
	p := w.plan()
	if r := p.Routers[w.router]; r.Gateway != nil || len(r.Interfaces) > 0 || len(r.Translations) > 0 {
		t.Errorf("a router that is down: %+v", r)
	}
	if f := p.Filters[w.port]; f.Disabled || len(f.Rules) > 0 {
		t.Errorf("a port that is down: %+v", f)
	}
}

// recorder is a fabric that keeps what it is told, and fails once.
type recorder struct {
	*machine.None
	mu    sync.Mutex
	calls []string
	swept bool
	fail  bool
	// broken is how the calls begin that always fail.
	broken string
}

func (r *recorder) add(what string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail {
		r.fail = false
		return errors.New("not now")
	}
	r.calls = append(r.calls, what)
	if r.broken != "" && strings.HasPrefix(what, r.broken) {
		return errors.New("never")
	}
	return nil
}

func (r *recorder) has(what string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.calls, what)
}

func (r *recorder) ApplyNetwork(_ context.Context, n machine.Network) error {
	return r.add("+n " + n.ID)
}
func (r *recorder) DeleteNetwork(_ context.Context, id string) error      { return r.add("-n " + id) }
func (r *recorder) ApplyRouter(_ context.Context, n machine.Router) error { return r.add("+r " + n.ID) }
func (r *recorder) ApplyFilter(_ context.Context, f machine.Filter) error {
	return r.add("+f " + f.Port.ID)
}
func (r *recorder) DeleteFilter(_ context.Context, id string) error { return r.add("-f " + id) }
func (r *recorder) Sweep(_ context.Context, n, _ map[string]bool) error {
	r.swept = len(n) > 0
	return nil
}

func TestFollow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fabric := &recorder{None: machine.NewNone(), fail: true}
	f := plan.Follower{Store: w.cloud.Env.Store, Model: &w.cloud.Env.Model.Network, Cards: network.NewCore(w.cloud.Env),
		Fabric: fabric, Events: event.Discard{}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { f.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	wait := func(what string) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !fabric.has(what); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("no %q in %q", what, fabric.calls)
			}
		}
	}
	for _, what := range []string{"+n " + w.network, "+n " + w.external, "+r " + w.router, "+f " + w.port} { // one of them failed at first
		wait(what)
	}
	if !fabric.swept {
		t.Error("what an earlier process left is not swept")
	}
	other := must[*networks.Network](t)(networks.Create(t.Context(), w.client, networks.CreateOpts{Name: "other"}).Extract()).ID
	wait("+n " + other)
	if err := networks.Delete(t.Context(), w.client, other).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	wait("-n " + other)
	fabric.mu.Lock()
	n := len(fabric.calls)
	for _, c := range fabric.calls {
		if c == "+r "+w.router {
			n--
		}
	}
	if n != len(fabric.calls)-1 {
		t.Errorf("the router did not change but was applied again: %q", fabric.calls)
	}
	fabric.mu.Unlock()
}
