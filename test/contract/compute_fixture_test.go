package contract_test

import (
	"bytes"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/sandbox/machinetest"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// nova is a project of one test with what a server needs.
type nova struct {
	person
	clients sandboxtest.Clients
	// compute speaks 2.60, as the Cluster API provider does.
	compute                    *gophercloud.ServiceClient
	imageID, networkID, flavor string
	subnetID                   string
	admin                      *gophercloud.ServiceClient
}

// newNova makes a project with an image and a network with a subnet.
func newNova(t *testing.T) *nova {
	t.Helper()
	n := &nova{person: newPerson(t)}
	n.clients = n.person.clients(t)
	n.compute, n.admin = n.clients.Compute(t), admin(t).Compute(t)
	n.compute.Microversion, n.admin.Microversion = "2.60", "2.60"
	network := neutronNetwork(t, n.clients.Network(t))
	n.networkID = network.ID
	n.subnetID = neutronSubnet(t, n.clients.Network(t), network.ID, "10.31.0.0/24").ID
	n.imageID = glanceImage(t, n.clients.Image(t))
	n.flavor = flavorCalled(t, n.compute, "m1.tiny")
	return n
}

// glanceImage uploads an image of a few bytes, which boots where machines are virtual.
func glanceImage(t *testing.T, client *gophercloud.ServiceClient) string {
	t.Helper()
	img := must[*images.Image](t)(images.Create(t.Context(), client, images.CreateOpts{Name: unique(t), ContainerFormat: "bare", DiskFormat: "raw"}).Extract())
	t.Cleanup(func() { _ = images.Delete(cleanup(t), client, img.ID).ExtractErr() })
	if err := imagedata.Upload(t.Context(), client, img.ID, bytes.NewReader(machinetest.Guest(4096))).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	return img.ID
}

func flavorCalled(t *testing.T, client *gophercloud.ServiceClient, name string) string {
	t.Helper()
	pages, err := flavors.ListDetail(client, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range must[[]flavors.Flavor](t)(flavors.ExtractFlavors(pages)) {
		if f.Name == name {
			return f.ID
		}
	}
	t.Fatalf("there is no flavor %s", name)
	return ""
}

// spec is a small server on the test's network.
func (n *nova) spec(t *testing.T) servers.CreateOpts {
	return servers.CreateOpts{Name: unique(t), ImageRef: n.imageID, FlavorRef: n.flavor,
		Networks: []servers.Network{{UUID: n.networkID}}}
}

// begin creates a server that is deleted with the test.
func (n *nova) begin(t *testing.T, o servers.CreateOptsBuilder, hints servers.SchedulerHintOptsBuilder) *servers.Server {
	t.Helper()
	s := must[*servers.Server](t)(servers.Create(t.Context(), n.compute, o, hints).Extract())
	t.Cleanup(func() {
		_ = servers.Delete(cleanup(t), n.compute, s.ID).ExtractErr()
		eventually(t, "server "+s.ID+" is deleted", func() bool {
			_, err := servers.Get(cleanup(t), n.compute, s.ID).Extract()
			return gophercloud.ResponseCodeIs(err, 404)
		})
	})
	return s
}

// server creates a server and waits until it is active.
func (n *nova) server(t *testing.T, o servers.CreateOptsBuilder) *servers.Server {
	t.Helper()
	return n.await(t, n.begin(t, o, nil).ID, "ACTIVE")
}

// await polls until the server has the status and no task; ERROR ends the
// test unless it is waited for.
func (n *nova) await(t *testing.T, id, status string) *servers.Server {
	t.Helper()
	var s *servers.Server
	eventually(t, "server "+id+" is "+status, func() bool {
		s = must[*servers.Server](t)(servers.Get(t.Context(), n.compute, id).Extract())
		if s.Status == "ERROR" && status != "ERROR" {
			t.Fatalf("server %s: %s", id, s.Fault.Message)
		}
		return s.Status == status && s.TaskState == ""
	})
	return s
}

// wantCompute checks status and message of an error of Nova.
func wantCompute(t *testing.T, err error, status int, kind, message string) {
	t.Helper()
	wantStatus(t, err, status)
	var code gophercloud.ErrUnexpectedResponseCode
	if !asResponse(err, &code) {
		return
	}
	a := answerOf(code.Body)
	if got := a.at(kind, "message"); got != message {
		t.Errorf("message %q in %s, want %q under %s", got, code.Body, message, kind)
	}
}
