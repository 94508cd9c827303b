package kubeletcerts

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/inside"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// patienceOfTests is how long anything may take on a busy machine.
const patienceOfTests = 2 * time.Minute

// site is a real API server that is the management cluster and, by a kubeconfig, its own
// workload cluster c1, as a self-managed cluster is. The approver has no rights on the
// management cluster but those of its role.
type site struct {
	*testing.T
	config   *rest.Config
	admin    *kubernetes.Clientset
	objects  client.Client
	approver *reconciler
}

func newSite(t *testing.T) *site {
	t.Helper()
	log.SetLogger(logr.Discard())
	s := &site{T: t}
	running := kubetest.Start(t)
	s.config = running.Config
	s.config.QPS = -1
	s.admin = must(kubernetes.NewForConfig(s.config))(t)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, rbacv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s.approver = s.run(scheme) // before there is a kind Cluster
	s.define()
	s.objects = must(client.New(s.config, client.Options{Scheme: scheme}))(t)
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clusters"}})
	// A kubeconfig of before: nobody listens there.
	before := strings.ReplaceAll(string(running.Kubeconfig), s.config.Host, "https://127.0.0.1:1")
	s.cluster("c1", []byte(before))
	s.until("the watch of c1 is broken", func() bool { w := s.watch(); return w != nil && w.cluster.Config.Host == "https://127.0.0.1:1" })
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "c1-kubeconfig"}, Data: map[string][]byte{"value": running.Kubeconfig}}
	if err := s.objects.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	s.aClusterThatIsDeleted([]byte(before))
	return s
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// run runs the approver with the rights of its role alone.
func (s *site) run(scheme *runtime.Scheme) *reconciler {
	s.Helper()
	const user = "approver-under-test"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: Rules()}
	must(s.admin.RbacV1().ClusterRoles().Create(s.Context(), role, metav1.CreateOptions{}))(s.T)
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: []rbacv1.Subject{{Kind: "User", Name: user}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user}}
	must(s.admin.RbacV1().ClusterRoleBindings().Create(s.Context(), binding, metav1.CreateOptions{}))(s.T)
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	m := must(manager.New(config, manager.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}}))(s.T)
	r := must(setup(m, target.NewClusters(30*time.Second, 2, 4), time.Second, time.Second))(s.T)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	s.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.Error(err)
		}
	})
	return r
}

// define makes Cluster API's definitions of the bundle, as far as they are needed.
func (s *site) define() {
	s.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv("SLIPWAY_BUNDLE"), "providers/cluster-api/*/core-components.yaml"))
	if err != nil || len(files) == 0 {
		s.Fatalf("no Cluster API in the bundle (%v)", err)
	}
	file := must(os.Open(files[0]))(s.T)
	defer file.Close()
	objects := slices.DeleteFunc(must(kube.Decode(file))(s.T), func(o *unstructured.Unstructured) bool {
		return o.GetKind() != "CustomResourceDefinition" || o.GetName() != "clusters.cluster.x-k8s.io" && o.GetName() != "machines.cluster.x-k8s.io"
	})
	for _, object := range objects { // nobody converts: all objects are in the stored version
		unstructured.RemoveNestedField(object.Object, "spec", "conversion")
	}
	if err := must(kube.New(s.config))(s.T).ApplyObjects(s.Context(), objects); err != nil {
		s.Fatal(err)
	}
	s.until("Clusters and Machines are served", func() bool {
		list, err := s.admin.Discovery().ServerResourcesForGroupVersion("cluster.x-k8s.io/v1beta2")
		served := func(name string) bool {
			return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == name })
		}
		return err == nil && served("clusters") && served("machines")
	})
}

func (s *site) until(what string, done func() bool) {
	s.Helper()
	for end := time.Now().Add(patienceOfTests); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if done() {
			return
		}
	}
	s.Fatalf("not in time: %s", what)
}

func (s *site) create(object client.Object) {
	s.Helper()
	if err := s.objects.Create(s.Context(), object); err != nil {
		s.Fatal(err)
	}
}

func (s *site) watch() *watch {
	s.approver.mu.Lock()
	defer s.approver.mu.Unlock()
	return s.approver.watches[c1]
}

