package capo

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/request"
	"github.com/slipway-sh/slipway/addons/tacker/tackertest"
	"github.com/slipway-sh/slipway/internal/component"
)

// vnf is a cluster that a stand-in for Tacker makes of Slipway's package by Helm (route A:
// chart, anchor Pods, script).
type vnf struct {
	*cluster
	instance *tackertest.Instance
	bodies   map[string]map[string]any
}

// newVNF onboards the package of a cluster with one control plane and one worker.
func newVNF(p *project, m *management, name, image string) *vnf {
	p.Helper()
	networking := map[string]any{"internalNetwork": map[string]any{"nodeCidr": nodeCIDR}}
	spec := csar.Spec{Name: name, Namespace: "default", Values: map[string]any{"kubernetesVersion": component.KubernetesVersion[1:], "machineImageId": image,
		"cloudCredentialsSecretName": name + "-cloud", "clusterNetworking": networking, "controlPlane": map[string]any{"machineFlavor": p.flavor(), "machineCount": 1},
		"nodeGroups": []any{map[string]any{"name": "workers", "machineFlavor": p.flavor(), "machineCount": 1}}}}
	types := map[string][]byte{"etsi_nfv_sol001_common_types.yaml": []byte("x"), "etsi_nfv_sol001_vnfd_types.yaml": []byte("x")}
	packed := need(need(csar.Workload(spec, csar.Options{Variant: csar.Helm, Types: types}))(p).Zip())(p)
	k := tackertest.New(p.T, m.server.Config, m.server.Kubeconfig)
	onboarded := k.Onboard(p.T, packed)
	onboarded.Shorten(p.T, "Scripts/settings.json", map[string]any{"waitSeconds": 150, "pollSeconds": 0.5})
	v := &vnf{cluster: &cluster{project: p, management: m}, instance: need(k.Instance(p.T, onboarded))(p), bodies: map[string]map[string]any{}}
	v.name = v.instance.Release()
	for _, b := range need(request.All(need(csar.Verify(packed))(p), request.Options{Namespace: "default"}))(p) {
		v.bodies[b.Name] = b.Content
	}
	secret := fmt.Appendf(nil, `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": %q, "namespace": "default"}, "stringData": {"clouds.yaml": %q}}`, name+"-cloud", p.credential(name))
	if err := m.kube.Apply(p.Context(), secret); err != nil {
		p.Fatal(err)
	}
	return v
}

// onSandbox reports whether no real cloud is named.
func onSandbox() bool { return os.Getenv("SLIPWAY_DEVCLOUD") == "" && os.Getenv("OS_CLOUD") == "" }

// TestTackerLeavesNothing has Cluster API, CAPO and the janitor run what a stand-in for
// Tacker installs, scales and uninstalls: the Cluster is gone before the release and the
// credential, and OpenStack has what it had before. No machine boots: kubeadm's providers
// and the kubelets are stand-ins too.
//
// proves: T-07, T-11
func TestTackerLeavesNothing(t *testing.T) {
	if !onSandbox() {
		t.Skip("the kubelets are stand-ins that know the sandbox alone: run make e2e")
	}
	p := newProject(t)
	m := newManagement(t)
	newKubeadm(m)
	name := unique()
	v := newVNF(p, m, name, p.bootless(name))
	before := p.counts()
	if err := v.instance.Instantiate(v.bodies["instantiate"]); err != nil {
		if o, err := v.object(coreAPI, "Cluster", v.name); err == nil {
			t.Log(conditions(o))
		}
		t.Fatal(err)
	}
	p.expectSeen(before)
	if err := v.instance.Scale("SCALE_OUT", "workers_scale", 1); err != nil {
		t.Fatal(err)
	}
	if n := len(need(p.cloud.Snapshot(t.Context()))(t).Servers); n != 3 {
		t.Errorf("%d servers of one control plane and two workers", n)
	}
	left := v.services()
	watched := v.watch(name + "-cloud")
	if err := v.instance.Terminate(v.bodies["terminate"]); err != nil {
		t.Fatal(err)
	}
	watched()
	left.want(false)
	for what, number := range p.counts() {
		if number != before[what] {
			t.Errorf("the cluster left something: %s has %s, not %s", what, number, before[what])
		}
	}
}

// services are what the cluster's workloads made in OpenStack, on its first worker.
func (v *vnf) services() *left {
	v.Helper()
	below := v.provisioned(infrastructureAPI, "OpenStackCluster", v.name)
	machines := &unstructured.Unstructured{}
	machines.SetAPIVersion(infrastructureAPI)
	machines.SetKind("OpenStackMachine")
	machines.SetNamespace("default")
	list := need(need(v.management.kube.Resource(machines))(v).List(v.Context(), metav1.ListOptions{LabelSelector: "!cluster.x-k8s.io/control-plane"}))(v)
	if len(list.Items) != 2 {
		v.Fatalf("%d workers", len(list.Items))
	}
	return v.workloads(below, v.text(&list.Items[0], "status", "instanceID"))
}

// watch looks all the time whether the Cluster is there without its release or credential.
// The function that it returns says what was seen.
func (v *vnf) watch(credential string) func() {
	typed := need(kubernetes.NewForConfig(v.management.server.Config))(v)
	ctx, stop := context.WithCancel(v.Context())
	ended := make(chan struct{})
	var deleting, alone atomic.Int64
	go func() {
		defer close(ended)
		for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			_, secret := typed.CoreV1().Secrets("default").Get(ctx, credential, metav1.GetOptions{})
			releases, err := typed.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{LabelSelector: "owner=helm,status=deployed,name=" + v.name})
			if err != nil {
				continue
			}
			// After them: were it gone by now, it may have gone before them.
			o, err := v.object(coreAPI, "Cluster", v.name)
			switch {
			case err != nil:
			case apierrors.IsNotFound(secret) || len(releases.Items) == 0:
				alone.Add(1)
			case o.GetDeletionTimestamp() != nil:
				deleting.Add(1)
			}
		}
	}()
	return func() {
		v.Helper()
		stop()
		<-ended
		if deleting.Load() == 0 || alone.Load() > 0 {
			v.Errorf("the Cluster was seen %d times while it was deleted with release and credential there, and %d times without one of them", deleting.Load(), alone.Load())
		}
	}
}
