package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// inCloud is a cluster whose credential is one of a cloud that is asked. It also returns
// the credential and its user.
func inCloud(t *testing.T, box *sandboxtest.Cloud) (h *harness, user, credential string) {
	t.Helper()
	now := time.Now()
	h = start(t, func(c *v1alpha1.Cluster) { c.CreationTimestamp = metav1.Time{Time: now} })
	h.clock = now
	user, made := credentialOf(t, box)
	s := &corev1.Secret{}
	if err := h.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: stack + "-cloud-credentials"}, s); err != nil {
		t.Fatal(err)
	}
	s.Data = secretOf(t, box, made).Data
	h.update(s)
	h.r.Clouds = look.NewCache(time.Now)
	return h, user, made.ID
}

// told passes until the reason has words, and returns it.
func (h *harness) told(words string) string {
	h.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if result := h.pass(); result.RequeueAfter <= 0 || result.RequeueAfter > time.Minute {
			h.t.Fatalf("looks again after %s", result.RequeueAfter)
		}
		if reason := h.cluster().Status.StatusReason; strings.Contains(reason, words) {
			return reason
		}
	}
	h.t.Fatalf("the reason is %q, which has no %q", h.cluster().Status.StatusReason, words)
	return ""
}

func value[V any](v V, err error) func(*testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestABrokenLoadBalancerIsNamed: at once, although Cluster API knows nothing of it yet,
// and the operation ends when it stays so.
func TestABrokenLoadBalancerIsNamed(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	name := "k8s-clusterapi-cluster-" + namespace + "-" + stack + "-kubeapi"
	value(box.Faults.Add(faultinject.Rule{Kind: faultinject.BalancerError, Service: "load-balancer", Resource: name}))(t)
	n := value(networks.Create(t.Context(), box.Member.Network(t), networks.CreateOpts{Name: "n"}).Extract())(t)
	s := value(subnets.Create(t.Context(), box.Member.Network(t), subnets.CreateOpts{NetworkID: n.ID, IPVersion: 4, CIDR: "10.7.0.0/24"}).Extract())(t)
	value(loadbalancers.Create(t.Context(), box.Member.LoadBalancer(t), loadbalancers.CreateOpts{Name: name, VipSubnetID: s.ID}).Extract())(t)
	time.Sleep(100 * time.Millisecond) // until it is in ERROR
	h, _, _ := inCloud(t, box)
	h.told("load balancer " + name + ": its provisioning status is ERROR")
	h.phases(v1alpha1.CreateInProgress)
	h.clock = h.clock.Add(h.r.Patience + time.Minute)
	h.told("provisioning status is ERROR")
	h.phases(v1alpha1.CreateFailed)
}

// TestACauseWithoutATimeIsGivenTime: nobody says since when the floating IP is missing, so
// the operation does not end before that has been seen for a while. When it is gone and
// comes back, the time begins anew.
func TestACauseWithoutATimeIsGivenTime(t *testing.T) {
	t.Parallel()
	lost := observe.Cause{Object: "floating IP 203.0.113.7", Reason: "floating-ip-lost", Hopeless: true}
	p := &pass{reconciler: newReconciler(nil, nil, Options{Patience: 5 * time.Minute}), now: time.Now()}
	look := func(after time.Duration, present bool) bool {
		p.now = p.now.Add(after)
		if !present {
			p.forgetCauses(nil)
			return false
		}
		p.forgetCauses([]observe.Cause{lost})
		ended, left := p.hopeless(lost)
		if !ended && left <= 0 {
			t.Errorf("it does not look again")
		}
		return ended
	}
	for i, step := range []struct {
		after          time.Duration
		present, ended bool
	}{{0, true, false}, {4 * time.Minute, true, false}, {2 * time.Minute, true, true}, {time.Minute, false, false}, {time.Minute, true, false}, {6 * time.Minute, true, true}} {
		if ended := look(step.after, step.present); ended != step.ended {
			t.Errorf("step %d: ended %t", i, ended)
		}
	}
}

// TestALostAddressIsGivenTime: it is named at once, and ends the creation only when it has
// been missing for a while, although Neutron does not say since when.
func TestALostAddressIsGivenTime(t *testing.T) {
	t.Parallel()
	h, _, _ := inCloud(t, sandboxtest.Start(t))
	h.pass()
	o := h.object(infrastructure(), stack)
	o.Object["status"] = map[string]any{"ready": true, "apiServerLoadBalancer": map[string]any{"ip": "203.0.113.7"}}
	h.update(o)
	c := h.object(capiCluster(), stack)
	c.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "InfrastructureReady", "status": "True", "lastTransitionTime": h.clock.Add(-time.Hour).Format(time.RFC3339)}}}
	h.update(c)
	h.told("floating IP 203.0.113.7: the project has no such floating IP")
	h.phases(v1alpha1.CreateInProgress)
	h.clock = h.clock.Add(h.r.Patience + time.Minute)
	h.told("no such floating IP")
	h.phases(v1alpha1.CreateFailed)
}

