package noderemoval

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// site has the Machine w1 of the cluster c1, which is being deleted, and the cluster with its node.
type site struct {
	*testing.T
	*reconciler
	machine *unstructured.Unstructured
	there   *fake.Clientset
	clock   time.Time
}

func name() types.NamespacedName { return types.NamespacedName{Namespace: "clusters", Name: "w1"} }

func object(kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind}}
	o.SetNamespace("clusters")
	o.SetName(name)
	o.SetFinalizers([]string{"cluster.x-k8s.io/test"})
	return o
}

// deleted is now a while ago, as the API server writes it.
func deleted(o *unstructured.Unstructured) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC))
	o.SetDeletionTimestamp(&at)
}

func balancer(policy corev1.ServiceExternalTrafficPolicy) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop-" + string(policy)},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: policy}}
}

func newSite(t *testing.T, change func(machine, cluster *unstructured.Unstructured), services ...runtime.Object) *site {
	t.Helper()
	kinds := schema.GroupVersion{Group: "cluster.x-k8s.io", Version: "v1beta2"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{kinds})
	mapper.Add(kinds.WithKind("Machine"), meta.RESTScopeNamespace)
	mapper.Add(kinds.WithKind("Cluster"), meta.RESTScopeNamespace)
	machine, cluster := object("Machine", "w1"), object("Cluster", "c1")
	machine.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": "c1"})
	machine.Object["status"] = map[string]any{"nodeRef": map[string]any{"name": "node-1"}}
	deleted(machine)
	if change != nil {
		change(machine, cluster)
	}
	here := ctrlfake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithRESTMapper(mapper).WithObjects(machine, cluster).Build()
	s := &site{T: t, machine: machine, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	s.there = fake.NewClientset(append(services, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}})...)
	s.reconciler = &reconciler{mapper: mapper, live: here, write: here, now: func() time.Time { return s.clock },
		connect: func(_ context.Context, cluster types.NamespacedName) (kubernetes.Interface, error) {
			if cluster != (types.NamespacedName{Namespace: "clusters", Name: "c1"}) {
				t.Errorf("connected to %s", cluster)
			}
			return s.there, nil
		}}
	return s
}

// state is what a look at the Machine leads to.
type state struct {
	held, excluded bool
	again          time.Duration
}

func (s *site) look() (state, error) {
	s.Helper()
	result, err := s.Reconcile(s.Context(), name())
	got, errs := object("Machine", "w1"), s.live.Get(s.Context(), name(), s.machine)
	if errs == nil {
		got = s.machine
	}
	node, errn := s.there.CoreV1().Nodes().Get(s.Context(), "node-1", metav1.GetOptions{})
	other, erro := s.there.CoreV1().Nodes().Get(s.Context(), "node-2", metav1.GetOptions{})
	if errs := errors.Join(client.IgnoreNotFound(errs), errn, erro); errs != nil {
		s.Fatal(errs)
	}
	if len(other.Labels) > 0 {
		s.Errorf("another node has the labels %v", other.Labels)
	}
	_, held := got.GetAnnotations()[HookAnnotation]
	return state{held, node.Labels[ExcludedLabel] == "true", result.RequeueAfter}, err
}

func (s *site) want(what string, want state) {
	s.Helper()
	if got, err := s.look(); err != nil || got != want {
		s.Errorf("%s: %+v, %v; want %+v", what, got, err, want)
	}
}

// reason says how far Cluster API is with the deletion.
func reason(word string) func(machine, cluster *unstructured.Unstructured) {
	return func(machine, _ *unstructured.Unstructured) {
		condition := map[string]any{"type": "Deleting", "status": "True", "reason": word}
		machine.Object["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "Ready"}, condition}
	}
}

func (s *site) goesOn(word string) {
	s.Helper()
	reason(word)(s.machine, nil)
	if err := s.write.(client.Client).Update(s.Context(), s.machine); err != nil {
		s.Fatal(err)
	}
}

// TestANodeLeavesLoadBalancersBeforeItsServerGoes: at once, and its server is kept for a while.
func TestANodeLeavesLoadBalancersBeforeItsServerGoes(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, balancer(corev1.ServiceExternalTrafficPolicyCluster))
	s.want("deleted", state{held: true, excluded: true, again: leaves})
	s.clock = s.clock.Add(20 * time.Second)
	s.goesOn("WaitingForPreTerminateHook")
	s.want("drained", state{held: true, excluded: true, again: leaves - 20*time.Second})
	s.clock = s.clock.Add(leaves - 20*time.Second)
	s.want("after a while", state{excluded: true})
	s.goesOn("WaitingForInfrastructureDeletion")
	s.want("while the server goes", state{excluded: true})
}

