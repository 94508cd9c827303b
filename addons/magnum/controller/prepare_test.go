package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// changeTemplate changes a template before anybody has a copy of it.
func (h *harness) changeTemplate(name string, change func(*v1alpha1.ClusterTemplate)) {
	h.t.Helper()
	template := &v1alpha1.ClusterTemplate{}
	if err := h.client.Get(h.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, template); err != nil {
		h.t.Fatal(err)
	}
	change(template)
	h.update(template)
}

// TestATemplateGivesWhatAClusterLeavesOpen, once: another template changes neither the key nor the volume.
func TestATemplateGivesWhatAClusterLeavesOpen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keypair, want string
		size, wants   int32
	}{"open": {"", "of-t34", 0, 34}, "given": {"mine", "mine", 7, 7}} {
		h := start(t, func(c *v1alpha1.Cluster) { c.Spec.Keypair, c.Spec.DockerVolumeSize = test.keypair, test.size })
		for template, size := range map[string]int32{"t34": 34, "t35": 35} {
			h.changeTemplate(template, func(t *v1alpha1.ClusterTemplate) { t.Spec.KeypairID, t.Spec.DockerVolumeSize = "of-"+template, size })
		}
		h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
		h.pass()
		h.settle()
		h.pass()
		for _, image := range []string{"image-34", "image-35"} {
			if spec := h.cluster().Spec; spec.Keypair != test.want || spec.DockerVolumeSize != test.wants || spec.Resolved.Image.ID != image {
				t.Errorf("%s: key %q, volume %d, image %s", name, spec.Keypair, spec.DockerVolumeSize, spec.Resolved.Image.ID)
			}
			h.edit(func(c *v1alpha1.Cluster) { c.Spec.TemplateRef.Name = "t35" })
			h.pass()
		}
	}
}

// TestAnUpgradeOfAClusterThatNamesNothing: what its names stand for is looked up.
func TestAnUpgradeOfAClusterThatNamesNothing(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
	h.edit(func(c *v1alpha1.Cluster) { c.Spec.TemplateRef.Name, c.Spec.Resolved = "t35", nil })
	h.pass()
	if spec := h.cluster().Spec; spec.Resolved == nil || spec.Resolved.Image.ID != "image-35" || spec.Template.Name != "t35" {
		t.Errorf("%+v", spec)
	}
}

// TestGroupsFollowTheImageOfTheTemplate, unless they have one of their own.
func TestGroupsFollowTheImageOfTheTemplate(t *testing.T) {
	t.Parallel()
	h := ready(t)
	follows, own := newGroup("follows"), newGroup("own")
	follows.Spec.ImageID = "image-of-t34"
	own.Spec.ImageID, own.Spec.Image = "gpu-image", &v1alpha1.ResolvedImage{ID: "image-gpu", KubernetesVersion: "1.34.1"}
	h.create(follows, own)
	h.pass()
	h.settle()
	h.pass()
	h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
	h.edit(upgradeTo("image-35", "1.35.0"))
	h.pass()
	if image := h.group("own").Spec.ImageID; image != "gpu-image" {
		t.Errorf("the group with an image of its own has %s", image)
	}
	if g := h.group("default-worker"); g.Spec.ImageID != "" && g.Spec.ImageID != "image-of-t35" {
		t.Errorf("the default group has %s", g.Spec.ImageID)
	}
}

// TestDefaultGroupsAreMadeOnce: not again while one is being deleted, nor if its event is still on its way.
func TestDefaultGroupsAreMadeOnce(t *testing.T) {
	t.Parallel()
	h := ready(t)
	if err := h.client.Delete(t.Context(), h.group("default-worker")); err != nil {
		t.Fatal(err)
	}
	h.intercept(interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
		return errors.New("made again: " + o.GetName())
	}})
	h.pass()
	h = start(t)
	made := 0
	h.intercept(interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		made++
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "nodegroups"}, "x")
	}})
	if _, err := h.reconcile(); err != nil || made != 2 {
		t.Errorf("made %d times, %v", made, err)
	}
}

