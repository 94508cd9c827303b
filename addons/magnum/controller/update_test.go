package controller

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

func (h *harness) replicas(group string) int64 {
	h.t.Helper()
	replicas, _, _ := unstructured.NestedInt64(h.object(deployment(), stack+"-"+group).Object, "spec", "replicas")
	return replicas
}

// version is what a group's MachineDeployment is to run.
func (h *harness) version(group string) string {
	h.t.Helper()
	version, _, _ := unstructured.NestedString(h.object(deployment(), stack+"-"+group).Object, "spec", "template", "spec", "version")
	return version
}

func TestResize(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 4 })
	h.pass()
	h.phases(v1alpha1.UpdateInProgress, "default-worker", "UPDATE_IN_PROGRESS", "default-master", "CREATE_COMPLETE")
	if h.replicas("default-worker") != 4 {
		t.Errorf("%d machines", h.replicas("default-worker"))
	}
	h.pass() // Cluster API has not looked at it yet
	h.phases(v1alpha1.UpdateInProgress, "default-worker", "UPDATE_IN_PROGRESS")
	h.settle()
	h.pass()
	h.phases(v1alpha1.UpdateComplete, "default-worker", "UPDATE_COMPLETE", "default-master", "CREATE_COMPLETE")
	if g := h.group("default-worker"); *g.Status.CompleteNodeCount != 4 || g.Status.ReadyNodes != 4 || g.Status.UpdatedAt == nil {
		t.Errorf("status %+v", g.Status)
	}
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 0 })
	h.pass()
	h.settle()
	h.pass()
	h.phases(v1alpha1.UpdateComplete, "default-worker", "UPDATE_COMPLETE")
}

// TestInterruptedResize: whichever status cannot be written, the cluster says
// that it is updated until it is.
func TestInterruptedResize(t *testing.T) {
	t.Parallel()
	for lost := 1; lost <= 4; lost++ {
		h := ready(t)
		h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 4 })
		written := 0
		h.intercept(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if written++; written == lost {
				return errors.New("the server is gone")
			}
			return c.SubResource(sub).Patch(ctx, o, patch, opts...)
		}})
		if _, err := h.reconcile(); err == nil {
			t.Fatalf("the loss of write %d went unnoticed", lost)
		}
		h.pass()
		h.phases(v1alpha1.UpdateInProgress, "default-worker", "UPDATE_IN_PROGRESS")
		h.settle()
		h.pass()
		h.phases(v1alpha1.UpdateComplete, "default-worker", "UPDATE_COMPLETE")
	}
}

// TestOldCopy: a pass whose copy of the cluster is of before does not take back
// what the pass before it wrote.
func TestOldCopy(t *testing.T) {
	t.Parallel()
	h := ready(t)
	old := h.cluster()
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 4 })
	h.pass()
	h.phases(v1alpha1.UpdateInProgress)
	given := false
	h.intercept(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if into, ok := o.(*v1alpha1.Cluster); ok && !given {
			given = true
			old.DeepCopyInto(into)
			return nil
		}
		return c.Get(ctx, key, o, opts...)
	}})
	if _, err := h.reconcile(); err != nil || !given {
		t.Fatal(err, given)
	}
	h.phases(v1alpha1.UpdateInProgress, "default-worker", "UPDATE_IN_PROGRESS")
}

// TestNodesToRemove: the given machines are marked before the group shrinks.
//
// proves: M-C60
func TestNodesToRemove(t *testing.T) {
	t.Parallel()
	h := ready(t)
	for name, id := range map[string]string{"a": "openstack:///id-a", "b": "openstack://region/id-b", "other": "openstack:///id-c"} {
		m := made(machine(), namespace, name, map[string]any{"providerID": id})
		m.SetLabels(map[string]string{v1alpha1.LabelStack: stack, "capi.stackhpc.com/node-group": map[bool]string{true: "gpu", false: "default-worker"}[name == "other"]})
		h.create(m)
	}
	marked := func(name string) bool { return h.object(machine(), name).GetAnnotations()[deleteMachine] != "" }
	h.releases.before = func() {
		if !marked("b") || marked("a") || marked("other") {
			t.Errorf("before the group shrinks: a %t, b %t, other %t", marked("a"), marked("b"), marked("other"))
		}
	}
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) {
		g.Spec.NodeCount, g.Spec.NodesToRemove = 0, []string{"ID-B", "id-c", "none"}
	})
	h.pass()
	h.releases.before = nil
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount, g.Spec.NodesToRemove = 1, nil })
	h.pass()
	if marked("b") {
		t.Error("the mark stays on a machine that is to stay")
	}
}

