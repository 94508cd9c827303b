package contract_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/instanceactions"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/tags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

func TestComputeServerShow(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	key := must[*keypairs.KeyPair](t)(keypairs.Create(t.Context(), n.compute, keypairs.CreateOpts{Name: unique(t)}).Extract())
	o := n.spec(t)
	drive := true
	o.Metadata, o.Tags, o.ConfigDrive = map[string]string{"a": "b"}, []string{"x", "w"}, &drive
	o.UserData = []byte(base64.StdEncoding.EncodeToString([]byte("#cloud-config\n")))
	created := n.begin(t, keypairs.CreateOptsExt{CreateOptsBuilder: o, KeyName: key.Name}, nil)
	if created.AdminPass == "" || len(created.Links) != 2 {
		t.Errorf("create answered %+v", created)
	}
	s := n.await(t, created.ID, "ACTIVE")
	port := must[[]ports.Port](t)(n.portsOf(t, s.ID))[0]
	if s.Name != o.Name || s.TenantID != n.project.ID || s.UserID != n.user.ID || s.KeyName != key.Name || !s.ConfigDrive ||
		s.Metadata["a"] != "b" || !slices.Equal(*s.Tags, []string{"w", "x"}) || s.HostID == "" || s.Host != "" {
		t.Errorf("server %+v", s)
	}
	if s.VmState != "active" || s.PowerState != servers.RUNNING || s.LaunchedAt.IsZero() || s.AvailabilityZone == "" || s.Image["id"] != n.imageID {
		t.Errorf("state %+v", s)
	}
	if s.Flavor["original_name"] != "m1.tiny" || s.Flavor["vcpus"] != 1.0 || s.Flavor["id"] != nil {
		t.Errorf("flavor since 2.47: %v", s.Flavor)
	}
	want := fmt.Sprintf("[map[OS-EXT-IPS-MAC:mac_addr:%s OS-EXT-IPS:type:fixed addr:%s version:4]]", port.MACAddress, port.FixedIPs[0].IPAddress)
	for _, addresses := range s.Addresses {
		if fmt.Sprint(addresses) != want {
			t.Errorf("addresses %v, want %s", addresses, want)
		}
	}
	if port.DeviceOwner != "compute:"+s.AvailabilityZone || port.Status != "ACTIVE" {
		t.Errorf("port %+v", port)
	}
	asAdmin := must[*servers.Server](t)(servers.Get(t.Context(), n.admin, s.ID).Extract())
	if asAdmin.Host == "" || asAdmin.InstanceName == "" || asAdmin.Userdata == nil || *asAdmin.Userdata != string(o.UserData) {
		t.Errorf("the administrator sees %+v", asAdmin)
	}
	old := *n.compute
	old.Microversion = ""
	first := must[*servers.Server](t)(servers.Get(t.Context(), &old, s.ID).Extract())
	if first.Flavor["id"] != n.flavor || first.Tags != nil || first.Locked != nil {
		t.Errorf("in 2.1: %+v", first)
	}
}

func TestComputeServerStateOrder(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	s := n.begin(t, n.spec(t), nil)
	eventually(t, "BUILD becomes ACTIVE", func() bool {
		now := must[*servers.Server](t)(servers.Get(t.Context(), n.compute, s.ID).Extract())
		if now.Status != "BUILD" && now.Status != "ACTIVE" {
			t.Fatalf("status %s on the way", now.Status)
		}
		return now.Status == "ACTIVE"
	})
	if err := servers.Delete(t.Context(), n.compute, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "deleted is 404", func() bool {
		now, err := servers.Get(t.Context(), n.compute, s.ID).Extract()
		// Nova is DELETED, without a task, for a moment.
		if err == nil && now.TaskState != "deleting" && now.Status != "DELETED" {
			t.Fatalf("%s, task %q of a server that is being deleted", now.Status, now.TaskState)
		}
		return gophercloud.ResponseCodeIs(err, 404)
	})
	if left := must[[]ports.Port](t)(n.portsOf(t, s.ID)); len(left) > 0 {
		t.Errorf("ports left: %v", left)
	}
}

func TestComputeGivenPortSurvivesServer(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	port := neutronPort(t, n.clients.Network(t), ports.CreateOpts{NetworkID: n.networkID})
	o := n.spec(t)
	o.Networks = []servers.Network{{Port: port.ID}}
	s := n.server(t, o)
	bound := must[*ports.Port](t)(ports.Get(t.Context(), n.clients.Network(t), port.ID).Extract())
	if bound.DeviceID != s.ID || bound.Status != "ACTIVE" {
		t.Errorf("port of a server: %+v", bound)
	}
	if err := servers.Delete(t.Context(), n.compute, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the port is free", func() bool {
		free := must[*ports.Port](t)(ports.Get(t.Context(), n.clients.Network(t), port.ID).Extract())
		return free.DeviceID == "" && free.DeviceOwner == "" && free.Status == "DOWN"
	})
}

