package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// fakeResolver finds everything.
type fakeResolver struct{ found v1alpha1.ResolvedNames }

func (f fakeResolver) Resolve(_ context.Context, _ *corev1.Secret, want Names) (*v1alpha1.ResolvedNames, map[string]v1alpha1.ResolvedImage, error) {
	images := map[string]v1alpha1.ResolvedImage{}
	for _, name := range want.Images {
		images[name] = v1alpha1.ResolvedImage{ID: "id-of-" + name, KubernetesVersion: f.found.Image.KubernetesVersion}
	}
	found := f.found
	return &found, images, nil
}

func (h *harness) delete() {
	h.t.Helper()
	if err := h.client.Delete(h.t.Context(), h.cluster()); err != nil {
		h.t.Fatal(err)
	}
}

// gone says whether nothing of the cluster is left.
func (h *harness) gone() bool {
	h.t.Helper()
	err := h.client.Get(h.t.Context(), client.ObjectKey{Namespace: namespace, Name: stack}, &v1alpha1.Cluster{})
	var groups v1alpha1.NodeGroupList
	if err := h.client.List(h.t.Context(), &groups); err != nil {
		h.t.Fatal(err)
	}
	var secrets corev1.SecretList
	if err := h.client.List(h.t.Context(), &secrets); err != nil {
		h.t.Fatal(err)
	}
	left := 0
	for _, k := range append(watched(), leftBehind()...) {
		list := k.list()
		if err := h.client.List(h.t.Context(), list); err != nil {
			h.t.Fatal(err)
		}
		left += len(list.Items)
	}
	return err != nil && client.IgnoreNotFound(err) == nil && len(groups.Items)+len(secrets.Items)+left == 0
}

// hold keeps Cluster API's Cluster, as its own controllers do until the machines
// are gone; free lets it go.
func (h *harness) hold() {
	o := h.object(capiCluster(), stack)
	o.SetFinalizers([]string{"cluster.cluster.x-k8s.io"})
	h.update(o)
}

func (h *harness) free() {
	o := h.object(capiCluster(), stack)
	o.SetFinalizers(nil)
	h.update(o)
}

func TestDelete(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.hold()
	h.delete()
	h.pass()
	h.phases(v1alpha1.DeleteInProgress, "default-worker", "DELETE_IN_PROGRESS", "default-master", "DELETE_IN_PROGRESS")
	if len(h.revoker.revoked) > 0 {
		t.Error("the credential is revoked while Cluster API needs it")
	}
	h.pass()
	h.phases(v1alpha1.DeleteInProgress)
	h.free()
	h.pass()
	if !h.gone() {
		t.Error("something is left")
	}
	if got := strings.Join(h.revoker.revoked, ","); got != "user/cred-1" {
		t.Errorf("revoked %q", got)
	}
	h.pass() // an event that comes late
}

// TestDeleteInCreation: at any point of a creation.
func TestDeleteInCreation(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*harness){
		"before it was looked at": func(*harness) {},
		"after the first look":    func(h *harness) { h.pass() },
		"while Helm fails": func(h *harness) {
			h.releases.err = errors.New("no")
			_, _ = h.reconcile()
			h.releases.err = nil
		},
		"after an interrupted installation": func(h *harness) {
			h.pass()
			for _, k := range []kind{capiCluster(), deployment()} {
				if err := h.client.DeleteAllOf(h.t.Context(), k.object(), client.InNamespace(namespace)); err != nil {
					h.t.Fatal(err)
				}
			}
			h.releases.last = nil
		},
		"without its Secret": func(h *harness) {
			if err := h.client.Delete(h.t.Context(), secret("")); err != nil {
				h.t.Fatal(err)
			}
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t)
			prepare(h)
			h.delete()
			for range 3 {
				h.pass()
			}
			if !h.gone() {
				t.Error("something is left")
			}
		})
	}
}

// TestADeletionThatCannotGoOnSaysWhy at once, has failed when that lasts, and ends by itself when
// it can.
func TestADeletionThatCannotGoOnSaysWhy(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.releases.err = errors.New("webhook is down")
	h.delete()
	h.stuck(v1alpha1.DeleteInProgress, "webhook is down")
	h.clock = h.clock.Add(h.r.Patience + time.Minute)
	h.stuck(v1alpha1.DeleteFailed, "webhook is down")
	h.phases(v1alpha1.DeleteFailed, "default-worker", "DELETE_FAILED")
	h.releases.err = nil
	h.revoker.err = errors.New("Keystone is down")
	_, _ = h.reconcile() // Cluster API's objects go
	h.stuck(v1alpha1.DeleteFailed, "Keystone is down")
	h.revoker.err = nil
	h.pass()
	if !h.gone() {
		t.Error("something is left")
	}
}

