package undo

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery"
)

// Version is what becomes of one controller.
type Version struct {
	// Deployment is "namespace/name"; From is the image's tag now, To that of the backup. An
	// empty one means that there is none.
	Deployment string `json:"deployment"`
	From       string `json:"from"`
	To         string `json:"to"`
}

// Plan is what an undo does with the controllers.
type Plan struct {
	// Versions are the controllers whose image changes.
	Versions []Version `json:"versions"`
	// Back are the objects that are applied as they were, Removed those that came with the
	// newer controllers, Kept those of them that stay, each with the reason.
	Back    []string           `json:"back"`
	Removed []string           `json:"removed"`
	Kept    []recovery.Skipped `json:"kept"`

	former  Applied
	remove  []*unstructured.Unstructured
	changed map[string]bool
}

// Empty reports whether the controllers are already what they were.
func (p *Plan) Empty() bool { return len(p.Back) == 0 && len(p.Removed) == 0 }

// NewPlan compares what was applied before with what is applied now. definitions are the
// CustomResourceDefinitions of now with their status. The error says which kinds are stored
// in versions that the former controllers do not know: then nothing can be undone.
func NewPlan(former, now Applied, definitions []*unstructured.Unstructured) (*Plan, error) {
	p := &Plan{Versions: []Version{}, Back: []string{}, Removed: []string{}, Kept: []recovery.Skipped{}, changed: map[string]bool{}}
	others := ofAddons(former, now)
	former, now = former.without(others), now.without(others)
	was, is := byKey(former), byKey(now)
	for _, o := range former {
		live := is[key(o)]
		wanted := o.DeepCopy()
		if o.GetKind() == kindSecret && live != nil {
			keepLogins(wanted, live)
		}
		p.former = append(p.former, wanted)
		if live == nil || !same(wanted, live) {
			p.Back, p.changed[key(o)] = append(p.Back, recovery.Describe(o)), true
		}
	}
	for _, o := range now {
		if was[key(o)] == nil {
			p.extra(o)
		}
	}
	p.versions(was, is)
	return p, stored(was, definitions)
}

// extra is an object that the newer controllers brought.
func (p *Plan) extra(o *unstructured.Unstructured) {
	switch o.GetKind() {
	case kindDefinition:
		p.Kept = append(p.Kept, recovery.Skipped{Object: recovery.Describe(o), Reason: "all objects of its kind would go with it"})
	case "Namespace":
		p.Kept = append(p.Kept, recovery.Skipped{Object: recovery.Describe(o), Reason: "all that is in it would go with it"})
	default:
		p.Removed, p.remove = append(p.Removed, recovery.Describe(o)), append(p.remove, o)
	}
}

// keepLogins leaves in a Secret what it has now: up may have replaced the login since, and
// revoked the former one. What is missing of the former content comes back.
func keepLogins(wanted, live *unstructured.Unstructured) {
	for _, field := range []string{"data", "stringData"} {
		was, found, _ := unstructured.NestedStringMap(wanted.Object, field)
		if !found {
			continue
		}
		for _, in := range []string{"data", "stringData"} {
			is, _, _ := unstructured.NestedStringMap(live.Object, in)
			for name, value := range is {
				if _, known := was[name]; known && in == field {
					was[name] = value
				}
			}
		}
		_ = unstructured.SetNestedStringMap(wanted.Object, was, field) // it was one
	}
}

// same compares what is applied.
func same(a, b *unstructured.Unstructured) bool { return reflect.DeepEqual(a.Object, b.Object) }

func byKey(all Applied) map[string]*unstructured.Unstructured {
	found := map[string]*unstructured.Unstructured{}
	for _, o := range all {
		found[key(o)] = o
	}
	return found
}

// versions lists the Deployments whose image is another.
func (p *Plan) versions(was, is map[string]*unstructured.Unstructured) {
	names := map[string]bool{}
	for _, all := range []map[string]*unstructured.Unstructured{was, is} {
		for name, o := range all {
			names[name] = names[name] || o.GetKind() == kindDeployment
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		from, to := image(is[name]), image(was[name])
		if !names[name] || from == to {
			continue
		}
		o := was[name]
		if o == nil {
			o = is[name]
		}
		p.Versions = append(p.Versions, Version{Deployment: o.GetNamespace() + "/" + o.GetName(), From: tag(from), To: tag(to)})
	}
}

// image is that of a Deployment's first container.
func image(o *unstructured.Unstructured) string {
	if o == nil {
		return ""
	}
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	for _, one := range containers {
		if container, ok := one.(map[string]any); ok {
			name, _ := container["image"].(string)
			return name
		}
	}
	return ""
}

// tag is the part of a reference that people know, or all of it.
func tag(image string) string {
	image, digest, _ := strings.Cut(image, "@")
	last := image[strings.LastIndex(image, "/")+1:]
	if _, version, found := strings.Cut(last, ":"); found {
		return version
	}
	return digest + image
}

// stored refuses kinds that have objects in a version that the former definition does not
// have: the API server would refuse the definition, and the former controllers could not
// convert what is stored.
func stored(was map[string]*unstructured.Unstructured, definitions []*unstructured.Unstructured) error {
	var wrong []error
	for _, now := range definitions {
		former := was[key(now)]
		if former == nil {
			continue
		}
		known := map[string]bool{}
		versions, _, _ := unstructured.NestedSlice(former.Object, "spec", "versions")
		for _, one := range versions {
			if version, ok := one.(map[string]any); ok {
				name, _ := version["name"].(string)
				known[name] = true
			}
		}
		have, _, _ := unstructured.NestedStringSlice(now.Object, "status", "storedVersions")
		for _, version := range have {
			if !known[version] {
				wrong = append(wrong, fault.Usage(recovery.Describe(now), fmt.Errorf("its objects are stored as %s, which the former controllers do not know", version),
					"this upgrade cannot be undone in place: go forward with slipway up; if the management cluster does not work, rebuild it with the former Slipway (docs/operations/recovery.md)"))
			}
		}
	}
	return errors.Join(wrong...)
}
