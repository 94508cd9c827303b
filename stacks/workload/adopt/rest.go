package adopt

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// addons are the objects of a release that neither make machines nor have a counterpart of
// the same kind and name: they are kept as they are.
func (c *Cluster) addons(own objects, made []*unstructured.Unstructured) []any {
	var kept []any
	for _, o := range made {
		if own.named(o.GetKind(), o.GetName()) != nil || machinery(o) || component(o) == "autoscaler" {
			continue
		}
		c.Kept = append(c.Kept, nameOf(o))
		kept = append(kept, o.Object)
	}
	return kept
}

// machinery are the kinds of Cluster API.
func machinery(o *unstructured.Unstructured) bool {
	return strings.HasSuffix(o.GroupVersionKind().Group, "cluster.x-k8s.io")
}

// component is the chart's label.
func component(o *unstructured.Unstructured) string {
	for key, value := range o.GetLabels() {
		if strings.HasSuffix(key, "/component") {
			return value
		}
	}
	return ""
}

// leftovers completes the manifest of the revision to be written with the objects that
// Slipway's chart does not have, so that they go with a later change, or with the cluster.
func (c *Cluster) leftovers(rendered string, final objects, made []*unstructured.Unstructured) {
	var manifest bytes.Buffer
	manifest.WriteString(rendered)
	for _, o := range made {
		if final.named(o.GetKind(), o.GetName()) != nil || machinery(o) {
			if machinery(o) && final.named(o.GetKind(), o.GetName()) == nil && o.GetKind() == "MachineHealthCheck" {
				c.leave(&manifest, o)
			}
			continue
		}
		c.leave(&manifest, o)
	}
	c.manifest = manifest.String()
}

func (c *Cluster) leave(manifest *bytes.Buffer, o *unstructured.Unstructured) {
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		return
	}
	fmt.Fprintf(manifest, "---\n%s", text)
	c.NoCounterpart = append(c.NoCounterpart, nameOf(o)+": Slipway's chart does not make it here; it stays until you first change the cluster")
}

// templates notes where Slipway's chart would make other servers of the same values. The
// servers that there are keep their template.
func (s Site) templates(ctx context.Context, c *Cluster, own objects) error {
	for _, key := range sortedKeys(own) {
		o := own[key]
		var live *unstructured.Unstructured
		var path []string
		switch o.GetKind() {
		case "KubeadmControlPlane":
			live, path = c.seen.plane, infrastructure("machineTemplate")
		case "MachineDeployment":
			live, path = c.seen.deployments[o.GetName()], infrastructure("template")
		default:
			continue
		}
		name := text(live, path...)
		template, err := s.get(ctx, cloudKind.WithKind("OpenStackMachineTemplate"), c.Namespace, name)
		if err != nil {
			return err
		}
		if template == nil {
			if name != "" {
				c.problem("OpenStackMachineTemplate "+name+" is missing: "+nameOf(o)+" could not make a machine", "make it again: helm upgrade with the same chart and values")
			}
			continue
		}
		wanted := own.named("OpenStackMachineTemplate", text(o, path...))
		c.differ(template, both("spec.template.spec", part(wanted, "spec", "template", "spec"), part(template, "spec", "template", "spec")), NextRollout)
	}
	return nil
}

// both compares in both directions.
func both(path string, want, has any) []unlike {
	all := within(path, want, has)
	for _, one := range within(path, has, want) {
		one.want, one.has = one.has, one.want
		if !slices.ContainsFunc(all, func(o unlike) bool { return o.path == one.path }) {
			all = append(all, one)
		}
	}
	return all
}

// others notes where the objects that are not machines differ. They stay as they are: a
// later change writes what it changes, and nothing else.
func (s Site) others(ctx context.Context, c *Cluster, final objects) error {
	for _, key := range sortedKeys(final) {
		o := final[key]
		if !machinery(o) || strings.HasSuffix(o.GetKind(), "Template") {
			continue
		}
		live, err := s.get(ctx, o.GroupVersionKind(), c.Namespace, o.GetName())
		if err != nil {
			return err
		}
		if live == nil {
			continue
		}
		c.differ(o, slices.DeleteFunc(within("spec", o.Object["spec"], live.Object["spec"]), func(one unlike) bool { return rolls(one.path) }), Stays)
	}
	return nil
}

// rolls are paths that are problems already.
func rolls(path string) bool {
	for _, part := range []string{"kubeadmConfigSpec", "infrastructureRef", "configRef", "version", "replicas", "selector", "failureDomain"} {
		if strings.Contains(path, part) {
			return true
		}
	}
	return false
}

// told are paths that say nothing new: CAPO takes the cluster's credential where a template
// names none, and Cluster API labels machines with their cluster by itself.
func told(path string) bool {
	return strings.Contains(path, ".identityRef.") || strings.HasSuffix(path, labelName)
}

func (c *Cluster) differ(o *unstructured.Unstructured, found []unlike, when When) {
	for _, one := range found {
		if told(one.path) {
			continue
		}
		c.Differences = append(c.Differences, Difference{Object: nameOf(o), Path: one.path, Has: one.has, Values: one.want, When: when})
	}
}
