package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/config"
)

// Release writes an environment file for the values of a management cluster's release of
// openstack-cluster: what the file has settings for becomes those, and all else goes to
// spec.managementCluster.values. Credentials are not copied.
func Release(name string, values map[string]any) (*Result, error) {
	if len(name) > config.MaxNameLength {
		return nil, fmt.Errorf("the name %s is longer than the %d characters that an environment's name may have", name, config.MaxNameLength)
	}
	d := newDraft(name)
	put(d.spec, "managementCluster", map[string]any{})
	left := clone(values)
	for _, path := range slices.Sorted(maps.Keys(releaseRules())) {
		value, there := cut(left, path)
		if !there || value == nil {
			continue
		}
		d.carry(path, setting{value, "release " + name}, releaseRules()[path])
	}
	d.groups(left, setting{nil, "release " + name})
	d.trusted(left)
	for _, path := range []string{"clouds", "cloudName", "cloudCredentialsSecretName", "registryAuth"} {
		if value, there := cut(left, path); there && value != nil {
			d.note(Secret, path, setting{value, "release " + name}, "", "it is not copied: Slipway makes a credential of its own")
		}
	}
	d.rest(left)
	return d.result()
}

// releaseRules say where the chart's values go.
func releaseRules() map[string]rule {
	first := func(value any) (any, bool, error) {
		list, ok := value.([]any)
		if !ok || len(list) == 0 {
			return nil, false, nil
		}
		if len(list) > 1 {
			return nil, false, fmt.Errorf("%v are several ranges", value)
		}
		return list[0], true, nil
	}
	version := func(value any) (any, bool, error) {
		return "v" + strings.TrimPrefix(fmt.Sprint(value), "v"), true, nil
	}
	const m = "managementCluster."
	return map[string]rule{
		"kubernetesVersion":                                  {to: m + "kubernetesVersion", convert: version},
		"machineImageId":                                     {to: m + "image", convert: text},
		"machineSSHKeyName":                                  {to: "seed.ssh.keyPair", convert: text},
		"clusterNetworking.externalNetworkId":                {to: "externalNetwork", convert: text},
		"clusterNetworking.internalNetwork.networkFilter.id": {to: "seed.network.existing", convert: text},
		"clusterNetworking.internalNetwork.subnetFilter.id":  {to: "seed.network.subnet", convert: text},
		"kubeNetwork.pods.cidrBlocks":                        {to: m + "podCIDR", convert: first},
		"kubeNetwork.services.cidrBlocks":                    {to: m + "serviceCIDR", convert: first},
		"apiServer.associateFloatingIP":                      {to: m + "apiServer.floatingIP", convert: truth},
		"apiServer.loadBalancerProvider":                     {to: m + "apiServer.loadBalancerProvider", convert: text},
		"apiServer.allowedCIDRs":                             {to: m + "apiServer.allowedCIDRs", convert: texts},
		"addons.cni.type":                                    {to: m + "cni", convert: text},
		"controlPlane.machineCount":                          {to: m + "controlPlane.count", convert: number},
		"controlPlane.machineFlavor":                         {to: m + "controlPlane.flavor", convert: text},
		"controlPlane.failureDomains":                        {to: m + "controlPlane.availabilityZones", convert: texts},
		"controlPlane.machineRootVolume.diskSize":            {to: m + "controlPlane.rootVolume.sizeGiB", convert: number},
		"controlPlane.machineRootVolume.volumeType":          {to: m + "controlPlane.rootVolume.type", convert: text},
		"controlPlane.machineRootVolume.availabilityZone":    {to: m + "controlPlane.rootVolume.availabilityZone", convert: text},
		"etcd.blockDevice.size":                              {to: m + "controlPlane.etcdVolume.sizeGiB", convert: number},
		"etcd.blockDevice.volumeType":                        {to: m + "controlPlane.etcdVolume.type", convert: text},
	}
}

// groups are the node groups. What a group has besides is written by its name into the
// chart's values only if all of it is known, so it is noted.
func (d *draft) groups(left map[string]any, s setting) {
	list, there := cut(left, "nodeGroups")
	defaults, _ := left["nodeGroupDefaults"].(map[string]any)
	flavor, _ := cut(defaults, "machineFlavor")
	zone, _ := cut(defaults, "failureDomain")
	all, _ := list.([]any)
	var groups []any
	for i, one := range all {
		has, _ := one.(map[string]any)
		has = clone(has)
		group := map[string]any{}
		for from, to := range map[string]string{"name": "name", "machineCount": "count", "machineFlavor": "flavor", "failureDomain": "availabilityZone", "nodeLabels": "labels"} {
			if value, given := cut(has, from); given && value != nil {
				group[to] = value
			}
		}
		if group["flavor"] == nil && flavor != nil {
			group["flavor"] = flavor
		}
		if group["availabilityZone"] == nil && zone != nil {
			group["availabilityZone"] = zone
		}
		groups = append(groups, group)
		for _, key := range slices.Sorted(maps.Keys(has)) {
			d.note(Changed, fmt.Sprintf("nodeGroups[%d].%s", i, key), s, fmt.Sprintf("spec.managementCluster.nodeGroups[%d]", i), "it has no setting of its own: check whether you need it")
		}
	}
	if there {
		d.spec["managementCluster"].(map[string]any)["nodeGroups"] = groups
		d.note(Converted, "nodeGroups", s, "spec.managementCluster.nodeGroups", "")
	}
}

// trusted writes the authorities of machines to a file.
func (d *draft) trusted(left map[string]any) {
	if bundle, there := cut(left, "trustedCAs"); there && bundle != nil {
		d.trust(map[string]setting{"trust_bundle": {bundle, "release " + d.name}})
	}
}

// rest goes to the chart's own values.
func (d *draft) rest(left map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(left)) {
		if empty(left[key]) {
			continue
		}
		put(d.spec, "managementCluster.values."+key, left[key])
		d.note(Changed, key, setting{left[key], "release " + d.name}, "spec.managementCluster.values."+key, "it is a value of the chart, as before")
	}
}

// cut takes the value at a path out of nested maps.
func cut(tree map[string]any, path string) (any, bool) {
	head, rest, nested := strings.Cut(path, ".")
	value, there := tree[head]
	if !nested {
		delete(tree, head)
		return value, there
	}
	next, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	return cut(next, rest)
}

// clone copies nested maps.
func clone(tree map[string]any) map[string]any {
	copied := map[string]any{}
	for key, value := range tree {
		if next, ok := value.(map[string]any); ok {
			value = clone(next)
		}
		copied[key] = value
	}
	return copied
}

// empty reports whether nothing is in a value.
func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		for _, one := range v {
			if !empty(one) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return false
}
