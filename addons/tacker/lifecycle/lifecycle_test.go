package lifecycle

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/tackertest"
)

// build makes a package of the example's spec with a Kubernetes version.
func build(t *testing.T, variant csar.Variant, namespace, version string) *csar.Package {
	t.Helper()
	text, err := os.ReadFile("../csar/testdata/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := csar.ParseSpec("shop.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	spec.Namespace = namespace
	spec.Values["kubernetesVersion"], spec.Values["machineImage"] = version, "node-"+version
	types := map[string][]byte{"etsi_nfv_sol001_common_types.yaml": []byte("x"), "etsi_nfv_sol001_vnfd_types.yaml": []byte("x")}
	p, err := csar.Workload(spec, csar.Options{Variant: variant, Types: types})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// start makes the runner of an instance, and the credential's Secret.
func (w *world) start(t *testing.T, variant csar.Variant, namespace string) *runner {
	t.Helper()
	secret := "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + namespace + "}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: shop-cloud, namespace: " + namespace + "}\n"
	if err := w.kube.Apply(t.Context(), []byte(secret)); err != nil {
		t.Fatal(err)
	}
	return w.begin(t, w.onboard(t, build(t, variant, namespace, "1.34.4"), namespace), namespace)
}

func (r *runner) cluster() string {
	if r.pkg.Variant == csar.Raw {
		return r.pkg.Cluster
	}
	return r.Release()
}

// workers are replicas of a node group, version that of the control plane.
func (r *runner) workers(group string) int64 {
	r.Helper()
	list, err := r.w.dynamic.Resource(deployments).Namespace(r.Namespace).List(r.Context(), metav1.ListOptions{LabelSelector: "capi.stackhpc.com/node-group=" + group})
	if err != nil || len(list.Items) != 1 {
		r.Fatalf("%v: %v", list, err)
	}
	n, _, _ := unstructured.NestedInt64(list.Items[0].Object, "spec", "replicas")
	return n
}

func (r *runner) plane() (version string, replicas int64) {
	r.Helper()
	o, err := r.w.dynamic.Resource(planes).Namespace(r.Namespace).Get(r.Context(), r.cluster()+"-control-plane", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	version, _, _ = unstructured.NestedString(o.Object, "spec", "version")
	replicas, _, _ = unstructured.NestedInt64(o.Object, "spec", "replicas")
	return version, replicas
}

// sent checks the credential that the receiver got: it is of the workload cluster, and
// its token has the role.
func (r *runner) sent() {
	r.Helper()
	v, ok := r.w.receiver.find(r.Namespace + "-" + r.cluster())
	if !ok || v.Endpoint != r.w.workload.Config.Host || !strings.Contains(v.Authority, "BEGIN CERTIFICATE") {
		r.Fatalf("the receiver has %v, %v", v, ok)
	}
	client, err := kubernetes.NewForConfig(&rest.Config{Host: v.Endpoint, BearerToken: v.BearerToken, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(v.Authority)}})
	r.must(err)
	who, err := client.AuthenticationV1().SelfSubjectReviews().Create(r.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || who.Status.UserInfo.Username != "system:serviceaccount:kube-system:tacker-vim" {
		r.Errorf("the token is of %v, %v", who, err)
	}
	may, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(r.Context(), &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Resource: "nodes"}}}, metav1.CreateOptions{})
	if err != nil || !may.Status.Allowed {
		r.Errorf("the token may not do what cluster-admin may: %v, %v", may, err)
	}
}

// TestLifeCycle runs packages as Tacker does, with stand-ins for the controllers of
// Cluster API. T-11 goes on with those of Cluster API and an OpenStack in test/devcloud/capo.
//
// proves: T-07, T-08, T-09, T-10, T-11, T-12, T-13, T-27
func TestLifeCycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	t.Run("helm", func(t *testing.T) { t.Parallel(); lifeCycle(t, w, csar.Helm, "shop-helm") })
	t.Run("raw", func(t *testing.T) { t.Parallel(); lifeCycle(t, w, csar.Raw, "shop-raw") })
	t.Run("receiver", func(t *testing.T) { t.Parallel(); receivers(t, w) })
	t.Run("lost anchor", func(t *testing.T) { t.Parallel(); lostAnchor(t, w) })
	t.Run("rollback", func(t *testing.T) { t.Parallel(); rollback(t, w) })
}

