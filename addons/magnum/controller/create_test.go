package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.pass()
	h.phases(v1alpha1.CreateInProgress, "default-master", "CREATE_IN_PROGRESS", "default-worker", "CREATE_IN_PROGRESS")
	h.settlePlane()
	h.pass()
	h.phases(v1alpha1.CreateInProgress, "default-master", "CREATE_COMPLETE", "default-worker", "CREATE_IN_PROGRESS")
	h.settle()
	h.pass()
	h.phases(v1alpha1.CreateComplete, "default-master", "CREATE_COMPLETE", "default-worker", "CREATE_COMPLETE")
	c := h.cluster()
	if c.Status.APIAddress != "https://203.0.113.20:6443" || c.Status.COEVersion != "v1.34.2" || c.Status.HealthStatus != v1alpha1.Healthy || c.Status.StatusReason != "" {
		t.Errorf("status %+v", c.Status)
	}
	if c.Spec.Template == nil || c.Spec.Template.ImageID != "image-of-t34" || c.Status.Release.Revision != 1 {
		t.Errorf("template %+v, release %+v", c.Spec.Template, c.Status.Release)
	}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionAddons, v1alpha1.ConditionWorkers, v1alpha1.ConditionSettings, v1alpha1.ConditionCredential} {
		if !meta.IsStatusConditionTrue(c.Status.Conditions, kind) {
			t.Errorf("condition %s is not true", kind)
		}
	}
	master := h.group("default-master")
	if master.Spec.Role != v1alpha1.RoleMaster || !master.Spec.IsDefault || master.OwnerReferences[0].Name != stack {
		t.Errorf("group %+v", master)
	}
}

// TestQuiet: a cluster that is as wanted costs no call of Helm, no write, and no
// further look, however often an event comes.
func TestQuiet(t *testing.T) {
	t.Parallel()
	h := ready(t)
	ensured := h.releases.ensured
	h.intercept(interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return errors.New("written")
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return errors.New("written")
		},
	})
	for range 3 {
		h.clock = h.clock.Add(time.Hour)
		if result := h.pass(); result.RequeueAfter != 0 {
			t.Errorf("looks again after %s", result.RequeueAfter)
		}
	}
	if h.releases.ensured != ensured {
		t.Errorf("Helm was asked %d times", h.releases.ensured-ensured)
	}
}

// TestRestart: a process that ended between Helm and the status goes on.
func TestRestart(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.intercept(interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
		return errors.New("killed")
	}})
	if _, err := h.reconcile(); err == nil {
		t.Fatal("the status was written")
	}
	h.restart()
	h.pass()
	if h.releases.last.Version != 1 {
		t.Errorf("revision %d: the release was made twice", h.releases.last.Version)
	}
	h.settle()
	h.pass()
	h.phases(v1alpha1.CreateComplete)
}

func TestSecretComesLate(t *testing.T) {
	t.Parallel()
	h := start(t)
	s := secret("")
	if err := h.client.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := h.reconcile(); err == nil {
		t.Error("it is not tried again")
	}
	h.phases(v1alpha1.CreateInProgress)
	if reason := h.cluster().Status.StatusReason; !strings.Contains(reason, "credential does not exist") || !strings.Contains(reason, "credential rotate") {
		t.Errorf("reason %q", reason)
	}
	h.clock = h.clock.Add(6 * time.Minute)
	_, _ = h.reconcile()
	h.phases(v1alpha1.CreateFailed, "default-worker", "CREATE_FAILED")
	h.create(secret("cred-1"))
	h.pass()
	h.settle()
	h.pass()
	h.phases(v1alpha1.CreateComplete, "default-worker", "CREATE_COMPLETE")
}

func TestTemplateGone(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *v1alpha1.Cluster) { c.Spec.TemplateRef.Name = "none" })
	if _, err := h.reconcile(); err == nil {
		t.Error("it is not tried again")
	}
	h.clock = h.clock.Add(6 * time.Minute)
	_, _ = h.reconcile()
	h.phases(v1alpha1.CreateFailed)
	if reason := h.cluster().Status.StatusReason; !strings.Contains(reason, "does not exist") {
		t.Errorf("reason %q", reason)
	}
	// Of a template that went later there is the copy.
	h = ready(t)
	if err := h.client.Delete(t.Context(), template("t34")); err != nil {
		t.Fatal(err)
	}
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 2 })
	h.pass()
	h.settle()
	h.pass()
	h.phases(v1alpha1.UpdateComplete)
}