// machine makes a Machine, or says what it has by now.
func (s *site) machine(name, node string, addresses ...any) {
	s.Helper()
	wanted := theMachine("clusters", name, node, addresses...)
	object := wanted.DeepCopy()
	object.Object["spec"] = map[string]any{"clusterName": "c1", "bootstrap": map[string]any{"dataSecretName": name},
		"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackMachine", "name": name}}
	if err := s.objects.Create(s.Context(), object); err != nil {
		if err := s.objects.Get(s.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			s.Fatal(err)
		}
	}
	object.Object["status"] = wanted.Object["status"]
	if err := s.objects.Status().Update(s.Context(), object); err != nil {
		s.Fatal(err)
	}
}

// kubelet is a client with the credential of a node: a certificate of the cluster's own
// authority, as a kubelet gets it when it joins.
func (s *site) kubelet(node string) kubernetes.Interface {
	s.Helper()
	csr, key := ask(s.T, node, nil, func(w *wish) {
		w.csr.Name, w.csr.Spec.SignerName, w.template.DNSNames = "client-"+node, certificatesv1.KubeAPIServerClientKubeletSignerName, nil
		w.csr.Spec.Usages[1] = certificatesv1.UsageClientAuth
	})
	requests := s.admin.CertificatesV1().CertificateSigningRequests()
	csr = must(requests.Create(s.Context(), csr, metav1.CreateOptions{}))(s.T)
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test"}}
	if _, err := requests.UpdateApproval(s.Context(), csr.Name, csr, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) { // Kubernetes may have approved it itself
		s.Fatal(err)
	}
	s.until("a credential of "+node, func() bool { csr = s.get(csr.Name); return len(csr.Status.Certificate) > 0 })
	config := rest.AnonymousClientConfig(s.config)
	config.CertData = csr.Status.Certificate
	der := must(x509.MarshalECPrivateKey(key.(*ecdsa.PrivateKey)))(s.T)
	config.KeyData = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return must(kubernetes.NewForConfig(config))(s.T)
}

func (s *site) get(name string) *certificatesv1.CertificateSigningRequest {
	s.Helper()
	return must(s.admin.CertificatesV1().CertificateSigningRequests().Get(s.Context(), name, metav1.GetOptions{}))(s.T)
}

// asks has somebody ask for a serving certificate of a node.
func (s *site) asks(who kubernetes.Interface, name, node, ip string, changes ...func(*wish)) {
	s.Helper()
	csr, _ := ask(s.T, node, []string{ip}, changes...)
	csr.Name = name
	must(who.CertificatesV1().CertificateSigningRequests().Create(s.Context(), csr, metav1.CreateOptions{}))(s.T)
}

// signed waits for a certificate, and checks that clients of the cluster trust it.
func (s *site) signed(name, ip string) {
	s.Helper()
	var csr *certificatesv1.CertificateSigningRequest
	s.until(name+" is signed", func() bool { csr = s.get(name); return len(csr.Status.Certificate) > 0 })
	block, _ := pem.Decode(csr.Status.Certificate)
	certificate := must(x509.ParseCertificate(block.Bytes))(s.T)
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(s.config.CAData)
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: authorities, DNSName: ip, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
		s.Errorf("%s: %v", name, err)
	}
}

// refused waits until it is told why a request is not approved.
func (s *site) refused(name, why string) {
	s.Helper()
	s.until(name+" is told not to be approved", func() bool { return s.get(name).Annotations[ReasonAnnotation] != "" })
	if csr := s.get(name); !strings.Contains(csr.Annotations[ReasonAnnotation], why) || len(csr.Status.Conditions)+len(csr.Status.Certificate) > 0 {
		s.Errorf("%s: annotations %v, status %+v", name, csr.Annotations, csr.Status)
	}
}

