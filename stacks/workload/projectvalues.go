package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// part is a part of the values that describes machines.
type part struct {
	// path ends with a dot, or is empty.
	path   string
	values map[string]any
}

// machines are the parts of values that describe machines; the first are the values
// themselves.
func machines(values map[string]any) []part {
	all := []part{{"", values}}
	for _, name := range []string{"controlPlane", "nodeGroupDefaults"} {
		if below, _ := values[name].(map[string]any); below != nil {
			all = append(all, part{name + ".", below})
		}
	}
	return append(all, tables(values, "nodeGroups")...)
}

// tables are the tables in a list.
func tables(values map[string]any, name string) (all []part) {
	list, _ := values[name].([]any)
	for i, one := range list {
		if below, _ := one.(map[string]any); below != nil {
			all = append(all, part{fmt.Sprintf("%s[%d].", name, i), below})
		}
	}
	return all
}

func text(values map[string]any, path ...string) string {
	value, _, _ := unstructured.NestedString(values, path...)
	return value
}

// The collections of objects that values name by their IDs.
const (
	networkCollection       = "networks"
	subnetCollection        = "subnets"
	routerCollection        = "routers"
	securityGroupCollection = "security-groups"
	serverGroupCollection   = "os-server-groups"
)

// reference is an object that values name by its ID.
type reference struct{ collection, path, id string }

// word is what users call the kind of object.
func (r reference) word() string {
	return strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(r.collection, "os-"), "s"), "-", " ")
}

// references are the objects that the values of a cluster name by their IDs.
func references(values map[string]any) (all []reference) {
	add := func(collection, path, id string) {
		if id != "" {
			all = append(all, reference{collection, path, id})
		}
	}
	const at = "clusterNetworking."
	networking, _ := values["clusterNetworking"].(map[string]any)
	add(networkCollection, at+"externalNetworkId", text(networking, "externalNetworkId"))
	add(networkCollection, at+"internalNetwork.networkFilter.id", text(networking, "internalNetwork", "networkFilter", "id"))
	add(subnetCollection, at+"internalNetwork.subnetFilter.id", text(networking, "internalNetwork", "subnetFilter", "id"))
	add(routerCollection, at+"router.id", text(networking, "router", "id"))
	for _, name := range []string{"allNodesSecurityGroupRules", "controlPlaneNodesSecurityGroupRules", "workerNodesSecurityGroupRules"} {
		for _, rule := range tables(networking, name) {
			add(securityGroupCollection, at+rule.path+"remoteGroupID", text(rule.values, "remoteGroupID"))
		}
	}
	for _, m := range machines(values)[1:] {
		add(serverGroupCollection, m.path+"serverGroupId", text(m.values, "serverGroupId"))
		below, _ := m.values["machineNetworking"].(map[string]any)
		for _, port := range tables(below, "ports") {
			path := m.path + "machineNetworking." + port.path
			add(networkCollection, path+"network.id", text(port.values, "network", "id"))
			for _, address := range tables(port.values, "fixedIPs") {
				add(subnetCollection, path+address.path+"subnet.id", text(address.values, "subnet", "id"))
			}
			for _, g := range tables(port.values, "securityGroups") {
				add(securityGroupCollection, path+g.path+"id", text(g.values, "id"))
			}
		}
	}
	return all
}

// checkReferences refuses objects that the cluster's project does not have: those of the
// environment's, mostly.
func (c Cloud) checkReferences(ctx context.Context, values map[string]any) error {
	var wrong []error
	for _, r := range references(values) {
		there, err := c.has(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: reading %s %s: %w", r.path, r.word(), r.id, err)
		}
		if !there {
			wrong = append(wrong, fault.Usage(r.path, fmt.Errorf("project %s does not have %s %s", c.home, r.word(), r.id), "name one that this project has or is shared with, or leave it out"))
		}
	}
	return errors.Join(wrong...)
}

// has reports whether the cluster's project has an object, or will have: one that is not made
// yet has what is shared with all.
func (c Cloud) has(ctx context.Context, r reference) (bool, error) {
	if c.inside != nil {
		found, err := r.read(ctx, c.inside)
		return found != nil, err
	}
	switch r.collection {
	case subnetCollection:
		found, err := r.read(ctx, c.Operator)
		if found == nil || err != nil {
			return false, err
		}
		return c.has(ctx, reference{collection: networkCollection, id: text(found, "network_id")})
	case networkCollection:
		found, err := r.read(ctx, c.Operator)
		return found["shared"] == true || found["router:external"] == true, err
	}
	return false, nil
}

// read returns an object, nil if a project cannot see it.
func (r reference) read(ctx context.Context, as openstack.Clients) (map[string]any, error) {
	open := as.Network
	if r.collection == serverGroupCollection {
		open = as.Compute
	}
	client, err := open()
	if err != nil {
		return nil, err
	}
	var body map[string]map[string]any
	_, err = client.Get(ctx, client.ServiceURL(r.collection, r.id), &body, nil)
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil, nil
	}
	for _, found := range body { // it is the only one
		return found, err
	}
	return nil, err
}
