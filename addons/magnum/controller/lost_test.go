package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// lose deletes the cluster's Secret.
func (h *harness) lose() {
	h.t.Helper()
	if err := h.client.Delete(h.t.Context(), secret("")); err != nil {
		h.t.Fatal(err)
	}
}

// credentialReason is why the credential is not valid; empty if it is.
func (h *harness) credentialReason() string {
	h.t.Helper()
	c := meta.FindStatusCondition(h.cluster().Status.Conditions, v1alpha1.ConditionCredential)
	if c == nil || c.Status == "True" {
		return ""
	}
	return c.Reason
}

// TestALostSecretIsTold of a cluster that is complete and healthy, and taken back when there
// is another: then Cluster API's provider is told to look.
func TestALostSecretIsTold(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.lose()
	if result := h.pass(); result.RequeueAfter <= 0 {
		t.Error("it never looks again")
	}
	h.phases(v1alpha1.CreateComplete, "default-worker", "CREATE_COMPLETE")
	const want = "credential: the Secret " + stack + "-cloud-credentials does not exist; to give the cluster a new credential, run openstack coe credential rotate 6c9f3a52-5c0e-4b9f-9a5c-1b1f4f6a2f10"
	s := h.cluster().Status
	if s.StatusReason != want || s.HealthStatus != v1alpha1.Unhealthy || s.HealthStatusReason["credential"] != want || s.HealthStatusReason["api"] != "ok" || h.credentialReason() != v1alpha1.ReasonCredentialLost {
		t.Errorf("%+v", s)
	}
	h.clock = h.clock.Add(h.r.Patience + time.Minute)
	h.pass()
	h.phases(v1alpha1.CreateComplete, "default-worker", "CREATE_COMPLETE")

	h.create(secret("cred-2"))
	h.edit(func(c *v1alpha1.Cluster) {
		c.Spec.Credential = v1alpha1.Credential{ApplicationCredentialID: "cred-2", UserID: "user", Superseded: []v1alpha1.SupersededCredential{{ID: "cred-1", UserID: "user"}}}
	})
	h.pass()
	s = h.cluster().Status
	if s.StatusReason != "" || s.HealthStatus != v1alpha1.Healthy || s.HealthStatusReason["credential"] != "" || h.credentialReason() != "" {
		t.Errorf("%+v", s)
	}
	if told := h.object(infrastructure(), stack).GetAnnotations()[v1alpha1.AnnotationRenewed]; told != h.clock.Format(time.RFC3339) {
		t.Errorf("Cluster API was told of %q", told)
	}
	h.clock = h.clock.Add(h.r.Overlap + time.Minute)
	h.pass()
	if got := strings.Join(h.revoker.revoked, ","); got != "user/cred-1" {
		t.Errorf("revoked %q", got)
	}
}

// TestADeletionWithoutACredentialSaysSo, first while there is hope, and goes on with another.
func TestADeletionWithoutACredentialSaysSo(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.hold()
	h.lose()
	h.delete()
	h.pass()
	h.phases(v1alpha1.DeleteInProgress)
	const command = "; to give the cluster a new credential, run openstack coe cluster delete 6c9f3a52-5c0e-4b9f-9a5c-1b1f4f6a2f10"
	if reason := h.cluster().Status.StatusReason; !strings.HasSuffix(reason, command) || h.credentialReason() != v1alpha1.ReasonCredentialLost {
		t.Errorf("reason %q, credential %s", reason, h.credentialReason())
	}
	h.clock = h.clock.Add(h.r.Patience + time.Minute)
	h.pass()
	h.phases(v1alpha1.DeleteFailed)
	h.create(secret("cred-2"))
	h.edit(func(c *v1alpha1.Cluster) {
		c.Spec.Credential = v1alpha1.Credential{ApplicationCredentialID: "cred-2", UserID: "user", Superseded: []v1alpha1.SupersededCredential{{ID: "cred-1", UserID: "user"}}}
	})
	h.pass()
	h.phases(v1alpha1.DeleteInProgress)
	if reason := h.cluster().Status.StatusReason; strings.Contains(reason, "credential") || h.credentialReason() != "" {
		t.Errorf("reason %q, credential %s", reason, h.credentialReason())
	}
	h.free()
	h.pass()
	h.pass()
	if !h.gone() {
		t.Error("something is left")
	}
	if got := strings.Join(h.revoker.revoked, ","); got != "user/cred-1,user/cred-2" {
		t.Errorf("revoked %q", got)
	}
}

// TestADeletionWithARefusedCredentialSaysSo, and of the cloud nothing else: what goes is not
// well.
func TestADeletionWithARefusedCredentialSaysSo(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	h, user, id := inCloud(t, box)
	if err := applicationcredentials.Delete(t.Context(), box.Member.Identity(t), user, id).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	h.told("run openstack coe credential rotate")
	h.hold()
	h.delete()
	reason := h.told("run openstack coe cluster delete")
	if !strings.Contains(reason, "Could not find Application Credential") || h.credentialReason() != v1alpha1.ReasonCredentialLost {
		t.Errorf("reason %q, credential %s", reason, h.credentialReason())
	}
	h.phases(v1alpha1.DeleteInProgress)
	h.clock = h.clock.Add(h.r.Patience + time.Minute)
	h.pass()
	h.phases(v1alpha1.DeleteFailed)
}

// TestALateCredentialIsRevokedToo: the endpoint may write one while a deletion ends.
func TestALateCredentialIsRevokedToo(t *testing.T) {
	t.Parallel()
	h := ready(t)
	late := false
	h.intercept(lateCredential(&late))
	h.delete()
	h.pass() // a conflict, which another pass ends
	if !late || h.gone() {
		t.Fatalf("written %t, gone %t", late, h.gone())
	}
	h.pass()
	if !h.gone() {
		t.Error("something is left")
	}
	if got := strings.Join(h.revoker.revoked, ","); !strings.HasSuffix(got, "user/late") {
		t.Errorf("revoked %q", got)
	}
}

// lateCredential writes a credential into the spec right after the Secrets were deleted.
func lateCredential(done *bool) interceptor.Funcs {
	return interceptor.Funcs{DeleteAllOf: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteAllOfOption) error {
		if err := c.DeleteAllOf(ctx, o, opts...); err != nil || *done {
			return err
		}
		cluster := &v1alpha1.Cluster{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: stack}, cluster); err != nil {
			return err
		}
		old := cluster.Spec.Credential
		cluster.Spec.Credential = v1alpha1.Credential{ApplicationCredentialID: "late", UserID: "user", Superseded: []v1alpha1.SupersededCredential{{ID: old.ApplicationCredentialID, UserID: old.UserID}}}
		*done = true
		return c.Update(ctx, cluster)
	}}
}
