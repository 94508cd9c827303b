package tenant

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clustertemplates"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/slipway-sh/slipway/internal/console/frame"
)

// choices are what a form can offer. What the cloud does not tell is typed instead.
type choices struct {
	templates                   []clustertemplates.ClusterTemplate
	versions                    map[string]string // of Kubernetes, by image
	flavors, keypairs, networks []option
	quota                       string
	trouble                     []frame.Trouble
}

// maker makes a client of a service.
type maker = func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)

// offer asks for all that a form can offer, side by side.
func (q *request) offer() *choices {
	c := &choices{versions: map[string]string{}}
	var group sync.WaitGroup
	var mu sync.Mutex
	ask := func(what string, do func() error) {
		group.Go(func() {
			if err := do(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				c.trouble = append(c.trouble, frame.Troubles(what, frame.Reading[any]{Err: err})...)
			}
		})
	}
	ask("the cluster templates", func() (err error) { c.templates, err = q.templates(); return err })
	ask("the images", func() (err error) { c.versions, err = q.versions(); return err })
	ask("the flavors", func() (err error) { c.flavors, err = q.flavors(); return err })
	ask("the key pairs", func() (err error) { c.keypairs, err = q.keypairs(); return err })
	ask("the networks", func() (err error) { c.networks, err = q.networks(); return err })
	ask("the quota", func() (err error) { c.quota, err = q.quota(); return err })
	group.Wait()
	slices.SortFunc(c.trouble, func(a, b frame.Trouble) int { return strings.Compare(a.What, b.What) })
	return c
}

// listed reads all pages of something in another service than Magnum.
func listed[T any](q *request, what string, service maker, list func(context.Context, *gophercloud.ServiceClient) ([]T, error)) ([]T, error) {
	client, err := service(q.provider, q.endpoint())
	if err != nil {
		return nil, q.elsewhere(what, err)
	}
	all, err := list(q.ctx, client)
	return all, q.elsewhere(what, err)
}

// elsewhere is an error of another service. That it does not take the token says nothing of
// Magnum.
func (q *request) elsewhere(what string, err error) error {
	if err == nil {
		return nil
	}
	p := explain(err)
	return &refusal{problem{p.Status, what + ": " + p.Detail, p.Fix}, err}
}

func (q *request) templates() ([]clustertemplates.ClusterTemplate, error) {
	c, err := q.api()
	if err != nil {
		return nil, err
	}
	pages, err := clustertemplates.List(c, nil).AllPages(q.ctx)
	if err != nil {
		return nil, q.failed("the Magnum API", err)
	}
	all, err := clustertemplates.ExtractClusterTemplates(pages)
	slices.SortFunc(all, func(a, b clustertemplates.ClusterTemplate) int { return strings.Compare(a.Name, b.Name) })
	return all, q.failed("the Magnum API", err)
}

// versions are those of Kubernetes in images, by the image's ID and name.
func (q *request) versions() (map[string]string, error) {
	all, err := listed(q, "Glance", openstack.NewImageV2, func(ctx context.Context, c *gophercloud.ServiceClient) ([]images.Image, error) {
		pages, err := images.List(c, images.ListOpts{}).AllPages(ctx)
		if err != nil {
			return nil, err
		}
		return images.ExtractImages(pages)
	})
	found := map[string]string{}
	for _, image := range all {
		if version, ok := image.Properties["kube_version"].(string); ok {
			found[image.ID], found[image.Name] = version, version
		}
	}
	return found, err
}

// version is the version of Kubernetes that a template makes, "" if nobody knows.
func (c *choices) version(t clustertemplates.ClusterTemplate) string {
	version := cmp.Or(c.versions[t.ImageID], t.Labels["kube_tag"])
	if version == "" {
		return ""
	}
	return "v" + strings.TrimPrefix(version, "v")
}

func (c *choices) templateOptions() []option {
	var list []option
	for _, t := range c.templates {
		text := t.Name
		if version := c.version(t); version != "" {
			text += " · Kubernetes " + version
		}
		list = append(list, option{t.UUID, text})
	}
	return list
}

func (q *request) flavors() ([]option, error) {
	all, err := listed(q, "Nova", openstack.NewComputeV2, func(ctx context.Context, c *gophercloud.ServiceClient) ([]flavors.Flavor, error) {
		pages, err := flavors.ListDetail(c, nil).AllPages(ctx)
		if err != nil {
			return nil, err
		}
		return flavors.ExtractFlavors(pages)
	})
	slices.SortFunc(all, func(a, b flavors.Flavor) int {
		return cmp.Or(a.VCPUs-b.VCPUs, a.RAM-b.RAM, strings.Compare(a.Name, b.Name))
	})
	var list []option
	for _, f := range all {
		list = append(list, option{f.Name, fmt.Sprintf("%s · %d vCPUs, %s, disk %d GB", f.Name, f.VCPUs, memory(f.RAM), f.Disk)})
	}
	return list, err
}

func memory(mib int) string { return frame.Size(int64(mib) << 20) }

func (q *request) keypairs() ([]option, error) {
	all, err := listed(q, "Nova", openstack.NewComputeV2, func(ctx context.Context, c *gophercloud.ServiceClient) ([]keypairs.KeyPair, error) {
		pages, err := keypairs.List(c, nil).AllPages(ctx)
		if err != nil {
			return nil, err
		}
		return keypairs.ExtractKeyPairs(pages)
	})
	var list []option
	for _, k := range all {
		list = append(list, option{k.Name, k.Name})
	}
	return list, err
}

func (q *request) networks() ([]option, error) {
	all, err := listed(q, "Neutron", openstack.NewNetworkV2, func(ctx context.Context, c *gophercloud.ServiceClient) ([]networks.Network, error) {
		pages, err := networks.List(c, networks.ListOpts{ProjectID: q.projectID}).AllPages(ctx)
		if err != nil {
			return nil, err
		}
		return networks.ExtractNetworks(pages)
	})
	var list []option
	for _, n := range all {
		list = append(list, option{n.ID, cmp.Or(n.Name, n.ID)})
	}
	return list, err
}

// quota is what is left of the project's quota for machines.
func (q *request) quota() (string, error) {
	client, err := openstack.NewComputeV2(q.provider, q.endpoint())
	if err != nil {
		return "", q.elsewhere("Nova", err)
	}
	found, err := limits.Get(q.ctx, client, nil).Extract()
	if err != nil {
		return "", q.elsewhere("Nova", err)
	}
	a := found.Absolute
	left := func(most, used int, text func(int) string) string {
		if most < 0 {
			return "without a limit"
		}
		return text(max(0, most-used))
	}
	number := func(n int) string { return fmt.Sprint(n) }
	return fmt.Sprintf("Left of your quota: vCPUs %s, memory %s, machines %s.", left(a.MaxTotalCores, a.TotalCoresUsed, number),
		left(a.MaxTotalRAMSize, a.TotalRAMUsed, memory), left(a.MaxTotalInstances, a.TotalInstancesUsed, number)), nil
}

// either is a choice, or a text if nobody knows what there is to choose.
func either(f field, list []option, none string) field {
	f.Kind = "text"
	if len(list) > 0 {
		f.Kind, f.Options = "select", append([]option{{"", none}}, list...)
	}
	return f
}