func upgradeTo(image, version string) func(*v1alpha1.Cluster) {
	return func(c *v1alpha1.Cluster) { c.Spec.TemplateRef.Name, c.Spec.Resolved = "t35", resolved(image, version) }
}

// TestUpgrade: the control plane first, then the groups.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	h := ready(t)
	// The template is another one, so what its names stand for is looked up anew.
	h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
	h.edit(upgradeTo("image-35", "1.35.0"))
	h.pass()
	h.phases(v1alpha1.UpdateInProgress, "default-master", "UPDATE_IN_PROGRESS", "default-worker", "UPDATE_IN_PROGRESS")
	if version := h.version("default-worker"); version != "v1.34.2" {
		t.Errorf("workers are of %s before the control plane is done", version)
	}
	h.settlePlane()
	h.pass()
	if version := h.version("default-worker"); version != "v1.35.0" {
		t.Errorf("workers are of %s after the control plane is done", version)
	}
	h.phases(v1alpha1.UpdateInProgress, "default-master", "UPDATE_COMPLETE", "default-worker", "UPDATE_IN_PROGRESS")
	h.settle()
	h.pass()
	h.phases(v1alpha1.UpdateComplete, "default-master", "UPDATE_COMPLETE", "default-worker", "UPDATE_COMPLETE")
	c := h.cluster()
	if c.Status.COEVersion != "v1.35.0" || c.Status.Release.TemplateUUID != c.Spec.Template.UUID || c.Spec.Template.ImageID != "image-of-t35" {
		t.Errorf("%+v", c.Status)
	}
	if g := h.group("default-worker"); g.Status.Version != "v1.35.0" || g.Status.ImageID != "image-35" {
		t.Errorf("group %+v", g.Status)
	}
}

// TestWorkersDoNotGoBack: a control plane that is not well for a moment, or that grows, after it was
// upgraded does not bring workers back that are being replaced.
func TestWorkersDoNotGoBack(t *testing.T) {
	t.Parallel()
	for name, unsettle := range map[string]func(status, spec map[string]any){
		"a condition is false": func(status, _ map[string]any) {
			status["conditions"] = []any{map[string]any{"type": "Available", "status": "False"}}
		},
		"a machine is repaired":    func(status, _ map[string]any) { status["readyReplicas"] = int64(0) },
		"the group is made larger": func(_, spec map[string]any) { spec["replicas"] = int64(3) },
	} {
		h := ready(t)
		h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
		h.edit(upgradeTo("image-35", "1.35.0"))
		h.pass()
		h.settlePlane()
		h.pass()
		plane := h.object(controlPlane(), stack+"-control-plane")
		unsettle(plane.Object["status"].(map[string]any), plane.Object["spec"].(map[string]any))
		h.update(plane)
		h.pass()
		if version := h.version("default-worker"); version != "v1.35.0" {
			t.Errorf("%s: workers are of %s again", name, version)
		}
	}
}

// TestUpgradeKeepsOwnImage: a group with an image of its own stays on it.
func TestUpgradeKeepsOwnImage(t *testing.T) {
	t.Parallel()
	h := ready(t)
	g := newGroup("gpu")
	g.Spec.ImageID, g.Spec.Image = "gpu-image", &v1alpha1.ResolvedImage{ID: "image-gpu", KubernetesVersion: "1.34.1"}
	h.create(g)
	h.pass()
	h.settle()
	h.pass()
	h.phases(v1alpha1.UpdateComplete, "gpu", "CREATE_COMPLETE")
	h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
	h.edit(upgradeTo("image-35", "1.35.0"))
	for range 2 {
		h.pass()
		h.settle()
	}
	h.pass()
	h.phases(v1alpha1.UpdateComplete, "gpu", "UPDATE_COMPLETE")
	if h.version("gpu") != "v1.34.1" || h.version("default-worker") != "v1.35.0" {
		t.Errorf("gpu is of %s, default of %s", h.version("gpu"), h.version("default-worker"))
	}
}

