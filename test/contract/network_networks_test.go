package contract_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsecurity"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/provider"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

// unknownID is an id that nothing has.
const unknownID = "00000000-0000-4000-8000-000000000000"

func TestNetworkDefaults(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	made := neutronNetwork(t, client)
	var network struct {
		networks.Network
		external.NetworkExternalExt
		mtu.NetworkMTUExt
		portsecurity.PortSecurityExt
		provider.NetworkProviderExt
	}
	if err := networks.Get(t.Context(), client, made.ID).ExtractInto(&network); err != nil {
		t.Fatal(err)
	}
	if !network.AdminStateUp || network.Status != "ACTIVE" || network.Shared || network.External || !network.PortSecurityEnabled {
		t.Errorf("got %+v, want an active network of its own with port security", network)
	}
	if network.MTU < 1280 || network.RevisionNumber < 1 || network.CreatedAt.IsZero() || network.ProjectID == "" || network.TenantID != network.ProjectID {
		t.Errorf("got %+v, want MTU, revision, time and project", network)
	}
	if network.NetworkType != "" {
		t.Errorf("a member sees provider:network_type %q", network.NetworkType)
	}
}

func TestNetworkUpdateAndRevision(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	name, down := unique(t), false
	updated := must[*networks.Network](t)(networks.Update(t.Context(), client, network.ID, networks.UpdateOpts{Name: &name, AdminStateUp: &down,
		RevisionNumber: &network.RevisionNumber}).Extract())
	if updated.Name != name || updated.AdminStateUp || updated.RevisionNumber <= network.RevisionNumber {
		t.Errorf("got %+v after an update of %+v", updated, network)
	}
	_, err := networks.Update(t.Context(), client, network.ID, networks.UpdateOpts{Name: &name, RevisionNumber: &network.RevisionNumber}).Extract()
	wantNeutron(t, err, http.StatusPreconditionFailed, "RevisionNumberConstraintFailed", "current revision is")
}

func TestNetworkOfAdministrator(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	yes := true
	_, err := networks.Create(t.Context(), client, networks.CreateOpts{Name: unique(t), Shared: &yes}).Extract()
	wantNeutron(t, err, http.StatusForbidden, "PolicyNotAuthorized", "disallowed by policy")
	_, err = networks.Create(t.Context(), client, external.CreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: unique(t)}, External: &yes}).Extract()
	wantNeutron(t, err, http.StatusForbidden, "PolicyNotAuthorized", "create_network:router:external")
	public := externalNetwork(t, client)
	name := unique(t)
	_, err = networks.Update(t.Context(), client, public.ID, networks.UpdateOpts{Name: &name}).Extract()
	wantNeutron(t, err, http.StatusForbidden, "PolicyNotAuthorized", "update_network")
	wantNeutron(t, networks.Delete(t.Context(), client, public.ID).ExtractErr(), http.StatusForbidden, "PolicyNotAuthorized", "delete_network")
}

func TestNetworkIsOfItsProject(t *testing.T) {
	t.Parallel()
	theirs := neutronNetwork(t, admin(t).Network(t))
	client := member(t).Network(t)
	_, err := networks.Get(t.Context(), client, theirs.ID).Extract()
	wantNeutron(t, err, http.StatusNotFound, "NetworkNotFound", "Network "+theirs.ID+" could not be found.")
	wantNeutron(t, networks.Delete(t.Context(), client, theirs.ID).ExtractErr(), http.StatusNotFound, "NetworkNotFound", theirs.ID)
	_, err = ports.Create(t.Context(), client, ports.CreateOpts{NetworkID: theirs.ID}).Extract()
	wantNeutron(t, err, http.StatusNotFound, "NetworkNotFound", theirs.ID)
	for _, network := range listNetworks(t, client, networks.ListOpts{}) {
		if network.ID == theirs.ID {
			t.Error("the list shows a network of another project")
		}
	}
}

func listNetworks(t *testing.T, client *gophercloud.ServiceClient, o networks.ListOptsBuilder) []networks.Network {
	t.Helper()
	pages, err := networks.List(client, o).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return must[[]networks.Network](t)(networks.ExtractNetworks(pages))
}

func TestNetworkInUse(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID})
	wantNeutron(t, networks.Delete(t.Context(), client, network.ID).ExtractErr(), http.StatusConflict, "NetworkInUse",
		"There are one or more ports still in use on the network")
}

