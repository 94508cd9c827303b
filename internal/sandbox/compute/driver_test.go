package compute_test

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// What an image or a flavor is to blame for is told to the owner of the server.
func TestARefusalIsTold(t *testing.T) {
	t.Parallel()
	d := newDriver()
	d.refusal = &machine.Refusal{Reason: "The image does not boot by BIOS: there is no boot loader."}
	cloud := start(t, d)
	client := compute(t, cloud.Member)
	s := await(t, client, boot(t, client, "a", makeImage(t, cloud)).ID, "ERROR")
	if want := "Build of instance " + s.ID + " aborted: " + d.refusal.Reason; s.Fault.Message != want || s.Fault.Code != 500 {
		t.Errorf("fault %+v, want %q", s.Fault, want)
	}
}

// Flavors and images choose the driver, the flavor first, and images the firmware.
func TestFlavorsAndImagesChooseTheDriver(t *testing.T) {
	t.Parallel()
	d := newDriver()
	cloud := start(t, d)
	client, admin := compute(t, cloud.Member), cloud.Admin.Compute(t)
	disk := 10
	flavor, err := flavors.Create(t.Context(), admin, flavors.CreateOpts{Name: "virtual", RAM: 512, VCPUs: 1, Disk: &disk}).Extract()
	if err == nil {
		_, err = flavors.CreateExtraSpecs(t.Context(), admin, flavor.ID, flavors.ExtraSpecsOpts{"slipway:driver": "qemu"}).Extract()
	}
	if err != nil {
		t.Fatal(err)
	}
	plain, marked := makeImage(t, cloud), makeImage(t, cloud)
	update := images.UpdateOpts{images.UpdateImageProperty{Op: images.AddOp, Name: "slipway_driver", Value: "container"},
		images.UpdateImageProperty{Op: images.AddOp, Name: "hw_firmware_type", Value: "uefi"}}
	if _, err := images.Update(t.Context(), cloud.Member.Image(t), marked, update).Extract(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		flavor, image, driver string
		uefi                  bool
	}{
		"neither": {"2", plain, "", false}, "image": {"2", marked, "container", true},
		"flavor": {flavor.ID, plain, "qemu", false}, "both": {flavor.ID, marked, "qemu", true},
	} {
		s, err := servers.Create(t.Context(), client, servers.CreateOpts{Name: name, FlavorRef: c.flavor, ImageRef: c.image, Networks: "none"}, nil).Extract()
		if err != nil {
			t.Fatal(err)
		}
		await(t, client, s.ID, "ACTIVE")
		if spec := d.last(); spec.Driver != c.driver || spec.UEFI != c.uefi {
			t.Errorf("%s: driver %q, UEFI %t", name, spec.Driver, spec.UEFI)
		}
	}
}
