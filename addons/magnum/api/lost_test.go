package api

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// lose deletes the Secret of a cluster.
func (b *bench) lose(uuid string) {
	b.t.Helper()
	c := b.view(uuid).Cluster
	b.must(b.kube.Delete(b.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.CredentialSecret()}}))
}

// given wants the cluster to have a credential that Keystone knows, in its Secret and in its
// spec, with the former one to be revoked.
func (b *bench) given(uuid, former string) string {
	b.t.Helper()
	c := b.view(uuid).Cluster
	now := c.Spec.Credential
	if now.ApplicationCredentialID == former || !slices.ContainsFunc(now.Superseded, func(s v1alpha1.SupersededCredential) bool { return s.ID == former }) {
		b.t.Errorf("it has %+v, had %s", now, former)
	}
	secret := &corev1.Secret{}
	b.must(b.kube.Get(b.t.Context(), client.ObjectKey{Namespace: c.Namespace, Name: c.CredentialSecret()}, secret))
	if !strings.Contains(string(secret.Data["clouds.yaml"]), now.ApplicationCredentialID) || secret.Labels[v1alpha1.LabelStack] != c.Stack() {
		b.t.Errorf("the Secret has another credential, or labels %v", secret.Labels)
	}
	for _, one := range b.credentials(member) {
		if one.ID == now.ApplicationCredentialID {
			if one.Unrestricted {
				b.t.Error("it is unrestricted")
			}
			return one.ID
		}
	}
	b.t.Error("Keystone does not know it")
	return now.ApplicationCredentialID
}

// TestALostCredentialIsReplaced by the two requests that come with a tenant's token: a
// rotation in any state, and a deletion, also of what is being deleted already.
func TestALostCredentialIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	path, one := "/v1/credentials/"+uuid, clusters+"/"+uuid
	id := b.view(uuid).Cluster.Spec.Credential.ApplicationCredentialID
	b.lose(uuid)
	b.do(member, http.MethodPatch, path, nil).want(202)
	id = b.given(uuid, id)
	// The creation has failed for want of it.
	b.settle(uuid, func(c *v1alpha1.Cluster) { c.Status.Phase = v1alpha1.CreateFailed })
	b.do(member, http.MethodPatch, path, nil).want(400)
	b.lose(uuid)
	b.do(alien, http.MethodPatch, path, nil).want(404)
	b.do(reader, http.MethodPatch, path, nil).want(403)
	b.do(member, http.MethodPatch, path, nil).want(202)
	id = b.given(uuid, id)
	// A deletion.
	b.lose(uuid)
	b.do(member, http.MethodDelete, one, nil).want(204)
	id = b.given(uuid, id)
	b.do(member, http.MethodDelete, one, nil).want(204)
	if again := b.view(uuid).Cluster.Spec.Credential.ApplicationCredentialID; again != id {
		t.Errorf("it has %s, although %s was not lost", again, id)
	}
	b.lose(uuid)
	b.do(admin, http.MethodDelete, one, nil).want(204) // of another project: nothing that helps
	if again := b.view(uuid).Cluster.Spec.Credential.ApplicationCredentialID; again != id {
		t.Errorf("an administrator of another project made %s", again)
	}
	b.do(member, http.MethodDelete, one, nil).want(204)
	id = b.given(uuid, id)
	// Keystone refuses it, as the controllers found.
	c := b.view(uuid).Cluster.DeepCopy()
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionCredential, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonCredentialLost})
	b.must(b.kube.Status().Update(t.Context(), c))
	b.await(func() bool { return len(b.view(uuid).Cluster.Status.Conditions) == 1 })
	b.do(member, http.MethodDelete, one, nil).want(204)
	b.given(uuid, id)
}

// TestACredentialForWhatIsGone is taken back.
func TestACredentialForWhatIsGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, uuid := b.ready()
	v := b.view(uuid)
	gone := v.Cluster.DeepCopy()
	gone.Finalizers = nil
	b.must(b.kube.Update(t.Context(), gone))
	b.must(b.kube.Delete(t.Context(), gone))
	token, err := b.server.o.Tokens.Validate(t.Context(), b.logins[member].Provider.Token(), "")
	b.must(err)
	c := &call{s: b.server, token: token, r: httptest.NewRequestWithContext(t.Context(), http.MethodPatch, "/", nil)}
	if err := c.replaceCredential(v, false); err == nil {
		t.Error("the spec of a cluster that is gone was written")
	}
	if left := b.credentials(member); len(left) != 1 {
		t.Errorf("credentials %v, want the cluster's own, which the controllers revoke", left)
	}
	err = b.kube.Get(t.Context(), client.ObjectKey{Namespace: v.Cluster.Namespace, Name: v.Cluster.CredentialSecret()}, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("its Secret: %v", err)
	}
}
