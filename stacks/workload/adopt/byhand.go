package adopt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// documents reads a release's manifest.
func documents(manifest string) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	var all []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(o)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading objects: %w", err)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

// byHand refuses a release whose objects are not as it made them: its values would be
// wrong, and the next change would undo, or roll, what somebody did.
func (s Site) byHand(ctx context.Context, c *Cluster, made []*unstructured.Unstructured) error {
	for _, o := range made {
		live, err := s.get(ctx, o.GroupVersionKind(), c.Namespace, o.GetName())
		if err != nil {
			return err
		}
		if live == nil {
			if live, err = s.newer(ctx, c, o); err != nil {
				return err
			}
			if live == nil {
				c.problem(nameOf(o)+" of its release is missing", "make it again: helm upgrade with the same chart and values")
				continue
			}
			continue // in another version, of which the fields cannot be compared
		}
		c.Taken = append(c.Taken, nameOf(o))
		for _, one := range slices.Concat(changed(o, live), added(o, live)) {
			n := c.touched(o, one)
			c.roll(n, fmt.Sprintf("it was changed by hand: %s has %s %s, its release %s", nameOf(o), one.path, shown(o, one.path, one.has), shown(o, one.path, one.want)),
				"put it into the release's values with helm upgrade, or change it back")
		}
	}
	return nil
}

// newer looks for an object whose version is not served any more.
func (s Site) newer(ctx context.Context, c *Cluster, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	kind := o.GroupVersionKind()
	for _, version := range []schema.GroupVersion{clusterKind, planeKind, bootstrapKind, cloudKind} {
		if version.Group == kind.Group && version.Version != kind.Version {
			live, err := s.get(ctx, version.WithKind(kind.Kind), c.Namespace, o.GetName())
			if live != nil {
				c.Taken = append(c.Taken, nameOf(o))
				c.Notes = append(c.Notes, fmt.Sprintf("%s is of %s, which is not served any more: it is compared in %s only", nameOf(o), kind.GroupVersion(), version))
			}
			return live, err
		}
	}
	return nil, nil
}

// changed compares an object of a manifest with what there is. Of objects of Kubernetes
// itself only what the clusters depend on is compared.
func changed(made, live *unstructured.Unstructured) []unlike {
	switch kind := made.GroupVersionKind(); {
	case strings.HasPrefix(kind.Version, "v1alpha") && kind.Group == cloudKind.Group:
		return nil // CAPO converts with loss, and does not let specs change; what differs is noted
	case kind.Group == "" && kind.Kind == "Secret":
		return within("data", plain(made.Object), plain(live.Object))
	case strings.HasSuffix(kind.Group, "cluster.x-k8s.io"), kind.Group == "addons.stackhpc.com":
		return within("spec", made.Object["spec"], live.Object["spec"])
	}
	return nil
}

// added finds what somebody put on machines that the release does not have. Cluster API
// fills in other things by itself.
func added(made, live *unstructured.Unstructured) []unlike {
	path := []string{"spec", "kubeadmConfigSpec"}
	switch made.GetKind() {
	case "KubeadmConfigTemplate":
		path = []string{"spec", "template", "spec"}
	case "KubeadmControlPlane":
	default:
		return nil
	}
	all := slices.DeleteFunc(within(strings.Join(path, "."), part(live, path...), part(made, path...)), func(one unlike) bool {
		return !nothing(one.has) || !machineSetting(one.path)
	})
	for i := range all {
		all[i].want, all[i].has = all[i].has, all[i].want
	}
	return all
}

// machineSetting reports whether a part of a bootstrap configuration is only there if
// somebody wrote it.
func machineSetting(path string) bool {
	for _, part := range []string{"files", "users", "ommands", "mounts", "ntp", "diskSetup", "xtraArgs", "extraVolumes", "certSANs", "featureGates", "taints"} {
		if strings.Contains(path, part) {
			return true
		}
	}
	return false
}

// touched is the number of machines that undoing a change would make, delete or replace.
func (c *Cluster) touched(o *unstructured.Unstructured, one unlike) int {
	kind := o.GetKind()
	if kind != "KubeadmControlPlane" && kind != "MachineDeployment" {
		return 0
	}
	if one.path == "spec.replicas" {
		want, _ := float(one.want)
		has, _ := float(one.has)
		return int(max(want-has, has-want))
	}
	for _, part := range []string{"version", "kubeadmConfigSpec", "infrastructureRef.name", "configRef.name", "failureDomain"} {
		if strings.Contains(one.path, part) {
			return c.size(o.GetName(), kind)
		}
	}
	return 0
}

// size is how many machines an object has.
func (c *Cluster) size(name, kind string) int {
	if kind == "KubeadmControlPlane" {
		return replicas(c.seen.plane)
	}
	return replicas(c.seen.deployments[name])
}

// shown is a value in a sentence; that of a Secret, or of a file on a machine, is not told.
func shown(o *unstructured.Unstructured, path string, value any) string {
	if o.GetKind() == "Secret" || strings.Contains(path, "files") {
		if value == nil {
			return "nothing"
		}
		return "another value"
	}
	return brief(value)
}

// longest is how much of a value is shown.
const longest = 80

func brief(value any) string {
	if value == nil {
		return "nothing"
	}
	text := []rune(strings.Join(strings.Fields(fmt.Sprintf("%v", value)), " "))
	if len(text) > longest {
		return string(text[:longest]) + "…"
	}
	return string(text)
}