// TestWhatIsNiceToHaveCostsNoCluster: volume types that cannot be read are a warning, and are not asked for again
// of a cluster that runs.
func TestWhatIsNiceToHaveCostsNoCluster(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *v1alpha1.Cluster) { c.Spec.Resolved.VolumeTypes = nil })
	h.pass()
	h.phases(v1alpha1.CreateInProgress)
	c := meta.FindStatusCondition(h.cluster().Status.Conditions, v1alpha1.ConditionSettings)
	if c == nil || c.Status != "False" || !strings.Contains(c.Message, "volume types, or the network's MTU, could not be read: the cloud is not there") || h.releases.ensured != 1 {
		t.Errorf("condition %+v, %d releases", c, h.releases.ensured)
	}
	var asked []Names
	h.r.Resolver = askedResolver{fakeResolver{*resolved("image-34", "1.34.2")}, &asked}
	h.settle()
	h.pass()
	if h.phases(v1alpha1.CreateComplete); len(asked) > 0 {
		t.Errorf("asked for %+v", asked)
	}
}

// TestNamesThatAreLookedUp: those of the cluster before those of its template, and none that is known.
func TestNamesThatAreLookedUp(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *v1alpha1.Cluster) {
		c.Spec.FixedNetwork, c.Spec.Resolved.ExternalNetworkID = "mine", "ext-1"
	})
	h.changeTemplate("t34", func(t *v1alpha1.ClusterTemplate) {
		t.Spec.ExternalNetworkID, t.Spec.FixedNetwork, t.Spec.FixedSubnet = "public", "tenant", "nodes"
	})
	var asked []Names
	found := resolved("image-34", "1.34.2")
	found.FixedNetworkID, found.FixedSubnetID, found.ExternalNetworkID = "net-1", "subnet-1", "ext-2"
	h.r.Resolver = askedResolver{fakeResolver{*found}, &asked}
	h.pass()
	if len(asked) != 1 || asked[0].FixedNetwork != "mine" || asked[0].FixedSubnet != "nodes" || asked[0].Image+asked[0].ExternalNetwork+asked[0].MTUOf != "" {
		t.Errorf("asked for %+v", asked)
	}
	if have := h.cluster().Spec.Resolved; have.FixedNetworkID != "net-1" || have.FixedSubnetID != "subnet-1" || have.ExternalNetworkID != "ext-1" || have.Image.ID != "image-34" {
		t.Errorf("%+v", have)
	}
}

// TestValuesThatCannotBeRead end no pass silently.
func TestValuesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.r.Defaults.Values = map[string]any{"x": make(chan int)}
	p := h.look()
	p.cluster.Status.Release = nil
	_, asked := p.asked()
	_, overruled := p.overruled()
	for what, err := range map[string]error{"asked": asked, "overruled": overruled, "keepFixed": p.keepFixed(t.Context()), "keepBalancer": p.keepBalancer(t.Context()), "bringInLine": p.bringInLine(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "encoding the operator's values") {
			t.Errorf("%s: %v", what, err)
		}
	}
	p = h.look()
	p.cluster.Status.Release.SiteValues = &apiextensionsv1.JSON{Raw: []byte(`"text"`)}
	_, asked = p.asked()
	_, overruled = p.overruled()
	for what, err := range map[string]error{"asked": asked, "overruled": overruled, "keepFixed": p.keepFixed(t.Context()), "keepBalancer": p.keepBalancer(t.Context()), "bringInLine": p.bringInLine(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "decoding the operator's values") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestTroubleEndsWhatFollows: nothing of a cluster is written, made or scaled that may be otherwise when it is over.
func TestTroubleEndsWhatFollows(t *testing.T) {
	t.Parallel()
	h := ready(t)
	o := h.object(infrastructure(), stack)
	o.Object["spec"] = map[string]any{"externalNetwork": map[string]any{"id": "other"}, "apiServerPort": int64(8443)}
	h.update(o)
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount, g.Spec.ImageID = 5, "x" })
	p := h.look()
	p.cluster.Spec.Labels = map[string]string{"octavia_provider": "ovn"}
	p.groups, p.leaving = p.groups[:1], []*v1alpha1.NodeGroup{newGroup("gone")}
	p.stay(errors.New("trouble"), false)
	p.stay(errors.New("another"), true)
	h.intercept(interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return errIll
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return errIll },
	})
	ensured := h.releases.ensured
	for i, step := range []func(context.Context) error{p.defaultGroups, p.follow, p.resolve, p.keepFixed, p.keepBalancer, p.bringInLine, p.scale, p.letGo} {
		if err := step(t.Context()); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
	if h.releases.ensured != ensured || p.trouble.err.Error() != "trouble" || p.trouble.final || len(p.leaving) != 1 {
		t.Errorf("%d releases, %+v", h.releases.ensured-ensured, p.trouble)
	}
}

