package adopt

import (
	"context"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// magnumNamespace is where magnum-capi-helm puts the releases of a project.
var magnumNamespace = regexp.MustCompile(`^magnum-[0-9a-f]{32}$`)

// The marks of tools that write objects again and again.
const (
	fluxRelease          = "helm.toolkit.fluxcd.io/name"
	fluxReleaseNamespace = "helm.toolkit.fluxcd.io/namespace"
	fluxKustomization    = "kustomize.toolkit.fluxcd.io/name"
	argoInstance         = "argocd.argoproj.io/instance"
	argoTracking         = "argocd.argoproj.io/tracking-id"
)

// managed looks who else writes the cluster. It reports true if nothing more is to be
// looked at: Slipway manages it, or another manager of clusters does.
func (s Site) managed(ctx context.Context, c *Cluster, f found) (bool, error) {
	namespace, err := s.get(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", c.Namespace)
	if err != nil {
		return false, err
	}
	if f.release != nil && f.release.Labels[workload.LabelCluster] == c.Name {
		c.MadeBy, c.Verdict, c.unsettled = "slipway", Ours, f.release
		if f.release.Config[valueAdopted] != nil {
			c.values = f.release.Config
		}
		return true, nil
	}
	if f.release != nil && ownChart(f.release.Chart.Metadata) {
		c.MadeBy, c.Verdict = "slipway (an environment, or the Magnum API)", Ours
		return true, nil
	}
	if namespace != nil && namespace.GetLabels()[v1alpha1.LabelProject] != "" {
		c.MadeBy, c.Verdict = "slipway (the Magnum API)", Ours
		return true, nil
	}
	if magnumNamespace.MatchString(c.Namespace) {
		c.MadeBy = "magnum-capi-helm"
		c.problem("OpenStack's Magnum manages it", "move it in with its database: slipway magnum plan --from-database …")
		return true, nil
	}
	azimuth, err := s.get(ctx, schema.GroupVersionKind{Group: "azimuth.stackhpc.com", Version: "v1alpha1", Kind: "Cluster"}, c.Namespace, c.Name)
	if err != nil || azimuth == nil {
		return false, err
	}
	c.MadeBy = "azimuth"
	c.problem("Azimuth's operator manages it (clusters.azimuth.stackhpc.com of the same name), and would upgrade its release again",
		"delete it in Azimuth, or leave it there")
	return true, nil
}

// gitops notes tools that would write the cluster back to what they have. One that renders
// the release must let it go first.
func (s Site) gitops(ctx context.Context, c *Cluster, o *unstructured.Unstructured, released bool) error {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	if name := labels[fluxRelease]; name != "" {
		namespace := labels[fluxReleaseNamespace]
		flux, err := s.get(ctx, schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}, namespace, name)
		if err != nil {
			return err
		}
		if flux != nil {
			if suspended, _, _ := unstructured.NestedBool(flux.Object, "spec", "suspend"); !suspended {
				c.problem(fmt.Sprintf("Flux manages its release (HelmRelease %s/%s) and would put its chart back", namespace, name),
					"flux suspend helmrelease "+name+" -n "+namespace+"; after the adoption remove it from Git while it is suspended")
			}
			c.Notes = append(c.Notes, fmt.Sprintf("HelmRelease %s/%s of Flux still names it: do not resume it", namespace, name))
		}
	}
	tool := ""
	switch {
	case labels[fluxKustomization] != "":
		tool = "Flux (Kustomization " + labels[fluxKustomization] + ")"
	case labels[argoInstance] != "":
		tool = "Argo CD (application " + labels[argoInstance] + ")"
	case annotations[argoTracking] != "":
		tool = "Argo CD (" + annotations[argoTracking] + ")"
	}
	if tool == "" {
		return nil
	}
	if released {
		c.problem(tool+" writes its objects, and so does its release", "keep only one of the two, then run the same command again")
		return nil
	}
	c.MadeBy = tool
	c.Notes = append(c.Notes, tool+" still manages its objects: change them there, and remove them there before you delete the cluster")
	return nil
}
