// Package gather collects the parts of a support bundle from Kubernetes and from the
// cloud. Nothing here fails as a whole because one call did.
package gather

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/redact"
	"github.com/slipway-sh/slipway/internal/support"
)

// page is how many objects one call lists; most is how many of a kind are kept.
const (
	page = 500
	most = 20000
)

// tenantKinds are what is taken of a tenant's cluster: what shows whether the cluster
// works, and nothing of what the tenant made.
func tenantKinds() []string {
	return []string{"nodes", "pods", "events", "namespaces", "persistentvolumes", "persistentvolumeclaims", "services", "daemonsets", "deployments", "replicasets", "statefulsets", "jobs",
		"storageclasses", "volumeattachments", "csinodes", "mutatingwebhookconfigurations", "validatingwebhookconfigurations", "apiservices", "certificatesigningrequests", "secrets"}
}

// noise are kinds that say nothing or say it twice.
func noise(kind schema.GroupVersionResource) bool {
	return kind.Group == "events.k8s.io" || kind.Group == "metrics.k8s.io" || kind.Resource == "componentstatuses"
}

// Objects collects the objects of a Kubernetes cluster, one file per kind: all kinds, or
// of a tenant's cluster the kinds that show how the cluster is. Values of Secrets become
// known, so that they are not in any other file either.
func Objects(cluster *kube.Cluster, tenant bool, known *redact.Known) func(context.Context, *support.Folder) error {
	return func(ctx context.Context, folder *support.Folder) error {
		kinds, err := kindsOf(cluster.Typed.Discovery(), tenant)
		if len(kinds) == 0 && err != nil {
			return fmt.Errorf("listing the kinds: %w", err)
		}
		folder.Miss("some kinds", err)
		for _, kind := range kinds {
			objects, err := list(ctx, cluster, kind, known)
			name := kind.Resource + ".json"
			if kind.Group != "" {
				name = kind.Group + "/" + name
			}
			folder.Miss(name, err)
			if len(objects) > 0 {
				folder.JSON(name, objects)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		return nil
	}
}

// kindsOf are the kinds that can be listed, Secrets first. Some may be missing because an
// aggregated API does not answer; the error says so.
func kindsOf(client discovery.DiscoveryInterface, tenant bool) ([]schema.GroupVersionResource, error) {
	lists, err := client.ServerPreferredResources()
	var kinds []schema.GroupVersionResource
	for _, l := range lists {
		version, parsed := schema.ParseGroupVersion(l.GroupVersion)
		if parsed != nil {
			continue
		}
		for _, r := range l.APIResources {
			kind := version.WithResource(r.Name)
			if !slices.Contains(r.Verbs, "list") || strings.Contains(r.Name, "/") || noise(kind) || tenant && !slices.Contains(tenantKinds(), r.Name) {
				continue
			}
			kinds = append(kinds, kind)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionResource) int {
		if secret := "secrets"; a.Resource == secret || b.Resource == secret {
			return map[bool]int{true: -1, false: 1}[a.Resource == secret]
		}
		return strings.Compare(a.String(), b.String())
	})
	return slices.Compact(kinds), err
}

// list returns the objects of a kind without secrets.
func list(ctx context.Context, cluster *kube.Cluster, kind schema.GroupVersionResource, known *redact.Known) ([]map[string]any, error) {
	var all []map[string]any
	options := metav1.ListOptions{Limit: page}
	for {
		found, err := cluster.Dynamic.Resource(kind).List(ctx, options)
		if err != nil {
			return all, err
		}
		for i := range found.Items {
			o := found.Items[i].Object
			if data, ok := o["data"].(map[string]any); ok && kind.Resource == "secrets" {
				known.Add(redact.Values(data)...)
			}
			all = append(all, redact.Object(o))
		}
		if options.Continue = found.GetContinue(); options.Continue == "" {
			return all, nil
		}
		if len(all) >= most {
			return all, errors.New("only the first objects are there: there are too many")
		}
	}
}