// askedResolver tells what it was asked for.
type askedResolver struct {
	fakeResolver
	asked *[]Names
}

func (a askedResolver) Resolve(ctx context.Context, secret *corev1.Secret, want Names) (*v1alpha1.ResolvedNames, map[string]v1alpha1.ResolvedImage, error) {
	*a.asked = append(*a.asked, want)
	return a.fakeResolver.Resolve(ctx, secret, want)
}

// TestUpgradeKeepsNetworks: CAPO takes no other networks for a cluster that runs, whatever the
// template of an upgrade says, or an upgrade by an earlier release noted.
func TestUpgradeKeepsNetworks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ noted, runs, want string }{
		"its own":                        {"net-1", "net-1", "net-1"},
		"none":                           {"", "", ""},
		"another was noted":              {"net-2", "net-1", "net-1"},
		"one that was found by its name": {"net-1", "", "net-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := ready(t, func(c *v1alpha1.Cluster) { c.Spec.Resolved.ExternalNetworkID = test.noted })
			newer := &v1alpha1.ClusterTemplate{}
			if err := h.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "t35"}, newer); err != nil {
				t.Fatal(err)
			}
			newer.Spec.ExternalNetworkID, newer.Spec.FixedNetwork, newer.Spec.FixedSubnet = "other", "tenant", "tenant"
			h.update(newer)
			if test.runs != "" {
				runs := h.object(infrastructure(), stack)
				runs.Object["spec"] = map[string]any{"externalNetwork": map[string]any{"id": test.runs}}
				h.update(runs)
			}
			var asked []Names
			h.r.Resolver = askedResolver{fakeResolver{*resolved("image-35", "1.35.0")}, &asked}
			h.edit(func(c *v1alpha1.Cluster) { c.Spec.TemplateRef.Name = "t35" })
			h.pass()
			have := h.cluster().Spec.Resolved
			if have.Image.ID != "image-35" || have.ExternalNetworkID != test.want || have.FixedNetworkID+have.FixedSubnetID != "" {
				t.Errorf("%+v", have)
			}
			for _, want := range asked {
				if want.ExternalNetwork+want.FixedNetwork+want.FixedSubnet != "" {
					t.Errorf("networks are looked up: %+v", want)
				}
			}
			if len(asked) == 0 || h.releases.last.Version != 2 {
				t.Errorf("asked %d times, revision %d", len(asked), h.releases.last.Version)
			}
			network, _ := h.releases.last.Config["clusterNetworking"].(map[string]any)
			if id, _ := network["externalNetworkId"].(string); id != test.want {
				t.Errorf("the release has the external network %q", id)
			}
		})
	}
}

// TestANetworkThatAnUpgradeNoted: an earlier release noted that of the template of an upgrade for a
// cluster that has a network of its own. CAPO refuses it, and the cluster is brought in line.
func TestANetworkThatAnUpgradeNoted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec map[string]any
		want string
	}{
		"a network of its own": {map[string]any{"managedSubnets": []any{map[string]any{"cidr": "10.0.0.0/24"}}}, ""},
		"an existing network":  {map[string]any{"network": map[string]any{"id": "tenant"}}, "tenant"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := ready(t, func(c *v1alpha1.Cluster) {
				c.Spec.Resolved.FixedNetworkID, c.Spec.Resolved.FixedSubnetID, c.Spec.Resolved.FixedNetworkMTU = "tenant", "subnet", 1400
			})
			runs := h.object(infrastructure(), stack)
			kept, err := slim(&unstructured.Unstructured{Object: map[string]any{"spec": test.spec}}) // as the cache has it
			if err != nil {
				t.Fatal(err)
			}
			runs.Object["spec"] = kept.(*unstructured.Unstructured).Object["spec"]
			h.update(runs)
			h.pass()
			have := h.cluster().Spec.Resolved
			if have.FixedNetworkID != test.want || (have.FixedSubnetID == "") != (test.want == "") || (have.FixedNetworkMTU == 0) != (test.want == "") || have.Image.ID == "" {
				t.Errorf("%+v", have)
			}
			network, _ := h.releases.last.Config["clusterNetworking"].(map[string]any)
			internal, _ := network["internalNetwork"].(map[string]any)
			filter, _ := internal["networkFilter"].(map[string]any)
			if id, _ := filter["id"].(string); id != test.want {
				t.Errorf("the release has the network %q", id)
			}
		})
	}
}

