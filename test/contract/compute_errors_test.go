package contract_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

func asResponse(err error, target *gophercloud.ErrUnexpectedResponseCode) bool {
	return errors.As(err, target)
}

func answerOf(text []byte) answer {
	a := answer{text: string(text)}
	_ = json.Unmarshal(text, &a.body) // checked by what is found in it
	return a
}

func TestComputeRefusesServers(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	const unknown = "00000000-0000-4000-8000-000000000000"
	used := n.server(t, n.spec(t))
	busy := must[[]ports.Port](t)(n.portsOf(t, used.ID))[0].ID
	for name, test := range map[string]struct {
		edit    func(*servers.CreateOpts)
		status  int
		kind    string
		message string
	}{
		"unknown flavor":  {func(o *servers.CreateOpts) { o.FlavorRef = unknown }, 400, "badRequest", "Flavor " + unknown + " could not be found."},
		"unknown image":   {func(o *servers.CreateOpts) { o.ImageRef = unknown }, 400, "badRequest", "Can not find requested image"},
		"unknown network": {func(o *servers.CreateOpts) { o.Networks = []servers.Network{{UUID: unknown}} }, 400, "badRequest", "Network " + unknown + " could not be found."},
		"unknown port":    {func(o *servers.CreateOpts) { o.Networks = []servers.Network{{Port: unknown}} }, 400, "badRequest", "Port id " + unknown + " could not be found."},
		"port in use":     {func(o *servers.CreateOpts) { o.Networks = []servers.Network{{Port: busy}} }, 409, "conflictingRequest", "Port " + busy + " is still in use."},
		"unknown zone":    {func(o *servers.CreateOpts) { o.AvailabilityZone = "moon" }, 400, "badRequest", "The requested availability zone is not available"},
	} {
		t.Run(name, func(t *testing.T) {
			o := n.spec(t)
			test.edit(&o)
			_, err := servers.Create(t.Context(), n.compute, o, nil).Extract()
			wantCompute(t, err, test.status, test.kind, test.message)
		})
	}
}

func TestComputeRefusesUnknownKey(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	_, err := servers.Create(t.Context(), n.compute, keypairs.CreateOptsExt{CreateOptsBuilder: n.spec(t), KeyName: "none"}, nil).Extract()
	wantCompute(t, err, 400, "badRequest", "Invalid key_name provided.")
}

func TestComputeRefusesMalformedBodies(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	url, token := n.compute.ServiceURL("servers"), n.compute.TokenID
	for name, test := range map[string]struct {
		body, part string
		header     map[string]string
	}{
		"no JSON":        {`{"server": `, "", nil},
		"no server":      {`{"machine": {}}`, "server", nil},
		"name no text":   {`{"server": {"name": 5}}`, "name", nil},
		"no name":        {`{"server": {"flavorRef": "1"}}`, "name", nil},
		"bad user data":  {`{"server": {"name": "x", "flavorRef": "1", "imageRef": "` + n.imageID + `", "user_data": "abcde"}}`, "user_data", nil},
		"no image":       {`{"server": {"name": "x", "flavorRef": "1"}}`, "imageRef", nil},
		"later property": {`{"server": {"name": "x", "flavorRef": "1", "tags": ["a"]}}`, "tags", nil},
		"no networks": {`{"server": {"name": "x", "flavorRef": "1", "imageRef": "` + n.imageID + `"}}`, "networks",
			map[string]string{"OpenStack-API-Version": "compute 2.37"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := raw(t, http.MethodPost, url, token, test.body, test.header)
			message, _ := a.at("badRequest", "message").(string)
			if a.status != 400 || message == "" || !strings.Contains(message, test.part) {
				t.Errorf("got %d %s", a.status, a.text)
			}
		})
	}
}

