package workload

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// lostCredential loses the Secret of a credential again and again, and each command repairs
// it: the new credential is restricted, the cluster has it, nothing of the former is left, and
// the end of the cluster is its end.
//
// proves: S-17
func lostCredential(w *world) {
	t := w.tenancy("lost")
	values := wanted(w.T, "lost", small+"\naddons: {openstack: {targetNamespace: "+t.inside+"}}")
	t.controlPlaneUp(t.key, "1")
	stop := t.run()
	w.eventually("the pods", func() bool { t.mu.Lock(); defer t.mu.Unlock(); return len(t.pods) == 2 })

	before := t.lose()
	r, err := t.RotateCredential(w.Context(), t.cloud, t.key, 0, func(string) {})
	if err != nil || !slices.Equal(r.Revoked, before) || len(r.Restarted) != 3 || len(r.Notes) > 0 {
		w.Errorf("rotated: %+v, %v; had %v", r, err, before)
	}
	t.has(r.Credential)
	makesNoOther(w.T, t)
	if told := t.get("openstackclusters", t.key).GetAnnotations()[annotationCredential]; told != r.Credential {
		w.Errorf("Cluster API was told of %q", told)
	}

	// Access rules are those of the environment, also of what is made anew.
	t.cloud.AccessRules = InfrastructureRules()
	before = t.lose()
	if _, change := t.create(values); change != Changed {
		w.Errorf("create without the Secret: %s", change)
	}
	if now := t.credentials("lost"); len(now) != 2 || !slices.Contains(now, before[0]) {
		w.Errorf("without waiting there are %v; the cluster still has %v", now, before)
	}
	values.Wait = WaitControlPlane // goes on where the one before ended
	if _, change := t.create(values); change != Unchanged {
		w.Errorf("create with the rest to do: %s", change)
	}
	now := t.credentials("lost")
	if len(now) != 1 || slices.Equal(now, before) {
		w.Fatalf("there are %v, were %v", now, before)
	}
	t.has(now[0])
	one, err := applicationcredentials.Get(w.Context(), t.box.Member.Identity(w.T), t.cloud.UserID, now[0]).Extract()
	if err != nil || len(one.AccessRules) != len(InfrastructureRules()) {
		w.Errorf("it has the rules %v, %v", one.AccessRules, err)
	}
	if refused := stop(); len(refused) > 0 {
		w.Errorf("refused: %v", refused)
	}
	t.lostOnTheCluster()
	t.deletedWithoutSecret()
}

// lose deletes the Secret, and returns the credentials that Keystone has.
func (t *tenancy) lose() []string {
	t.Helper()
	ids := t.credentials(t.key.Name)
	if err := t.Kube.Typed.CoreV1().Secrets(t.key.Namespace).Delete(t.Context(), SecretName(t.key.Name), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	return ids
}

// has wants one credential to be the only one, in both Secrets and of a login that works.
func (t *tenancy) has(id string) {
	t.Helper()
	if all := t.credentials(t.key.Name); len(all) != 1 || all[0] != id {
		t.Errorf("Keystone has %v, the cluster %s", all, id)
	}
	secret, lost, err := t.lost(t.Context(), t.cloud, t.key)
	if err != nil || lost || idIn(secret.Data[keyClouds]) != id || secret.Annotations[annotationFormer] != "" {
		t.Errorf("the Secret: lost %t, %v", lost, err)
	}
	inside, err := t.Kube.Typed.CoreV1().Secrets(t.inside).Get(t.Context(), cloudConfig, metav1.GetOptions{})
	if err != nil || idIn(inside.Data[keyClouds]) != id {
		t.Errorf("on the cluster: %v", err)
	}
}

// makesNoOther wants the credential to be restricted: who has it gets no other by it.
func makesNoOther(t *testing.T, of *tenancy) {
	t.Helper()
	secret, err := of.credentialSecret(t.Context(), of.key)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := cloud.Open(t.Context(), cloud.Options{Cloud: "openstack", CloudsYAML: secret.Data[keyClouds]})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	identity, err := opened.Identity()
	if err != nil {
		t.Fatal(err)
	}
	_, err = applicationcredentials.Create(t.Context(), identity, of.cloud.UserID, applicationcredentials.CreateOpts{Name: "another"}).Extract()
	if !gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		t.Errorf("it makes another: %v", err)
	}
}

// lostOnTheCluster: the addon provider writes the Secret there again, and nothing is revoked
// before it has.
func (t *tenancy) lostOnTheCluster() {
	t.Helper()
	before := t.lose()
	if err := t.Kube.Typed.CoreV1().Secrets(t.inside).Delete(t.Context(), cloudConfig, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	type end struct {
		Rotation
		err error
	}
	done := make(chan end, 1)
	go func() {
		r, err := t.RotateCredential(t.Context(), t.cloud, t.key, 0, func(string) {})
		done <- end{r, err}
	}()
	t.eventually("the new credential", func() bool { return len(t.credentials("lost")) == 2 })
	time.Sleep(2 * lookPause)
	if ids := t.credentials("lost"); !slices.Contains(ids, before[0]) {
		t.Errorf("it is revoked before the cluster has another: %v", ids)
	}
	stop := t.run()
	defer stop()
	select {
	case r := <-done:
		if r.err != nil || !slices.Equal(r.Revoked, before) {
			t.Errorf("rotated: %+v", r)
		}
		t.has(r.Credential)
	case <-time.After(patience):
		t.Fatal("it still waits")
	}
}

// deletedWithoutSecret: Cluster API gets a credential to delete with, and none is left.
func (t *tenancy) deletedWithoutSecret() {
	t.Helper()
	held := func(list string) {
		if _, err := t.Kube.Dynamic.Resource(kindOf("clusters")).Namespace(t.key.Namespace).Patch(t.Context(), t.key.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":`+list+`}}`), metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	}
	held(`["cluster.cluster.x-k8s.io"]`)
	t.lose()
	ended, b := make(chan error, 1), &background{}
	go func() {
		_, err := t.Delete(t.Context(), t.cloud, t.key, Retention{"delete", "delete"}, b.say)
		ended <- err
	}()
	t.eventually("the deletion", func() bool { return t.get("clusters", t.key).GetDeletionTimestamp() != nil })
	if _, lost, err := t.lost(t.Context(), t.cloud, t.key); err != nil || lost {
		t.Errorf("Cluster API has nothing to delete with: %v", err)
	}
	if _, err := t.RotateCredential(t.Context(), t.cloud, t.key, 0, func(string) {}); err == nil {
		t.Error("the credential of a cluster that is being deleted is rotated")
	}
	held(`[]`)
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("it is not deleted: " + b.saying())
	}
	if left := t.credentials("lost"); len(left) > 0 {
		t.Errorf("credentials are left: %v", left)
	}
	if _, err := t.Kube.Typed.CoreV1().Namespaces().Get(t.Context(), t.key.Namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v", err)
	}
}
