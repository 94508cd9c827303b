package driver

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Running is what there is of a cluster that runs, as Kubernetes has it; nil is not known.
type Running struct {
	// Cluster is Cluster API's, Infrastructure the OpenStackCluster.
	Cluster, Infrastructure map[string]any
}

// Kept is a setting that a running cluster keeps, because it has another than it is asked for.
type Kept struct {
	// Setting is "label octavia_provider", "property master_lb_enabled", or "value tags" for one of
	// the chart's.
	Setting string
	// Value is what the cluster has, lists with commas; empty is nothing.
	Value string
}

// part says of which running clusters a setting is kept, and of which of their objects.
type part int

const (
	ofAny        part = iota // the OpenStackCluster
	ofBalancer               // that of clusters with a load balancer
	ofOwnNetwork             // that of clusters whose network CAPO made
	ofPods                   // the network of Cluster API's Cluster
)

// keptSetting is a setting of which a running cluster never gets another.
type keptSetting struct {
	of      part
	setting string
	// field is where the running cluster has it, value where the chart reads it.
	field, value string
	// standard is the chart's where the values say nothing; what has one is never absent.
	standard any
}

// keptSettings are all of them. CAPO's webhook refuses every change of an OpenStackCluster but those
// of allowed CIDRs and monitor of the load balancer, DNS servers, rules of security groups, bastion,
// credential and the control plane's availability zones (pkg/webhooks/openstackcluster_webhook.go).
// Cluster API takes other networks of pods and Services, which what runs does not follow. Machines are
// made of templates with names of their own, so that all of theirs can be changed. The floating IP is
// in keepFloating, the API's port with the controllers, which also look names of networks up.
func keptSettings(cni string) []keptSetting {
	const api, internal = "apiServer.", "clusterNetworking.internalNetwork."
	return []keptSetting{
		{ofAny, "property master_lb_enabled", "apiServerLoadBalancer.enabled", api + "enableLoadBalancer", nil},
		{ofBalancer, "label octavia_provider", "apiServerLoadBalancer.provider", api + "loadBalancerProvider", nil},
		{ofBalancer, "label api_server_lb_flavor", "apiServerLoadBalancer.flavor", api + "loadBalancer.flavor", nil},
		{ofBalancer, "label api_server_lb_availability_zone", "apiServerLoadBalancer.availabilityZone", api + "loadBalancer.availabilityZone", nil},
		{ofBalancer, "value apiServer.loadBalancer.additionalPorts", "apiServerLoadBalancer.additionalPorts", api + "loadBalancer.additionalPorts", nil},
		{ofAny, "label api_server_floating_ip", "apiServerFloatingIP", api + "floatingIP", nil},
		{ofAny, "value apiServer.fixedIP", "apiServerFixedIP", api + "fixedIP", nil},
		{ofAny, "property external_network_id", "externalNetwork.id", "clusterNetworking.externalNetworkId", nil},
		{ofAny, "value clusterNetworking.disableExternalNetwork", "disableExternalNetwork", "clusterNetworking.disableExternalNetwork", nil},
		{ofAny, "value tags", "tags", "tags", nil},
		{ofOwnNetwork, "property fixed_network", "network", internal + "networkFilter", nil},
		{ofOwnNetwork, "property fixed_subnet", "subnets", internal + "subnetFilter", nil},
		{ofOwnNetwork, "label fixed_subnet_cidr", "managedSubnets.0.cidr", internal + "nodeCidr", "192.168.3.0/24"},
		{ofOwnNetwork, "value " + internal + "mtu", "networkMTU", internal + "mtu", nil},
		{ofPods, "label " + cni + "_ipv4pool", "pods.cidrBlocks", "kubeNetwork.pods.cidrBlocks", []any{"172.16.0.0/13"}},
		{ofPods, "label service_cluster_ip_range", "services.cidrBlocks", "kubeNetwork.services.cidrBlocks", []any{"172.24.0.0/13"}},
		{ofPods, "label dns_cluster_domain", "serviceDomain", "kubeNetwork.serviceDomain", "cluster.local"},
	}
}

// balancer is whether the API has a load balancer, as far as that is known.
func (r Running) balancer() (has, known bool) {
	has, known = lookUp(r.Infrastructure, "spec.apiServerLoadBalancer.enabled").(bool)
	return has, known
}

