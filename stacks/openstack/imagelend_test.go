package openstack

import (
	"os"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	glance "github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// loan is an image of an environment, and a project that it is lent to.
func loan(t *testing.T) (owner *cloud.Cloud, l Lending, id string) {
	t.Helper()
	box := sandboxtest.Start(t)
	owner = login(t, box)
	grant, err := owner.Grant()
	if err != nil {
		t.Fatal(err)
	}
	admin := box.Admin.Identity(t)
	other, err := projects.Create(t.Context(), admin, projects.CreateOpts{Name: "other", DomainID: "default"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range grant.Roles {
		if err := roles.Assign(t.Context(), admin, role.ID, roles.AssignOpts{UserID: grant.UserID, ProjectID: other.ID}).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
	inside, err := owner.In(t.Context(), other.ID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(inside.Close)
	mark, private := ownership.New("prod", "image"), glance.ImageVisibilityPrivate
	made, err := glance.Create(t.Context(), box.Member.Image(t), glance.CreateOpts{Name: mark.Name(), Visibility: &private, ContainerFormat: "bare", DiskFormat: "raw", Tags: mark.Tags(), Properties: mark.Metadata()}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return owner, Lending{Owner: owner, Member: inside, ProjectID: other.ID}, made.ID
}

// login is that of the sandbox's member.
func login(t *testing.T, box *sandboxtest.Cloud) *cloud.Cloud {
	t.Helper()
	text, err := os.ReadFile(box.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	opened, err := cloud.Open(t.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: text})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return opened
}

// TestAnImageOnLoanIsKept by an upgrade of the environment, and goes with the environment; when
// nobody needs it any more it is as it was.
//
// proves: S-88
func TestAnImageOnLoanIsKept(t *testing.T) {
	t.Parallel()
	owner, l, id := loan(t)
	for _, want := range []Loan{{ID: id, Offer: true, Accept: true}, {ID: id}} {
		got, err := l.Look(t.Context(), "machineImageId", id)
		if err != nil || got != want {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
		if err := l.Lend(t.Context(), got); err != nil {
			t.Fatal(err)
		}
	}
	kind := imageKind{owner}
	known := ImageState{ImageInputs: ImageInputs{SHA256: "known"}}
	if err := kind.remove(t.Context(), id, known); err != nil {
		t.Fatal(err)
	}
	grant, err := owner.Grant()
	if err != nil {
		t.Fatal(err)
	}
	things, err := Inventory{Clients: owner, UserID: grant.UserID}.List(t.Context(), "prod")
	if err != nil || len(things) != 1 || things[0].ID != id {
		t.Errorf("the environment has %v, %v", things, err)
	}
	for range 2 {
		if err := l.Return(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	client, err := owner.Image()
	if err != nil {
		t.Fatal(err)
	}
	image, err := glance.Get(t.Context(), client, id).Extract()
	if err != nil || image.Visibility != glance.ImageVisibilityPrivate || image.Properties[images.PropertyLent] != nil {
		t.Errorf("it is %+v, %v", image, err)
	}
	if err := kind.remove(t.Context(), id, known); err != nil {
		t.Fatal(err)
	}
	if _, err := glance.Get(t.Context(), client, id).Extract(); !gophercloud.ResponseCodeIs(err, 404) {
		t.Errorf("it is still there: %v", err)
	}
	if err := l.Return(t.Context(), id); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
}
