package contract_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/common/extensions"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/rbacpolicies"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

func TestNetworkExtensions(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	for _, alias := range []string{"router", "security-group", "external-net", "port-security", "allowed-address-pairs", "binding",
		"standard-attr-tag", "standard-attr-revisions", "quotas", "extraroute", "extraroute-atomic", "trunk", "net-mtu", "rbac-policies"} {
		if _, err := extensions.Get(t.Context(), client, alias).Extract(); err != nil {
			t.Errorf("%s: %v", alias, err)
		}
	}
	_, err := extensions.Get(t.Context(), client, "no-such-extension").Extract()
	wantStatus(t, err, http.StatusNotFound)
}

func TestNetworkQuota(t *testing.T) {
	boss, client := admin(t).Network(t), member(t).Network(t)
	project := defaultSecurityGroup(t, client).ProjectID
	before := must[*quotas.QuotaDetailSet](t)(quotas.GetDetail(t.Context(), client, project).Extract())
	if before.Network.Limit == 0 || before.SecurityGroup.Used < 1 {
		t.Errorf("got %+v, want limits and what is used", before)
	}
	full := before.Network.Used
	set := func(limit int) {
		must[*quotas.Quota](t)(quotas.Update(cleanup(t), boss, project, quotas.UpdateOpts{Network: &limit}).Extract())
	}
	t.Cleanup(func() { set(before.Network.Limit) })
	set(full)
	made, err := networks.Create(t.Context(), client, networks.CreateOpts{Name: unique(t)}).Extract()
	if err == nil {
		gone(t, networks.Delete(t.Context(), client, made.ID).ExtractErr())
	}
	wantNeutron(t, err, http.StatusConflict, "OverQuota", "Quota exceeded for resources: ['network'].")
	_, err = quotas.Update(t.Context(), client, project, quotas.UpdateOpts{Network: &full}).Extract()
	wantStatus(t, err, http.StatusForbidden)
	_, err = quotas.Get(t.Context(), client, "another-project").Extract()
	wantStatus(t, err, http.StatusForbidden)
}

func TestNetworkShared(t *testing.T) {
	t.Parallel()
	boss, client := admin(t).Network(t), member(t).Network(t)
	project := defaultSecurityGroup(t, client).ProjectID
	network := neutronNetwork(t, boss)
	neutronSubnet(t, boss, network.ID, "192.0.2.0/24")
	policy := must[*rbacpolicies.RBACPolicy](t)(rbacpolicies.Create(t.Context(), boss, rbacpolicies.CreateOpts{
		Action: rbacpolicies.ActionAccessShared, ObjectType: "network", ObjectID: network.ID, TargetTenant: project}).Extract())
	_, err := rbacpolicies.Create(t.Context(), boss, rbacpolicies.CreateOpts{
		Action: rbacpolicies.ActionAccessShared, ObjectType: "network", ObjectID: network.ID, TargetTenant: project}).Extract()
	wantNeutron(t, err, http.StatusConflict, "DuplicateRbacPolicy", "already exists")
	seen := must[*networks.Network](t)(networks.Get(t.Context(), client, network.ID).Extract())
	if !seen.Shared {
		t.Error("the network is not shown as shared")
	}
	port := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID})
	if len(port.FixedIPs) != 1 {
		t.Errorf("got %v, want an address on the shared network", port.FixedIPs)
	}
	_, err = ports.Create(t.Context(), client, ports.CreateOpts{NetworkID: network.ID, FixedIPs: []ports.IP{{IPAddress: "192.0.2.66"}}}).Extract()
	wantNeutron(t, err, http.StatusForbidden, "PolicyNotAuthorized", "fixed_ips")
	wantNeutron(t, rbacpolicies.Delete(t.Context(), boss, policy.ID).ExtractErr(), http.StatusConflict, "RbacPolicyInUse", network.ID)
	gone(t, ports.Delete(t.Context(), client, port.ID).ExtractErr())
	gone(t, rbacpolicies.Delete(t.Context(), boss, policy.ID).ExtractErr())
	_, err = networks.Get(t.Context(), client, network.ID).Extract()
	wantNeutron(t, err, http.StatusNotFound, "NetworkNotFound", network.ID)
}

func TestSecurityGroupIsOfItsProject(t *testing.T) {
	t.Parallel()
	theirs := neutronGroup(t, admin(t).Network(t))
	_, err := groups.Get(t.Context(), member(t).Network(t), theirs.ID).Extract()
	wantNeutron(t, err, http.StatusNotFound, "SecurityGroupNotFound", theirs.ID)
}