// TestASecretThatLacksItsKey says what to do.
func TestASecretThatLacksItsKey(t *testing.T) {
	t.Parallel()
	h := start(t)
	empty := secret("")
	empty.Data = nil
	h.update(empty)
	p := h.look()
	if s, err := p.secret(t.Context()); s != nil || err != nil || p.trouble == nil || p.trouble.final || !strings.Contains(explain(p.trouble.err), "it has no key clouds.yaml; run openstack coe credential rotate") {
		t.Errorf("%+v, %v, %+v", s, err, p.trouble)
	}
	p = h.look()
	h.intercept(interceptor.Funcs{Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
		return map[bool]error{true: errIll, false: nil}[isSecret(o)]
	}})
	if s, err := p.secret(t.Context()); s != nil || !errors.Is(err, errIll) || p.trouble != nil {
		t.Errorf("%+v, %v, %+v", s, err, p.trouble)
	}
}

func isSecret(o client.Object) bool { _, ok := o.(*corev1.Secret); return ok }

// TestACacheThatIsBehind is noticed by generations; what is gone, or was never written, is not waited for.
func TestACacheThatIsBehind(t *testing.T) {
	t.Parallel()
	h := start(t)
	p := h.look()
	object := func(generation int64) *unstructured.Unstructured {
		o := made(deployment(), namespace, "d", nil)
		o.SetGeneration(generation)
		return o
	}
	p.objects = observe.Objects{Deployments: []*unstructured.Unstructured{object(3)}}
	if p.stale() {
		t.Error("nothing was written, and it is behind")
	}
	p.remember()
	for i, test := range []struct {
		shown []*unstructured.Unstructured
		stale bool
	}{{[]*unstructured.Unstructured{object(2)}, true}, {[]*unstructured.Unstructured{object(3)}, false}, {[]*unstructured.Unstructured{object(2)}, false}} {
		if p.objects.Deployments = test.shown; p.stale() != test.stale {
			t.Errorf("look %d: stale %t", i, !test.stale)
		}
	}
	p.objects.Deployments = []*unstructured.Unstructured{object(3)}
	p.remember()
	if p.objects.Deployments = nil; p.stale() {
		t.Error("what is gone is waited for")
	}
}

// TestTheNextLook is the earliest that anybody asks for.
func TestTheNextLook(t *testing.T) {
	t.Parallel()
	p := &pass{}
	for _, step := range []struct{ after, want time.Duration }{{0, 0}, {time.Hour, time.Hour}, {0, time.Hour}, {-time.Minute, time.Hour}, {time.Minute, time.Minute}, {time.Hour, time.Minute}} {
		if p.later(step.after); p.again != step.want {
			t.Errorf("after %s: %s, want %s", step.after, p.again, step.want)
		}
	}
}