// stuck wants a pass of a deletion that ends with an error, so that it is repeated.
func (h *harness) stuck(phase v1alpha1.Phase, reason string) {
	h.t.Helper()
	if _, err := h.reconcile(); err == nil {
		h.t.Error("it is not tried again")
	}
	h.phases(phase)
	if got := h.cluster().Status.StatusReason; !strings.Contains(got, reason) {
		h.t.Errorf("reason %q, want %q", got, reason)
	}
}

// silent is an API server without its etcd.
type silent struct{ client.Reader }

func (silent) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("etcdserver: request timed out")
}

// TestTroubleThatPassesIsNoFailure of a deletion: each time patience begins again.
func TestTroubleThatPassesIsNoFailure(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.hold()
	h.delete()
	h.pass()
	for range 3 {
		h.clock = h.clock.Add(h.r.Patience - time.Minute)
		h.r.live = silent{}
		h.stuck(v1alpha1.DeleteInProgress, "request timed out")
		h.r.live = h.client
		h.pass()
		h.phases(v1alpha1.DeleteInProgress)
		if reason := h.cluster().Status.StatusReason; strings.Contains(reason, "timed out") {
			t.Errorf("reason %q", reason)
		}
	}
}

// TestAReleaseThatOnlyHelmKnowsIsUninstalled also if that failed at first: an installation that
// was interrupted is not in the cluster's status.
func TestAReleaseThatOnlyHelmKnowsIsUninstalled(t *testing.T) {
	t.Parallel()
	h := ready(t)
	c := h.cluster()
	c.Status.Release = nil
	if err := h.client.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	h.releases.err = errors.New("webhook is down")
	h.delete()
	h.stuck(v1alpha1.DeleteInProgress, "webhook is down")
	h.releases.err = nil
	h.pass()
	h.pass()
	if !h.gone() || h.releases.last != nil {
		t.Errorf("left: %+v", h.releases.last)
	}
}

// TestDeleteWithoutAdministrator: a credential that nobody can revoke does not
// keep the cluster.
func TestDeleteWithoutAdministrator(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.r.Revoker = nil
	h.delete()
	h.pass()
	h.pass()
	if !h.gone() {
		t.Error("something is left")
	}
	for {
		select {
		case event := <-h.events.Events:
			if strings.Contains(event, "CredentialLeft") {
				return
			}
		default:
			t.Fatal("it is not told that the credential is left")
		}
	}
}

// TestResolve: what a Cluster made by hand leaves open is looked up and written.
func TestResolve(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *v1alpha1.Cluster) { c.Spec.Resolved = nil; c.Spec.Credential.ApplicationCredentialID = "" })
	if _, err := h.reconcile(); err == nil {
		t.Error("it is not tried again")
	}
	if reason := h.cluster().Status.StatusReason; !strings.Contains(reason, "the cloud is not there") {
		t.Errorf("reason %q", reason)
	}
	h.r.Resolver = fakeResolver{*resolved("image-34", "1.34.2")}
	h.pass()
	if c := h.cluster(); c.Spec.Resolved == nil || c.Spec.Resolved.Image.ID != "image-34" || len(c.Spec.Resolved.VolumeTypes) != 1 {
		t.Errorf("%+v", c.Spec.Resolved)
	}
	g := newGroup("gpu")
	g.Spec.ImageID = "gpu-image"
	h.create(g)
	h.pass()
	if image := h.group("gpu").Spec.Image; image == nil || image.ID != "id-of-gpu-image" {
		t.Errorf("image of the group %+v", image)
	}
}

// mtuResolver knows the MTU of the network that it is asked for.
type mtuResolver struct{ fakeResolver }

func (f mtuResolver) Resolve(ctx context.Context, secret *corev1.Secret, want Names) (*v1alpha1.ResolvedNames, map[string]v1alpha1.ResolvedImage, error) {
	found, images, err := f.fakeResolver.Resolve(ctx, secret, want)
	if want.MTUOf == "net-1" {
		found.FixedNetworkMTU = 1442
	}
	return found, images, err
}

// TestResolveMTU: of a network that the endpoint found, before the release is
// made; never of a cluster that runs.
//
// proves: S-60
func TestResolveMTU(t *testing.T) {
	t.Parallel()
	for running, want := range map[bool]int32{false: 1442, true: 0} {
		h := start(t, func(c *v1alpha1.Cluster) { c.Spec.Resolved.FixedNetworkID = "net-1" })
		if running {
			h.pass()
			c := h.cluster()
			c.Status.Release = &v1alpha1.ReleaseStatus{Revision: 1}
			if err := h.client.Status().Update(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			c.Spec.Resolved.FixedNetworkMTU = 0
			if err := h.client.Update(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		h.r.Resolver = mtuResolver{}
		h.pass()
		if got := h.cluster().Spec.Resolved.FixedNetworkMTU; got != want {
			t.Errorf("running %v: MTU %d, want %d", running, got, want)
		}
	}
}
