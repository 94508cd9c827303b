package api

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/addons/magnum/openstack"
)

// template checks those settings of a template that need nothing else.
func (r Rules) template(d document) error {
	switch driver := d.text("network_driver"); {
	case !slices.Contains([]string{"flannel", "calico", "cilium"}, driver):
		return badRequest("Network driver type %s is not supported, expecting a calico, cilium or flannel network driver.", driver)
	case !slices.Contains(r.NetworkDrivers, driver) && !slices.Contains(r.NetworkDrivers, "all"):
		return badRequest("Network driver type %s cannot be used here: choose %s.", driver, strings.Join(r.NetworkDrivers, " or "))
	}
	if driver := d.text("volume_driver"); driver != "" && driver != "cinder" {
		return badRequest("Volume driver type %s is not supported, expecting cinder.", driver)
	}
	if err := deviceMapper(d.text("docker_storage_driver"), d.number("docker_volume_size", 0)); err != nil {
		return err
	}
	for _, server := range splitList(d.text("dns_nameserver")) {
		if address, err := netip.ParseAddr(server); err != nil || !address.Is4() {
			return badRequest("Invalid input for attribute dns_nameserver: %s is no IPv4 address.", server)
		}
	}
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy", "insecure_registry"} {
		if strings.ContainsFunc(d.text(name), unicode.IsControl) { // these are lines of files on machines
			return badRequest("Invalid input for attribute %s: it has control characters.", name)
		}
	}
	if server := fallback(d.text("server_type"), "vm"); server != "vm" {
		return badRequest("Server type %s cannot be built here: choose vm.", server)
	}
	return nil
}

// deviceMapper is Docker's own rule.
func deviceMapper(driver string, size int64) error {
	if driver == "devicemapper" && size < 3 {
		return badRequest("docker_volume_size must be at least 3 GB for the storage driver devicemapper.")
	}
	return nil
}

// templateImage checks the template's image and sets what follows from it.
func (c *call) templateImage(d document) error {
	image, err := c.s.o.Cloud.Image(c.ctx(), c.token, d.text("image_id"))
	if err != nil {
		return looked(err, http.StatusBadRequest)
	}
	if err := c.s.o.Rules.image(d.text("image_id"), image, d.labels("labels")); err != nil {
		return err
	}
	driver := cmp.Or(d.text("driver"), image.Driver, c.s.o.Rules.Driver)
	if driver != c.s.o.Rules.Driver {
		return badRequest("The driver %s does not exist here: choose %s.", driver, c.s.o.Rules.Driver)
	}
	d["driver"], d["cluster_distro"] = driver, image.OSDistro
	return nil
}

// image checks the properties of a node image and says how to set them.
func (r Rules) image(ref string, image openstack.Image, labels map[string]string) error {
	switch {
	case image.OSDistro == "":
		return badRequest("The image %s has no property os_distro. Set it: openstack image set --property os_distro=ubuntu %s.", ref, image.ID)
	case !slices.Contains(r.Distros, image.OSDistro):
		return badRequest("Images with os_distro %s cannot be used: choose one with %s.", image.OSDistro, strings.Join(r.Distros, ", "))
	case r.Architecture != "" && image.Architecture != "" && image.Architecture != r.Architecture:
		return badRequest("The image %s is for %s, but clusters here are for %s: choose another image, or correct its property architecture.", ref, image.Architecture, r.Architecture)
	case kubeVersion(image, labels) == "":
		return badRequest("The image %s has no property kube_version, the version of Kubernetes in it. Set it: openstack image set --property kube_version=v1.34.4 %s.", ref, image.ID)
	}
	return nil
}

// notOfVersion is what versions in properties have around their numbers.
var notOfVersion = regexp.MustCompile(`[^0-9.]+`)

// kubeVersion is the Kubernetes version of an image, 1.34.2: its property, else
// the label kube_tag; "" when there is none.
func kubeVersion(image openstack.Image, labels map[string]string) string {
	raw := strings.TrimPrefix(cmp.Or(image.KubeVersion, labels["kube_tag"]), "v")
	return notOfVersion.ReplaceAllString(raw, "")
}

