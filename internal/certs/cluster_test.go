package certs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// world is an API server with Cluster API's definitions, on which the test does what its
// controllers would.
type world struct {
	*testing.T
	*kube.Cluster
	server *kubetest.Server
}

const certificateDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io}
spec:
  group: cert-manager.io
  scope: Namespaced
  names: {kind: Certificate, plural: certificates, singular: certificate}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func newWorld(t *testing.T) *world {
	t.Helper()
	server := kubetest.Start(t)
	server.Define(t, []byte(certificateDefinition))
	cluster, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, cluster, server}
}

func resource(kind string) schema.GroupVersionResource {
	group := map[string]string{"kubeadmcontrolplanes": "controlplane.cluster.x-k8s.io", "openstackclusters": "infrastructure.cluster.x-k8s.io", "certificates": "cert-manager.io"}[kind]
	version := map[string]string{"openstackclusters": "v1beta1", "certificates": "v1"}[kind]
	if group == "" {
		group = "cluster.x-k8s.io"
	}
	if version == "" {
		version = "v1beta2"
	}
	return schema.GroupVersionResource{Group: group, Version: version, Resource: kind}
}

// put makes an object with its status, from YAML.
func (w *world) put(kind, text string) *unstructured.Unstructured {
	w.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		w.Fatal(err)
	}
	wanted := &unstructured.Unstructured{Object: object}
	of := w.Dynamic.Resource(resource(kind)).Namespace("shop")
	made, err := of.Create(w.Context(), wanted, metav1.CreateOptions{})
	if err != nil {
		w.Fatalf("%s: %v", text, err)
	}
	if status, is := object["status"]; is && kind != "certificates" {
		made.Object["status"] = status
		if made, err = of.UpdateStatus(w.Context(), made, metav1.UpdateOptions{}); err != nil {
			w.Fatal(err)
		}
	}
	return made
}

