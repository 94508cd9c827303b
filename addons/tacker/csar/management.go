package csar

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/fault"
)

// managementUnit is the only VDU of the management cluster's package.
const managementUnit = "management"

func managementOperations() []string {
	return []string{"instantiate_end", "terminate_start", "change_current_package_end", "change_current_package_rollback_end"}
}

// Management makes the package that puts Cluster API on a cluster: of cert-manager, ORC
// and the providers, in the order in which they are made. What cert-manager has to
// accept, such as certificates, is left to the script: Helm waits for nothing.
func Management(s Spec, objects []*unstructured.Unstructured, o Options) (*Package, error) {
	if err := errors.Join(s.identify("capi"), o.check(), s.onlyIdentity()); err != nil {
		return nil, err
	}
	unit := Unit{ID: managementUnit, Resource: managementUnit, Description: "Cluster API and its providers", Initial: 1, Step: 1}
	p := &Package{Name: s.Name, Variant: o.Variant, files: map[string][]byte{}}
	p.VNFD = VNFD{Provider: s.Provider, Product: s.Product, Version: s.Version, SoftwareVersion: s.Version, Description: "Cluster API on OpenStack",
		Units: []Unit{unit}, Operations: managementOperations()}
	set := newSettings(s.Name, managementUnit, o.Variant)
	set.Operations = managementOperations()
	now, later := split(objects)
	for _, d := range now {
		if d.GetKind() == "Deployment" {
			set.Deployments = append(set.Deployments, d.GetNamespace()+"/"+d.GetName())
		}
	}
	var err error
	if o.Variant == Helm {
		err = p.managementChart(now)
	} else {
		set.Cluster, set.Namespace = s.Name, "default"
		p.VNFD.Units[0].Resource = s.Name
		err = errors.Join(p.deploy("10-objects.yaml", now), p.deploy("20-anchors.yaml", []*unstructured.Unstructured{anchor(s.Name, "default")}))
	}
	if err != nil {
		return nil, err
	}
	set.Deploy, set.Units = p.Deploy, []UnitSettings{{ID: managementUnit, Initial: 1, Step: 1}}
	return p, p.finish(set, later, o)
}

// onlyIdentity refuses what a management cluster's package has no use for.
func (s *Spec) onlyIdentity() error {
	if s.Values != nil || s.Scaling != nil || s.Namespace != "" {
		return fault.Usage("spec", errors.New("values, scaling and namespace are of workload clusters"), "leave them out")
	}
	return nil
}

// split puts aside the objects whose kinds are defined among the others.
func split(objects []*unstructured.Unstructured) (now, later []*unstructured.Unstructured) {
	var defined []string
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" {
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
			defined = append(defined, kind+"."+group)
		}
	}
	later = []*unstructured.Unstructured{}
	for _, o := range objects {
		if slices.Contains(defined, o.GetKind()+"."+o.GroupVersionKind().Group) {
			later = append(later, o)
		} else {
			now = append(now, o)
		}
	}
	return now, later
}

// terse is a definition without the descriptions in its schemas. Helm keeps chart and
// objects of a release in one Secret, which holds a mebibyte.
func terse(o *unstructured.Unstructured) *unstructured.Unstructured {
	if o.GetKind() != "CustomResourceDefinition" {
		return o
	}
	o = o.DeepCopy()
	versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	for _, version := range versions {
		if v, ok := version.(map[string]any); ok {
			undescribed(v["schema"])
		}
	}
	_ = unstructured.SetNestedSlice(o.Object, versions, "spec", "versions") // it was there
	return o
}

// undescribed drops descriptions, which are texts; a property of that name is none.
func undescribed(schema any) {
	switch at := schema.(type) {
	case map[string]any:
		if _, isText := at["description"].(string); isText {
			delete(at, "description")
		}
		for key, below := range at {
			if key != "default" && key != "enum" && key != "example" {
				undescribed(below)
			}
		}
	case []any:
		for _, below := range at {
			undescribed(below)
		}
	}
}

// managementChart is a chart of objects as they are; Helm sorts them by kind.
func (p *Package) managementChart(objects []*unstructured.Unstructured) error {
	var text bytes.Buffer
	for _, o := range objects {
		one, err := yaml.Marshal(terse(o).Object)
		if err != nil {
			return fmt.Errorf("writing %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		fmt.Fprintf(&text, "---\n%s", literal(one))
	}
	files := map[string][]byte{"templates/objects.yaml": text.Bytes()}
	var err error
	if files["templates/anchor.yaml"], err = anchorTemplate(p.VNFD.Units[0]); err != nil {
		return err
	}
	files["values.yaml"] = []byte("tacker: {" + managementUnit + ": 1}\n")
	version := p.VNFD.Version
	if bytes.Count([]byte(version), []byte(".")) == 1 {
		version += ".0" // charts have three numbers
	}
	files["Chart.yaml"] = fmt.Appendf(nil, "apiVersion: v2\nname: %s\nversion: %s\ndescription: Cluster API on OpenStack\n", p.Name, version)
	return p.pack(p.Name, version, files)
}
