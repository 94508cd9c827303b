// Package controllers installs Slipway's own controllers on a management
// cluster: the addon provider, the janitor, the Magnum-compatible API with its
// controllers, the endpoint for VNFs, and the tenants' console, as a chart or as plain objects.
package controllers

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/addonprovider"
	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/causes"
	"github.com/slipway-sh/slipway/addons/janitor"
	"github.com/slipway-sh/slipway/addons/kubeletcerts"
	"github.com/slipway-sh/slipway/addons/magnum"
	"github.com/slipway-sh/slipway/addons/magnum/api"
	"github.com/slipway-sh/slipway/addons/magnum/controller"
	magnumv1alpha1 "github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/addons/noderemoval"
	"github.com/slipway-sh/slipway/addons/openstackcluster/prune"
	"github.com/slipway-sh/slipway/addons/scheduledbackup"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm"
	vnflcmv1alpha1 "github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/addons/upkeep"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/kube"
)

// The namespaces and names of the Deployments. They are upstream's if there is an upstream.
const (
	AddonProviderNamespace = "capi-addon-system"
	AddonProviderName      = "cluster-api-addon-provider"
	JanitorNamespace       = "capi-janitor-system"
	JanitorName            = "cluster-api-janitor-openstack"
	MagnumNamespace        = "slipway-system"
	MagnumName             = "slipway-magnum"
	MagnumControllersName  = "slipway-magnum-controllers"
	VNFLCMNamespace        = "slipway-system"
	VNFLCMName             = "slipway-vnflcm"
	ConsoleNamespace       = "slipway-console"
	ConsoleName            = "slipway-console"
	BackupNamespace        = "slipway-system"
	BackupName             = "slipway-backup"
	// SetBackup is the set of controllers that makes backups.
	SetBackup = "backup"
	// BackupSettings is the Secret with the settings of backups.
	BackupSettings = "slipway-backup-settings"
	// MagnumAuthority is the Secret of the API's own authority.
	MagnumAuthority = "slipway-magnum-authority"
	// ConsoleAuthority is the Secret of the console's own authority.
	ConsoleAuthority = "slipway-console-authority"
)

//go:embed all:chart
var files embed.FS

// Chart returns the chart of the controllers, in the version of this binary. The rules of its roles
// and the definitions in it come from the code.
func Chart() (*chart.Chart, error) {
	var parts []*loader.BufferedFile
	err := fs.WalkDir(files, "chart", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		parts = append(parts, &loader.BufferedFile{Name: strings.TrimPrefix(name, "chart/"), Data: text})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the chart of the controllers: %w", err)
	}
	for name, rules := range rulesOf() {
		text, err := yaml.Marshal(rules)
		if err != nil {
			return nil, fmt.Errorf("rules of the %s: %w", name, err)
		}
		parts = append(parts, &loader.BufferedFile{Name: "rules/" + name + ".yaml", Data: text})
	}
	definitions, err := Definitions()
	if err != nil {
		return nil, err
	}
	more, err := vnflcm.CRDs()
	if err != nil {
		return nil, err
	}
	maps.Copy(definitions, more)
	for name, text := range definitions {
		parts = append(parts, &loader.BufferedFile{Name: path.Join("crds", name), Data: text})
	}
	slices.SortFunc(parts, func(a, b *loader.BufferedFile) int { return strings.Compare(a.Name, b.Name) })
	loaded, err := loader.LoadFiles(parts)
	if err != nil {
		return nil, fmt.Errorf("loading the chart of the controllers: %w", err)
	}
	loaded.Metadata.Version, loaded.Metadata.AppVersion = chartVersion(component.SlipwayVersion()), component.SlipwayVersion()
	return loaded, loaded.Validate()
}

// Definitions returns the definitions of the kinds of the Magnum API and of the addon provider, as
// YAML by file name.
func Definitions() (map[string][]byte, error) {
	definitions, err := magnum.CRDs()
	if err != nil {
		return nil, err
	}
	maps.Copy(definitions, v1alpha1.Definitions())
	return definitions, nil
}

// rulesOf returns the rules of each ClusterRole, by the name of their file.
func rulesOf() map[string][]rbacv1.PolicyRule {
	return map[string][]rbacv1.PolicyRule{"addon-provider": slices.Concat(addonprovider.Rules(), kubeletcerts.Rules(), noderemoval.Rules()), "janitor": slices.Concat(janitor.Rules(), prune.Rules(), causes.Rules(), upkeep.Rules()),
		"magnum": controller.Rules(), "magnum-api": api.AccessRules(), "backup": scheduledbackup.Rules(), "vnflcm": vnflcm.Rules()}
}

// chartVersion returns a version as Helm wants it, with "devel" before all others.
func chartVersion(version string) string {
	if strings.HasPrefix(version, "v") {
		return strings.TrimPrefix(version, "v")
	}
	return "0.0.0-" + version
}

// Options are what an installer sets. Everything else is in Values.
type Options struct {
	// Image is the reference of the image with its tag or digest, such as that of the bundle's item
	// component.SlipwayImage. Empty: the image of this binary.
	Image string
	// Replicas is the number for both Deployments; 0 is the chart's default. One is enough on a
	// single node.
	Replicas int
	// Alone means that the cluster always has a single node, as a seed does: its controllers hold
	// no lease, and one process of each works at a time.
	Alone bool
	// TrustBundle has additional trusted certificates in PEM form.
	TrustBundle string
	// Environment are variables of all containers, such as those of a proxy.
	Environment map[string]string
	// Fence, if set, keeps the controllers from writing once a newer management cluster
	// has taken over.
	Fence *Fence
	// Backup, if set, makes backups of this cluster.
	Backup *scheduledbackup.Settings
	// Magnum, if set, is installed instead of the addon provider and the janitor.
	Magnum *Magnum
	// Console, if set, is installed instead of all of these.
	Console *Console
	// Values are more values of the chart, by the paths of its values.yaml.
	Values map[string]any
}

