package faults

import (
	"errors"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/slipway-sh/slipway/internal/cause"
)

// group is the server group as its controller writes it after the cloud refused it.
func group(message string) string {
	return waitingWorker + `
kind: ServerGroup
metadata: {name: shop-workers}
status: {conditions: [{type: Progressing, status: "False", reason: UnrecoverableError, message: "` + message + `", lastTransitionTime: "2026-01-02T08:03:00Z"}]}
`
}

// disk is a volume of the worker, whose server runs.
func disk(name, status, server string) *cause.Cloud {
	return with(pair("cp", "w1"), func(c *cause.Cloud) {
		c.Volumes = []cause.Volume{{ID: "v", Name: name, Status: status, Server: server, Updated: asked.Add(-time.Hour)}}
	})
}

// running is the worker with its server.
const running = "kind: Machine\nmetadata: {name: shop-w1}\nspec: {providerID: \"openstack:///w1\"}\n---\nkind: OpenStackMachine\nmetadata: {name: shop-w1}\nspec: {additionalBlockDevices: [{name: etcd}]}\n"

// rareCases are what a cloud has besides.
func rareCases() []planted {
	const missing = "5a1f0000-0000-4000-8000-000000000001"
	endpoint := func(words string) string {
		return infrastructure("APIEndpointReady", "APIEndpointConfigFailed", "Failed to reconcile control plane endpoint: "+words)
	}
	return []planted{
		on("network deleted with all that is in it", "network-gone", "network nodes", func(c *whole) { c.network, c.subnet = missing, missing }),
		on("security group deleted", "network-gone", "security group control", func(c *whole) { c.group["controlplane"] = missing }),
		on("load balancer deleted, and its address with it", "load-balancer-gone", "load balancer "+balancer, func(c *whole) {
			c.ok(loadbalancers.Delete(c.Context(), c.lbs(), c.balancerID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr())
			c.eventually("it is gone", func() bool {
				_, err := loadbalancers.Get(c.Context(), c.lbs(), c.balancerID).Extract()
				return err != nil
			})
		}),
		on("server of the control plane deleted, and its member down", "server-deleted", "server shop-cp1", func(c *whole) {
			c.ok(servers.Delete(c.Context(), c.box.Member.Compute(c.T), c.server["shop-cp1"]).ExtractErr())
			c.eventually("it is gone", func() bool {
				_, err := servers.Get(c.Context(), c.box.Member.Compute(c.T), c.server["shop-cp1"]).Extract()
				return err != nil
			})
		}),
		{fault: "locked server that is to be deleted", reason: "server-locked", object: "server shop-w1", objects: running + "---" + leaves("Waiting for InfrastructureMachine deletion"),
			said: with(pair("cp", "w1"), func(c *cause.Cloud) { c.Servers[1].Locked = true })},
		{fault: "server of which Nova knows no state", reason: "server-stopped", object: "server shop-w1", said: with(pair("cp", "w1"), func(c *cause.Cloud) { c.Servers[1].Status = "UNKNOWN" })},
		{fault: "name servers of a subnet changed", reason: "subnet-differs", object: "subnet nodes",
			objects: subnetOf("{cidr: 10.6.0.0/24, dnsNameservers: [9.9.9.9]}") + "---" + waitingWorker, said: nodes(cause.Subnet{NameServers: []string{"192.0.2.53"}})},
		{fault: "route of a subnet that leads nowhere", reason: "subnet-differs", object: "subnet nodes",
			objects: subnetOf("{cidr: 10.6.0.0/24}") + "---" + waitingWorker, said: nodes(cause.Subnet{Routes: []string{"169.254.169.254/32 via 10.6.0.99"}})},
		{fault: "volume attached to another server", reason: "volume-detached", object: "volume shop-w1-root", objects: running, said: disk("shop-w1-root", "in-use", "cp")},
		{fault: "volume of a running server detached", reason: "volume-detached", object: "volume shop-w1-etcd", objects: running, said: disk("shop-w1-etcd", "available", "")},
		{fault: "volume that is attached for an hour", reason: "volume-slow", object: "volume shop-w1-etcd", objects: running, said: disk("shop-w1-etcd", "attaching", "")},
		{fault: "quota of server groups", reason: "quota-compute", object: "quota server_groups", objects: group("Quota exceeded, too many server groups. (403)")},
		{fault: "quota of servers in a group", reason: "quota-compute", object: "quota server_group_members", objects: refused(errors.New("Quota exceeded, too many servers in group (403)"))},
		{fault: "quota of rules of security groups", reason: "quota-network", object: "quota security_group_rules", objects: infrastructure("SecurityGroupsReady", "OpenStackError", "failed to reconcile security groups: Quota exceeded for resources: ['security_group_rule']. (409)")},
		{fault: "quota of listeners", reason: "quota-load-balancer", object: "quota Listener", objects: endpoint("failed to reconcile load balancer: Quota has been met for resources: Listener (403)")},
		{fault: "flavor whose access was revoked", reason: "flavor-missing", object: "flavor m1.secret",
			run: func(w *world) string {
				w.later = time.Hour
				return waitingWorker + "kind: OpenStackMachine\nmetadata: {name: shop-w1}\nspec: {flavor: m1.secret}\n"
			}},
		{fault: "image that is private to another project", reason: "image-missing", object: "image ID",
			run: func(w *world) string {
				private := images.ImageVisibilityPrivate
				img := must(images.Create(w.Context(), w.box.Admin.Image(w.T), images.CreateOpts{Name: "secret", ContainerFormat: "bare", DiskFormat: "raw", Visibility: &private}).Extract())(w)
				return waitingWorker + "kind: OpenStackMachine\nmetadata: {name: shop-w1}\nspec: {image: {id: " + img.ID + "}}\n"
			}},
		{fault: "image that nobody uploaded", reason: "image-inactive", object: "image empty",
			run: func(w *world) string {
				img := must(images.Create(w.Context(), w.box.Member.Image(w.T), images.CreateOpts{Name: "empty", ContainerFormat: "bare", DiskFormat: "raw"}).Extract())(w)
				return waitingWorker + "kind: OpenStackMachine\nmetadata: {name: shop-w1}\nspec: {image: {id: " + img.ID + "}}\n"
			}},
		{fault: "key pair of another user", reason: "key-pair-missing", object: "key pair admin-key",
			run: func(w *world) string {
				w.later = time.Hour
				must(keypairs.Create(w.Context(), w.box.Admin.Compute(w.T), keypairs.CreateOpts{Name: "admin-key", PublicKey: publicKey}).Extract())(w)
				return waitingWorker + "kind: OpenStackMachine\nmetadata: {name: shop-w1}\nspec: {sshKeyName: admin-key}\n"
			}},
		{fault: "trust gone", reason: "credential-revoked", object: secret, said: loginRefused(404, "Could not find trust: 5a1f. (404)")},
		{fault: "user of the credential deleted", reason: "credential-revoked", object: secret, said: loginRefused(404, "Could not find user: 5a1f. (404)")},
		{fault: "services that refuse the tokens of Keystone", reason: "token-refused", object: secret, said: unserved("the cloud answered 401")},
		{fault: "credential that may read nothing", reason: "credential-without-role", object: secret, said: unserved("Policy doesn't allow this (403)")},
		{fault: "amphorae of the load balancer down", reason: "load-balancer-error", object: "load balancer " + balancer, objects: made("controlPlaneSecurityGroup: {}"),
			said: tree(func(b *cause.Balancer) { b.Operating = "ERROR" })},
		{fault: "listener of the load balancer in ERROR", reason: "load-balancer-error", object: "load balancer " + balancer, objects: made("controlPlaneSecurityGroup: {}"),
			said: tree(func(b *cause.Balancer) { b.Parts.Listeners[0].Provisioning = "ERROR" })},
		{fault: "control plane that is no member of the load balancer", reason: "load-balancer-incomplete", object: "load balancer " + balancer, objects: made("controlPlaneSecurityGroup: {}"),
			said: tree(func(b *cause.Balancer) { b.Members[0].Name, b.Members[0].Address = "old", "10.6.0.99" })},
		{fault: "address of the API in use", reason: "address-in-use", object: "address 10.6.0.5", objects: endpoint("failed to create port: IP address 10.6.0.5 already allocated in subnet 5a1f (409)")},
		{fault: "external network not reachable for a floating IP", reason: "router-without-interface", object: "OpenStackCluster shop",
			objects: endpoint("External network 5a1f is not reachable from subnet 77. Therefore, cannot associate Port 12 with a Floating IP. (404)")},
		{fault: "availability zone of volumes missing", reason: "zone-missing", object: "availability zone az-9", objects: refused(errors.New("Availability zone 'az-9' is invalid. (400)"))},
		{fault: "server that somebody rebuilds for an hour", reason: "server-slow", object: "server shop-w1", said: with(pair("cp", "w1"), func(c *cause.Cloud) {
			c.Servers[1].Status, c.Servers[1].Task, c.Servers[1].Updated = "REBUILD", "rebuilding", asked.Add(-time.Hour)
		})},
	}
}

// publicKey is a key of nobody.
const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7zvKTbcRdNkHeRbMd8Ap8dPXiVpmdtqyvwAnH9bR2c nobody"

// subnetOf is the infrastructure with a subnet and its settings.
func subnetOf(settings string) string {
	return "kind: OpenStackCluster\nmetadata: {name: shop}\nspec: {managedSubnets: [" + settings + "]}\n" +
		strings.TrimPrefix(made("network: {id: net-1, name: nodes, subnets: [{id: sub-1, name: nodes}]}"), "kind: OpenStackCluster\nmetadata: {name: shop}\n")
}

// nodes is a cloud with the subnet of the machines.
func nodes(s cause.Subnet) *cause.Cloud {
	s.ID, s.Name, s.Network, s.CIDR, s.Gateway, s.DHCP = "sub-1", "nodes", "net-1", "10.6.0.0/24", "10.6.0.1", true
	return &cause.Cloud{Networks: []cause.Network{{ID: "net-1", Name: "nodes"}}, Subnets: []cause.Subnet{s}}
}

// unserved is a login that Nova and Neutron refuse.
func unserved(words string) *cause.Cloud {
	return &cause.Cloud{Missing: []cause.Unseen{{What: cause.ListServers, Why: words}, {What: cause.ListPorts, Why: words}}}
}

// tree is a load balancer with its parts, and a change of it.
func tree(change func(*cause.Balancer)) *cause.Cloud {
	b := cause.Balancer{ID: "1f", Name: balancer, Provisioning: "ACTIVE", Operating: "ONLINE", Members: []cause.Member{{Name: balancer + "-6443-shop-cp1", Address: "10.6.0.11", Operating: "ONLINE"}},
		Parts: &cause.Parts{Listeners: []cause.Listener{{Name: "api", Port: 6443, Pool: "p", Provisioning: "ACTIVE"}}, Pools: []cause.Pool{{ID: "p", Name: "api", Members: 1, Provisioning: "ACTIVE"}}}}
	change(&b)
	return &cause.Cloud{Balancers: []cause.Balancer{b}}
}
