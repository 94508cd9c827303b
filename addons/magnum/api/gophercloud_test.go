package api

import (
	"context"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	gcertificates "github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/certificates"
	gclusters "github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clusters"
	gtemplates "github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clustertemplates"
	ggroups "github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/nodegroups"
	gquotas "github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// infra registers the server in the catalog at an address and returns
// gophercloud's client of it.
func (b *bench) infra(who, path, version string) *gophercloud.ServiceClient {
	b.t.Helper()
	identity := b.cloud.Admin.Identity(b.t)
	service, err := services.Create(b.t.Context(), identity, services.CreateOpts{Type: "container-infra", Extra: map[string]any{"name": "magnum"}}).Extract()
	b.must(err)
	_, err = endpoints.Create(b.t.Context(), identity, endpoints.CreateOpts{Availability: gophercloud.AvailabilityPublic, Name: "magnum", Region: "RegionOne",
		URL: b.address + path, ServiceID: service.ID}).Extract()
	b.must(err)
	b.logins[who] = b.cloud.Login(b.t, sandboxtest.User(who, "secret", "shop")) // for the new catalog
	client, err := openstack.NewContainerInfraV1(b.logins[who].Provider, gophercloud.EndpointOpts{Region: "RegionOne"})
	b.must(err)
	client.Microversion = version
	return client
}

// TestGophercloud does what gophercloud's acceptance tests do.
//
// proves: M-F13, M-F14
func TestGophercloud(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.infra(member, "/v1", "1.9")
	ctx, yes, zero := t.Context(), true, 0
	template, err := gtemplates.Create(ctx, c, gtemplates.CreateOpts{Name: "gophercloud", COE: "kubernetes", ImageID: "ubuntu-1.34", ExternalNetworkID: "public",
		FlavorID: "m1.large", MasterFlavorID: "m1.medium", DNSNameServer: "8.8.8.8", FloatingIPEnabled: &yes, MasterLBEnabled: &yes, ServerType: "vm", Labels: map[string]string{"a": "b"}}).Extract()
	b.must(err)
	if template.UUID == "" || template.CreatedAt.IsZero() || !template.FloatingIPEnabled || template.Labels["a"] != "b" || template.ClusterDistro != "ubuntu" {
		t.Errorf("%+v", template)
	}
	renamed, err := gtemplates.Update(ctx, c, template.UUID, []gtemplates.UpdateOptsBuilder{
		gtemplates.UpdateOpts{Op: gtemplates.ReplaceOp, Path: "/name", Value: "renamed"}, gtemplates.UpdateOpts{Op: gtemplates.RemoveOp, Path: "/dns_nameserver"}}).Extract()
	b.must(err)
	if renamed.Name != "renamed" || renamed.DNSNameServer != "" || renamed.UpdatedAt.IsZero() {
		t.Errorf("%+v", renamed)
	}
	var uuids []string
	for _, name := range []string{"one", "two", "three"} {
		id, err := gclusters.Create(ctx, c, gclusters.CreateOpts{Name: name, ClusterTemplateID: template.UUID, Keypair: "ops", Labels: map[string]string{"x": "y"}}).Extract()
		b.must(err)
		uuids = append(uuids, id)
		b.settle(id)
	}
	walked := 0
	b.must(gclusters.List(c, gclusters.ListOpts{Limit: 1}).EachPage(ctx, func(_ context.Context, page pagination.Page) (bool, error) {
		list, err := gclusters.ExtractClusters(page)
		walked += len(list)
		return true, err
	}))
	if walked != 3 {
		t.Errorf("paging found %d clusters", walked)
	}
	pages, err := gclusters.ListDetail(c, nil).AllPages(ctx)
	b.must(err)
	if list, err := gclusters.ExtractClusters(pages); err != nil || len(list) != 3 || list[0].StackID == "" || list[0].NodeAddresses[0] != "10.0.0.10" || list[0].Labels["x"] != "y" {
		t.Errorf("%+v, %v", list, err)
	}
	uuid := uuids[0]
	if id, err := gclusters.Update(ctx, c, uuid, []gclusters.UpdateOptsBuilder{gclusters.UpdateOpts{Op: gclusters.ReplaceOp, Path: "/node_count", Value: 2}}).Extract(); err != nil || id != uuid {
		t.Errorf("update: %s, %v", id, err)
	}
	b.settle(uuid)
	if id, err := gclusters.Resize(ctx, c, uuid, gclusters.ResizeOpts{NodeCount: &[]int{3}[0]}).Extract(); err != nil || id != uuid {
		t.Errorf("resize: %s, %v", id, err)
	}
	b.settle(uuid)
	if id, err := gclusters.Upgrade(ctx, c, uuid, gclusters.UpgradeOpts{ClusterTemplate: template.UUID, MaxBatchSize: &[]int{1}[0]}).Extract(); err != nil || id != uuid {
		t.Errorf("upgrade: %s, %v", id, err)
	}
	b.settle(uuid)
	group, err := ggroups.Create(ctx, c, uuid, ggroups.CreateOpts{Name: "extra", MinNodeCount: 0, NodeCount: &zero, Labels: map[string]string{"l": "m"}}).Extract()
	b.must(err)
	if group.UUID == "" || group.ClusterID != uuid || group.Status != "CREATE_IN_PROGRESS" || group.Labels["l"] != "m" {
		t.Errorf("%+v", group)
	}
	b.settle(uuid)
	if changed, err := ggroups.Update(ctx, c, uuid, "extra", []ggroups.UpdateOptsBuilder{ggroups.UpdateOpts{Op: ggroups.ReplaceOp, Path: "/max_node_count", Value: 3}}).Extract(); err != nil || *changed.MaxNodeCount != 3 {
		t.Errorf("%+v, %v", changed, err)
	}
	pages, err = ggroups.List(c, uuid, ggroups.ListOpts{Role: "worker"}).AllPages(ctx)
	b.must(err)
	if list, err := ggroups.ExtractNodeGroups(pages); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	b.must(ggroups.Delete(ctx, c, uuid, "extra").ExtractErr())
	b.authorities(uuid)
	if ca, err := gcertificates.Get(ctx, c, uuid).Extract(); err != nil || ca.ClusterUUID != uuid || ca.PEM == "" {
		t.Errorf("%+v, %v", ca, err)
	}
	if signed, err := gcertificates.Create(ctx, c, gcertificates.CreateOpts{ClusterUUID: uuid, CSR: b.csr(b.ecKey(), 0)}).Extract(); err != nil || signed.PEM == "" {
		t.Errorf("%+v, %v", signed, err)
	}
	b.server.o.Rules.RotateCA = true
	b.settle(uuid)
	b.must(gcertificates.Update(ctx, c, uuid).ExtractErr())
	operator := *c
	operator.ProviderClient = b.logins[admin].Provider
	if q, err := gquotas.Create(ctx, &operator, gquotas.CreateOpts{ProjectID: b.project, Resource: "Cluster", HardLimit: 10}).Extract(); err != nil || q.HardLimit != 10 || q.ID == "" {
		t.Errorf("%+v, %v", q, err)
	}
	b.must(gclusters.Delete(ctx, c, uuid).ExtractErr())
}
