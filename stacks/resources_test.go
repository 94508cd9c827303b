package stacks_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
	resources "github.com/slipway-sh/slipway/stacks/openstack"
)

// proves: F09
func TestAnExistingNetworkIsUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+"spec:\n  seed:\n    network: {existing: corp}\n    floatingIP: {mode: none}\n")
	network, _ := w.clients.Network()
	corp := must[*networks.Network](t)(networks.Create(t.Context(), network, networks.CreateOpts{Name: "corp"}).Extract())
	sub := must[*subnets.Subnet](t)(subnets.Create(t.Context(), network, subnets.CreateOpts{NetworkID: corp.ID, CIDR: "10.1.0.0/24", IPVersion: 4}).Extract())
	w.env.Choices.NetworkID = corp.ID
	w.up(t)
	for _, thing := range w.things(t) {
		if slices.Contains([]string{resources.TypeNetwork, resources.TypeSubnet, resources.TypeRouter, resources.TypeFloatingIP}, thing.Type) {
			t.Errorf("made %+v", thing)
		}
	}
	port := must[*ports.Port](t)(ports.Get(t.Context(), network, w.only(t, stacks.StepPort).ID).Extract())
	if port.NetworkID != corp.ID || len(port.FixedIPs) != 1 || port.FixedIPs[0].SubnetID != sub.ID {
		t.Errorf("the port is at %+v", port)
	}
	if address := w.output(t, "seedAddress"); address != port.FixedIPs[0].IPAddress {
		t.Errorf("the seed is reached at %v", address)
	}
}

// proves: F10
func TestANetworkAsAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+`spec:
  seed:
    network:
      cidr: 10.7.0.0/24
      gatewayIP: 10.7.0.254
      mtu: 1400
      dnsNameservers: [192.0.2.53, 192.0.2.54]
      allocationPools: [{start: 10.7.0.10, end: 10.7.0.20}]
`)
	w.up(t)
	client, _ := w.clients.Network()
	var network struct {
		networks.Network
		mtu.NetworkMTUExt
	}
	if err := networks.Get(t.Context(), client, w.only(t, stacks.StepNetwork).ID).ExtractInto(&network); err != nil || network.MTU != 1400 {
		t.Errorf("MTU %d, %v", network.MTU, err)
	}
	subnet := must[*subnets.Subnet](t)(subnets.Get(t.Context(), client, w.only(t, stacks.StepSubnet).ID).Extract())
	if subnet.CIDR != "10.7.0.0/24" || subnet.GatewayIP != "10.7.0.254" || !slices.Equal(subnet.DNSNameservers, []string{"192.0.2.53", "192.0.2.54"}) ||
		len(subnet.AllocationPools) != 1 || subnet.AllocationPools[0].End != "10.7.0.20" {
		t.Errorf("subnet %+v", subnet)
	}
	w.env.Config.Spec.Seed.Network.MTU = 1300
	if report := w.up(t); report.Changes["update"] != 1 || len(report.Changes) != 1 {
		t.Errorf("another MTU: %v", report.Changes)
	}
}

// TestPodsKnowTheMTUOfTheNetwork, be it the cloud's or the environment file's.
//
// proves: S-60
func TestPodsKnowTheMTUOfTheNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+"spec:\n  managementCluster: {controlPlane: {count: 1}}\n")
	w.env.Choices.Management = &preflight.ManagementChoices{ControlPlaneFlavor: "m1.large"}
	w.env.NodeImage = w.env.Image
	for _, test := range []struct{ given, want int }{{0, 1442}, {1400, 1400}} {
		w.env.Config.Spec.Seed.Network.MTU = test.given
		w.up(t)
		var values struct {
			ClusterNetworking struct {
				InternalNetwork struct{ MTU int }
			}
		}
		if err := json.Unmarshal([]byte(w.state(t, stacks.StepManagementCluster).Text("values")), &values); err != nil {
			t.Fatal(err)
		}
		if got := values.ClusterNetworking.InternalNetwork.MTU; got != test.want {
			t.Errorf("with %d in the file pods have %d, want %d", test.given, got, test.want)
		}
	}
	if report := w.up(t); len(report.Changes) != 0 {
		t.Errorf("up again changes %v", report.Changes)
	}
}