func TestNetworkFiltersAndTags(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	first, second := neutronNetwork(t, client), neutronNetwork(t, client)
	tag := unique(t)
	must[[]string](t)(attributestags.ReplaceAll(t.Context(), client, "networks", first.ID, attributestags.ReplaceAllOpts{Tags: []string{tag, "both"}}).Extract())
	must[[]string](t)(attributestags.ReplaceAll(t.Context(), client, "networks", second.ID, attributestags.ReplaceAllOpts{Tags: []string{"both"}}).Extract())
	for name, test := range map[string]struct {
		filter networks.ListOpts
		want   []string
	}{
		"name":     {networks.ListOpts{Name: first.Name}, []string{first.ID}},
		"id":       {networks.ListOpts{ID: second.ID}, []string{second.ID}},
		"tags":     {networks.ListOpts{Tags: tag}, []string{first.ID}},
		"all tags": {networks.ListOpts{Tags: tag + ",both"}, []string{first.ID}},
		"no tag":   {networks.ListOpts{Tags: "both", NotTags: tag, Name: second.Name}, []string{second.ID}},
		"nothing":  {networks.ListOpts{Name: first.Name, ID: second.ID}, nil},
	} {
		var got []string
		for _, network := range listNetworks(t, client, test.filter) {
			got = append(got, network.ID)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
	_, err := networks.Get(t.Context(), client, unknownID).Extract()
	wantNeutron(t, err, http.StatusNotFound, "NetworkNotFound", unknownID)
}

func TestNetworkPages(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	want := []string{}
	tag := unique(t)
	for range 5 {
		network := neutronNetwork(t, client)
		want = append(want, network.ID)
		if err := attributestags.Add(t.Context(), client, "networks", network.ID, tag).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
	got := []string{}
	for _, network := range listNetworks(t, client, networks.ListOpts{Tags: tag, Limit: 2, SortKey: "id", SortDir: "asc"}) {
		got = append(got, network.ID)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %v page by page, want %v", got, want)
	}
}

func TestNetworkMalformed(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	for name, test := range map[string]struct{ method, path, body, kind string }{
		"no JSON":           {http.MethodPost, "networks", `{"network":`, "HTTPBadRequest"},
		"no object":         {http.MethodPost, "networks", `{"net": {}}`, "HTTPBadRequest"},
		"wrong type":        {http.MethodPost, "networks", `{"network": {"admin_state_up": {}}}`, "InvalidInput"},
		"unknown attribute": {http.MethodPost, "networks", `{"network": {"colour": "red"}}`, "HTTPBadRequest"},
		"read-only":         {http.MethodPost, "networks", `{"network": {"status": "ACTIVE"}}`, "HTTPBadRequest"},
		"empty list":        {http.MethodPost, "networks", `{"networks": []}`, "HTTPBadRequest"},
		"unknown filter":    {http.MethodGet, "networks?colour=red", "", "HTTPBadRequest"},
		"unknown sort key":  {http.MethodGet, "networks?sort_key=colour&sort_dir=asc", "", "HTTPBadRequest"},
		"no sort direction": {http.MethodGet, "networks?sort_key=name", "", "HTTPBadRequest"},
	} {
		got := raw(t, test.method, client.ServiceURL()+test.path, client.Token(), test.body, nil)
		t.Run(name, func(t *testing.T) {
			if got.status != http.StatusBadRequest || got.at("NeutronError", "type") != test.kind || got.at("NeutronError", "message") == "" {
				t.Errorf("got %d %s", got.status, got.text)
			}
		})
	}
}

func TestNetworkBulk(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	url := client.ServiceURL() + "networks"
	tag := unique(t)
	bad := raw(t, http.MethodPost, url, client.Token(), `{"networks": [{"name": "`+tag+`"}, {"name": "`+tag+`", "mtu": -1}]}`, nil)
	if bad.status != http.StatusBadRequest || len(listNetworks(t, client, networks.ListOpts{Name: tag})) != 0 {
		t.Errorf("one bad network of two: got %d, and the good one must not stay", bad.status)
	}
	good := raw(t, http.MethodPost, url, client.Token(), `{"networks": [{"name": "`+tag+`"}, {"name": "`+tag+`"}]}`, nil)
	made := listNetworks(t, client, networks.ListOpts{Name: tag})
	if good.status != http.StatusCreated || len(made) != 2 {
		t.Errorf("got %d and %d networks, want 201 and 2: %s", good.status, len(made), good.text)
	}
	for _, network := range made {
		gone(t, networks.Delete(t.Context(), client, network.ID).ExtractErr())
	}
	one := neutronNetwork(t, client)
	got := raw(t, http.MethodGet, url+"?fields=name&fields=id&id="+one.ID, client.Token(), "", nil)
	if want := `{"networks":[{"id":"` + one.ID + `","name":"` + one.Name + `"}]}`; got.text != want {
		t.Errorf("got %s, want %s", got.text, want)
	}
}