// part is where a running cluster has settings; nil if it has none of these, or is not known.
func (r Running) part(of part) any {
	spec := lookUp(r.Infrastructure, "spec")
	balanced, known := r.balancer()
	switch {
	case of == ofPods:
		return lookUp(r.Cluster, "spec.clusterNetwork")
	case !known, of == ofBalancer && !balanced, of == ofOwnNetwork && lookUp(spec, "managedSubnets.0") == nil:
		return nil
	}
	return spec
}

// keep holds a running cluster to what it has and never gets another of, whatever labels, properties
// and the operator's labels and values say. It is the only place that does.
func (b *builder) keep() {
	for _, k := range keptSettings(b.cni()) {
		part, asked := b.Running.part(k.of), lookUp(map[string]any(b.values), k.value)
		if said(asked) == nil {
			asked = k.standard
		}
		has := lookUp(part, k.field)
		if part == nil || said(has) == nil && k.standard != nil || reflect.DeepEqual(said(asked), said(has)) {
			continue
		}
		b.put(k.value, has)
		b.keeps(k.setting, has)
	}
	b.keepFloating()
}

// keepFloating leaves the API its floating IP, or leaves it without. Allowed CIDRs of "none" ask for
// none, so a cluster with one keeps those that it has instead.
func (b *builder) keepFloating() {
	const associate, closed = "apiServer.associateFloatingIP", "none"
	spec := b.Running.part(ofAny)
	if spec == nil {
		return
	}
	without := lookUp(spec, "disableAPIServerFloatingIP") == any(true)
	asked := lookUp(map[string]any(b.values), associate) == any(true)
	allowed := b.allowed()
	none := slices.Contains(allowed, any(closed))
	if without == (!asked || none) {
		return
	}
	if asked == without {
		b.set(associate, !without)
		b.keeps("label master_lb_floating_ip_enabled", !without)
	}
	if without || !none {
		return
	}
	allowed = slices.DeleteFunc(slices.Clone(allowed), func(one any) bool { return one == any(closed) })
	if len(allowed) == 0 {
		allowed, _ = lookUp(spec, "apiServerLoadBalancer.allowedCIDRs").([]any)
	}
	for _, path := range allowedPaths() {
		b.put(path, allowed)
	}
	b.keeps("label api_master_lb_allowed_cidrs", allowed)
}

// allowedPaths are both spellings of the chart, the one that wins first.
func allowedPaths() []string { return []string{"apiServer.allowedCIDRs", "apiServer.allowedCidrs"} }

func (b *builder) allowed() []any {
	for _, path := range allowedPaths() {
		if list, _ := lookUp(map[string]any(b.values), path).([]any); len(list) > 0 {
			return list
		}
	}
	return nil
}

// provider is Octavia's for Services: that of the API's load balancer, for which the rules of security
// groups are.
func (b *builder) provider() string {
	asked := b.labels.text("amphora", "octavia_provider")
	has, _ := lookUp(b.Running.part(ofBalancer), "apiServerLoadBalancer.provider").(string)
	return first(has, asked)
}

// put sets a value, or takes it away where there is none.
func (b *builder) put(path string, value any) {
	if list, isList := value.([]any); value == nil || isList && len(list) == 0 {
		b.values.unset(path)
		return
	}
	b.set(path, copied(value))
}

// keeps notes that a setting asks for another than the cluster has.
func (b *builder) keeps(setting string, has any) {
	value := spelt(has)
	b.kept = append(b.kept, Kept{setting, value})
	b.warn(setting, "no effect on a cluster that runs, which keeps %s", first(value, "none"))
}

// spelt is a value as a label has it.
func spelt(value any) string {
	list, isList := value.([]any)
	switch {
	case value == nil:
		return ""
	case !isList:
		return fmt.Sprint(value)
	}
	all := make([]string, 0, len(list))
	for _, one := range list {
		all = append(all, fmt.Sprint(one))
	}
	return strings.Join(all, ",")
}

// said is a value, or nil where it says what nothing says.
func said(value any) any {
	v := reflect.ValueOf(value)
	if !v.IsValid() || v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0 {
		return nil
	}
	return value
}

// lookUp is what is at a path of keys, and of indexes of lists, with dots between them; nil if there
// is nothing.
func lookUp(in any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch holder := in.(type) {
		case map[string]any:
			in = holder[key]
		case []any:
			index, err := strconv.Atoi(key)
			if err != nil || index < 0 || index >= len(holder) {
				return nil
			}
			in = holder[index]
		default:
			return nil
		}
	}
	return in
}