// TestUpgradeKeepsThePort: nor does CAPO take another port of the API server.
func TestUpgradeKeepsThePort(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		has      int64
		asks     int32
		port     any
		snapshot int32
	}{
		"the usual one":               {6443, 8443, 6443.0, 6443},
		"its own":                     {8443, 0, 8443.0, 8443},
		"the same":                    {8443, 8443, 8443.0, 8443},
		"the usual one in no words":   {6443, 0, nil, 0},
		"one that is not known":       {0, 8443, 8443.0, 8443},
		"the usual one by its number": {6443, 6443, 6443.0, 6443},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := ready(t)
			newer := &v1alpha1.ClusterTemplate{}
			if err := h.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "t35"}, newer); err != nil {
				t.Fatal(err)
			}
			newer.Spec.APIServerPort = test.asks
			h.update(newer)
			if test.has != 0 {
				runs := h.object(infrastructure(), stack)
				runs.Object["spec"] = map[string]any{"apiServerPort": test.has}
				h.update(runs)
			}
			h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
			h.edit(func(c *v1alpha1.Cluster) { c.Spec.TemplateRef.Name = "t35" })
			h.pass()
			api, _ := h.releases.last.Config["apiServer"].(map[string]any)
			if have := h.cluster().Spec.Template; api["port"] != test.port || have.APIServerPort != test.snapshot || h.releases.last.Version != 2 {
				t.Errorf("revision %d has port %v, the copy of the template %d", h.releases.last.Version, api["port"], have.APIServerPort)
			}
		})
	}
}

// TestUpgradeKeepsTheBalancer: nor another load balancer, floating IP or address range; a template that
// asks for others must not end the upgrade half-way.
func TestUpgradeKeepsTheBalancer(t *testing.T) {
	t.Parallel()
	runs := func(cidr string, more map[string]any) map[string]any {
		spec := map[string]any{"apiServerLoadBalancer": map[string]any{"enabled": true, "provider": "amphora"}, "managedSubnets": []any{map[string]any{"cidr": cidr}}}
		maps.Copy(spec, more)
		return spec
	}
	for name, test := range map[string]struct {
		spec        map[string]any
		own         map[string]string
		asks        map[string]string
		want, bears map[string]string
	}{
		"another provider":     {runs("10.0.0.0/24", nil), nil, map[string]string{"octavia_provider": "ovn"}, map[string]string{"provider": "amphora"}, map[string]string{"octavia_provider": "amphora"}},
		"a flavor":             {runs("10.0.0.0/24", nil), nil, map[string]string{"api_server_lb_flavor": "big"}, map[string]string{"provider": "amphora"}, map[string]string{}},
		"no flavor any more":   {runs("10.0.0.0/24", map[string]any{"apiServerLoadBalancer": map[string]any{"enabled": true, "provider": "amphora", "flavor": "big"}}), nil, nil, map[string]string{"provider": "amphora", "flavor": "big"}, map[string]string{"api_server_lb_flavor": "big"}},
		"no floating IP":       {runs("10.0.0.0/24", nil), nil, map[string]string{"master_lb_floating_ip_enabled": "false"}, map[string]string{"provider": "amphora"}, map[string]string{"master_lb_floating_ip_enabled": "true"}},
		"another range":        {runs("10.9.0.0/24", nil), nil, nil, map[string]string{"provider": "amphora", "range": "10.9.0.0/24"}, map[string]string{"fixed_subnet_cidr": "10.9.0.0/24"}},
		"labels of its own":    {runs("10.0.0.0/24", nil), map[string]string{"octavia_provider": "amphora"}, map[string]string{"octavia_provider": "ovn"}, map[string]string{"provider": "amphora"}, map[string]string{"octavia_provider": "ovn"}},
		"the same":             {runs("10.0.0.0/24", nil), nil, map[string]string{"octavia_provider": "amphora"}, map[string]string{"provider": "amphora"}, map[string]string{"octavia_provider": "amphora"}},
		"one that is not seen": {map[string]any{}, nil, map[string]string{"octavia_provider": "ovn"}, map[string]string{"provider": "ovn"}, map[string]string{"octavia_provider": "ovn"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := ready(t, func(c *v1alpha1.Cluster) { c.Spec.Labels = test.own })
			newer := &v1alpha1.ClusterTemplate{}
			if err := h.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "t35"}, newer); err != nil {
				t.Fatal(err)
			}
			newer.Spec.Labels = test.asks
			h.update(newer)
			o := h.object(infrastructure(), stack)
			kept, err := slim(&unstructured.Unstructured{Object: map[string]any{"spec": test.spec}}) // as the cache has it
			if err != nil {
				t.Fatal(err)
			}
			o.Object["spec"] = kept.(*unstructured.Unstructured).Object["spec"]
			h.update(o)
			h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
			h.edit(func(c *v1alpha1.Cluster) { c.Spec.TemplateRef.Name = "t35" })
			h.pass()
			values := h.releases.last.Config
			provider, _, _ := unstructured.NestedString(values, "apiServer", "loadBalancerProvider")
			flavor, _, _ := unstructured.NestedString(values, "apiServer", "loadBalancer", "flavor")
			nodes, _, _ := unstructured.NestedString(values, "clusterNetworking", "internalNetwork", "nodeCidr")
			floating, _, _ := unstructured.NestedBool(values, "apiServer", "associateFloatingIP")
			if provider != test.want["provider"] || flavor != test.want["flavor"] || nodes != cmp.Or(test.want["range"], "10.0.0.0/24") || !floating || h.releases.last.Version != 2 {
				t.Errorf("revision %d: provider %q, flavor %q, range %q, floating IP %t", h.releases.last.Version, provider, flavor, nodes, floating)
			}
			if have := h.cluster().Spec.Template.Labels; !maps.Equal(have, test.bears) {
				t.Errorf("the copy of the template has the labels %v, want %v", have, test.bears)
			}
		})
	}
}