// TestANodeStaysForPodsOfItsOwn: a load balancer that sends requests to pods of the same node only
// keeps it until they are evicted.
func TestANodeStaysForPodsOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newSite(t, reason("DrainingNode"), balancer(corev1.ServiceExternalTrafficPolicyLocal), balancer(corev1.ServiceExternalTrafficPolicyCluster))
	s.want("draining", state{held: true})
	s.want("still draining", state{held: true})
	s.goesOn("WaitingForVolumeDetach")
	s.want("drained", state{held: true, excluded: true, again: leaves})
}

// TestNothingIsHeld where no load balancer or nobody needs it.
func TestNothingIsHeld(t *testing.T) {
	t.Parallel()
	inCluster := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, ExternalTrafficPolicy: "Local"}}
	shop := balancer(corev1.ServiceExternalTrafficPolicyCluster)
	for title, c := range map[string]struct {
		change  func(machine, cluster *unstructured.Unstructured)
		service *corev1.Service
	}{
		"no load balancer": {nil, inCluster},
		"not deleted":      {func(m, _ *unstructured.Unstructured) { m.SetDeletionTimestamp(nil) }, shop},
		"a control plane": {func(m, _ *unstructured.Unstructured) {
			m.SetLabels(with(m.GetLabels(), "cluster.x-k8s.io/control-plane"))
		}, shop},
		"never was a node":       {func(m, _ *unstructured.Unstructured) { delete(m.Object, "status") }, shop},
		"of no cluster":          {func(m, _ *unstructured.Unstructured) { m.SetLabels(nil) }, shop},
		"the cluster is deleted": {func(_, c *unstructured.Unstructured) { deleted(c) }, shop},
		"the server goes":        {reason("WaitingForInfrastructureDeletion"), shop},
		"the node goes":          {reason("DeletingNode"), shop},
	} {
		for _, held := range []bool{false, true} {
			s := newSite(t, func(m, cluster *unstructured.Unstructured) {
				if c.change != nil {
					c.change(m, cluster)
				}
				if held {
					m.SetAnnotations(map[string]string{HookAnnotation: ""})
				}
			}, c.service)
			s.want(title, state{})
		}
	}
	s := newSite(t, nil, shop)
	if result, err := s.Reconcile(t.Context(), types.NamespacedName{Namespace: "clusters", Name: "gone"}); err != nil || result.RequeueAfter != 0 {
		t.Errorf("a Machine that is gone: %+v, %v", result, err)
	}
}

func with(labels map[string]string, key string) map[string]string {
	labels[key] = ""
	return labels
}

// TestAClusterThatDoesNotAnswerHoldsNothingUp: its Machines are deleted without.
func TestAClusterThatDoesNotAnswerHoldsNothingUp(t *testing.T) {
	t.Parallel()
	silent := errors.New("the cluster does not answer")
	held := func(m, _ *unstructured.Unstructured) { m.SetAnnotations(map[string]string{HookAnnotation: ""}) }
	for title, fail := range map[string]func(s *site){
		"no connection": func(s *site) {
			s.connect = func(context.Context, types.NamespacedName) (kubernetes.Interface, error) { return nil, silent }
		},
		"no list of Services": func(s *site) { s.there.PrependReactor("list", "services", refuse(silent)) },
		"no change of a node": func(s *site) { s.there.PrependReactor("patch", "nodes", refuse(silent)) },
	} {
		s := newSite(t, held, balancer(corev1.ServiceExternalTrafficPolicyCluster))
		fail(s)
		if got, err := s.look(); !errors.Is(err, silent) || got != (state{}) {
			t.Errorf("%s: %+v, %v", title, got, err)
		}
	}
}

func refuse(err error) clienttesting.ReactionFunc {
	return func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err }
}

// TestAClockThatWasWrongHoldsNothingUp: a time in the future is of another clock.
func TestAClockThatWasWrongHoldsNothingUp(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(m, _ *unstructured.Unstructured) {
		m.SetAnnotations(map[string]string{HookAnnotation: "", LeftAnnotation: "2027-01-01T00:00:00Z"})
	}, balancer(corev1.ServiceExternalTrafficPolicyCluster))
	s.want("a year ahead", state{})
}

// TestTheKindMachineMayComeLater: it is asked for again.
func TestTheKindMachineMayComeLater(t *testing.T) {
	t.Parallel()
	r := &reconciler{mapper: meta.NewDefaultRESTMapper(nil), lookAgain: time.Minute}
	if result, err := r.Reconcile(t.Context(), types.NamespacedName{}); err != nil || result.RequeueAfter != time.Minute {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := r.Reconcile(t.Context(), name()); err == nil || !strings.Contains(err.Error(), "reading Machine clusters/w1") {
		t.Errorf("a Machine without a kind: %v", err)
	}
}