func TestForeignTemplate(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *v1alpha1.Cluster) { c.Spec.TemplateRef.Namespace = "magnum-p2" })
	other := template("t34")
	other.Namespace = "magnum-p2"
	h.create(other)
	h.pass()
	h.phases(v1alpha1.CreateFailed)
	other.Spec.Public = true
	h.update(other)
	h.pass()
	h.phases(v1alpha1.CreateInProgress, "default-worker", "CREATE_IN_PROGRESS")
	h.settle()
	h.pass()
	h.phases(v1alpha1.CreateComplete)
}

// TestForeignNamespace: nobody puts clusters into another project.
func TestForeignNamespace(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *v1alpha1.Cluster) { c.Spec.ProjectID = "p2" })
	h.pass()
	h.phases(v1alpha1.CreateFailed)
	if h.releases.ensured != 0 {
		t.Error("a release was made")
	}
}

// TestCauses: the first real cause is shown while it is waited for; what only
// outside help cures ends the creation after a while, and is forgiven.
func TestCauses(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.pass()
	h.settlePlane()
	o := made(instance(), namespace, stack+"-w1", map[string]any{})
	o.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "InstanceReady", "status": "False", "severity": "Error", "reason": "InstanceCreateFailed",
		"message": "Quota exceeded for cores", "lastTransitionTime": h.clock.Format(time.RFC3339)}}}
	m := made(machine(), namespace, stack+"-w1", map[string]any{})
	m.SetLabels(map[string]string{v1alpha1.LabelStack: stack, "capi.stackhpc.com/node-group": "default-worker"})
	h.create(o, m)
	if result := h.pass(); result.RequeueAfter <= 0 || result.RequeueAfter > 5*time.Minute {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
	h.phases(v1alpha1.CreateInProgress, "default-worker", "CREATE_IN_PROGRESS")
	if reason := h.cluster().Status.StatusReason; !strings.Contains(reason, "Quota exceeded for cores") {
		t.Errorf("reason %q", reason)
	}
	h.clock = h.clock.Add(5 * time.Minute)
	h.pass()
	h.phases(v1alpha1.CreateFailed, "default-worker", "CREATE_FAILED", "default-master", "CREATE_COMPLETE")
	if reason := h.group("default-worker").Status.StatusReason; reason != "quota cores: Quota exceeded for cores" {
		t.Errorf("reason of the group %q", reason)
	}
	for range 2 { // on the tenant's object, and on the Cluster
		if event := <-h.events.Events; event != "Warning quota-compute quota cores: Quota exceeded for cores" {
			t.Errorf("event of the cause %q", event)
		}
	}
	if event := <-h.events.Events; !strings.Contains(event, "CREATE_FAILED") || !strings.Contains(event, "Quota") {
		t.Errorf("event %q", event)
	}
	if err := h.client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.pass()
	h.phases(v1alpha1.CreateComplete, "default-worker", "CREATE_COMPLETE")
	if reason := h.cluster().Status.StatusReason; reason != "" {
		t.Errorf("reason %q", reason)
	}
}

