package cloud

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// options open the sandbox as a member of its project.
func options(t *testing.T, sandbox *sandboxtest.Cloud) Options {
	t.Helper()
	text, err := os.ReadFile(sandbox.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	return Options{Cloud: "sandbox", CloudsYAML: text, UserAgent: "slipway/test"}
}

// open logs in; waits between retries are counted instead of waited for.
func open(t *testing.T, sandbox *sandboxtest.Cloud) (*Cloud, *atomic.Int32) {
	t.Helper()
	c, err := Open(t.Context(), options(t, sandbox))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	var waits atomic.Int32
	retry := &retrier{most: maxRetries, wait: func(ctx context.Context, _ time.Duration) error { waits.Add(1); return ctx.Err() }}
	c.Provider.RetryFunc, c.Provider.RetryBackoffFunc = retry.call, retry.limited
	return c, &waits
}

func rule(t *testing.T, sandbox *sandboxtest.Cloud, r faultinject.Rule) {
	t.Helper()
	r.Kind = faultinject.API
	if _, err := sandbox.Faults.Add(r); err != nil {
		t.Fatal(err)
	}
}

func TestSnapshotOfAnEmptyProject(t *testing.T) {
	t.Parallel()
	c, _ := open(t, sandboxtest.Start(t))
	s, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Missing) > 0 {
		t.Errorf("missing: %+v", s.Missing)
	}
	if s.Token.ProjectName != "demo" || s.Token.UserName != "demo" || !slices.Contains(s.Token.Roles, "member") || time.Until(s.Token.ExpiresAt) <= 0 || s.Token.CredentialID != "" {
		t.Errorf("token %+v", s.Token)
	}
	if len(s.Networks) != 1 || !s.Networks[0].External || s.Networks[0].Name != "public" {
		t.Errorf("networks %+v", s.Networks)
	}
	if len(s.Flavors) < 5 || s.Flavors[0].RAM > s.Flavors[1].RAM || len(s.VolumeTypes) == 0 || len(s.Providers) == 0 || !slices.Contains(s.Extensions, "quota_details") {
		t.Errorf("flavors %v, volume types %v, providers %v", s.Flavors, s.VolumeTypes, s.Providers)
	}
	for _, kind := range []string{ComputeZones, VolumeZones, NetworkZones, RouterZones} {
		if !slices.Contains(s.Zones[kind], "nova") {
			t.Errorf("%s zones are %v", kind, s.Zones[kind])
		}
	}
	for _, want := range []Quota{{Compute, "instances", 10, 0}, {Compute, "cores", 20, 0}, {Volume, "volumes", 10, 0}} {
		if !slices.Contains(s.Quotas, want) {
			t.Errorf("no %v in %v", want, s.Quotas)
		}
	}
	if s.ClockOffset != 0 {
		t.Errorf("the clocks differ by %s", s.ClockOffset)
	}
}

// proves: S-35
func TestHostsAreCountedWhereTheyAreShown(t *testing.T) {
	t.Parallel()
	sandbox := sandboxtest.Start(t)
	for who, login := range map[string]sandboxtest.Clients{"member": sandbox.Member, "administrator": sandbox.Admin} {
		s := &Snapshot{}
		if err := countHosts(t.Context(), login.Compute(t), s); err != nil || (s.Hosts > 0) != (who == "administrator") {
			t.Errorf("%s: %d hosts, %v", who, s.Hosts, err)
		}
	}
}

