package tenant_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/test/tenanttest"
)

// network makes a network, and returns its ID.
func network(t *testing.T, in sandboxtest.Clients, name string, shared bool) string {
	t.Helper()
	made, err := networks.Create(t.Context(), in.Network(t), networks.CreateOpts{Name: name, Shared: &shared}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

var optionsOf = regexp.MustCompile(`<option value="([^"]*)"[^>]*>([^<]*)</option>`)

// options are what a field offers: pairs of value and text.
func (p page) options(field string) [][2]string {
	p.t.Helper()
	for _, one := range selects.FindAllStringSubmatch(p.text, -1) {
		if one[1] != field {
			continue
		}
		var list [][2]string
		for _, match := range optionsOf.FindAllStringSubmatch(one[2], -1) {
			list = append(list, [2]string{match[1], match[2]})
		}
		return list
	}
	p.t.Fatalf("%s offers nothing for %s:\n%s", p.at, field, p.text)
	return nil
}

// TestNetworks: all that machines can be in are offered, the project's own first, and a
// cluster gets the one that is chosen.
func TestNetworks(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	template := w.Template("k8s", "ubuntu-1.34")
	shop := w.As(tenanttest.Member, "shop")
	campus := network(t, w.Cloud.Admin, "campus", true)
	first, own, second := network(t, shop, "twice", false), network(t, shop, "backend", false), network(t, shop, "twice", false)
	network(t, w.As(tenanttest.Member, "bank"), "vault", false)
	b := open(t, w).enter(tenanttest.Member, "shop")
	const path = "/clusters/new"
	offered := b.get(path).want(200).options("fixed_network")
	var texts []string
	for _, one := range offered {
		texts = append(texts, one[1])
	}
	want := "As in the template, or a new one|backend|twice · " + first + "|twice · " + second + "|campus · of another project"
	if got := strings.Join(texts, "|"); got != want && got != strings.NewReplacer(first, second, second, first).Replace(want) {
		t.Errorf("offered are %s, not %s", got, want)
	}
	for name, id := range map[string]string{"own": own, "shared": campus} {
		made := b.fill(path, "name", name, "cluster_template_id", template, "fixed_network", id).want(200, "create in progress")
		if v := w.View(strings.TrimPrefix(made.at, "/clusters/")); v == nil || v.Cluster.Spec.Resolved.FixedNetworkID != id {
			t.Errorf("%s: the network is not in %+v", name, v)
		}
	}
}