// TestAWorkerWithoutAHostIsNamed by Nova's words, not by what Cluster API waited for
// before.
func TestAWorkerWithoutAHostIsNamed(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	value(box.Faults.Add(faultinject.Rule{Kind: faultinject.NoValidHost, Service: "compute", Resource: stack + "-w1"}))(t)
	img := value(images.Create(t.Context(), box.Member.Image(t), images.CreateOpts{Name: "node", ContainerFormat: "bare", DiskFormat: "raw"}).Extract())(t)
	if err := imagedata.Upload(t.Context(), box.Member.Image(t), img.ID, strings.NewReader("boot me")).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	compute := box.Member.Compute(t)
	compute.Microversion = "2.52"
	id := value(servers.Create(t.Context(), compute, servers.CreateOpts{Name: stack + "-w1", FlavorRef: "3", ImageRef: img.ID, Networks: "none"}, nil).Extract())(t).ID
	time.Sleep(100 * time.Millisecond) // until it is in ERROR
	h, _, _ := inCloud(t, box)
	h.pass()
	h.settlePlane()
	labels := map[string]string{v1alpha1.LabelStack: stack, "capi.stackhpc.com/node-group": "default-worker"}
	m := made(machine(), namespace, stack+"-w1", map[string]any{"infrastructureRef": map[string]any{"name": stack + "-w1"}, "bootstrap": map[string]any{"dataSecretName": "x"}})
	infra, o := made(server(), namespace, stack+"-w1", map[string]any{}), made(instance(), namespace, stack+"-w1", map[string]any{})
	waits := map[string]any{"type": "InstanceReady", "status": "False", "severity": "Info", "reason": "WaitingForBootstrapData"}
	infra.Object["status"] = map[string]any{"conditions": []any{waits}}
	o.Object["status"] = map[string]any{"instanceState": "ERROR", "instanceID": id, "conditions": []any{map[string]any{"type": "InstanceReady", "status": "False", "severity": "Error",
		"reason": "InstanceStateError", "message": ""}}}
	m.SetLabels(labels)
	infra.SetLabels(labels)
	o.SetLabels(labels)
	h.create(m, infra, o)
	reason := h.told("server " + stack + "-w1: No valid host was found")
	h.phases(v1alpha1.CreateFailed, "default-worker", "CREATE_FAILED", "default-master", "CREATE_COMPLETE")
	if strings.Contains(reason, "WaitingForBootstrapData") {
		t.Errorf("it still repeats what is over: %s", reason)
	}
}

// TestARevokedCredentialIsNamed, which Cluster API only logs.
func TestARevokedCredentialIsNamed(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	h, user, id := inCloud(t, box)
	if err := applicationcredentials.Delete(t.Context(), box.Member.Identity(t), user, id).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	reason := h.told("credential: cloud openstack: Could not find Application Credential")
	if strings.Contains(reason, id) {
		t.Errorf("it tells an id that is of no resource of the project: %s", reason)
	}
}

// fakeClouds says what a test wants.
type fakeClouds struct {
	said  *cause.Cloud
	asked int
}

func (f *fakeClouds) Look(context.Context, string, cloud.Options) (*cause.Cloud, time.Duration) {
	f.asked++
	return f.said, time.Minute
}

// TestTheCloudIsNotAskedOfHealthyClusters: 1,000 of them cost it nothing.
func TestTheCloudIsNotAskedOfHealthyClusters(t *testing.T) {
	t.Parallel()
	h := ready(t)
	clouds := &fakeClouds{}
	h.r.Clouds = clouds
	for range 3 {
		if result := h.pass(); result.RequeueAfter != 0 {
			t.Errorf("looks again after %s", result.RequeueAfter)
		}
	}
	if clouds.asked > 0 {
		t.Errorf("the cloud was asked %d times", clouds.asked)
	}
}
