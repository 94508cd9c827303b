package takeover

import (
	"context"
	"fmt"
	"slices"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/kube"
)

// operator is one of Azimuth's that Slipway's controllers replace. Release, chart and
// Deployment have the same name, as azimuth-ops installs them.
type operator struct {
	name, namespace string
	// last is the last minor version of its chart 0 that is known.
	last uint
	// release is what installed it; nil if it is not there, or was taken over before.
	release *helmrelease.Release
	// deployment is what runs; nil if there is none.
	deployment *unstructured.Unstructured
}

// operators are those that are known.
func operators() []*operator {
	return []*operator{
		{name: controllers.AddonProviderName, namespace: controllers.AddonProviderNamespace, last: 13},
		{name: controllers.JanitorName, namespace: controllers.JanitorNamespace, last: 15},
	}
}

func (o *operator) object() string { return "Deployment " + o.namespace + "/" + o.name }

// chartVersion is the version of the chart that installed it.
func (o *operator) chartVersion() string {
	if o.release == nil {
		return ""
	}
	return o.release.Chart.Metadata.Version
}

const partOf = "app.kubernetes.io/part-of"

// ours reports whether an object is of Slipway's controllers.
func ours(object *unstructured.Unstructured) bool {
	return object != nil && object.GetLabels()[partOf] == "slipway"
}

// find looks for the operators and for what installed them. What runs under another name, or
// in another namespace, is a problem: it would go on beside Slipway's.
func (c *Cluster) find(ctx context.Context) error {
	c.operators = operators()
	for _, o := range c.operators {
		var err error
		if o.deployment, err = c.get(ctx, deployments, o.namespace, o.name); err != nil {
			return err
		}
		if o.release, err = c.site.Clusters.Releases.Last(o.namespace, o.name); err != nil {
			return err
		}
		if o.release != nil && o.release.Info.Status == helmrelease.StatusUninstalled {
			o.release = nil
		}
	}
	if err := c.strays(ctx); err != nil {
		return err
	}
	if c.record == nil && ours(c.operators[0].deployment) && ours(c.operators[1].deployment) {
		c.State = Ours
		return nil
	}
	for _, o := range c.operators {
		c.judgeOperator(o)
	}
	return nil
}

// strays refuses operators that are not where azimuth-ops installs them.
func (c *Cluster) strays(ctx context.Context) error {
	list, err := c.site.Kube.Typed.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing Deployments: %w", err)
	}
	for _, d := range list.Items {
		for _, container := range d.Spec.Template.Spec.Containers {
			i := slices.IndexFunc(c.operators, func(o *operator) bool { return o.name == program(container.Image) })
			if i < 0 || d.Namespace == c.operators[i].namespace && d.Name == c.operators[i].name {
				continue
			}
			c.problem("Deployment "+d.Namespace+"/"+d.Name, "uninstall it, or install it as azimuth-ops does",
				"it runs %s, which is known as %s/%s only: two would change the same objects", container.Image, c.operators[i].namespace, c.operators[i].name)
		}
	}
	return nil
}

// program is the last part of an image's name, without its tag or digest.
func program(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = image[strings.LastIndex(image, "/")+1:]
	image, _, _ = strings.Cut(image, ":")
	return image
}

// judgeOperator refuses one that is not the known one, or not as its chart made it.
func (c *Cluster) judgeOperator(o *operator) {
	switch {
	case o.deployment == nil && o.release == nil:
		return // Slipway's is installed
	case ours(o.deployment):
		if c.record == nil {
			c.problem(o.object(), "delete it, and what else was installed with it, then run the same command again", "it is Slipway's already, and the other controller is not")
		}
		return
	case c.record != nil:
		c.sameAsBefore(o)
		return
	case o.release == nil:
		c.problem(o.object(), "install it with its chart, or delete it, and Slipway's is installed",
			"no release of Helm made it: its settings are not known")
		return
	}
	c.judgeRelease(o)
}

// sameAsBefore refuses, in a takeover that goes on, an operator that somebody made meanwhile.
func (c *Cluster) sameAsBefore(o *operator) {
	before := c.record.before(kindDeployment, o.namespace, o.name)
	if o.deployment == nil || before != nil && before.GetUID() == o.deployment.GetUID() {
		return
	}
	c.problem(o.object(), "uninstall it, or hand the environment back with --hand-back, then run the command again", "somebody installed it again after it was adopted")
}

func (c *Cluster) judgeRelease(o *operator) {
	object, metadata := "release "+o.namespace+"/"+o.name, o.release.Chart.Metadata
	if metadata.Name != o.name {
		c.problem(object, "only releases of chart "+o.name+" are known", "it is of chart %s %s", metadata.Name, metadata.Version)
		return
	}
	made, err := version.ParseSemantic(metadata.Version)
	if err != nil || made.Major() != 0 || made.Minor() < 1 || made.Minor() > o.last {
		c.problem(object, "bring it to one of these with azimuth-ops, or use a newer slipway", "its chart is of version %s; 0.1 to 0.%d are known", metadata.Version, o.last)
		return
	}
	if status := o.release.Info.Status; status != helmrelease.StatusDeployed {
		c.problem(object, "repair it with helm upgrade or helm rollback, then run the same command again", "it is %s (revision %d), not deployed", status, o.release.Version)
		return
	}
	if o.deployment == nil {
		c.problem(o.object(), "bring it back with helm upgrade, or helm uninstall "+o.name+" -n "+o.namespace, "its release says that it is there, and it is not")
		return
	}
	images := images(o.deployment)
	if !slices.ContainsFunc(images, func(image string) bool { return program(image) == o.name }) {
		c.problem(o.object(), "install the known one, or uninstall it, and Slipway's is installed", "it runs %s, which is not the known controller", strings.Join(images, ", "))
	}
}

// images are those of a Deployment's containers.
func images(deployment *unstructured.Unstructured) []string {
	var all []string
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	for _, one := range containers {
		if container, ok := one.(map[string]any); ok {
			image, _ := container["image"].(string)
			all = append(all, image)
		}
	}
	return all
}

// describe names an object as kube does.
func describe(object *unstructured.Unstructured) string { return kube.Describe(object) }
