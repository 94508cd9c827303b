package takeover

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// right is what the user of a kubeconfig must be allowed.
type right struct {
	group, resource string
	verbs           []string
}

// rights are all that a takeover needs, in every namespace.
func rights() []right {
	read, write := []string{"list"}, []string{"get", "patch", "create", "update", "delete"}
	return []right{
		{"", "nodes", read}, {"", "pods", read},
		{"", "namespaces", write}, {"", "serviceaccounts", write}, {"", "configmaps", write}, {"", "services", write},
		{"", "secrets", append([]string{"list"}, write...)},
		{"apps", "deployments", append([]string{"list", "watch"}, write...)},
		{"policy", "poddisruptionbudgets", write},
		{"rbac.authorization.k8s.io", "roles", write}, {"rbac.authorization.k8s.io", "rolebindings", write},
		{"rbac.authorization.k8s.io", "clusterroles", append([]string{"escalate", "bind"}, write...)},
		{"rbac.authorization.k8s.io", "clusterrolebindings", write},
		{"apiextensions.k8s.io", "customresourcedefinitions", []string{"get", "patch", "create", "update"}},
		{"cluster.x-k8s.io", "clusters", read}, {"cluster.x-k8s.io", "machines", read}, {"cluster.x-k8s.io", "machinesets", read},
		{"cluster.x-k8s.io", "machinedeployments", read}, {"controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes", read},
		{"infrastructure.cluster.x-k8s.io", "openstackclusters", read}, {"infrastructure.cluster.x-k8s.io", "openstackmachines", read},
		{"addons.stackhpc.com", "helmreleases", read}, {"addons.stackhpc.com", "manifests", read},
	}
}

// allowed refuses a kubeconfig without the rights, and names all that are missing. Without
// them not even the rest can be looked at.
func (c *Cluster) allowed(ctx context.Context) (bool, error) {
	needed := rights()
	missing := make([][]string, len(needed))
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, r := range needed {
		for _, verb := range r.verbs {
			group.Go(func() error {
				review, err := c.site.Kube.Typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
					Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Group: r.group, Resource: r.resource, Verb: verb}}}, metav1.CreateOptions{})
				if err != nil {
					return fmt.Errorf("asking for rights: %w", err)
				}
				if !review.Status.Allowed {
					mu.Lock()
					defer mu.Unlock()
					missing[i] = append(missing[i], verb)
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return false, err
	}
	for i, verbs := range missing {
		if len(verbs) > 0 {
			name := strings.TrimSuffix(needed[i].resource+"."+needed[i].group, ".")
			c.problem(name, "use the kubeconfig of an administrator", "you are not allowed to %s them", strings.Join(ordered(verbs, needed[i].verbs), ", "))
		}
	}
	return len(c.Problems) == 0, nil
}

// ordered are words in the order of all.
func ordered(words, all []string) []string {
	var sorted []string
	for _, one := range all {
		for _, word := range words {
			if word == one {
				sorted = append(sorted, word)
			}
		}
	}
	return sorted
}
