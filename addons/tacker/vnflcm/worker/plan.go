package worker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/catalog"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube"
)

// plan is what a package's files make of an instance.
type plan struct {
	content *csar.Content
	// release is the name of the chart's, "" for manifests.
	release string
	objects []*unstructured.Unstructured
	targets []v1alpha1.Target
	// made are namespaces, defined are kinds that the files bring.
	made    map[string]bool
	defined map[schema.GroupKind]bool // whether it is namespaced
}

// source is what is read of a package: manifests in a namespace, or a chart with values and
// numbers for levels; empty levels are those of the package.
type source struct {
	files     []string
	namespace string
	release   *v1alpha1.Release
	level     string
	levels    map[string]int32
}

// plan reads a package for the instance.
func (j *job) plan(ctx context.Context, id string, from source, fresh bool) (*plan, error) {
	content, err := catalog.Load(ctx, j.o.Client, id, j.op.Spec.ProjectID, fresh)
	if errors.Is(err, catalog.ErrUnusable) {
		return nil, refuse(http.StatusUnprocessableEntity, "%v", err)
	}
	if err != nil {
		return nil, err
	}
	p := &plan{content: content, made: map[string]bool{}, defined: map[schema.GroupKind]bool{}}
	if from.release != nil {
		p.release = v1alpha1.ReleaseName(j.instance.Name)
		from.namespace = cmp.Or(from.namespace, j.op.Namespace)
		if from.levels == nil {
			from.levels = levelsOf(content, from.level)
		}
		p.objects, err = j.render(ctx, content, from.files[0], from.namespace, from.release, from.levels)
	} else {
		p.objects, err = manifests(content, from.files)
	}
	if err != nil {
		return nil, err
	}
	p.objects = slices.DeleteFunc(p.objects, p.anchor)
	p.define()
	if err := p.place(j, from.namespace); err != nil {
		return nil, err
	}
	return p, p.aim()
}

// levelsOf are the scale levels on an instantiation level of a package.
func levelsOf(content *csar.Content, level string) map[string]int32 {
	levels := map[string]int32{}
	for aspect, at := range content.VNFD.Levels[cmp.Or(level, content.VNFD.DefaultLevel)] {
		levels[aspect] = int32(at) //nolint:gosec // checked in the package
	}
	return levels
}