func TestComputeLists(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	var names []string
	for i := range 3 {
		o := n.spec(t)
		o.Tags = []string{fmt.Sprintf("t%d", i), "all"}
		names = append(names, n.server(t, o).Name)
	}
	list := func(o servers.ListOpts) []string {
		pages, err := servers.List(n.compute, o).AllPages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, s := range must[[]servers.Server](t)(servers.ExtractServers(pages)) {
			found = append(found, s.Name)
		}
		return found
	}
	latest := []string{names[2], names[1], names[0]}
	for what, test := range map[string]struct {
		o    servers.ListOpts
		want []string
	}{
		"all":             {servers.ListOpts{}, latest},
		"page by page":    {servers.ListOpts{Limit: 1}, latest},
		"name is a regex": {servers.ListOpts{Name: "^" + names[1] + "$"}, names[1:2]},
		"part of a name":  {servers.ListOpts{Name: names[1][5:]}, names[1:2]},
		"status":          {servers.ListOpts{Status: "ACTIVE"}, latest},
		"other status":    {servers.ListOpts{Status: "SHUTOFF"}, nil},
		"image":           {servers.ListOpts{Image: n.imageID}, latest},
		"flavor":          {servers.ListOpts{Flavor: "none"}, nil},
		"tags":            {servers.ListOpts{Tags: "t1,all"}, names[1:2]},
		"tags-any":        {servers.ListOpts{TagsAny: "t1,t0"}, []string{names[1], names[0]}},
		"not-tags":        {servers.ListOpts{NotTags: "t1"}, []string{names[2], names[0]}},
	} {
		if got := list(test.o); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", what, got, test.want)
		}
	}
	_, err := servers.List(n.compute, servers.ListOpts{Marker: "none"}).AllPages(t.Context())
	wantCompute(t, err, 400, "badRequest", "marker [none] not found")
}

func TestComputeUpdateMetadataTags(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	s := n.server(t, n.spec(t))
	updated := must[*servers.Server](t)(servers.Update(t.Context(), n.compute, s.ID, servers.UpdateOpts{Name: "renamed", AccessIPv4: "192.0.2.1"}).Extract())
	if updated.Name != "renamed" || updated.AccessIPv4 != "192.0.2.1" {
		t.Errorf("update answered %+v", updated)
	}
	meta := must[map[string]string](t)(servers.UpdateMetadata(t.Context(), n.compute, s.ID, servers.MetadataOpts{"a": "1", "b": "2"}).Extract())
	if len(meta) != 2 {
		t.Errorf("metadata %v", meta)
	}
	must[map[string]string](t)(servers.ResetMetadata(t.Context(), n.compute, s.ID, servers.MetadataOpts{"c": "3"}).Extract())
	if err := servers.DeleteMetadatum(t.Context(), n.compute, s.ID, "c").ExtractErr(); err != nil {
		t.Fatal(err)
	}
	_, err := servers.Metadatum(t.Context(), n.compute, s.ID, "c").Extract()
	wantCompute(t, err, 404, "itemNotFound", "Metadata item was not found")
	if err := tags.Add(t.Context(), n.compute, s.ID, "one").ExtractErr(); err != nil {
		t.Fatal(err)
	}
	must[[]string](t)(tags.ReplaceAll(t.Context(), n.compute, s.ID, tags.ReplaceAllOpts{Tags: []string{"b", "a"}}).Extract())
	if got := must[[]string](t)(tags.List(t.Context(), n.compute, s.ID).Extract()); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("tags %v", got)
	}
	wantStatus(t, tags.Delete(t.Context(), n.compute, s.ID, "none").ExtractErr(), 404)
	long := strings.Repeat("x", 61)
	wantStatus(t, tags.Add(t.Context(), n.compute, s.ID, long).ExtractErr(), 400)
}

func TestComputeInstanceActions(t *testing.T) {
	t.Parallel()
	n := newNova(t)
	s := n.server(t, n.spec(t))
	if err := servers.Stop(t.Context(), n.compute, s.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	n.await(t, s.ID, "SHUTOFF")
	pages, err := instanceactions.List(n.compute, s.ID, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := must[[]instanceactions.InstanceAction](t)(instanceactions.ExtractInstanceActions(pages))
	if len(list) != 2 || list[0].Action != "stop" || list[1].Action != "create" {
		t.Fatalf("actions %+v", list)
	}
	a := must[instanceactions.InstanceActionDetail](t)(instanceactions.Get(t.Context(), n.compute, s.ID, list[1].RequestID).Extract())
	if a.Events == nil || len(*a.Events) != 1 || (*a.Events)[0].Result != "Success" || (*a.Events)[0].Event != "compute__do_build_and_run_instance" {
		t.Errorf("events %+v", a)
	}
}