// Fence is what the controllers need to check the fence.
type Fence struct {
	// Environment is the name of the environment.
	Environment string `json:"environment"`
	// Clouds is a clouds.yaml with an entry `openstack`. It is secret.
	Clouds string `json:"clouds"`
	// Only is the only set that checks the fence; empty: all do.
	Only string `json:"only,omitempty"`
}

func (o Options) values() (map[string]any, error) {
	values := map[string]any{}
	if o.Image != "" {
		values["image"] = o.Image
	}
	if o.Alone {
		values["alone"] = true
	}
	if o.TrustBundle != "" {
		values["trustBundle"] = o.TrustBundle
	}
	if len(o.Environment) > 0 {
		variables := map[string]any{}
		for name, value := range o.Environment {
			variables[name] = value
		}
		values["env"] = variables
	}
	if o.Backup != nil {
		settings, err := json.Marshal(o.Backup)
		if err != nil {
			return nil, fmt.Errorf("encoding the settings of backups: %w", err)
		}
		groups := []any{}
		for _, one := range o.Backup.Groups {
			groups = append(groups, one)
		}
		values["backup"] = map[string]any{"enabled": true, "settings": string(settings), "groups": groups, "machine": o.Backup.Machine}
	}
	if o.Fence != nil {
		values["fence"] = map[string]any{"environment": o.Fence.Environment, "clouds": o.Fence.Clouds, "only": o.Fence.Only}
	}
	none := map[string]any{"enabled": false}
	switch {
	case o.Magnum != nil:
		settings, err := o.Magnum.values()
		if err != nil {
			return nil, err
		}
		values["magnum"], values["addonProvider"], values["janitor"] = settings, none, none
	case o.Console != nil:
		settings, err := o.Console.values()
		if err != nil {
			return nil, err
		}
		values["console"], values["addonProvider"], values["janitor"] = settings, none, none
	case o.Replicas > 0:
		for _, set := range []string{"addonProvider", "janitor"} {
			values[set] = map[string]any{"replicas": int64(o.Replicas)}
		}
	}
	return chartutil.CoalesceTables(chartutil.Values(o.Values).AsMap(), values), nil
}

// Objects returns what the chart makes, for server-side apply without a release: definitions first,
// everything else in the order of files. Equal options give equal objects.
func Objects(o Options) ([]*unstructured.Unstructured, error) {
	loaded, err := Chart()
	if err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: "slipway-controllers", Namespace: AddonProviderNamespace, IsInstall: true}
	wanted, err := o.values()
	if err != nil {
		return nil, err
	}
	values, err := chartutil.ToRenderValues(loaded, wanted, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, fmt.Errorf("values of the controllers: %w", err)
	}
	rendered, err := engine.Render(loaded, values)
	if err != nil {
		return nil, fmt.Errorf("rendering the chart of the controllers: %w", err)
	}
	var objects []*unstructured.Unstructured
	for _, crd := range loaded.CRDObjects() {
		if !defines(crd.Name, o, values) {
			continue
		}
		if objects, err = decode(objects, crd.Name, string(crd.File.Data)); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if strings.HasSuffix(name, ".yaml") {
			if objects, err = decode(objects, name, rendered[name]); err != nil {
				return nil, err
			}
		}
	}
	for _, object := range objects {
		labels := object.GetLabels()
		if labels["app.kubernetes.io/managed-by"] != "" {
			labels["app.kubernetes.io/managed-by"] = kube.FieldManager // there is no release of Helm's
			object.SetLabels(labels)
		}
	}
	return objects, nil
}

// defines reports whether a definition belongs to what is installed.
func defines(name string, o Options, values chartutil.Values) bool {
	if strings.Contains(name, vnflcmv1alpha1.Group) {
		enabled, err := values.PathValue("Values.vnflcm.enabled")
		return err == nil && enabled == true
	}
	return o.Console == nil && strings.Contains(name, magnumv1alpha1.Group) == (o.Magnum != nil)
}

func decode(objects []*unstructured.Unstructured, name, text string) ([]*unstructured.Unstructured, error) {
	more, err := kube.Decode(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return append(objects, more...), nil
}

// Deployments returns the names of the Deployments that an installer waits for.
func (o Options) Deployments() []types.NamespacedName {
	if o.Magnum != nil {
		return []types.NamespacedName{{Namespace: MagnumNamespace, Name: MagnumName}, {Namespace: MagnumNamespace, Name: MagnumControllersName}}
	}
	if o.Console != nil {
		return []types.NamespacedName{{Namespace: ConsoleNamespace, Name: ConsoleName}}
	}
	all := []types.NamespacedName{
		{Namespace: AddonProviderNamespace, Name: AddonProviderName},
		{Namespace: JanitorNamespace, Name: JanitorName},
	}
	if o.Backup != nil {
		all = append(all, types.NamespacedName{Namespace: BackupNamespace, Name: BackupName})
	}
	return all
}
