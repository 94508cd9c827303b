package contract_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/hypervisors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/services"
	"golang.org/x/crypto/ssh"
)

func TestComputeVersions(t *testing.T) {
	t.Parallel()
	client := member(t).Compute(t)
	a := raw(t, http.MethodGet, client.Endpoint, client.TokenID, "", nil)
	if a.status != 200 || a.at("version", "id") != "v2.1" || a.at("version", "min_version") != "2.1" || a.at("version", "version") == "" {
		t.Errorf("version document: %d %s", a.status, a.text)
	}
	for asked, want := range map[string]int{"compute 2.53": 200, "compute latest": 200, "compute 2.999": 406, "compute two": 400} {
		a := raw(t, http.MethodGet, client.ServiceURL("servers"), client.TokenID, "", map[string]string{"OpenStack-API-Version": asked})
		if a.status != want || (a.header.Get("OpenStack-API-Version") == "") != (want == 400) {
			t.Errorf("%s: %d %v", asked, a.status, a.header)
		}
	}
}

func TestComputeFlavors(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	found := false
	pages, err := flavors.ListDetail(n.compute, flavors.ListOpts{MinRAM: 4096, SortKey: "vcpus", SortDir: "asc"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, f := range must[[]flavors.Flavor](t)(flavors.ExtractFlavors(pages)) {
		found = found || f.VCPUs >= 2 && f.RAM >= 4096 && f.IsPublic
		if f.RAM < 4096 || f.VCPUs < last {
			t.Errorf("flavor %+v in a list of those with 4 GiB, by CPUs", f)
		}
		last = f.VCPUs
	}
	if !found {
		t.Error("there is no flavor for a control plane")
	}
	_, err = flavors.Get(t.Context(), n.compute, "none").Extract()
	wantCompute(t, err, 404, "itemNotFound", "Flavor none could not be found.")
	_, err = flavors.Create(t.Context(), n.compute, flavors.CreateOpts{Name: unique(t), RAM: 1, VCPUs: 1, Disk: &last}).Extract()
	wantStatus(t, err, 403)
}

func TestComputePrivateFlavor(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	one, private := 1, false
	f := must[*flavors.Flavor](t)(flavors.Create(t.Context(), n.admin, flavors.CreateOpts{Name: unique(t), RAM: 64, VCPUs: 1, Disk: &one, IsPublic: &private}).Extract())
	t.Cleanup(func() { _ = flavors.Delete(cleanup(t), n.admin, f.ID).ExtractErr() })
	_, err := flavors.Get(t.Context(), n.compute, f.ID).Extract()
	wantStatus(t, err, 404)
	must[[]flavors.FlavorAccess](t)(flavors.AddAccess(t.Context(), n.admin, f.ID, flavors.AddAccessOpts{Tenant: n.project.ID}).Extract())
	_, err = flavors.AddAccess(t.Context(), n.admin, f.ID, flavors.AddAccessOpts{Tenant: n.project.ID}).Extract()
	wantStatus(t, err, 409)
	if _, err := flavors.Get(t.Context(), n.compute, f.ID).Extract(); err != nil {
		t.Error(err)
	}
	must[map[string]string](t)(flavors.CreateExtraSpecs(t.Context(), n.admin, f.ID, flavors.ExtraSpecsOpts{"hw:cpu_policy": "shared"}).Extract())
	specs := must[map[string]string](t)(flavors.ListExtraSpecs(t.Context(), n.compute, f.ID).Extract())
	if specs["hw:cpu_policy"] != "shared" {
		t.Errorf("extra specs %v", specs)
	}
	_, err = flavors.Create(t.Context(), n.admin, flavors.CreateOpts{Name: f.Name, RAM: 64, VCPUs: 1, Disk: &one}).Extract()
	wantCompute(t, err, 409, "conflictingRequest", "Flavor with name "+f.Name+" already exists.")
}

func TestComputeKeyPairs(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	made := must[*keypairs.KeyPair](t)(keypairs.Create(t.Context(), n.compute, keypairs.CreateOpts{Name: unique(t)}).Extract())
	signer := must[ssh.Signer](t)(ssh.ParsePrivateKey([]byte(made.PrivateKey)))
	if ssh.FingerprintLegacyMD5(signer.PublicKey()) != made.Fingerprint || made.Type != "ssh" || made.UserID != n.user.ID {
		t.Errorf("key pair %+v", made)
	}
	imported := must[*keypairs.KeyPair](t)(keypairs.Create(t.Context(), n.compute, keypairs.CreateOpts{Name: unique(t), PublicKey: made.PublicKey}).Extract())
	if imported.PrivateKey != "" || imported.Fingerprint != made.Fingerprint {
		t.Errorf("imported %+v", imported)
	}
	_, err := keypairs.Create(t.Context(), n.compute, keypairs.CreateOpts{Name: made.Name, PublicKey: made.PublicKey}).Extract()
	wantCompute(t, err, 409, "conflictingRequest", "Key pair '"+made.Name+"' already exists.")
	_, err = keypairs.Create(t.Context(), n.compute, keypairs.CreateOpts{Name: unique(t), PublicKey: "no key"}).Extract()
	wantStatus(t, err, 400)
	if err := keypairs.Delete(t.Context(), n.compute, made.Name, nil).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	_, err = keypairs.Get(t.Context(), n.compute, made.Name, nil).Extract()
	wantCompute(t, err, 404, "itemNotFound", "Keypair "+made.Name+" not found for user "+n.user.ID)
	_, err = keypairs.Get(t.Context(), newNova(t).compute, imported.Name, nil).Extract()
	wantStatus(t, err, 404)
}

func TestComputeServerGroups(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	n.compute.Microversion = "2.71"
	g := must[*servergroups.ServerGroup](t)(servergroups.Create(t.Context(), n.compute, servergroups.CreateOpts{Name: unique(t), Policy: "anti-affinity"}).Extract())
	t.Cleanup(func() { _ = servergroups.Delete(cleanup(t), n.compute, g.ID).ExtractErr() })
	hosts := map[string]bool{}
	for range 3 {
		s := n.await(t, n.begin(t, n.spec(t), servers.SchedulerHintOpts{Group: g.ID}).ID, "ACTIVE")
		if s.ServerGroups == nil || len(*s.ServerGroups) != 1 || (*s.ServerGroups)[0] != g.ID {
			t.Errorf("groups of the server: %v", s.ServerGroups)
		}
		hosts[s.HostID] = true
	}
	if len(hosts) != 3 {
		t.Errorf("three servers that keep apart are on %d hosts", len(hosts))
	}
	now := must[*servergroups.ServerGroup](t)(servergroups.Get(t.Context(), n.compute, g.ID).Extract())
	if len(now.Members) != 3 || *now.Policy != "anti-affinity" {
		t.Errorf("group %+v", now)
	}
	_, err := servers.Create(t.Context(), n.compute, n.spec(t), servers.SchedulerHintOpts{Group: "00000000-0000-4000-8000-000000000000"}).Extract()
	wantStatus(t, err, 400)
	_, err = servergroups.Create(t.Context(), n.compute, servergroups.CreateOpts{Name: unique(t), Policy: "none"}).Extract()
	wantStatus(t, err, 400)
}

func TestComputeLimitsAndZones(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	n.server(t, n.spec(t))
	l := must[*limits.Limits](t)(limits.Get(t.Context(), n.compute, nil).Extract()).Absolute
	if l.TotalInstancesUsed != 1 || l.TotalCoresUsed != 1 || l.TotalRAMUsed != 512 || l.MaxTotalCores == 0 || l.MaxServerMeta == 0 {
		t.Errorf("limits %+v", l)
	}
	pages, err := availabilityzones.List(n.compute).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	zones := must[[]availabilityzones.AvailabilityZone](t)(availabilityzones.ExtractAvailabilityZones(pages))
	if len(zones) == 0 || !zones[0].ZoneState.Available || zones[0].Hosts != nil {
		t.Errorf("zones %+v", zones)
	}
	_, err = availabilityzones.ListDetail(n.compute).AllPages(t.Context())
	wantStatus(t, err, 403)
}

func TestComputeAdministration(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	pages, err := hypervisors.List(n.admin, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := must[[]hypervisors.Hypervisor](t)(hypervisors.ExtractHypervisors(pages))
	if len(all) == 0 || all[0].Status != "enabled" || all[0].State != "up" || all[0].VCPUs == 0 {
		t.Errorf("hypervisors %+v", all)
	}
	pages, err = services.List(n.admin, services.ListOpts{Binary: "nova-compute"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if list := must[[]services.Service](t)(services.ExtractServices(pages)); len(list) != len(all) {
		t.Errorf("%d compute services of %d hosts", len(list), len(all))
	}
	for what, call := range map[string]func(context.Context) error{
		"hypervisors": func(ctx context.Context) error { _, err := hypervisors.List(n.compute, nil).AllPages(ctx); return err },
		"services":    func(ctx context.Context) error { _, err := services.List(n.compute, nil).AllPages(ctx); return err },
	} {
		t.Run(what, func(t *testing.T) { wantStatus(t, call(t.Context()), 403) })
	}
}