func TestComputeHidesServersOfOthers(t *testing.T) {
	t.Parallel()
	mine, other := newNova(t), newNova(t)
	s := mine.server(t, mine.spec(t))
	_, err := servers.Get(t.Context(), other.compute, s.ID).Extract()
	wantCompute(t, err, 404, "itemNotFound", "Instance "+s.ID+" could not be found.")
	wantStatus(t, servers.Delete(t.Context(), other.compute, s.ID).ExtractErr(), 404)
	wantStatus(t, servers.Stop(t.Context(), other.compute, s.ID).ExtractErr(), 404)
	_, err = servers.List(other.compute, servers.ListOpts{AllTenants: true}).AllPages(t.Context())
	wantStatus(t, err, 403)
	if _, err := servers.Get(t.Context(), mine.admin, s.ID).Extract(); err != nil {
		t.Errorf("the administrator: %v", err)
	}
}

func TestComputeQuotas(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	two := 2
	q := must[*quotasets.QuotaSet](t)(quotasets.Update(t.Context(), n.admin, n.project.ID, quotasets.UpdateOpts{Instances: gophercloud.IntToPointer(5), Cores: &two,
		RAM: gophercloud.IntToPointer(51200000)}).Extract())
	if q.Cores != 2 || q.Instances != 5 || q.RAM != 51200000 {
		t.Errorf("quota %+v", q)
	}
	n.server(t, n.spec(t))
	o := n.spec(t)
	o.FlavorRef = flavorCalled(t, n.compute, "m1.medium")
	_, err := servers.Create(t.Context(), n.compute, o, nil).Extract()
	wantCompute(t, err, 403, "forbidden", "Quota exceeded for cores: Requested 2, but already used 1 of 2 cores")
	o.FlavorRef, o.Min, o.Max = n.flavor, 1, 4
	s := n.begin(t, o, nil) // as many as fit
	n.await(t, s.ID, "ACTIVE")
	used := must[quotasets.QuotaDetailSet](t)(quotasets.GetDetail(t.Context(), n.admin, n.project.ID).Extract())
	if used.Cores.InUse != 2 || used.Instances.InUse != 2 || used.Cores.Limit != 2 {
		t.Errorf("used %+v", used)
	}
	_, err = quotasets.Update(t.Context(), n.admin, n.project.ID, quotasets.UpdateOpts{Cores: gophercloud.IntToPointer(1)}).Extract()
	wantCompute(t, err, 400, "badRequest", "Quota limit 1 for cores must be greater than or equal to already used and reserved 2.")
	_, err = quotasets.Update(t.Context(), n.compute, n.project.ID, quotasets.UpdateOpts{Cores: &two}).Extract()
	wantStatus(t, err, 403)
}

// portsOf lists the ports of a server.
func (n *nova) portsOf(t *testing.T, id string) ([]ports.Port, error) {
	pages, err := ports.List(n.clients.Network(t), ports.ListOpts{DeviceID: id}).AllPages(t.Context())
	if err != nil {
		return nil, err
	}
	return ports.ExtractPorts(pages)
}

// Up to 2.35 Nova keeps limits of what is Neutron's, though nothing heeds them;
// later versions do not know them.
func TestQuotaOfNetworkResources(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	old := *n.admin
	old.Microversion = "2.35"
	q := must[*quotasets.QuotaSet](t)(quotasets.Get(t.Context(), &old, n.project.ID).Extract())
	if q.FloatingIPs != -1 || q.SecurityGroups != -1 {
		t.Errorf("before: %+v", q)
	}
	ten := 10
	if err := quotasets.Update(t.Context(), &old, n.project.ID, quotasets.UpdateOpts{FloatingIPs: &ten}).Err; err != nil {
		t.Fatal(err)
	}
	q = must[*quotasets.QuotaSet](t)(quotasets.Get(t.Context(), &old, n.project.ID).Extract())
	if q.FloatingIPs != ten || q.SecurityGroups != -1 {
		t.Errorf("after: %+v", q)
	}
	a := raw(t, "GET", n.admin.ServiceURL("os-quota-sets", n.project.ID), n.admin.Token(), "", map[string]string{"OpenStack-API-Version": "compute 2.36"})
	if a.status != 200 || a.at("quota_set", "floating_ips") != nil || a.at("quota_set", "cores") == nil {
		t.Errorf("at 2.36: %d %s", a.status, a.text)
	}
}