func (w *world) secret(namespace, name string, kind corev1.SecretType, data map[string][]byte, annotations map[string]string, owners ...metav1.OwnerReference) {
	w.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: annotations, OwnerReferences: owners}, Type: kind, Data: data}
	if _, err := w.Typed.CoreV1().Secrets(namespace).Create(w.Context(), s, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

const conditionsText = `conditions: [{type: %s, status: "True", reason: Test, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"}]`

func (w *world) machine(plane *unstructured.Unstructured, name, ends string) {
	w.Helper()
	w.put("machines", `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: `+name+`, labels: {cluster.x-k8s.io/cluster-name: shop, cluster.x-k8s.io/control-plane: ""}, ownerReferences: [{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlane, name: shop-control-plane, uid: `+string(plane.GetUID())+`, controller: true}]}
spec: {clusterName: shop, bootstrap: {dataSecretName: b}, infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachine, name: `+name+`}}
status: {phase: Running, certificatesExpiryDate: `+ends+`, `+fmt.Sprintf(conditionsText, "Ready")+`}
`)
}

// cluster makes a cluster whose control plane renews its machines days before their end.
func (w *world) cluster(rollout string) *unstructured.Unstructured {
	w.Helper()
	if _, err := w.Typed.CoreV1().Namespaces().Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.put("clusters", `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: shop}
spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: shop}, controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: shop-control-plane}}
status: {phase: Provisioned, `+fmt.Sprintf(conditionsText, "ControlPlaneInitialized")+`}
`)
	// A cloud that does not answer comes back: it ends no wait.
	w.secret("shop", "login", corev1.SecretTypeOpaque, map[string][]byte{"clouds.yaml": []byte("clouds: {openstack: {auth: {auth_url: 'http://127.0.0.1:1/v3', application_credential_id: a, application_credential_secret: b}, auth_type: v3applicationcredential}}")}, nil)
	w.put("openstackclusters", `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: shop, labels: {cluster.x-k8s.io/cluster-name: shop}}
spec: {identityRef: {name: login, cloudName: openstack}}
status: {ready: true}
`)
	return w.put("kubeadmcontrolplanes", `
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: shop-control-plane, labels: {cluster.x-k8s.io/cluster-name: shop}}
spec: {version: v1.34.4, replicas: 1, `+rollout+` kubeadmConfigSpec: {format: cloud-config}, machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: shop}}}}
status: {observedGeneration: 1, replicas: 1, readyReplicas: 1, upToDateReplicas: 1, `+fmt.Sprintf(conditionsText, "Available")+`}
`)
}

// TestCertificatesOfAManagementCluster finds those of a cluster, what its API server serves,
// and those of webhooks; and a rollout for new ones replaces each machine once.
//
// proves: S-70
func TestCertificatesOfAManagementCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plane := w.cluster("rollout: {before: {certificatesExpiryDays: 30}},")
	w.machine(plane, "shop-a", "2027-01-31T00:00:00Z")
	year, decade := begin.AddDate(1, 0, 0), begin.AddDate(10, 0, 0)
	ca, _ := issued(t, begin, decade, true)
	client, _ := issued(t, begin, year, false)
	w.secret("shop", "shop-ca", "cluster.x-k8s.io/secret", map[string][]byte{"tls.crt": ca}, nil)
	w.secret("shop", "shop-etcd", "cluster.x-k8s.io/secret", map[string][]byte{"tls.crt": []byte("nothing")}, nil)
	w.secret("shop", "shop-kubeconfig", "cluster.x-k8s.io/secret", map[string][]byte{"value": []byte(kubeconfigOf(client))}, nil,
		metav1.OwnerReference{APIVersion: "controlplane.cluster.x-k8s.io/v1beta2", Kind: "KubeadmControlPlane", Name: plane.GetName(), UID: plane.GetUID()})

	way := func(context.Context, string, string) (*rest.Config, string, error) {
		return w.server.Config, "the test", nil
	}
	l, err := Clusters(t.Context(), w.Cluster, way)
	if err != nil {
		t.Fatal(err)
	}
	l.Sort()
	served := l.Certificates[slices.IndexFunc(l.Certificates, func(c Certificate) bool { return c.Use == UseServed })]
	if left := time.Until(served.Ends); left < 300*24*time.Hour || left > 400*24*time.Hour || !strings.HasPrefix(served.Object, "127.0.0.1:") {
		t.Errorf("served: %+v", served)
	}
	got := slices.DeleteFunc(l.Certificates, func(c Certificate) bool { return c.Use == UseServed })
	want := []Certificate{
		{Cluster: "shop", Namespace: "shop", Use: UseKubeconfig, Object: "Secret shop-kubeconfig", Ends: year, RenewedBy: ByClusterAPI, RenewsAt: begin.Add(year.Sub(begin) / 2)},
		{Cluster: "shop", Namespace: "shop", Use: UseMachine, Object: "Machine shop-a", Ends: time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC), RenewedBy: ByRollout, RenewsAt: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)},
		{Cluster: "shop", Namespace: "shop", Use: UseAuthority, Object: "Secret shop-ca (cluster)", Ends: decade, RenewedBy: ByNobody},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("found\n%v\nwant\n%v", got, want)
	}
	if len(l.Unseen) != 1 || l.Unseen[0].What != "Secret shop/shop-etcd" {
		t.Errorf("unseen: %v", l.Unseen)
	}
	t.Run("unreachable", func(t *testing.T) {
		nobody := func(context.Context, string, string) (*rest.Config, string, error) {
			return &rest.Config{Host: "https://127.0.0.1:1"}, "", nil
		}
		l, err := Clusters(t.Context(), w.Cluster, nobody)
		if err != nil || !slices.ContainsFunc(l.Unseen, func(u Unseen) bool { return u.What == "API server of shop/shop" }) {
			t.Errorf("unseen: %v, %v", l.Unseen, err)
		}
	})
	w.trust()
	w.serving(client)
	w.renewal(plane)
}