// proves: F13
func TestOnAProvisioningNetworkTheSeedHasTwoCards(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+"spec:\n  seed: {provisioningNetwork: prov}\n")
	network, _ := w.clients.Network()
	prov := must[*networks.Network](t)(networks.Create(t.Context(), network, networks.CreateOpts{Name: "prov"}).Extract())
	must[*subnets.Subnet](t)(subnets.Create(t.Context(), network, subnets.CreateOpts{NetworkID: prov.ID, CIDR: "10.2.0.0/24", IPVersion: 4}).Extract())
	w.env.Choices.ProvisioningNetworkID = prov.ID
	var cards atomic.Value
	w.clients.calls.before = func(r *http.Request) {
		if asked := cardsOf(r); asked != nil {
			cards.Store(asked)
		}
	}
	w.up(t)
	first := must[*ports.Port](t)(ports.Get(t.Context(), network, w.only(t, stacks.StepProvisioningPort).ID).Extract())
	second := must[*ports.Port](t)(ports.Get(t.Context(), network, w.only(t, stacks.StepPort).ID).Extract())
	seed := w.only(t, stacks.StepSeed).ID
	if first.NetworkID != prov.ID || second.NetworkID == prov.ID || first.DeviceID != seed || second.DeviceID != seed {
		t.Errorf("ports %+v and %+v of seed %s", first, second, seed)
	}
	compute, _ := w.clients.Compute()
	server := must[*servers.Server](t)(servers.Get(t.Context(), compute, seed).Extract())
	if _, on := server.Addresses["prov"]; len(server.Addresses) != 2 || !on {
		t.Errorf("addresses %v", server.Addresses)
	}
	// Nova plugs the cards in the order of the request; its list of them has no order.
	if asked, _ := cards.Load().([]string); !slices.Equal(asked, []string{first.ID, second.ID}) {
		t.Errorf("cards %v, want %s first", asked, first.ID)
	}
	if address := w.output(t, "seedAddress"); address != first.FixedIPs[0].IPAddress {
		t.Errorf("the seed is reached at %v", address)
	}
	for _, thing := range w.things(t) {
		if thing.Type == resources.TypeFloatingIP {
			t.Errorf("a floating IP: %+v", thing)
		}
	}
}

// cardsOf are the ports of the cards that a request for a server asks for, in
// their order; nil of another request.
func cardsOf(r *http.Request) []string {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/servers") {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	var asked struct {
		Server struct {
			Networks []struct{ Port string }
		}
	}
	if err := json.NewDecoder(body).Decode(&asked); err != nil {
		return nil
	}
	var cards []string
	for _, n := range asked.Server.Networks {
		cards = append(cards, n.Port)
	}
	return cards
}

// proves: F21
func TestAnImageIsUploadedOnce(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	w.up(t)
	client, _ := w.clients.Image()
	image := must[*images.Image](t)(images.Get(t.Context(), client, w.only(t, stacks.StepImage).ID).Extract())
	if image.Visibility != images.ImageVisibilityPrivate || image.Properties[resources.HashProperty] != w.env.Image.SHA256 {
		t.Errorf("image %+v", image)
	}
	w.loseState(t)
	w.clients.calls.reset()
	w.up(t) // with its state lost
	for _, call := range w.clients.calls.writing() {
		if strings.Contains(call, "/image/") {
			t.Errorf("sent %s", call)
		}
	}
}

func TestAnotherFlavorResizesAndAnotherImageChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain)
	w.up(t)
	seed := w.only(t, stacks.StepSeed)
	var err error
	if w.env.Choices.FlavorID, err = w.flavor(t.Context(), "m1.xlarge"); err != nil {
		t.Fatal(err)
	}
	if report := w.up(t); report.Changes["update"] != 1 || len(report.Changes) != 1 {
		t.Errorf("another flavor: %v", report.Changes)
	}
	w.env.Choices.ImageID = "00000000-0000-0000-0000-000000000001"
	plan, err := w.run(t).Preview(t.Context(), w.env.Program)
	if err != nil || len(plan.Changes) != 1 || plan.Changes[0].Name != stacks.StepImage || plan.Changes[0].Operation != engine.Delete {
		t.Errorf("another image: %+v, %v", plan.Changes, err) // the uploaded one goes, the seed stays
	}
	if report := w.up(t); report.Changes["delete"] != 1 {
		t.Errorf("another image: %v", report.Changes)
	}
	if now := w.only(t, stacks.StepSeed); now.ID != seed.ID {
		t.Error("an image of the cloud replaced the seed")
	}
}

func TestWhatOthersDeletedIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain)
	w.up(t)
	compute, _ := w.clients.Compute()
	if err := servers.Delete(t.Context(), compute, w.only(t, stacks.StepSeed).ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	for len(w.things(t)) == 11 {
		if t.Context().Err() != nil {
			t.Fatal("the server does not go")
		}
	}
	drift, err := w.run(t).Refresh(t.Context(), true)
	if err != nil || len(drift.Changes) != 1 || drift.Changes[0].Operation != engine.Delete || drift.Changes[0].Name != stacks.StepSeed {
		t.Fatalf("drift: %+v, %v", drift.Changes, err)
	}
	if report := w.up(t); report.Changes["create"] != 1 {
		t.Errorf("up: %v", report.Changes)
	}
	w.only(t, stacks.StepSeed)
}

