package takeover

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/stacks/workload"
)

// applied are the Deployments that azimuth-ops applies without Helm.
func applied() []workload.Key {
	return []workload.Key{
		{Namespace: "capi-system", Name: "capi-controller-manager"},
		{Namespace: "capi-kubeadm-bootstrap-system", Name: "capi-kubeadm-bootstrap-controller-manager"},
		{Namespace: "capi-kubeadm-control-plane-system", Name: "capi-kubeadm-control-plane-controller-manager"},
		{Namespace: "capo-system", Name: "capo-controller-manager"},
		{Namespace: "orc-system", Name: "orc-controller-manager"},
	}
}

// others are what Slipway does not take: Cluster API with its providers, and releases of
// other charts.
func (c *Cluster) others(ctx context.Context) error {
	for _, key := range applied() {
		live, err := c.get(ctx, deployments, key.Namespace, key.Name)
		if err != nil {
			return err
		}
		if live == nil {
			continue
		}
		item := Item{Object: describe(live), Verdict: Leave, Note: "runs on; who upgraded it before does so from now on"}
		for _, image := range images(live) {
			item.Version = tag(image)
		}
		c.Items = append(c.Items, item)
	}
	return c.releases(ctx)
}

// tag is the version in an image's reference.
func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = image[strings.LastIndex(image, "/")+1:]
	_, version, _ := strings.Cut(image, ":")
	return version
}

// releases lists those of Helm that are not the operators'.
func (c *Cluster) releases(ctx context.Context) error {
	list, err := c.site.Kube.Typed.CoreV1().Secrets("").List(ctx, metav1.ListOptions{LabelSelector: labelOwner + "=" + ownerHelm})
	if err != nil {
		return fmt.Errorf("listing releases: %w", err)
	}
	names := map[string]workload.Key{}
	for _, secret := range list.Items {
		key := workload.Key{Namespace: secret.Namespace, Name: secret.Labels["name"]}
		names[key.String()] = key
	}
	for _, o := range c.operators {
		delete(names, o.namespace+"/"+o.name)
	}
	for _, name := range sorted(names) {
		release, err := c.site.Clusters.Releases.Last(names[name].Namespace, names[name].Name)
		if err != nil {
			return err
		}
		if release == nil || release.Chart == nil || release.Chart.Metadata == nil {
			continue
		}
		item := Item{Object: "release " + name, Version: release.Chart.Name() + " " + release.Chart.Metadata.Version, Verdict: Leave}
		if release.Chart.Name() == "openstack-cluster" {
			item.Note = "a cluster: slipway adopt cluster takes it over"
		}
		c.Items = append(c.Items, item)
	}
	return nil
}