func TestSnapshotKnowsOwners(t *testing.T) {
	t.Parallel()
	sandbox := sandboxtest.Start(t)
	c, _ := open(t, sandbox)
	mark := ownership.New("prod", "network")
	client := sandbox.Member.Network(t)
	net, err := networks.Create(t.Context(), client, networks.CreateOpts{Name: mark.Name()}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := attributestags.ReplaceAll(t.Context(), client, "networks", net.ID, attributestags.ReplaceAllOpts{Tags: mark.Tags()}).Extract(); err != nil {
		t.Fatal(err)
	}
	if _, err := subnets.Create(t.Context(), client, subnets.CreateOpts{NetworkID: net.ID, Name: "foreign", CIDR: "10.1.0.0/24", IPVersion: 4}).Extract(); err != nil {
		t.Fatal(err)
	}
	seed := ownership.New("prod", "seed")
	if _, err := servers.Create(t.Context(), sandbox.Member.Compute(t), servers.CreateOpts{Name: seed.Name(), FlavorRef: "3", Metadata: seed.Metadata(),
		Networks: []servers.Network{{UUID: net.ID}}, ImageRef: makeImage(t, sandbox)}, nil).Extract(); err != nil {
		t.Fatal(err)
	}
	if _, err := keypairs.Create(t.Context(), sandbox.Member.Compute(t), keypairs.CreateOpts{Name: "prod-key-pair"}).Extract(); err != nil {
		t.Fatal(err)
	}
	s, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*ownership.Owner{}
	for _, thing := range s.Resources() {
		found[thing.Kind+" "+thing.Name] = thing.Owner
	}
	if got := found["network prod-network"]; got == nil || *got != mark {
		t.Errorf("owner of the network is %v", got)
	}
	if got, ok := found["subnet foreign"]; !ok || got != nil {
		t.Errorf("owner of the subnet is %v", got)
	}
	if _, ok := found["key pair prod-key-pair"]; !ok {
		t.Errorf("no key pair in %v", found)
	}
	if got := found["server prod-seed"]; got == nil || *got != seed || s.Servers[0].Flavor != "m1.medium" {
		t.Errorf("servers %+v with owner %v", s.Servers, got)
	}
	if len(s.Images) != 1 || s.Images[0].Status != "active" || s.Images[0].ProjectID != s.Token.ProjectID {
		t.Errorf("images %+v", s.Images)
	}
	if len(s.Subnets) == 0 || s.Subnets[len(s.Subnets)-1].NetworkID == "" {
		t.Errorf("subnets %+v", s.Subnets)
	}
}

// makeImage uploads an image of a few bytes.
func makeImage(t *testing.T, sandbox *sandboxtest.Cloud) string {
	t.Helper()
	client := sandbox.Member.Image(t)
	image, err := images.Create(t.Context(), client, images.CreateOpts{Name: "tiny", DiskFormat: "raw", ContainerFormat: "bare"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := imagedata.Upload(t.Context(), client, image.ID, strings.NewReader("tiny")).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	return image.ID
}

func TestApplicationCredentialIsRecognised(t *testing.T) {
	t.Parallel()
	sandbox := sandboxtest.Start(t)
	c, _ := open(t, sandbox)
	identity, err := c.Identity()
	if err != nil {
		t.Fatal(err)
	}
	token, err := c.Token()
	if err != nil {
		t.Fatal(err)
	}
	for _, unrestricted := range []bool{false, true} {
		made, err := applicationcredentials.Create(t.Context(), identity, token.UserID, applicationcredentials.CreateOpts{
			Name: map[bool]string{true: "free", false: "bound"}[unrestricted], Unrestricted: unrestricted}).Extract()
		if err != nil {
			t.Fatal(err)
		}
		text := "clouds: {c: {auth_type: v3applicationcredential, auth: {auth_url: '" + sandbox.URL() + "/identity/v3', application_credential_id: " + made.ID + ", application_credential_secret: " + made.Secret + "}}}\n"
		other, err := Open(t.Context(), Options{CloudsYAML: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		s, err := other.Snapshot(t.Context())
		other.Close()
		if err != nil || s.Token.CredentialID != made.ID || s.Token.Restricted == unrestricted {
			t.Errorf("unrestricted %v: token %+v, missing %v (%v)", unrestricted, s.Token, s.Missing, err)
		}
	}
}

func TestServicesThatAreMissingAreRecorded(t *testing.T) {
	t.Parallel()
	sandbox := sandboxtest.Start(t)
	removeEndpoints(t, sandbox, "load-balancer")
	rule(t, sandbox, faultinject.Rule{Service: "compute", Path: "/v2.1/flavors/detail", Status: http.StatusForbidden})
	rule(t, sandbox, faultinject.Rule{Service: "network", Path: "/v2.0/availability_zones", Status: http.StatusNotFound})
	c, _ := open(t, sandbox)
	s, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !s.Lacks(LoadBalancer) || s.Lacks(Compute) || s.Known(LoadBalancer, ListProviders) || s.Known(Compute, ListFlavors) || !s.Known(Network, ListNetworks) {
		t.Errorf("missing: %+v", s.Missing)
	}
	if len(s.Missing) != 2 {
		t.Errorf("missing: %+v", s.Missing)
	}
	if len(s.Zones[RouterZones]) != 0 || !s.Known(Network, ListZones) {
		t.Errorf("a cloud without network zones has %v", s.Zones)
	}
	if len(s.Networks) != 1 || len(s.VolumeTypes) == 0 {
		t.Error("the other services were not listed")
	}
}

// removeEndpoints takes a service out of the catalog.
func removeEndpoints(t *testing.T, sandbox *sandboxtest.Cloud, kind string) {
	t.Helper()
	client := sandbox.Admin.Identity(t)
	token, err := sandboxCatalog(t, sandbox, kind)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range token {
		if err := endpoints.Delete(t.Context(), client, id).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
}

func sandboxCatalog(t *testing.T, sandbox *sandboxtest.Cloud, kind string) ([]string, error) {
	t.Helper()
	client := sandbox.Admin.Identity(t)
	page, err := endpoints.List(client, endpoints.ListOpts{}).AllPages(t.Context())
	if err != nil {
		return nil, err
	}
	all, err := endpoints.ExtractEndpoints(page)
	var ids []string
	for _, endpoint := range all {
		if strings.Contains(endpoint.URL, "/"+kind) {
			ids = append(ids, endpoint.ID)
		}
	}
	if len(ids) == 0 {
		t.Fatalf("no endpoint of %s in %v", kind, all)
	}
	return ids, err
}

func TestCallsAreMadeAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{500, 502, 503, 504, 429} {
		sandbox := sandboxtest.Start(t)
		rule(t, sandbox, faultinject.Rule{Service: "network", Path: "/v2.0/networks", Status: status, Times: 2})
		c, waits := open(t, sandbox)
		if s, err := c.Snapshot(t.Context()); err != nil || len(s.Missing) != 0 || waits.Load() != 2 {
			t.Errorf("%d: missing %+v after %d waits (%v)", status, s.Missing, waits.Load(), err)
		}
	}
	sandbox := sandboxtest.Start(t)
	rule(t, sandbox, faultinject.Rule{Service: "network", Path: "/v2.0/networks", Drop: true, Times: 1})
	c, waits := open(t, sandbox)
	if s, err := c.Snapshot(t.Context()); err != nil || len(s.Missing) != 0 {
		t.Errorf("dropped connection: missing %+v after %d waits (%v)", s.Missing, waits.Load(), err)
	}
}

func TestCallsWithEffectAreNotMadeAgain(t *testing.T) {
	t.Parallel()
	sandbox := sandboxtest.Start(t)
	rule(t, sandbox, faultinject.Rule{Service: "network", Method: "POST", Path: "/v2.0/networks", Status: 500})
	rule(t, sandbox, faultinject.Rule{Service: "network", Method: "GET", Path: "/v2.0/routers", Status: 404})
	c, waits := open(t, sandbox)
	client, err := c.Network()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := networks.Create(t.Context(), client, networks.CreateOpts{Name: "n"}).Extract(); err == nil || waits.Load() != 0 {
		t.Errorf("%d waits (%v)", waits.Load(), err)
	}
	if s, err := c.Snapshot(t.Context()); err != nil || len(s.Missing) != 1 || waits.Load() != 0 {
		t.Errorf("a refusal was tried again: %d waits, missing %+v", waits.Load(), s.Missing)
	}
}

func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	sandbox := sandboxtest.Start(t)
	rule(t, sandbox, faultinject.Rule{Service: "image", Path: "/v2/images", Status: 503})
	c, waits := open(t, sandbox)
	s, err := c.Snapshot(t.Context())
	if err != nil || len(s.Missing) != 1 || waits.Load() != maxRetries {
		t.Errorf("missing %+v after %d waits (%v)", s.Missing, waits.Load(), err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.ErrInterrupted)
	if _, err := c.Snapshot(ctx); !errors.Is(err, fault.ErrInterrupted) {
		t.Errorf("a cancelled snapshot ended with %v", err)
	}
}

func TestFaultsSayWhatTheCloudSaid(t *testing.T) {
	t.Parallel()
	sandbox := sandboxtest.Start(t)
	c, _ := open(t, sandbox)
	rule(t, sandbox, faultinject.Rule{Service: "network", Method: "POST", Path: "/v2.0/networks", Status: 409, Times: 1,
		Body: `{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['network']. Token ` + c.Provider.Token() + `", "detail": ""}}`})
	client, err := c.Network()
	if err != nil {
		t.Fatal(err)
	}
	_, cause := networks.Create(t.Context(), client, networks.CreateOpts{Name: "n"}).Extract()
	told := c.Fault("network n", cause)
	var answer *Error
	if !errors.As(told, &answer) || answer.Status != 409 || answer.RequestID == "" || !strings.HasPrefix(answer.Call, "POST ") {
		t.Errorf("told %v (%+v)", told, answer)
	}
	if text := told.Error(); !strings.HasPrefix(text, "network n: Quota exceeded for resources: ['network']") || strings.Contains(text, c.Provider.Token()) || !strings.Contains(text, "[redacted]") {
		t.Errorf("told %q", text)
	}
	if !strings.Contains(fault.Remedy(told), "larger quota") || c.Fault("x", told) != told || c.Fault("x", nil) != nil {
		t.Errorf("remedy %q", fault.Remedy(told))
	}
}

// Keystone answers a login by a credential that was deleted with 404, which is
// not that there is no Keystone.
func TestDeletedApplicationCredential(t *testing.T) {
	t.Parallel()
	text := "clouds: {c: {auth_type: v3applicationcredential, auth: {auth_url: '" + sandboxtest.Start(t).URL() +
		"/identity/v3', application_credential_id: 0123456789abcdef0123456789abcdef, application_credential_secret: wrong-word}}}\n"
	login, err := Find(Options{CloudsYAML: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = login.Open(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), "(404)") || !strings.Contains(fault.Remedy(err), "application credential") {
		t.Errorf("%v | %s", err, fault.Remedy(err))
	}
}

func TestWrongPasswordAndWrongAddress(t *testing.T) {
	t.Parallel()
	sandbox := sandboxtest.Start(t)
	for name, test := range map[string]struct{ url, want string }{
		"password": {sandbox.URL() + "/identity/v3", "(401)"},
		"address":  {"http://127.0.0.1:1/v3", "connection refused"},
	} {
		text := "clouds: {c: {auth: {auth_url: '" + test.url + "', username: demo, password: wrong-word, project_name: demo, user_domain_id: default, project_domain_id: default}}}\n"
		login, err := Find(Options{CloudsYAML: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, err = login.Open(ctx, "")
		cancel()
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "wrong-word") || fault.Remedy(err) == "" {
			t.Errorf("%s: %v | %s", name, err, fault.Remedy(err))
		}
	}
}
