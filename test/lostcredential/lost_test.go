package lostcredential

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clusters"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cloud"
)

// TestATenantsLostCredential: a cluster whose Secret is gone says so, with the command that
// mends it. The tenant's rotation makes another, which is restricted; nothing of the former is
// left; and a deletion without the Secret ends, because the request brings what makes another.
//
// proves: S-17
func TestATenantsLostCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cluster()
	before := w.credentials()
	if len(before) != 1 {
		t.Fatalf("credentials %v", before)
	}
	w.works()

	w.lose()
	command := "run openstack coe credential rotate " + w.uuid
	w.until("the cause", func() bool {
		c := w.show()
		return c.HealthStatus == "UNHEALTHY" && strings.Contains(fmt.Sprint(c.HealthStatusReason["credential"]), command) &&
			strings.Contains(c.StatusReason, "-cloud-credentials does not exist; ") && strings.HasSuffix(c.StatusReason, command)
	})
	if c := w.show(); c.Status != "CREATE_COMPLETE" {
		t.Errorf("a cluster that runs is %s", c.Status)
	}

	w.rotate()
	w.until("its health", func() bool { c := w.show(); return c.HealthStatus == "HEALTHY" && c.StatusReason == "" })
	w.until("the end of the former credential", func() bool { return len(w.credentials()) == 1 })
	if now := w.credentials(); slices.Equal(now, before) {
		t.Errorf("it still has %v", now)
	}
	w.works()
	infra := w.object("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", w.stack)
	if infra.GetAnnotations()[v1alpha1.AnnotationRenewed] == "" {
		t.Error("Cluster API was not told to look")
	}
	w.deleted()
}

// deleted deletes the cluster, of which Cluster API keeps its Cluster until the test lets go.
func (w *world) deleted() {
	w.hold(`["cluster.cluster.x-k8s.io"]`)
	w.lose()
	w.must(clusters.Delete(w.Context(), w.magnum, w.uuid).ExtractErr())
	w.works()
	w.until("the deletion", func() bool { return w.show().Status == "DELETE_IN_PROGRESS" })

	// Lost once more, or refused: it is told, and the same request mends it.
	command := "run openstack coe cluster delete " + w.uuid
	for _, lose := range []func(){w.lose, w.revoke} {
		lose()
		w.until("the cause", func() bool {
			c := w.show()
			return c.Status == "DELETE_FAILED" && strings.HasSuffix(c.StatusReason, command)
		})
		w.must(clusters.Delete(w.Context(), w.magnum, w.uuid).ExtractErr())
		w.works()
		w.until("the deletion", func() bool { return w.show().Status == "DELETE_IN_PROGRESS" })
	}

	w.hold(`[]`)
	w.until("the end", func() bool { return w.show() == nil })
	if left := w.credentials(); len(left) > 0 {
		w.Errorf("credentials are left: %v", left)
	}
	var secrets corev1.SecretList
	w.must(w.kube.List(w.Context(), &secrets, client.InNamespace(w.namespace)))
	for _, s := range secrets.Items {
		w.Errorf("Secret %s is left", s.Name)
	}
}

// hold sets the finalizers of Cluster API's Cluster.
func (w *world) hold(finalizers string) {
	w.Helper()
	cluster := w.object("cluster.x-k8s.io/v1beta2", "Cluster", w.stack)
	w.must(w.kube.Patch(w.Context(), cluster, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`))))
}

// credentials are those that Keystone has of the cluster.
func (w *world) credentials() (ids []string) {
	w.Helper()
	pages, err := applicationcredentials.List(w.box.Member.Identity(w.T), w.user, nil).AllPages(w.Context())
	w.must(err)
	list, err := applicationcredentials.ExtractApplicationCredentials(pages)
	w.must(err)
	for _, one := range list {
		if strings.Contains(one.Name, w.uuid) {
			ids = append(ids, one.ID)
		}
	}
	return ids
}

// lose deletes the Secret by mistake, revoke all credentials of the cluster in Keystone.
func (w *world) lose() {
	w.Helper()
	w.must(w.kube.Delete(w.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.stack + "-cloud-credentials"}}))
}

func (w *world) revoke() {
	w.Helper()
	for _, id := range w.credentials() {
		w.must(applicationcredentials.Delete(w.Context(), w.box.Member.Identity(w.T), w.user, id).ExtractErr())
	}
}

// rotate is openstack coe credential rotate.
func (w *world) rotate() {
	w.Helper()
	_, err := w.magnum.Patch(w.Context(), w.magnum.ServiceURL("credentials", w.uuid), map[string]any{}, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusAccepted}})
	w.must(err)
}

// works wants Cluster API's provider to be able to go on: it reads the Secret for each
// reconciliation. The credential must be restricted: whoever has it gets no other by it.
func (w *world) works() {
	w.Helper()
	secret := &corev1.Secret{}
	w.must(w.kube.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: w.stack + "-cloud-credentials"}, secret))
	opened, err := cloud.Open(w.Context(), cloud.Options{Cloud: "openstack", CloudsYAML: secret.Data["clouds.yaml"]})
	w.must(err)
	defer opened.Close()
	compute, err := opened.Compute()
	w.must(err)
	if _, err := servers.List(compute, nil).AllPages(w.Context()); err != nil {
		w.Errorf("listing servers: %v", err)
	}
	identity, err := opened.Identity()
	w.must(err)
	_, err = applicationcredentials.Create(w.Context(), identity, w.user, applicationcredentials.CreateOpts{Name: "another"}).Extract()
	if !gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		w.Errorf("it makes another: %v", err)
	}
}
