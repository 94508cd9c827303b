package adopt

import (
	"context"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
)

// The minor versions of capi-helm-charts 0 whose names and objects are known.
const firstChart, lastChart = 10, 27

// judge says what becomes of one cluster.
func (s Site) judge(ctx context.Context, f found) (*Cluster, error) {
	c := &Cluster{Namespace: f.key.Namespace, Name: f.key.Name, Verdict: Adopt, Taken: []string{}, release: f.release}
	done, err := s.managed(ctx, c, f)
	if err != nil || done {
		return c, err
	}
	if f.release != nil {
		c.MadeBy = f.release.Chart.Name() + " " + f.release.Chart.Metadata.Version
	}
	if f.cluster == nil {
		c.problem(fmt.Sprintf("its release (revision %d, %s) has no Cluster: it was deleted, or never made", f.release.Version, f.release.Info.Status),
			"helm uninstall "+c.Name+" -n "+c.Namespace+", or install the release again")
		return c, nil
	}
	if c.seen, err = s.see(ctx, f.key, f.cluster); err != nil {
		return nil, err
	}
	c.Machines, c.Version = len(c.seen.machines), text(c.seen.plane, "spec", "version")
	if err := s.gitops(ctx, c, f.cluster, f.release != nil); err != nil {
		return nil, err
	}
	c.settled()
	if paused, _, _ := unstructured.NestedBool(f.cluster.Object, "spec", "paused"); paused {
		c.Notes = append(c.Notes, "it is paused: Cluster API does nothing for it until spec.paused is removed")
	}
	if f.release == nil {
		return c, s.asItIs(ctx, c)
	}
	return c, s.judgeRelease(ctx, c)
}

// judgeRelease compares a release with what there is, and with what Slipway's chart makes
// of its values.
func (s Site) judgeRelease(ctx context.Context, c *Cluster) error {
	if !c.known() {
		return nil
	}
	made, err := documents(c.release.Manifest)
	if err != nil {
		c.problem("its release cannot be read: "+err.Error(), "helm get manifest "+c.Name+" -n "+c.Namespace)
		return nil
	}
	if err := s.byHand(ctx, c, made); err != nil {
		return err
	}
	c.secretsThere(c.credential(), c.encryptionKey())
	if c.plane() == nil {
		return nil
	}
	if !c.translate() {
		return nil
	}
	return s.compare(ctx, c, made)
}

// known refuses releases of other charts, of versions that are not known, and broken ones.
func (c *Cluster) known() bool {
	metadata := c.release.Chart.Metadata
	if metadata.Name != chartName {
		c.problem("its release is of chart "+metadata.Name+" "+metadata.Version+", not of openstack-cluster", "only releases of capi-helm-charts' openstack-cluster can be adopted with their values")
		return false
	}
	made, err := version.ParseSemantic(metadata.Version)
	if err != nil || made.Major() != 0 || made.Minor() < firstChart || made.Minor() > lastChart {
		c.problem("its chart is of version "+metadata.Version+"; 0.10 to 0.27 are known", "bring the release to one of these with helm upgrade")
		return false
	}
	if status := c.release.Info.Status; status != helmrelease.StatusDeployed {
		c.problem(fmt.Sprintf("its release is %s (revision %d), not deployed", status, c.release.Version),
			"repair it with helm upgrade or helm rollback, then run the same command again")
		return false
	}
	return true
}

// ownChart tells Slipway's chart from that of capi-helm-charts, which has its name.
func ownChart(metadata *chart.Metadata) bool {
	own, err := openstackcluster.Chart()
	return err == nil && metadata.Name == own.Metadata.Name && metadata.Version == own.Metadata.Version && metadata.Description == own.Metadata.Description
}

// plane is the control plane, or a problem.
func (c *Cluster) plane() *unstructured.Unstructured {
	if c.seen.plane == nil {
		c.problem("Cluster API has no KubeadmControlPlane of it", "use the kubeconfig of the management cluster that the release is on")
	}
	return c.seen.plane
}

// credential is the name of the Secret with clouds.yaml.
func (c *Cluster) credential() string {
	if name, _ := c.release.Config["cloudCredentialsSecretName"].(string); name != "" {
		return name
	}
	return strings.TrimSuffix(c.Name[:min(len(c.Name), 63)], "-") + "-cloud-credentials"
}

// encryptionKey is the name of the Secret with etcd's key, if there is one.
func (c *Cluster) encryptionKey() string {
	if enabled, _, _ := unstructured.NestedBool(c.release.Config, "etcd", "encryption", "enabled"); !enabled {
		return ""
	}
	return c.Name + "-etcd-key"
}