// serving looks at what serves TLS on the management cluster.
func (w *world) serving(certificate []byte) {
	w.Helper()
	tls := map[string][]byte{"tls.crt": certificate, "tls.key": []byte("k")}
	w.secret("shop", "own", corev1.SecretTypeTLS, tls, nil)
	w.secret("shop", "hook", corev1.SecretTypeTLS, tls, map[string]string{nameAnnotation: "hook-serving"})
	w.secret("kube-system", ownAuthority, corev1.SecretTypeOpaque, tls, nil)
	w.put("certificates", `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: hook-serving}, status: {renewalTime: "2026-12-01T00:00:00Z"}}`)
	l, err := Serving(w.Context(), w.Cluster, "default", "prod")
	if err != nil {
		w.Fatal(err)
	}
	by := map[string]string{}
	for _, c := range l.Certificates {
		by[strings.TrimPrefix(c.Object, "Secret ")] = c.RenewedBy + " " + c.RenewsAt.Format(time.DateOnly)
	}
	want := map[string]string{"shop/own": "nobody 0001-01-01", "shop/hook": "cert-manager 2026-12-01", "kube-system/" + ownAuthority: "cert-manager 0001-01-01", "kube-system/k3s-serving": "k3s 0001-01-01"}
	for object, renewed := range want {
		if by[object] != renewed {
			w.Errorf("%s: renewed by %q, want %q (of %v)", object, by[object], renewed, by)
		}
	}
}

// renewal replaces the machine as Cluster API would, and is interrupted in between.
func (w *world) renewal(plane *unstructured.Unstructured) {
	w.Helper()
	first := &Renewal{On: w.Cluster, Namespace: "shop", Name: "shop"}
	if resumed, err := first.Ask(w.Context(), time.Now().Add(2*time.Second)); err != nil || resumed {
		w.Fatalf("asking: resumed %t, %v", resumed, err)
	}
	ctx, cancel := context.WithTimeout(w.Context(), time.Second)
	if err := first.Await(ctx, func(string) {}); err == nil {
		w.Error("the rollout is done before it began")
	}
	cancel()
	time.Sleep(3 * time.Second) // the machine that comes is younger
	second := &Renewal{On: w.Cluster, Namespace: "shop", Name: "shop"}
	if resumed, err := second.Ask(w.Context(), time.Now()); err != nil || !resumed || !second.After.Equal(first.After) {
		w.Fatalf("after an interrupt: resumed %t, after %s, not %s: %v", resumed, second.After, first.After, err)
	}
	w.machine(plane, "shop-b", "2027-12-31T00:00:00Z")
	if err := w.Dynamic.Resource(resource("machines")).Namespace("shop").Delete(w.Context(), "shop-a", metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
	w.observed(plane.GetName())
	ctx, cancel = context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	if err := second.Await(ctx, func(string) {}); err != nil {
		w.Errorf("waiting for the new machine: %v", err)
	}
	third := &Renewal{On: w.Cluster, Namespace: "shop", Name: "shop"}
	if resumed, err := third.Ask(w.Context(), time.Now()); err != nil || resumed || !third.After.After(first.After) {
		w.Errorf("the next time: resumed %t, %v", resumed, err)
	}
	if _, err := (&Renewal{On: w.Cluster, Namespace: "shop", Name: "none"}).Ask(w.Context(), time.Now()); err == nil {
		w.Error("a cluster that does not exist is renewed")
	}
	pause := []byte(`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`)
	if _, err := w.Dynamic.Resource(resource("kubeadmcontrolplanes")).Namespace("shop").Patch(w.Context(), plane.GetName(), types.MergePatchType, pause, metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
	if _, err := (&Renewal{On: w.Cluster, Namespace: "shop", Name: "shop"}).Ask(w.Context(), time.Now()); err == nil || !strings.Contains(err.Error(), "it is paused") {
		w.Errorf("a control plane that is paused: %v", err)
	}
}

// observed says that the control plane's controller has seen what is wanted.
func (w *world) observed(name string) {
	w.Helper()
	of := w.Dynamic.Resource(resource("kubeadmcontrolplanes")).Namespace("shop")
	o, err := of.Get(w.Context(), name, metav1.GetOptions{})
	if err == nil {
		err = unstructured.SetNestedField(o.Object, o.GetGeneration(), "status", "observedGeneration")
	}
	if err == nil {
		_, err = of.UpdateStatus(w.Context(), o, metav1.UpdateOptions{})
	}
	if err != nil {
		w.Fatal(err)
	}
}