// lifeCycle is all of it with one variant. Every script of scaling runs twice.
func lifeCycle(t *testing.T, w *world, variant csar.Variant, namespace string) {
	r := w.start(t, variant, namespace)
	r.must(r.Instantiate(r.pkg.with("instantiate", w.receiver.params())))
	r.sent()
	if r.workers("workers") != 3 || r.workers("gpu-large") != 2 {
		t.Errorf("instantiated with %d and %d", r.workers("workers"), r.workers("gpu-large"))
	}
	for _, step := range []struct {
		kind         string
		steps        int
		unit         string
		want, status int
	}{{"SCALE_OUT", 2, "workers", 7, 0}, {"SCALE_IN", 1, "workers", 5, 0}, {"SCALE_OUT", 3, "workers", 5, 400}, {"SCALE_IN", 3, "workers", 5, 400}} {
		if err := r.Scale(step.kind, step.unit+"_scale", step.steps); tackertest.Status(err) != step.status || err != nil && step.status == 0 {
			t.Fatalf("%v: %v", step, err)
		}
		if got := r.workers(step.unit); got != int64(step.want) {
			t.Errorf("%v: %d machines", step, got)
		}
	}
	r.must(r.Scale("SCALE_OUT", "controlPlane_scale", 1))
	if _, n := r.plane(); n != 5 {
		t.Errorf("%d control planes", n)
	}
	before, next := r.VNFDID, w.onboard(t, build(t, variant, namespace, "1.35.0"), namespace)
	r.must(r.Change(next.Package, next.bodies["change"]))
	r.pkg = next
	version, n := r.plane()
	if version != "v1.35.0" || n != 5 || r.workers("workers") != 5 || r.workers("gpu-large") != 2 || r.VNFDID == before {
		t.Errorf("changed to %s with %d, %d and %d machines, vnfdId %s", version, n, r.workers("workers"), r.workers("gpu-large"), r.VNFDID)
	}
	r.must(r.Terminate(r.pkg.with("terminate", w.receiver.params())))
	left, err := w.dynamic.Resource(clusters).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("terminated, and left %v, %v", left, err)
	}
	if said := w.noted(); !strings.Contains(said, "deleted while the credential is there: true, the release: "+map[csar.Variant]string{csar.Helm: "true", csar.Raw: "false"}[variant]) {
		t.Errorf("%s", said)
	}
	if _, there := w.receiver.find(namespace + "-" + r.cluster()); there {
		t.Error("the receiver was not told")
	}
}

// receivers: a certificate that is not trusted, a receiver that is away for half a
// minute, and one that is away for good.
func receivers(t *testing.T, w *world) {
	r := w.start(t, csar.Helm, "shop-receiver")
	untrusted := w.receiver.params(func(p map[string]any) { p["credential_receiver_ca"] = string(w.server.Config.CAData) })
	if err := r.Instantiate(r.pkg.with("instantiate", untrusted)); tackertest.Status(err) != 422 || !strings.Contains(err.Error(), "certificate is not trusted") {
		t.Errorf("a wrong certificate: %v", err)
	}
	wrong := w.receiver.params(func(p map[string]any) { p["credential_receiver_token"] = "another-token-0123456789" })
	if err := r.Again(r.pkg.with("instantiate", wrong)); tackertest.Status(err) != 422 || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), "another-token") {
		t.Errorf("a wrong token: %v", err)
	}
	away := w.receiver.params(func(p map[string]any) { p["credential_receiver_url"] = w.receiver.late(t, time.Hour) })
	if err := r.Again(r.pkg.with("instantiate", away)); tackertest.Status(err) != 422 || !strings.Contains(err.Error(), "sending the credential") {
		t.Errorf("a receiver that is away for good: %v", err)
	}
	if _, there := w.receiver.find(r.Namespace + "-" + r.cluster()); there {
		t.Fatal("a credential arrived")
	}
	late := w.receiver.params(func(p map[string]any) { p["credential_receiver_url"] = w.receiver.late(t, 30*time.Second) })
	r.must(r.Again(r.pkg.with("instantiate", late)))
	r.sent()
	r.must(r.Again(r.pkg.with("instantiate", w.receiver.params())))
	r.sent()
}

// lostAnchor: without its Pod a unit cannot scale. Changing to the same package brings it
// back, and so does an operator's helm upgrade.
func lostAnchor(t *testing.T, w *world) {
	r := w.start(t, csar.Helm, "shop-anchor")
	r.must(r.Instantiate(r.pkg.bodies["instantiate"]))
	lose := func() {
		r.must(w.typed.CoreV1().Pods(r.Namespace).Delete(t.Context(), r.Pod("workers"), metav1.DeleteOptions{}))
		for end := time.Now().Add(time.Minute); r.Pod("workers") != "" && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
		}
		if err := r.Scale("SCALE_OUT", "workers_scale", 1); tackertest.Status(err) != 500 {
			t.Errorf("without an anchor: %v", err)
		}
	}
	lose()
	r.must(r.Change(r.pkg.Package, r.pkg.bodies["change"]))
	r.must(r.Scale("SCALE_OUT", "workers_scale", 1))
	lose()
	r.must(r.UpgradeByHand())
	r.must(r.Scale("SCALE_OUT", "workers_scale", 1))
	if n := r.workers("workers"); n != 7 {
		t.Errorf("%d machines", n)
	}
}

// rollback of an instantiation that failed deletes the cluster before the release.
func rollback(t *testing.T, w *world) {
	r := w.start(t, csar.Helm, "shop-rollback")
	plain := map[string]any{"credential_receiver_url": "http://plain"}
	if err := r.Instantiate(r.pkg.with("instantiate", plain)); tackertest.Status(err) != 422 || !strings.Contains(err.Error(), "must begin with https://") {
		t.Errorf("%v", err)
	}
	r.must(r.Rollback(nil))
	left, err := w.dynamic.Resource(clusters).Namespace(r.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || slices.ContainsFunc(left.Items, func(o unstructured.Unstructured) bool { return o.GetName() == r.Release() }) {
		t.Errorf("left %v, %v", left, err)
	}
}
