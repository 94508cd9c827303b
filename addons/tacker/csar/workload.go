package csar

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

//go:embed scripts/*.py
var scriptFiles embed.FS

// Options are how packages are made.
type Options struct {
	Variant Variant
	// Types are ETSI's SOL001 definitions by file name, which Slipway does not bring.
	Types map[string][]byte
}

// Settings are what the script and requests read of a package.
type Settings struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	Variant    Variant  `json:"variant"`
	Operations []string `json:"operations"`
	// Cluster and Namespace are of a raw package.
	Cluster   string `json:"cluster,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Prefix begins the labels by which node groups are found.
	Prefix string `json:"prefix,omitempty"`
	// Deploy are the paths of what is deployed, Units what scales, and Deployments what
	// has to be available.
	Deploy      []string       `json:"deploy"`
	Units       []UnitSettings `json:"units"`
	Deployments []string       `json:"deployments,omitempty"`
	// Wait and Send are how long machines and a receiver may take, Poll is how often the
	// script looks; all in seconds.
	Wait int     `json:"waitSeconds"`
	Poll float64 `json:"pollSeconds"`
	Send int     `json:"sendSeconds"`
}

// Settings reads them from a package that Slipway made.
func (c *Content) Settings() (Settings, error) {
	var s Settings
	text, ok := c.Files[settingsFile]
	if !ok {
		return s, fault.New(settingsFile, errors.New("it is missing: slipway tacker csar did not make this package"), "make the package with slipway tacker csar")
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, broken(settingsFile, "reading it: %w", err)
	}
	return s, nil
}

const settingsFile = scripts + "settings.json"

// UnitSettings are a unit, and which object makes its machines: that of a node group,
// else the control plane's.
type UnitSettings struct {
	ID      string `json:"id"`
	Group   string `json:"group"`
	Aspect  string `json:"aspect"`
	Initial int    `json:"initial"`
	Step    int    `json:"step"`
	Level   int    `json:"level"`
	// Kind and Object are of a raw package.
	Kind   string `json:"kind,omitempty"`
	Object string `json:"object,omitempty"`
}

// The operations around which the scripts run (SOL001, Tacker's management driver).
func workloadOperations() []string {
	return []string{"instantiate_end", "instantiate_rollback_start", "terminate_start", "scale_end", "scale_rollback_end",
		"change_current_package_end", "change_current_package_rollback_end"}
}

// defaults of the script: a cluster may take half an hour, a receiver five minutes.
func newSettings(name, kind string, variant Variant) Settings {
	return Settings{Name: name, Kind: kind, Variant: variant, Wait: 1800, Poll: 5, Send: 300}
}

// Workload makes the package of a workload cluster.
func Workload(s Spec, o Options) (*Package, error) {
	if err := errors.Join(s.check(), o.check()); err != nil {
		return nil, err
	}
	values, err := wholeValues(s.Values)
	if err != nil {
		return nil, err
	}
	units, err := s.units(values)
	if err != nil {
		return nil, err
	}
	p := &Package{Name: s.Name, Variant: o.Variant, files: map[string][]byte{}}
	p.VNFD = VNFD{Provider: s.Provider, Product: s.Product, Version: s.Version, SoftwareVersion: strings.TrimPrefix(fmt.Sprint(values["kubernetesVersion"]), "v"),
		Description: "Workload cluster " + s.Name, Units: units, Operations: workloadOperations()}
	// The chart refuses what only it knows, here rather than on the management cluster.
	if _, err = openstackcluster.Render(openstackcluster.Release{Name: s.Name, Namespace: s.Namespace, Values: s.Values}); err != nil {
		return nil, fault.Usage("values", err, "see docs/guides/openstack-cluster-chart.md for the valid keys")
	}
	set := newSettings(s.Name, "workload", o.Variant)
	set.Prefix, set.Operations = fmt.Sprint(values["projectPrefix"]), workloadOperations()
	if o.Variant == Helm {
		err = p.chart(values)
	} else {
		for i := range p.VNFD.Units { // its Pod has exactly the name of the unit
			p.VNFD.Units[i].Resource = s.Name + "-" + p.VNFD.Units[i].Resource
		}
		set.Cluster, set.Namespace = s.Name, s.Namespace
		err = p.manifests(s)
	}
	if err != nil {
		return nil, err
	}
	set.Deploy = p.Deploy
	for _, u := range p.VNFD.Units {
		set.Units = append(set.Units, scaled(u, s.Name))
	}
	return p, p.finish(set, nil, o)
}

// scaled is what the script knows of a unit.
func scaled(u Unit, cluster string) UnitSettings {
	one := UnitSettings{ID: u.ID, Aspect: u.Aspect(), Initial: u.Initial, Step: u.Step, Level: u.Level, Kind: "KubeadmControlPlane", Object: cluster + "-control-plane"}
	if u.ID != ControlPlane {
		one.Group, one.Kind, one.Object = u.ID, "MachineDeployment", cluster+"-"+u.ID
	}
	return one
}

// wholeValues are a user's values over the chart's.
func wholeValues(given map[string]any) (map[string]any, error) {
	chart, err := openstackcluster.Chart()
	if err != nil {
		return nil, err
	}
	values, err := chartutil.CoalesceValues(chart, given)
	if err != nil {
		return nil, fmt.Errorf("merging values with the chart's: %w", err)
	}
	return values, nil
}

// finish adds scripts and ETSI's types, and seals the package.
func (p *Package) finish(set Settings, later []*unstructured.Unstructured, o Options) error {
	entries, err := scriptFiles.ReadDir("scripts")
	if err != nil {
		return fmt.Errorf("reading scripts: %w", err)
	}
	for _, entry := range entries {
		text, err := scriptFiles.ReadFile("scripts/" + entry.Name())
		if err != nil {
			return fmt.Errorf("reading scripts: %w", err)
		}
		p.files[scripts+entry.Name()] = text
	}
	text, err := json.MarshalIndent(set, "", "  ")
	if err != nil {
		return fmt.Errorf("writing settings: %w", err)
	}
	p.files[settingsFile] = text
	if later != nil {
		if text, err = json.Marshal(later); err != nil {
			return fmt.Errorf("writing certificates: %w", err)
		}
		p.files[scripts+"certificates.json"] = text
	}
	for name, text := range o.Types {
		p.files[definitions+name] = text
	}
	if err := p.seal(); err != nil {
		return err
	}
	packed, err := p.Zip()
	if err == nil {
		_, err = Verify(packed)
	}
	return err
}

// manifests writes a raw package's objects: the cluster's in the order in which they
// are made, each as JSON, which is YAML too and which the script reads without a
// library; then the anchor Pods.
func (p *Package) manifests(s Spec) error {
	text, err := openstackcluster.Render(openstackcluster.Release{Name: s.Name, Namespace: s.Namespace, Values: s.Values})
	if err != nil {
		return err
	}
	objects, err := kube.Decode(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("reading objects of cluster %s: %w", s.Name, err)
	}
	for _, o := range objects { // all kinds of the chart are namespaced
		o.SetNamespace(s.Namespace)
	}
	var anchors []*unstructured.Unstructured
	for _, u := range p.VNFD.Units {
		anchors = append(anchors, anchor(u.Resource, s.Namespace))
	}
	return errors.Join(p.deploy("10-cluster.yaml", objects), p.deploy("20-anchors.yaml", anchors))
}

// deploy adds a file with objects.
func (p *Package) deploy(name string, objects []*unstructured.Unstructured) error {
	var texts [][]byte
	for _, o := range objects {
		text, err := json.Marshal(o.Object)
		if err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		texts = append(texts, text)
	}
	p.files[Manifests+name] = bytes.Join(texts, []byte("\n---\n"))
	p.Deploy = append(p.Deploy, Manifests+name)
	return nil
}

// anchor is the Pod that stands for a unit: Tacker counts Pods, and neither scales nor
// updates a VNF that has none.
func anchor(name, namespace string) *unstructured.Unstructured {
	image := ""
	if pause, ok := component.Find("pause"); ok {
		image = pause.Ref
	}
	meta := object{"name": name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	return &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": object{
		"automountServiceAccountToken": false,
		"securityContext":              object{"runAsNonRoot": true, "runAsUser": int64(65535), "seccompProfile": object{"type": "RuntimeDefault"}},
		"containers": []any{object{"name": "anchor", "image": image,
			"resources":       object{"requests": object{"cpu": "1m", "memory": "4Mi"}, "limits": object{"memory": "16Mi"}},
			"securityContext": object{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": object{"drop": []any{"ALL"}}}}},
	}}}
}