// templateNames looks up what a template names in the cloud, as far as it
// differs from before.
func (c *call) templateNames(d, before document) error {
	changed := func(name string) string {
		if d.text(name) == before.text(name) {
			return ""
		}
		return d.text(name)
	}
	all, boot := newChecks(), c.s.o.Rules.bootVolume(d.labels("labels"))
	all.add(func() error {
		return c.eachFlavor(func(ref string, f openstack.Flavor) error { return rootDisk(ref, f, boot) }, changed("flavor_id"), changed("master_flavor_id"))
	})
	if ref := changed("external_network_id"); ref != "" {
		all.add(func() error {
			_, err := c.s.o.Cloud.Network(c.ctx(), c.token, ref, true)
			return looked(err, http.StatusBadRequest)
		})
	}
	all.add(func() error {
		_, _, err := c.fixedNetwork(changed("fixed_network"), changed("fixed_subnet"))
		return err
	})
	return all.first()
}

// fixedNetwork looks up a tenant network and a subnet of it, each if named.
func (c *call) fixedNetwork(network, subnet string) (networkID, subnetID string, err error) {
	if network != "" {
		if networkID, err = c.s.o.Cloud.Network(c.ctx(), c.token, network, false); err != nil {
			return "", "", looked(err, http.StatusBadRequest)
		}
	}
	if subnet != "" {
		if subnetID, err = c.s.o.Cloud.Subnet(c.ctx(), c.token, subnet, networkID); err != nil {
			return "", "", looked(err, http.StatusBadRequest)
		}
	}
	return networkID, subnetID, nil
}

// parallelChecks bounds the calls to the cloud that one request makes at a time.
const parallelChecks = 6

// checks are made side by side. Of several that fail, the first in their order
// is told and not the fastest: clients know Magnum's order.
type checks struct {
	group errgroup.Group
	errs  []*error
}

func newChecks() *checks {
	s := &checks{}
	s.group.SetLimit(parallelChecks)
	return s
}

// add begins a check; all are added by one goroutine.
func (s *checks) add(check func() error) {
	result := new(error)
	s.errs = append(s.errs, result)
	s.group.Go(func() error {
		*result = check()
		return *result
	})
}

// first waits for all and returns the first error in their order.
func (s *checks) first() error {
	if s.group.Wait() == nil {
		return nil
	}
	for _, err := range s.errs {
		if *err != nil {
			return *err
		}
	}
	return nil
}

// bootVolume is the size in GB of the volume that machines boot from, 0 for
// the flavor's disk.
func (r Rules) bootVolume(labels map[string]string) int {
	if size, err := strconv.Atoi(labels["boot_volume_size"]); err == nil {
		return size
	}
	return r.BootVolumeSize
}

// flavors checks flavors that machines are to have; "" is none.
func (c *call) flavors(boot int, refs ...string) error {
	return c.eachFlavor(func(ref string, f openstack.Flavor) error {
		return firstError(rootDisk(ref, f, boot), c.s.o.Rules.size(ref, f))
	}, refs...)
}

// eachFlavor looks up flavors and checks them in the order of refs; "" is none.
func (c *call) eachFlavor(check func(ref string, f openstack.Flavor) error, refs ...string) error {
	refs = slices.DeleteFunc(refs, func(ref string) bool { return ref == "" })
	if len(refs) == 0 {
		return nil
	}
	found, err := c.s.o.Cloud.Flavors(c.ctx(), c.token, refs...)
	if err != nil {
		return looked(err, http.StatusBadRequest)
	}
	for i, ref := range refs {
		if err := check(ref, found[i]); err != nil {
			return err
		}
	}
	return nil
}

// rootDisk refuses machines without a disk to boot from.
func rootDisk(ref string, flavor openstack.Flavor, boot int) error {
	if flavor.ID != "" && flavor.Disk == 0 && boot == 0 {
		return badRequest("The flavor %s has no root disk: choose another or set the label boot_volume_size.", ref)
	}
	return nil
}

// size refuses flavors that are too small for Kubernetes.
func (r Rules) size(ref string, flavor openstack.Flavor) error {
	if flavor.RAM < r.MinRAM || flavor.VCPUs < r.MinVCPUs {
		return badRequest("The flavor %s is too small: it has %s, a node needs %s.", ref,
			fmt.Sprintf("%d vCPUs and %d MiB", flavor.VCPUs, flavor.RAM), fmt.Sprintf("%d vCPUs and %d MiB", r.MinVCPUs, r.MinRAM))
	}
	return nil
}

// firstError is the first that is one.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// distro refuses operating systems that no driver builds.
func (r Rules) distro(name string) error {
	if !slices.Contains(r.Distros, name) {
		return badRequest("Clusters with os_distro %q cannot be built here: choose an image with %s.", name, strings.Join(r.Distros, ", "))
	}
	return nil
}