func TestUpgradeRefused(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]string{"two minor versions": "1.36.0", "back": "1.33.9"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := ready(t)
			ensured := h.releases.ensured
			h.r.Resolver = fakeResolver{*resolved("x", version)}
			h.edit(upgradeTo("x", version))
			h.pass()
			h.phases(v1alpha1.UpdateFailed, "default-worker", "CREATE_COMPLETE")
			if h.releases.ensured != ensured {
				t.Error("the release was touched")
			}
			if reason := h.cluster().Status.StatusReason; !strings.Contains(reason, "nothing was changed") {
				t.Errorf("reason %q", reason)
			}
			// Back to the template it has.
			h.r.Resolver = fakeResolver{*resolved("image-34", "1.34.2")}
			h.edit(func(c *v1alpha1.Cluster) {
				c.Spec.TemplateRef.Name, c.Spec.Resolved = "t34", resolved("image-34", "1.34.2")
			})
			h.pass()
			h.phases(v1alpha1.UpdateComplete)
		})
	}
}

// TestThePolicyOfAServerGroupStays: no cloud changes it, so the release is left as it is.
func TestThePolicyOfAServerGroupStays(t *testing.T) {
	t.Parallel()
	labelled := func(policy string) func(*v1alpha1.Cluster) {
		return func(c *v1alpha1.Cluster) { c.Spec.Labels = map[string]string{"server_group_policies": policy} }
	}
	h := ready(t, labelled("anti-affinity"))
	h.create(made(serverGroup(), namespace, stack+"-control-plane", map[string]any{
		"resource": map[string]any{"name": "k8s-" + namespace + "-" + stack + "-control-plane", "policy": "anti-affinity"}}))
	ensured := h.releases.ensured
	h.edit(labelled("soft-anti-affinity"))
	h.pass()
	h.phases(v1alpha1.UpdateFailed)
	if reason := h.cluster().Status.StatusReason; h.releases.ensured != ensured || !strings.Contains(reason, "has the policy anti-affinity") || !strings.Contains(reason, "nothing was changed") {
		t.Errorf("reason %q, the release was touched %d times", reason, h.releases.ensured-ensured)
	}
	h.edit(labelled("anti-affinity"))
	h.pass()
	h.phases(v1alpha1.UpdateComplete)
}

