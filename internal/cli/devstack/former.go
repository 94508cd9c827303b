package devstack

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// forgetFormer deletes the templates of projects that Keystone no longer knows. A stack.sh makes
// projects anew, while a management cluster of the plugin keeps what it has: without unstack.sh
// in between, public templates of the former projects have the names of the new ones. A cluster
// of somebody else may have projects of another Keystone.
func forgetFormer(ctx context.Context, s devstack.Settings) error {
	if s.Mode == devstack.External {
		return nil
	}
	client, err := onManagement(s)
	if err != nil {
		return err
	}
	return removeFormer(ctx, client, known)
}

// known asks devstack's Keystone for a project.
func known(ctx context.Context, project string) (bool, error) {
	c, err := open(ctx, admin)
	if err != nil {
		return false, err
	}
	defer c.Close()
	identity, err := c.Identity()
	if err != nil {
		return false, err
	}
	err = projects.Get(ctx, identity, project).Err
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, c.Fault("project "+project, err)
}

// removeFormer deletes the templates in namespaces of projects that are not known.
func removeFormer(ctx context.Context, client dynamic.Interface, ask func(context.Context, string) (bool, error)) error {
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	templates := schema.GroupVersionResource{Group: "magnum.slipway.sh", Version: "v1alpha1", Resource: "clustertemplates"}
	list, err := client.Resource(namespaces).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelProject})
	if err != nil {
		return fmt.Errorf("listing the namespaces of projects: %w", err)
	}
	for _, namespace := range list.Items {
		if !madeHere(&namespace) {
			continue
		}
		there, err := ask(ctx, namespace.GetLabels()[v1alpha1.LabelProject])
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if _, err := remove(ctx, client.Resource(templates).Namespace(namespace.GetName()), metav1.ListOptions{}, anybody); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