// proves: S-14
func TestEverythingWithTagsHasThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+"spec:\n  tags: [cost-centre=4711]\n")
	w.up(t)
	client, _ := w.clients.Network()
	for step, plural := range map[string]string{stacks.StepNetwork: "networks", stacks.StepSubnet: "subnets", stacks.StepRouter: "routers",
		stacks.StepAccess: "security-groups", stacks.StepPort: "ports", stacks.StepAddress: "floatingips"} {
		tags := must[[]string](t)(attributestags.List(t.Context(), client, plural, w.only(t, step).ID).Extract())
		if want := append(w.env.Config.Mark(step).Tags(), "cost-centre=4711"); !sameTags(tags, want) {
			t.Errorf("%s has tags %v, not %v", step, tags, want)
		}
	}
	compute, _ := w.clients.Compute()
	compute.Microversion = "2.26"
	seed := must[*servers.Server](t)(servers.Get(t.Context(), compute, w.only(t, stacks.StepSeed).ID).Extract())
	if want := append(w.env.Config.Mark(stacks.StepSeed).Tags(), "cost-centre=4711"); seed.Tags == nil || !sameTags(*seed.Tags, want) {
		t.Errorf("the seed has tags %v", seed.Tags)
	}
}

func sameTags(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// proves: F66
// proves: S-16
func TestTheCredentialIsLimitedReplacedAndRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+`spec:
  credential:
    expiresAfter: 24h
    accessRules: [{service: compute, method: GET, path: /v2.1/servers}]
`)
	w.env.Choices.Roles = []string{"member"}
	w.up(t)
	client, _ := w.clients.Identity()
	show := func() *applicationcredentials.ApplicationCredential {
		return must[*applicationcredentials.ApplicationCredential](t)(applicationcredentials.Get(t.Context(), client, w.userID, w.only(t, stacks.StepCredential).ID).Extract())
	}
	first := show()
	if left := time.Until(first.ExpiresAt); first.Unrestricted || len(first.Roles) != 1 || first.Roles[0].Name != "member" ||
		len(first.AccessRules) != 1 || left < 23*time.Hour || left > 25*time.Hour {
		t.Errorf("credential %+v", first)
	}
	if report := w.up(t); len(report.Changes) != 0 {
		t.Errorf("second up changed %v", report.Changes)
	}
	w.env.Config.Spec.Credential.Unrestricted, w.env.Config.Spec.Credential.AccessRules = true, nil
	w.clients.calls.reset()
	w.up(t)
	if second := show(); second.ID == first.ID || !second.Unrestricted {
		t.Errorf("after the change: %+v", second)
	}
	if sent := w.clients.calls.writing(); len(sent) < 2 || !strings.HasPrefix(sent[0], "POST ") || !strings.HasPrefix(sent[1], "DELETE ") {
		t.Errorf("not made before the old one was revoked: %v", sent)
	}
	if _, err := w.run(t).Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	pages, err := applicationcredentials.ListAccessRules(client, w.userID).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rules := must[[]applicationcredentials.AccessRule](t)(applicationcredentials.ExtractAccessRules(pages)); len(rules) > 0 || len(w.things(t)) > 0 {
		t.Errorf("left: %v, %v", rules, w.things(t))
	}
}

// TestACredentialIsRenewed by the first `up` that sees less than a third of its lifetime left:
// the new one is there before the old one is revoked, on whatever day.
func TestACredentialIsRenewed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+"spec:\n  credential: {expiresAfter: 9s}\n")
	w.up(t)
	client, _ := w.clients.Identity()
	first := must[*applicationcredentials.ApplicationCredential](t)(applicationcredentials.Get(t.Context(), client, w.userID, w.only(t, stacks.StepCredential).ID).Extract())
	time.Sleep(time.Until(first.ExpiresAt.Add(-3*time.Second)) + time.Second)
	w.clients.calls.reset()
	w.up(t)
	second := w.only(t, stacks.StepCredential).ID
	if _, err := applicationcredentials.Get(t.Context(), client, w.userID, first.ID).Extract(); second == first.ID || err == nil {
		t.Errorf("credential %s was to be replaced; now it is %s, and the old one can be read (%v)", first.ID, second, err)
	}
	sent := slices.DeleteFunc(w.clients.calls.writing(), func(call string) bool { return !strings.Contains(call, "application_credentials") })
	if len(sent) != 2 || !strings.HasPrefix(sent[0], "POST ") || !strings.HasPrefix(sent[1], "DELETE ") {
		t.Errorf("not made before the old one was revoked: %v", sent)
	}
}