func newGroup(name string) *v1alpha1.NodeGroup {
	g := &v1alpha1.NodeGroup{ObjectMeta: metav1.ObjectMeta{Name: stack + "-" + name, Namespace: namespace, Generation: 1, Finalizers: []string{v1alpha1.FinalizerNodeGroup}}}
	g.Spec.Name, g.Spec.ProjectID, g.Spec.ClusterName, g.Spec.Role, g.Spec.NodeCount = name, "p1", stack, v1alpha1.RoleWorker, 1
	return g
}

func TestNodeGroup(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.create(newGroup("gpu"))
	h.pass()
	h.phases(v1alpha1.UpdateInProgress, "gpu", "CREATE_IN_PROGRESS", "default-worker", "CREATE_COMPLETE")
	h.settle()
	h.pass()
	h.phases(v1alpha1.UpdateComplete, "gpu", "CREATE_COMPLETE")
	m := made(machine(), namespace, "gpu-1", map[string]any{})
	m.SetLabels(map[string]string{v1alpha1.LabelStack: stack, "capi.stackhpc.com/node-group": "gpu"})
	h.create(m)
	if err := h.client.Delete(t.Context(), h.group("gpu")); err != nil {
		t.Fatal(err)
	}
	h.pass()
	h.phases(v1alpha1.UpdateInProgress, "gpu", "DELETE_IN_PROGRESS")
	if o, err := get(t.Context(), h.client, deployment(), namespace, stack+"-gpu"); err != nil || o != nil {
		t.Errorf("the machines are not taken away: %v", err)
	}
	h.pass() // a machine is still there
	h.phases(v1alpha1.UpdateInProgress, "gpu", "DELETE_IN_PROGRESS")
	if err := h.client.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	h.pass()
	if err := h.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: stack + "-gpu"}, &v1alpha1.NodeGroup{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the group is still there: %v", err)
	}
	h.phases(v1alpha1.UpdateComplete)
}

// TestBadNodeGroup: what the chart would refuse is told at the group's cluster,
// and the rest of the cluster is left alone.
func TestBadNodeGroup(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.create(newGroup("g1"))
	h.pass()
	h.phases(v1alpha1.UpdateFailed, "g1", "CREATE_FAILED", "default-worker", "CREATE_COMPLETE")
	if err := h.client.Delete(t.Context(), h.group("g1")); err != nil {
		t.Fatal(err)
	}
	h.pass()
	h.phases(v1alpha1.UpdateComplete)
}

// TestRollback puts the size back when a resize fails, where that is asked for.
func TestRollback(t *testing.T) {
	t.Parallel()
	h := ready(t, func(c *v1alpha1.Cluster) { c.Spec.Rollback = true })
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 9 })
	h.pass()
	d := h.object(deployment(), stack+"-default-worker")
	d.Object["status"].(map[string]any)["phase"] = "Failed"
	h.update(d)
	h.pass()
	h.phases(v1alpha1.RollbackInProgress, "default-worker", "ROLLBACK_IN_PROGRESS")
	h.pass()
	if g := h.group("default-worker"); g.Spec.NodeCount != 1 || h.replicas("default-worker") != 1 {
		t.Errorf("size %d, %d machines", g.Spec.NodeCount, h.replicas("default-worker"))
	}
	h.settle()
	h.pass()
	h.phases(v1alpha1.RollbackComplete, "default-worker", "ROLLBACK_COMPLETE")
	if reason := h.cluster().Status.StatusReason; !strings.Contains(reason, "from 9 nodes to 1") {
		t.Errorf("reason %q", reason)
	}
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 2 })
	h.pass()
	h.phases(v1alpha1.UpdateInProgress, "default-worker", "UPDATE_IN_PROGRESS")
	h.settle()
	h.pass()
	h.phases(v1alpha1.UpdateComplete, "default-worker", "UPDATE_COMPLETE")
}

