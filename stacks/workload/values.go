package workload

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kubeversion"
)

// The values that name a credential of the user's.
const (
	valueSecretName = "cloudCredentialsSecretName"
	valueClouds     = "clouds"
)

// values are what a cluster is made of: the user's over the environment's. own
// says that it gets a credential of its own, for the user brings none. Mistakes
// are all told at once, before anything is made.
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
	if _, err := openstackcluster.Render(openstackcluster.Release{Name: key.Name, Namespace: key.Namespace, Values: values}); err != nil {
		return nil, own, fault.Usage("values of "+object(key), reason(err), "docs/guides/openstack-cluster-chart.md says what they take")
	}
	return values, own, nil
}

// laid lays values over others, tables into tables, and changes neither.
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

// matchImage refuses a version of Kubernetes that the environment's image does
// not have: its nodes would never come up.
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
	return fault.Usage("kubernetesVersion", fmt.Errorf("it is %s, and the environment's node image has %s", wanted, has),
		"name an image of that version with machineImage or machineImageId, or leave out kubernetesVersion")
}

// version is values' version of Kubernetes without its v.
func version(values map[string]any) string {
	if !given(values, "kubernetesVersion") {
		return ""
	}
	return strings.TrimPrefix(fmt.Sprint(values["kubernetesVersion"]), "v")
}

// given says that values say something at a key.
func given(values map[string]any, key string) bool {
	value := values[key]
	return value != nil && value != ""
}

// reason takes what Helm says of its templates off a refusal of the chart's.
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

// checkUpgrade refuses versions that a running cluster cannot go to.
func checkUpgrade(running clusterapi.Report, values map[string]any) error {
	wanted := version(values)
	if plane, _ := values["controlPlane"].(map[string]any); version(plane) != "" {
		wanted = version(plane)
	}
	if running.Version == "" || wanted == "" {
		return nil
	}
	if err := kubeversion.CheckUpgrade(running.Version, wanted); err != nil {
		return fault.Usage("kubernetesVersion", err, "go to the same minor version or the next; nothing was changed")
	}
	return nil
}
