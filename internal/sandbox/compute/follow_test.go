package compute_test

import (
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

// An address that a port gets in Neutron reaches the machine, once.
func TestAddressChangedInNeutron(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d)
	client, neutron := compute(t, cloud.Member), cloud.Member.Network(t)
	s, err := servers.Create(t.Context(), client, servers.CreateOpts{Name: "a", FlavorRef: "1", ImageRef: makeImage(t, cloud),
		Networks: []servers.Network{{UUID: network(t, cloud)}}}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	await(t, client, s.ID, "ACTIVE")
	pages, err := ports.List(neutron, ports.ListOpts{DeviceID: s.ID}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := ports.ExtractPorts(pages)
	if err != nil || len(list) != 1 {
		t.Fatalf("ports %v, %v", list, err)
	}
	change := func(o ports.UpdateOpts) {
		t.Helper()
		if _, err := ports.Update(t.Context(), neutron, list[0].ID, o).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	name := "renamed"
	change(ports.UpdateOpts{Name: &name})
	for _, address := range []string{"10.9.0.77", "10.9.0.78"} {
		change(ports.UpdateOpts{FixedIPs: []ports.IP{{IPAddress: address}}})
		for end := time.Now().Add(30 * time.Second); !slices.Contains(d.attached(), address+"/24"); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the machine got %v", d.attached())
			}
		}
	}
	if got := d.attached(); !slices.Equal(got, []string{"10.9.0.77/24", "10.9.0.78/24"}) {
		t.Errorf("the machine got %v", got)
	}
}