// manifests are the objects in files of a package.
func manifests(content *csar.Content, files []string) (all []*unstructured.Unstructured, err error) {
	if len(files) == 0 {
		return nil, refuse(http.StatusBadRequest, "additionalParams: lcm-kubernetes-def-files names no file")
	}
	for _, file := range files {
		text, ok := content.Files[file]
		if !ok || !strings.HasPrefix(file, csar.Manifests) {
			return nil, refuse(http.StatusBadRequest, "lcm-kubernetes-def-files: %s is not a manifest of the package", file)
		}
		objects, err := kube.Decode(bytes.NewReader(text))
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "%s: %v", file, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// anchor reports whether an object is a Pod that stands for a unit: only Tacker needs it.
func (p *plan) anchor(o *unstructured.Unstructured) bool {
	_, err := p.content.Settings()
	return err == nil && o.GetKind() == "Pod" && slices.ContainsFunc(p.content.VNFD.Units, func(u csar.Described) bool { return u.Name == p.unit(o.GetName()) })
}

// unit is an object's name without that of the release, as Tacker compares it.
func (p *plan) unit(name string) string { return strings.TrimSuffix(name, "-"+p.release) }

// define looks for namespaces and kinds that the files bring themselves.
func (p *plan) define() {
	for _, o := range p.objects {
		switch o.GetKind() {
		case "Namespace":
			p.made[o.GetName()] = true
		case "CustomResourceDefinition":
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
			scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
			p.defined[schema.GroupKind{Group: group, Kind: kind}] = scope == "Namespaced"
		}
	}
}

// place gives every object its namespace and the instance's label. Of manifests, what the
// request says holds for all; else an object's own, else the project's. Objects of a chart
// keep their own, as by Helm.
func (p *plan) place(j *job, namespace string) error {
	for _, o := range p.objects {
		if o.GetName() == "" || o.GetKind() == "" || o.GetAPIVersion() == "" {
			return refuse(http.StatusBadRequest, "a manifest has an object without apiVersion, kind or name")
		}
		namespaced, known := p.defined[o.GroupVersionKind().GroupKind()]
		if !known {
			var err error
			if namespaced, err = j.kube.Namespaced(o.GroupVersionKind()); meta.IsNoMatchError(err) {
				return refuse(http.StatusBadRequest, "the API server has no kind %s of %s (object %s)", o.GetKind(), o.GetAPIVersion(), o.GetName())
			} else if err != nil {
				return err
			}
		}
		switch {
		case !namespaced:
			o.SetNamespace("")
		case namespace != "" && (p.release == "" || o.GetNamespace() == ""):
			o.SetNamespace(namespace)
		case o.GetNamespace() == "":
			o.SetNamespace(j.op.Namespace)
		}
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[v1alpha1.LabelInstance] = j.instance.Name
		o.SetLabels(labels)
	}
	return nil
}

// aim finds the object that makes the machines of each unit: the one that Slipway's
// packages name, else the one with the name of the unit, as Tacker does.
func (p *plan) aim() error {
	settings, err := p.content.Settings()
	ours := err == nil
	for _, u := range p.content.VNFD.Units {
		what, makes := u.Name, func(o *unstructured.Unstructured) bool { return p.unit(o.GetName()) == u.Name && scales(o) }
		if i := slices.IndexFunc(settings.Units, func(s csar.UnitSettings) bool { return s.ID == u.ID }); ours && i >= 0 {
			what, makes = p.named(settings, settings.Units[i])
		}
		i := slices.IndexFunc(p.objects, makes)
		if i < 0 {
			return refuse(http.StatusBadRequest, "VDU %s: no manifest has the object %s that makes its machines", u.ID, what)
		}
		p.targets = append(p.targets, v1alpha1.Target{Unit: u.ID, ObjectRef: refOf(p.objects[i]), Aspect: u.Aspect,
			Initial: int32(u.Initial), Step: int32(u.Step), MaxLevel: int32(u.MaxLevel)}) //nolint:gosec // numbers of machines
	}
	return nil
}

// named is how Slipway's packages name the object of a unit: manifests by its name, charts
// by its kind and the label of its node group, because its name has the release's.
func (p *plan) named(s csar.Settings, u csar.UnitSettings) (string, func(*unstructured.Unstructured) bool) {
	if p.release == "" {
		return u.Kind + " " + u.Object, func(o *unstructured.Unstructured) bool { return o.GetKind() == u.Kind && o.GetName() == u.Object }
	}
	return strings.TrimSpace(u.Kind + " " + u.Group), func(o *unstructured.Unstructured) bool {
		return o.GetKind() == u.Kind && (u.Group == "" || o.GetLabels()[s.Prefix+"/node-group"] == u.Group)
	}
}

// scales reports whether a kind has a number of machines or pods.
func scales(o *unstructured.Unstructured) bool {
	return slices.Contains([]string{"MachineDeployment", "MachinePool", "KubeadmControlPlane", "Deployment", "StatefulSet", "ReplicaSet"}, o.GetKind())
}

func refOf(o *unstructured.Unstructured) v1alpha1.ObjectRef {
	return v1alpha1.ObjectRef{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (p *plan) refs() (all []v1alpha1.ObjectRef) {
	for _, o := range p.objects {
		all = append(all, refOf(o))
	}
	return all
}

// size writes the numbers of machines on levels into the objects.
func (p *plan) size(levels map[string]int32) error {
	for _, t := range p.targets {
		if levels[t.Aspect] > t.MaxLevel {
			return refuse(http.StatusBadRequest, "aspect %s is on level %d, and the package ends at %d; scale in first", t.Aspect, levels[t.Aspect], t.MaxLevel)
		}
		for _, o := range p.objects {
			if refOf(o) == t.ObjectRef {
				if err := unstructured.SetNestedField(o.Object, t.Count(levels), "spec", "replicas"); err != nil {
					return refuse(http.StatusBadRequest, "%s: %v", kube.Describe(o), err)
				}
			}
		}
	}
	return nil
}