func TestCreateTimeout(t *testing.T) {
	t.Parallel()
	minutes := int32(20)
	h := start(t, func(c *v1alpha1.Cluster) { c.Spec.CreateTimeoutMinutes = &minutes })
	if result := h.pass(); result.RequeueAfter != 20*time.Minute {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
	h.clock = h.clock.Add(20 * time.Minute)
	h.pass()
	h.phases(v1alpha1.CreateFailed)
	if reason := h.cluster().Status.StatusReason; !strings.Contains(reason, "not ready after 20 minutes") {
		t.Errorf("reason %q", reason)
	}
	minutes = 0
	h = start(t, func(c *v1alpha1.Cluster) { c.Spec.CreateTimeoutMinutes = &minutes })
	h.clock = h.clock.Add(1000 * time.Hour)
	h.pass()
	h.phases(v1alpha1.CreateInProgress)
}

// TestHelmFails: what may pass is tried again and fails after a while; what the
// chart refuses fails at once and waits for a change.
func TestHelmFails(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.releases.err = errors.New(`Internal error occurred: failed calling webhook "x": connection refused`)
	if _, err := h.reconcile(); err == nil {
		t.Error("it is not tried again")
	}
	h.phases(v1alpha1.CreateInProgress)
	h.clock = h.clock.Add(6 * time.Minute)
	_, _ = h.reconcile()
	h.phases(v1alpha1.CreateFailed)
	h.releases.err = errors.New("execution error at (templates/x.yaml:1:1): machineFlavor is required")
	h.restart()
	if result := h.pass(); result.RequeueAfter != 0 {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
	h.phases(v1alpha1.CreateFailed)
	if reason := h.cluster().Status.StatusReason; !strings.Contains(reason, "machineFlavor is required") {
		t.Errorf("reason %q", reason)
	}
	h.releases.err = nil
	h.edit(func(c *v1alpha1.Cluster) { c.Spec.FlavorID = "m2" })
	h.pass()
	h.phases(v1alpha1.CreateInProgress)
	h.settle()
	h.pass()
	h.phases(v1alpha1.CreateComplete)
}

// TestConflict: who else writes wins, and nobody hears of it.
func TestConflict(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.intercept(interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "clusters"}, stack, errors.New("changed"))
	}})
	result, err := h.reconcile()
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("%v, %v", result, err)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *v1alpha1.Cluster) { c.Spec.Labels = map[string]string{"my_label": "1"} })
	h.pass()
	c := meta.FindStatusCondition(h.cluster().Status.Conditions, v1alpha1.ConditionSettings)
	if c == nil || c.Status != "False" || !strings.Contains(c.Message, "my_label") {
		t.Errorf("condition %+v", c)
	}
}

// TestStaleCache: a status of before the change is not taken for one after it.
func TestStaleCache(t *testing.T) {
	t.Parallel()
	h := ready(t)
	old := h.object(deployment(), stack+"-default-worker")
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 3 })
	h.pass()
	h.phases(v1alpha1.UpdateInProgress, "default-worker", "UPDATE_IN_PROGRESS")
	h.intercept(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		err := c.List(ctx, list, opts...)
		if l, ok := list.(interface{ GetKind() string }); ok && l.GetKind() == "MachineDeploymentList" {
			deployments := deployment().list()
			deployments.Items = append(deployments.Items, *old)
			return meta.SetList(list, mustExtract(deployments))
		}
		return err
	}})
	h.r.live = h.client
	h.pass()
	h.phases(v1alpha1.UpdateInProgress, "default-worker", "UPDATE_IN_PROGRESS")
}

// TestNoWorkers: a cluster that is to have no workers is complete without the
// addons that need one, and says which; it is complete with them when a worker
// came.
func TestNoWorkers(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *v1alpha1.Cluster) { c.Spec.NodeCount = ptr.To(int32(0)) })
	metrics := func(status, reason string) {
		t.Helper()
		o := release().object()
		o.SetNamespace(namespace)
		o.SetName(stack + "-metrics-server")
		o.SetLabels(map[string]string{observe.LabelStack: stack})
		if err := h.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			h.create(o)
		}
		o.Object["spec"] = map[string]any{"releaseName": "metrics-server"}
		o.Object["status"] = map[string]any{"phase": "Deployed", "conditions": []any{map[string]any{"type": "Ready", "status": status, "reason": reason}}}
		h.update(o)
	}
	h.pass()
	h.settle()
	metrics("False", "WaitingForWorkers")
	h.pass()
	h.phases(v1alpha1.CreateComplete, "default-worker", "CREATE_COMPLETE")
	c := h.cluster()
	told := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionAddons)
	if !strings.Contains(c.Status.StatusReason, "metrics-server") || told == nil || told.Reason != "WithoutWorkers" || told.Message != c.Status.StatusReason {
		t.Errorf("reason %q, condition %+v", c.Status.StatusReason, told)
	}
	if !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady) {
		t.Error("a complete cluster is not ready")
	}
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 1 })
	h.pass()
	h.settle()
	h.pass()
	h.phases(v1alpha1.UpdateInProgress, "default-worker", "UPDATE_COMPLETE") // the addon is still to start
	metrics("True", "Deployed")
	h.pass()
	h.phases(v1alpha1.UpdateComplete)
	if c = h.cluster(); c.Status.StatusReason != "" || !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionAddons) {
		t.Errorf("reason %q, conditions %+v", c.Status.StatusReason, c.Status.Conditions)
	}
}