// TestKubeletsGetCertificatesForTheirMachines: on a real API server kubelets ask with their own
// credentials. What their Machines have is approved and signed; what another machine has,
// and what no kubelet asks for, is not, and each says why.
//
// proves: S-71
func TestKubeletsGetCertificatesForTheirMachines(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.machine("c1-w1", "w1", address("InternalIP", "10.0.0.5"), address("Hostname", "w1"))
	s.machine("c1-w2", "w2", address("InternalIP", "10.0.0.6"), address("Hostname", "w2"))
	s.machine("c1-w3", "w3")
	w1, w3 := s.kubelet("w1"), s.kubelet("w3")
	s.asks(w1, "good", "w1", "10.0.0.5")
	s.signed("good", "10.0.0.5")

	s.asks(w1, "forged", "w1", "10.0.0.6")
	s.asks(w1, "twofold", "w1", "10.0.0.5", func(w *wish) { w.template.IPAddresses = append(w.template.IPAddresses, net.ParseIP("10.0.0.1")) })
	s.asks(w1, "named", "w1", "10.0.0.5", func(w *wish) { w.template.DNSNames = append(w.template.DNSNames, "w2") })
	s.asks(w1, "uri", "w1", "10.0.0.5", func(w *wish) { w.template.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} })
	s.asks(s.admin, "admin", "w1", "10.0.0.5")
	s.asks(s.kubelet("intruder"), "intruder", "intruder", "10.0.0.5")
	s.asks(w3, "early", "w3", "10.0.0.7")
	for name, why := range map[string]string{"forged": "node w1 asks for 10.0.0.6, which Machine c1-w1 does not have", "twofold": "asks for 10.0.0.1", "named": "asks for w2", "uri": "other names",
		"admin": `"system:admin" asks`, "intruder": "no Machine of the cluster has the node intruder", "early": "Machine c1-w3 has no addresses"} {
		s.refused(name, why)
	}
	told := inside.Ask(t.Context(), s.config, "here").Uncertified
	if !slices.ContainsFunc(told, func(r cause.CertificateRequest) bool {
		return r.Node == "intruder" && strings.HasPrefix(r.Words, "no Machine of the cluster")
	}) {
		t.Errorf("slipway why sees %+v", told)
	}
	s.machine("c1-w3", "w3", address("InternalIP", "10.0.0.7"))
	s.signed("early", "10.0.0.7")
	for _, name := range []string{"forged", "twofold", "named", "uri", "admin", "intruder"} {
		if csr := s.get(name); len(csr.Status.Conditions)+len(csr.Status.Certificate) > 0 {
			t.Errorf("%s: %+v", name, csr.Status)
		}
	}
	s.withoutTheLabel(w1)
}

// withoutTheLabel: a cluster that asks no longer is left alone, and its connection stays.
func (s *site) withoutTheLabel(w1 kubernetes.Interface) {
	s.Helper()
	cluster := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": map[string]any{"namespace": "clusters", "name": "c1"}}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata": {"labels": {%q: null}}}`, ClusterLabel))
	if err := s.objects.Patch(s.Context(), cluster, patch); err != nil {
		s.Fatal(err)
	}
	s.until("c1 is not watched", func() bool { return s.watch() == nil })
	s.asks(w1, "unwatched", "w1", "10.0.0.6")
	time.Sleep(3 * time.Second) // a watch would have told by then
	if csr := s.get("unwatched"); len(csr.Annotations)+len(csr.Status.Conditions) > 0 || s.approver.clusters.Len() != 1 {
		s.Errorf("unwatched: %v, %+v; %d connections", csr.Annotations, csr.Status, s.approver.clusters.Len())
	}
}

// cluster makes a Cluster with the label, and a kubeconfig.
func (s *site) cluster(name string, kubeconfig []byte) *unstructured.Unstructured {
	s.Helper()
	cluster := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
		"metadata": map[string]any{"namespace": "clusters", "name": name, "labels": map[string]any{ClusterLabel: "true"}},
		"spec":     map[string]any{"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackCluster", "name": name}}}}
	s.create(cluster)
	s.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name + "-kubeconfig"}, Data: map[string][]byte{"value": kubeconfig}})
	return cluster
}

// aClusterThatIsDeleted leaves no watch and no connection.
func (s *site) aClusterThatIsDeleted(kubeconfig []byte) {
	s.Helper()
	before := s.approver.clusters.Len()
	cluster := s.cluster("c2", kubeconfig)
	s.until("c2 is connected to", func() bool { return s.approver.clusters.Len() == before+1 })
	if err := s.objects.Delete(s.Context(), cluster); err != nil {
		s.Fatal(err)
	}
	s.until("c2 is forgotten", func() bool { return s.approver.clusters.Len() == before })
}