// TestAutoscaled: the autoscaler's size is its own; a resize is where it starts.
func TestAutoscaled(t *testing.T) {
	t.Parallel()
	h := ready(t, func(c *v1alpha1.Cluster) {
		c.Spec.Labels = map[string]string{"auto_scaling_enabled": "true", "min_node_count": "1", "max_node_count": "9"}
		two := int32(2)
		c.Spec.NodeCount = &two
	})
	if h.replicas("default-worker") != 2 {
		t.Errorf("it starts with %d machines", h.replicas("default-worker"))
	}
	d := h.object(deployment(), stack+"-default-worker")
	d.Object["spec"].(map[string]any)["replicas"] = int64(7)
	h.update(d)
	h.settle()
	h.pass()
	h.phases(v1alpha1.CreateComplete, "default-worker", "CREATE_COMPLETE")
	h.edit(func(c *v1alpha1.Cluster) { c.Spec.Rollback = true })
	h.pass()
	if h.replicas("default-worker") != 7 {
		t.Errorf("the autoscaler's size was undone: %d", h.replicas("default-worker"))
	}
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 4 })
	h.pass()
	h.phases(v1alpha1.UpdateInProgress)
	h.settle()
	h.pass()
	if h.phases(v1alpha1.UpdateComplete, "default-worker", "UPDATE_COMPLETE"); h.replicas("default-worker") != 4 {
		t.Errorf("%d machines after the resize", h.replicas("default-worker"))
	}
}

// TestAdoption takes over a release of magnum-capi-helm without touching a
// machine; sizes change without Helm, the rest after an upgrade.
func TestAdoption(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *v1alpha1.Cluster) { c.Spec.StackID = stack })
	h.r.Defaults.Values = siteValues("https://one")
	values := map[string]any{"kubernetesVersion": "1.34.2", "controlPlane": map[string]any{"machineCount": 1.0},
		"nodeGroups": []any{map[string]any{"name": "default-worker", "machineCount": 1.0}}}
	if err := h.releases.apply(t.Context(), namespace, values); err != nil {
		t.Fatal(err)
	}
	upstream := &chart.Chart{Metadata: &chart.Metadata{Name: "openstack-cluster", Version: "0.10.1", Dependencies: []*chart.Dependency{{Name: "cluster-addons"}}}}
	h.releases.last = &helmrelease.Release{Name: stack, Version: 7, Chart: upstream, Config: values, Info: &helmrelease.Info{Status: helmrelease.StatusDeployed}}
	h.settle()
	before := h.object(deployment(), stack+"-default-worker").GetGeneration()
	h.pass()
	h.phases(v1alpha1.CreateComplete, "default-worker", "CREATE_COMPLETE")
	if h.releases.ensured != 0 || h.object(deployment(), stack+"-default-worker").GetGeneration() != before {
		t.Error("something was changed")
	}
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 3 })
	h.pass()
	h.settle()
	h.pass()
	h.phases(v1alpha1.UpdateComplete, "default-worker", "UPDATE_COMPLETE")
	if h.releases.ensured != 0 || h.replicas("default-worker") != 3 {
		t.Errorf("Helm was asked %d times, %d machines", h.releases.ensured, h.replicas("default-worker"))
	}
	h.create(newGroup("gpu"))
	h.pass()
	h.phases(v1alpha1.UpdateFailed)
	if reason := h.cluster().Status.StatusReason; !strings.Contains(reason, "only node counts can be changed") || h.releases.ensured != 0 {
		t.Errorf("reason %q", reason)
	}
	h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
	h.edit(upgradeTo("image-35", "1.35.0"))
	h.pass()
	h.settle()
	h.pass()
	h.settle()
	h.pass()
	h.phases(v1alpha1.UpdateComplete, "gpu", "CREATE_COMPLETE")
	if release := h.cluster().Status.Release; release.Foreign || h.releases.last.Version < 8 {
		t.Errorf("release %+v", release)
	}
	if h.mirror() != "https://one" {
		t.Errorf("mirror %q after the upgrade", h.mirror())
	}
}

