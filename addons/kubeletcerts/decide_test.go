package kubeletcerts

import (
	"errors"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
)

var c1 = key{Namespace: "clusters", Name: "c1"}

// decider is a reconciler of the cluster c1, with a request there and Machines here.
func decider(t *testing.T, csr *certificatesv1.CertificateSigningRequest, machines ...*unstructured.Unstructured) (*reconciler, *fake.Clientset) {
	t.Helper()
	kinds := schema.GroupVersion{Group: "cluster.x-k8s.io", Version: "v1beta2"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{kinds})
	mapper.Add(kinds.WithKind("Machine"), meta.RESTScopeNamespace)
	here := ctrlfake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithRESTMapper(mapper)
	for _, m := range machines {
		here.WithObjects(m)
	}
	there := fake.NewClientset(csr)
	w := &watch{client: there.CertificatesV1().CertificateSigningRequests(), seen: map[string]time.Time{}, stop: func() {}}
	return &reconciler{mapper: mapper, live: here.Build(), settles: time.Minute, watches: map[key]*watch{c1: w}}, there
}

// look is what a request is like after it was looked at.
func look(t *testing.T, r *reconciler, there *fake.Clientset, name string) (csr *certificatesv1.CertificateSigningRequest, again time.Duration) {
	t.Helper()
	result, err := r.Reconcile(t.Context(), request{c1, name})
	if err != nil {
		t.Fatal(err)
	}
	csr, err = there.CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return csr, result.RequeueAfter
}

func TestApproved(t *testing.T) {
	t.Parallel()
	csr, _ := ask(t, "w1", []string{"10.0.0.5"})
	other := theMachine("clusters", "x-w1", "w1", address("InternalIP", "10.0.0.5"))
	other.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": "c2"}) // it does not count
	elsewhere := theMachine("others", "c1-w1", "w1", address("InternalIP", "10.0.0.5"))
	r, there := decider(t, csr, theMachine("clusters", "c1-w1", "w1", address("InternalIP", "10.0.0.5")), other, elsewhere)
	got, again := look(t, r, there, csr.Name)
	if len(got.Status.Conditions) != 1 || got.Status.Conditions[0].Type != certificatesv1.CertificateApproved || got.Status.Conditions[0].Status != corev1.ConditionTrue ||
		!strings.Contains(got.Status.Conditions[0].Message, "Machine clusters/c1-w1") || again != 0 {
		t.Errorf("conditions %+v, again in %s", got.Status.Conditions, again)
	}
}

// TestOnlyMachinesOfTheClusterCount: not those of another cluster or namespace.
func TestOnlyMachinesOfTheClusterCount(t *testing.T) {
	t.Parallel()
	csr, _ := ask(t, "w1", []string{"10.0.0.5"})
	other := theMachine("clusters", "x-w1", "w1", address("InternalIP", "10.0.0.5"))
	other.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": "c2"})
	r, there := decider(t, csr, other, theMachine("others", "c1-w1", "w1", address("InternalIP", "10.0.0.5")))
	if got, again := look(t, r, there, csr.Name); len(got.Status.Conditions) > 0 || again == 0 {
		t.Errorf("conditions %+v, again in %s", got.Status.Conditions, again)
	}
}

// TestWhatMayBecomeRightIsLookedAtAgain: later and later, told after a minute, and no longer
// than a kubelet waits.
func TestWhatMayBecomeRightIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		age, again time.Duration
		told       bool
	}{
		"new":             {0, soonest, false},
		"of ten seconds":  {10 * time.Second, 10 * time.Second, false},
		"of two minutes":  {2 * time.Minute, latest, true},
		"of half an hour": {30 * time.Minute, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			csr, _ := ask(t, "w1", []string{"10.0.0.6"})
			r, there := decider(t, csr, theMachine("clusters", "c1-w1", "w1", address("InternalIP", "10.0.0.5")))
			r.watches[c1].seen[csr.Name] = time.Now().Add(-c.age)
			got, again := look(t, r, there, csr.Name)
			if len(got.Status.Conditions) > 0 || again.Round(time.Second) != c.again || (got.Annotations[ReasonAnnotation] != "") != c.told {
				t.Errorf("conditions %+v, annotations %v, again in %s", got.Status.Conditions, got.Annotations, again)
			}
			if c.told && !strings.Contains(got.Annotations[ReasonAnnotation], "asks for 10.0.0.6, which Machine c1-w1 does not have") {
				t.Errorf("annotations %v", got.Annotations)
			}
			if kept := len(r.watches[c1].seen); (kept > 0) != (again > 0) {
				t.Errorf("%d requests are remembered", kept)
			}
		})
	}
}

// TestWhatIsNeverRightIsToldAtOnce and not looked at again, nor written again.
func TestWhatIsNeverRightIsToldAtOnce(t *testing.T) {
	t.Parallel()
	csr, _ := ask(t, "w1", []string{"10.0.0.5"}, func(w *wish) { w.csr.Spec.Username = "alice" })
	r, there := decider(t, csr, theMachine("clusters", "c1-w1", "w1", address("InternalIP", "10.0.0.5")))
	for range 2 {
		got, again := look(t, r, there, csr.Name)
		if len(got.Status.Conditions) > 0 || again != 0 || !strings.HasPrefix(got.Annotations[ReasonAnnotation], `"alice" asks`) {
			t.Errorf("conditions %+v, annotations %v, again in %s", got.Status.Conditions, got.Annotations, again)
		}
	}
	writes := 0
	for _, action := range there.Actions() {
		if action.GetVerb() != "get" {
			writes++
		}
	}
	if writes != 1 {
		t.Errorf("%d writes", writes)
	}
}

// TestWhatSomebodyDecidedStays, whoever it was.
func TestWhatSomebodyDecidedStays(t *testing.T) {
	t.Parallel()
	for _, kind := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed} {
		csr, _ := ask(t, "w1", []string{"10.0.0.5"})
		csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: kind, Status: corev1.ConditionTrue}}
		r, there := decider(t, csr, theMachine("clusters", "c1-w1", "w1", address("InternalIP", "10.0.0.5")))
		if got, again := look(t, r, there, csr.Name); len(got.Status.Conditions) != 1 || again != 0 || len(there.Actions()) != 2 {
			t.Errorf("%s: %+v", kind, got.Status)
		}
	}
}

// TestFailures are tried again: an API server that does not answer, a decision in between.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"get", "update"} {
		csr, _ := ask(t, "w1", []string{"10.0.0.5"})
		r, there := decider(t, csr, theMachine("clusters", "c1-w1", "w1", address("InternalIP", "10.0.0.5")))
		refusal := apierrors.NewConflict(schema.GroupResource{}, csr.Name, errors.New("it was changed"))
		there.PrependReactor(verb, "certificatesigningrequests", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refusal })
		if _, err := r.Reconcile(t.Context(), request{c1, csr.Name}); !errors.Is(err, refusal) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	csr, _ := ask(t, "w1", []string{"10.0.0.5"})
	r, there := decider(t, csr)
	if err := there.CertificatesV1().CertificateSigningRequests().Delete(t.Context(), csr.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if result, err := r.Reconcile(t.Context(), request{c1, csr.Name}); err != nil || result.RequeueAfter != 0 {
		t.Errorf("a request that is gone: %+v, %v", result, err)
	}
	if result, err := r.Reconcile(t.Context(), request{key{Name: "c9"}, "x"}); err != nil || result.RequeueAfter != 0 {
		t.Errorf("a cluster that is not watched: %+v, %v", result, err)
	}
}
