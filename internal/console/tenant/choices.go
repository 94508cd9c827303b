package tenant

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clustertemplates"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// choices are what a form can offer. What the cloud does not tell is typed instead.
type choices struct {
	templates                   []clustertemplates.ClusterTemplate
	versions                    map[string]string // of Kubernetes, by image
	flavors, keypairs, networks []option
	// sizes are those of flavors, by name and ID; reachable are networks by name and ID, owned
	// the names of key pairs. They are nil if they are not known.
	sizes            map[string]size
	reachable, owned []string
	room             *room
	trouble          []frame.Trouble
}

// size is what one machine of a flavor takes; memory in MiB.
type size struct{ vcpus, memory int }

// fresh is how long a check while somebody types may use what was offered before.
const fresh = 30 * time.Second

// intro is what is left of the quota.
func (c *choices) intro() words.Text {
	if c.room == nil {
		return nil
	}
	return words.T("Left of your quota: %s.", c.room.text())
}

// maker makes a client of a service.
type maker = func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)

// offer is all that a form can offer.
func (q *request) offer() *choices {
	q.mu.Lock()
	before, at := q.offered, q.offeredAt
	q.mu.Unlock()
	if q.quick && before != nil && time.Since(at) < fresh {
		return before
	}
	c := q.ask(true)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.offered, q.offeredAt = c, time.Now()
	return c
}

// ask asks for what forms can offer, side by side; without all, for what counts alone: the
// flavors and the quota.
func (q *request) ask(all bool) *choices {
	c := &choices{versions: map[string]string{}}
	var group sync.WaitGroup
	var mu sync.Mutex
	ask := func(what words.Text, do func() error) {
		group.Go(func() {
			if err := do(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				c.trouble = append(c.trouble, frame.Troubles(what, frame.Reading[any]{Err: err})...)
			}
		})
	}
	ask(words.T("the flavors"), func() (err error) { c.flavors, c.sizes, err = q.flavors(); return err })
	ask(words.T("the quota"), func() (err error) { c.room, err = q.room(); return err })
	if all {
		ask(words.T("the cluster templates"), func() (err error) { c.templates, err = q.templates(); return err })
		ask(words.T("the images"), func() (err error) { c.versions, err = q.versions(); return err })
		ask(words.T("the key pairs"), func() (err error) { c.keypairs, c.owned, err = q.keypairs(); return err })
		ask(words.T("the networks"), func() (err error) { c.networks, c.reachable, err = q.networks(); return err })
	}
	group.Wait()
	slices.SortFunc(c.trouble, func(a, b frame.Trouble) int { return strings.Compare(a.What.String(), b.What.String()) })
	return c
}

// listed reads all pages of something in another service than Magnum.
func listed[T any](q *request, of string, service maker, list func(context.Context, *gophercloud.ServiceClient) ([]T, error)) ([]T, error) {
	client, err := service(q.provider, q.endpoint())
	if err != nil {
		return nil, q.elsewhere(of, err)
	}
	all, err := list(q.ctx, client)
	return all, q.elsewhere(of, err)
}

// elsewhere is an error of another service. That it does not take the token says nothing of
// Magnum.
func (q *request) elsewhere(service string, err error) error {
	if err == nil {
		return nil
	}
	return &refusal{explain(err), words.Said(service), err}
}

func (q *request) templates() ([]clustertemplates.ClusterTemplate, error) {
	c, err := q.api()
	if err != nil {
		return nil, err
	}
	pages, err := clustertemplates.List(c, nil).AllPages(q.ctx)
	if err != nil {
		return nil, q.failed(words.T("the Magnum API"), err)
	}
	all, err := clustertemplates.ExtractClusterTemplates(pages)
	slices.SortFunc(all, func(a, b clustertemplates.ClusterTemplate) int { return strings.Compare(a.Name, b.Name) })
	return all, q.failed(words.T("the Magnum API"), err)
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
		list = append(list, option{t.UUID, words.Said(text)})
	}
	return list
}

func (q *request) flavors() ([]option, map[string]size, error) {
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
	var sizes map[string]size
	for _, f := range all {
		if sizes == nil {
			sizes = map[string]size{}
		}
		list = append(list, option{f.Name, words.T("%s · %d vCPUs, %s, disk %d GB", f.Name, f.VCPUs, memory(f.RAM), f.Disk)})
		sizes[f.ID], sizes[f.Name] = size{f.VCPUs, f.RAM}, size{f.VCPUs, f.RAM}
	}
	return list, sizes, err
}

func memory(mib int) words.Text { return words.Bytes(int64(mib) << 20) }

func (q *request) keypairs() (list []option, owned []string, err error) {
	all, err := listed(q, "Nova", openstack.NewComputeV2, func(ctx context.Context, c *gophercloud.ServiceClient) ([]keypairs.KeyPair, error) {
		pages, err := keypairs.List(c, nil).AllPages(ctx)
		if err != nil {
			return nil, err
		}
		return keypairs.ExtractKeyPairs(pages)
	})
	if err == nil {
		owned = []string{} // who has none knows that
	}
	for _, k := range all {
		list, owned = append(list, option{k.Name, words.Said(k.Name)}), append(owned, k.Name)
	}
	return list, owned, err
}

// network is one of Neutron's.
type network struct {
	networks.Network
	external.NetworkExternalExt
}

// networks are all that the project can use, and those of them that machines can be in: the
// project's own first, then those that others share.
func (q *request) networks() (list []option, reachable []string, err error) {
	all, err := listed(q, "Neutron", openstack.NewNetworkV2, func(ctx context.Context, c *gophercloud.ServiceClient) ([]network, error) {
		pages, err := networks.List(c, nil).AllPages(ctx)
		if err != nil {
			return nil, err
		}
		var all []network
		return all, networks.ExtractNetworksInto(pages, &all)
	})
	others := func(n network) int {
		if n.ProjectID == q.projectID {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b network) int { return cmp.Or(others(a)-others(b), strings.Compare(a.Name, b.Name)) })
	of := map[string]int{}
	for _, n := range all {
		of[n.Name]++
	}
	for _, n := range all {
		reachable = append(reachable, n.ID, n.Name)
		if n.External {
			continue
		}
		text := cmp.Or(n.Name, n.ID)
		if n.Name != "" && of[n.Name] > 1 {
			text += " · " + n.ID
		}
		shown := words.Said(text)
		if others(n) > 0 {
			shown = words.T("%s · of another project", text)
		}
		list = append(list, option{n.ID, shown})
	}
	return list, reachable, err
}

// room is what is left of the project's quota for machines.
func (q *request) room() (*room, error) {
	client, err := openstack.NewComputeV2(q.provider, q.endpoint())
	if err != nil {
		return nil, q.elsewhere("Nova", err)
	}
	found, err := limits.Get(q.ctx, client, nil).Extract()
	if err != nil {
		return nil, q.elsewhere("Nova", err)
	}
	left := func(most, used int) int {
		if most < 0 {
			return -1
		}
		return max(0, most-used)
	}
	a := found.Absolute
	return &room{left(a.MaxTotalInstances, a.TotalInstancesUsed), left(a.MaxTotalCores, a.TotalCoresUsed), left(a.MaxTotalRAMSize, a.TotalRAMUsed)}, nil
}

// either is a choice, or a text if nobody knows what there is to choose.
func either(f field, list []option, none words.Text) field {
	f.Kind = "text"
	if len(list) > 0 {
		f.Kind, f.Options = "select", append([]option{{"", none}}, list...)
	}
	return f
}