// TestChartStays: a new chart in a new version of the program replaces no
// machine; it comes with the next upgrade.
func TestChartStays(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.restart()
	h.r.Chart = func() (*chart.Chart, error) { return testChart("2.0.0"), nil }
	h.pass()
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 2 })
	h.pass()
	if version := h.releases.last.Chart.Metadata.Version; version != "1.0.0" || h.releases.last.Version != 2 {
		t.Errorf("chart %s in revision %d", version, h.releases.last.Version)
	}
	h.settle()
	h.pass()
	h.r.Resolver = fakeResolver{*resolved("image-35", "1.35.0")}
	h.edit(upgradeTo("image-35", "1.35.0"))
	h.pass()
	if version := h.releases.last.Chart.Metadata.Version; version != "2.0.0" {
		t.Errorf("chart %s after an upgrade", version)
	}
}

// TestCARotationRefused: nothing changes, and it is told.
func TestCARotationRefused(t *testing.T) {
	t.Parallel()
	h := ready(t)
	ensured := h.releases.ensured
	h.edit(func(c *v1alpha1.Cluster) { c.Spec.CARotation = &v1alpha1.RotationRequest{ID: "r1"} })
	h.pass()
	c := h.cluster()
	if condition := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionCARotation); condition == nil || condition.Status != "False" || c.Status.CARotationID != "" {
		t.Errorf("condition %+v", condition)
	}
	if h.releases.ensured != ensured {
		t.Error("the release was touched")
	}
	h.phases(v1alpha1.UpdateComplete)
}

// TestCredentialRotation: overlap, then revoke, once.
func TestCredentialRotation(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.edit(func(c *v1alpha1.Cluster) {
		c.Spec.Credential = v1alpha1.Credential{ApplicationCredentialID: "cred-2", UserID: "other",
			Superseded: []v1alpha1.SupersededCredential{{ID: "cred-1", UserID: "user"}}}
	})
	h.pass()
	c := h.cluster()
	if condition := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionCredential); condition.Status != "False" || c.Status.CredentialID != "cred-1" {
		t.Errorf("the Secret has the old one: %+v", condition)
	}
	h.update(secret("cred-2"))
	for range 2 { // the pods are restarted, then the old credential is revoked
		if restarted := len(h.releases.last.Config["addons"].(map[string]any)["openstack"].(map[string]any)) > 2; restarted {
			t.Error("pods are restarted before the Secret is on the cluster")
		}
		if result := h.pass(); result.RequeueAfter != 5*time.Minute {
			t.Errorf("looks again after %s", result.RequeueAfter)
		}
		h.clock = h.clock.Add(5 * time.Minute)
		if len(h.revoker.revoked) > 0 {
			t.Error("no overlap")
		}
	}
	if _, restarted := h.releases.last.Config["addons"].(map[string]any)["openstack"].(map[string]any)["ccm"]; !restarted {
		t.Error("the cloud controller manager goes on with the old credential")
	}
	h.revoker.err = errors.New("Keystone is not there")
	if result := h.pass(); result.RequeueAfter == 0 {
		t.Error("it is not tried again")
	}
	h.revoker.err = nil
	h.pass()
	h.pass()
	if got := strings.Join(h.revoker.revoked, ","); got != "user/cred-1" {
		t.Errorf("revoked %q", got)
	}
	if c := h.cluster(); c.Status.CredentialID != "cred-2" || len(c.Status.RevokedCredentials) != 1 {
		t.Errorf("%+v", c.Status)
	}
	h.phases(v1alpha1.UpdateComplete)
}

// TestOwnLabelsAreNotWrittenBack: a cluster that is kept in Git says again what it says there, for
// ever, if the controller takes it back outside an upgrade.
func TestOwnLabelsAreNotWrittenBack(t *testing.T) {
	t.Parallel()
	own := map[string]string{"octavia_provider": "ovn"}
	h := ready(t, func(c *v1alpha1.Cluster) { c.Spec.Labels = maps.Clone(own) })
	o := h.object(infrastructure(), stack)
	o.Object["spec"] = map[string]any{"apiServerLoadBalancer": map[string]any{"enabled": true, "provider": "amphora"}, "managedSubnets": []any{map[string]any{"cidr": "10.0.0.0/24"}}}
	h.update(o)
	h.pass()
	if have := h.cluster().Spec.Labels; !maps.Equal(have, own) {
		t.Errorf("the cluster's own labels are %v, want %v", have, own)
	}
}
