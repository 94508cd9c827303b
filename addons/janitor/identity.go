package janitor

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// endCredential deletes the application credential and its Secret when the Secret asks for that.
// Both are kept until the janitor's finalizer is the last: CAPO works with them. endCredential
// reports whether nothing more is to be done.
func (r *reconciler) endCredential(ctx context.Context, t target, c *credential, opened *cloud.Cloud, token cloud.Token) (bool, error) {
	if c.secret == nil || c.secret.Annotations[CredentialPolicyAnnotation] != policyDelete {
		return true, nil
	}
	if !t.last() {
		return false, nil
	}
	user, err := r.otherUser(ctx, t)
	if err != nil {
		return false, err
	}
	if user != "" {
		r.events.Eventf(t.object, corev1.EventTypeWarning, EventCredentialKept, "OpenStackCluster %s also uses Secret %s", user, c.secret.Name)
		return true, nil
	}
	if err := r.deleteCredential(ctx, t, opened, token); err != nil {
		return false, err
	}
	uid := c.secret.UID
	err = r.client.Delete(ctx, c.secret, client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("deleting Secret %s: %w", client.ObjectKeyFromObject(c.secret), err)
	}
	return true, nil
}

// otherUser names another OpenStackCluster with the same Secret.
func (r *reconciler) otherUser(ctx context.Context, t target) (string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(clusterKind())
	if err := r.reader.List(ctx, list, client.InNamespace(t.object.GetNamespace())); err != nil {
		return "", fmt.Errorf("listing OpenStackClusters: %w", err)
	}
	for i := range list.Items {
		other := read(&list.Items[i])
		if other.key() != t.key() && other.identity.kind != identityOfCluster && other.identity.name == t.identity.name {
			return other.key().Name, nil
		}
	}
	return "", nil
}

// deleteCredential deletes the application credential that is logged in. A restricted one may not
// delete itself, which is no reason to hold the cluster.
func (r *reconciler) deleteCredential(ctx context.Context, t target, opened *cloud.Cloud, token cloud.Token) error {
	if token.CredentialID == "" {
		return nil // a password: there is only the Secret
	}
	client, err := opened.Identity()
	if err != nil {
		return err
	}
	err = applicationcredentials.Delete(ctx, client, token.UserID, token.CredentialID).ExtractErr()
	switch {
	case gophercloud.ResponseCodeIs(err, http.StatusForbidden):
		r.events.Eventf(t.object, corev1.EventTypeWarning, EventCredentialKept,
			"application credential %s is restricted and cannot delete itself: delete it by hand", token.CredentialID)
		return nil
	case err == nil, gone(err):
		return nil
	}
	return opened.Fault("deleting application credential "+token.CredentialID, err)
}
