package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kubeversion"
)

// The values that name a credential of the user.
const (
	valueSecretName = "cloudCredentialsSecretName"
	valueClouds     = "clouds"
)

// values returns the values of a cluster: the user's merged over the environment's. own
// says that it gets a credential of its own, because the user gives none. All mistakes are
// reported at once, before anything is created.
func (w Wanted) values(key Key) (values map[string]any, own bool, err error) {
	defaults := laid(nil, w.Defaults)
	if err := w.matchImage(); err != nil {
		return nil, false, err
	}
	if given(w.Values, "machineImage") || given(w.Values, "machineImageId") {
		delete(defaults, "machineImage")
		delete(defaults, "machineImageId")
	}
	values = laid(w.Values, defaults)
	if own = !given(values, valueSecretName) && !given(values, valueClouds); own {
		values[valueSecretName] = SecretName(key.Name)
	}
	if err := openstackcluster.Check(values); err != nil {
		return nil, own, err
	}
	if err := checkSkew(values); err != nil {
		return nil, own, err
	}
	if _, err := openstackcluster.Render(openstackcluster.Release{Name: key.Name, Namespace: key.Namespace, Values: values}); err != nil {
		return nil, own, fault.Usage("values of "+object(key), reason(err), "see docs/guides/openstack-cluster-chart.md for the values")
	}
	return values, own, nil
}

// laid merges values over others, tables into tables, and changes neither.
func laid(over, under map[string]any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, under)
	for key, value := range over {
		table, isTable := value.(map[string]any)
		below, wasTable := all[key].(map[string]any)
		if isTable && wasTable {
			value = laid(table, below)
		}
		all[key] = value
	}
	return all
}

// matchImage refuses a Kubernetes version that the environment's node image does not have:
// its nodes would never come up.
func (w Wanted) matchImage() error {
	wanted, has := version(w.Values), version(w.Defaults)
	if wanted == "" || wanted == has {
		return nil
	}
	plane, _ := w.Values["controlPlane"].(map[string]any)
	for _, values := range []map[string]any{w.Values, plane} {
		if given(values, "machineImage") || given(values, "machineImageId") {
			return nil
		}
	}
	return fault.Usage("kubernetesVersion", fmt.Errorf("it is %s, but the environment's node image has %s", wanted, has),
		"name an image with that version in machineImage or machineImageId, or leave out kubernetesVersion")
}

// version is the Kubernetes version in the values, without its v.
func version(values map[string]any) string {
	if !given(values, "kubernetesVersion") {
		return ""
	}
	return strings.TrimPrefix(fmt.Sprint(values["kubernetesVersion"]), "v")
}

// given reports whether values contain a key.
func given(values map[string]any, key string) bool {
	value := values[key]
	return value != nil && value != ""
}

// reason removes Helm's text about templates from an error of the chart.
func reason(err error) error {
	text := err.Error()
	if i := strings.LastIndex(text, ">: error calling "); i >= 0 {
		if _, rest, ok := strings.Cut(text[i+len(">: error calling "):], ": "); ok {
			return errors.New(rest)
		}
	}
	if _, rest, ok := strings.Cut(text, "execution error at "); ok {
		if _, rest, ok := strings.Cut(rest, "): "); ok {
			return errors.New(rest)
		}
	}
	return err
}

// checkNetworkPlugin refuses to change the network plugin of a running cluster: pods keep the
// addresses and rules of the former one, and lose their network.
func checkNetworkPlugin(running, values map[string]any) error {
	was, wanted := networkPlugin(running), networkPlugin(values)
	if was == "" || was == wanted {
		return nil
	}
	const remedy = "set addons.cni.type to %[1]s, or create another cluster and move what runs here; nothing was changed"
	if wanted == "" {
		return fault.Usage("addons.cni.enabled", fmt.Errorf("%s would be removed, and the cluster's pods would have no network", was), "leave it enabled, or create another cluster; nothing was changed")
	}
	return fault.Usage("addons.cni.type", fmt.Errorf("the cluster has %s; a running cluster cannot change to %s", was, wanted), fmt.Sprintf(remedy, was))
}

// checkServerGroups refuses another policy of server groups that are there.
func (m *Management) checkServerGroups(ctx context.Context, key Key, values map[string]any) error {
	there, err := clusterapi.ServerGroups(ctx, m.Kube.Dynamic, key.Namespace, key.Name)
	if err != nil {
		return err
	}
	return openstackcluster.CheckServerGroups(openstackcluster.Release{Name: key.Name, Namespace: key.Namespace, Values: values}, openstackcluster.Policies(there), "")
}

// networkPlugin is the network plugin that the chart installs; "" if it installs none.
func networkPlugin(values map[string]any) string {
	for _, path := range [][]string{{"addons", "enabled"}, {"addons", "cni", "enabled"}} {
		if on, found, _ := unstructured.NestedBool(values, path...); found && !on {
			return ""
		}
	}
	name, _, _ := unstructured.NestedString(values, "addons", "cni", "type")
	return cmp.Or(name, "calico")
}

// planeVersion is the Kubernetes version of the control plane in the values, without its v.
func planeVersion(values map[string]any) string {
	plane, _ := values["controlPlane"].(map[string]any)
	return cmp.Or(version(plane), version(values))
}

// checkSkew refuses versions of node groups that do not fit the control plane's: Cluster API
// makes no machines of them.
func checkSkew(values map[string]any) error {
	plane := planeVersion(values)
	defaults, _ := values["nodeGroupDefaults"].(map[string]any)
	groups, _ := values["nodeGroups"].([]any)
	var wrong []error
	for i, one := range groups {
		group, _ := one.(map[string]any)
		has := cmp.Or(version(group), version(defaults), version(values))
		if plane == "" || has == "" {
			continue
		}
		if err := kubeversion.CheckSkew(plane, has); err != nil {
			wrong = append(wrong, fault.Usage(fmt.Sprintf("nodeGroups[%d].kubernetesVersion", i), err,
				"choose the control plane's minor version, or one that is at most three before it; nothing was changed"))
		}
	}
	return errors.Join(wrong...)
}

// checkUpgrade refuses versions that a running cluster cannot be upgraded to.
func checkUpgrade(running clusterapi.Report, values map[string]any) error {
	wanted := planeVersion(values)
	if running.Version == "" || wanted == "" {
		return nil
	}
	if err := kubeversion.CheckUpgrade(running.Version, wanted); err != nil {
		return fault.Usage("kubernetesVersion", err, "choose the same minor version or the next; nothing was changed")
	}
	return nil
}
