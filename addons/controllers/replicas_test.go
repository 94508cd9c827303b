package controllers_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/addons/magnum/peer"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// TestReplicasFindEachOther: the service account of the Magnum API follows the replicas behind the
// Service that its arguments name, and reads the EndpointSlices of no other namespace.
func TestReplicasFindEachOther(t *testing.T) {
	t.Parallel()
	server, all := kubetest.Start(t), withoutCertificates(objects(t, magnumOptions()))
	cluster, err := kube.New(server.Config)
	if err == nil {
		err = cluster.ApplyObjects(t.Context(), all)
	}
	if err != nil {
		t.Fatal(err)
	}
	service := peersOf(t, find[appsv1.Deployment](t, all, "Deployment")[controllers.MagnumName])
	replicas, reader := replicasAs(t, server.Config, service)
	if got, err := replicas.Find(t.Context()); err == nil {
		t.Errorf("%v before there are any", got)
	}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: "one", Labels: map[string]string{discoveryv1.LabelServiceName: service.Name}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: ptr.To(peer.Port), Port: ptr.To[int32](8080)}}}
	administrator, err := client.New(server.Config, client.Options{})
	if err == nil {
		err = administrator.Create(t.Context(), slice)
	}
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, address := range []string{"10.244.0.7", "10.244.1.7"} {
		want = append(want, address+":8080")
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
		if err := administrator.Update(t.Context(), slice); err != nil {
			t.Fatal(err)
		}
		expectReplicas(t, replicas, want)
	}
	if err := reader.List(t.Context(), &discoveryv1.EndpointSliceList{}, client.InNamespace("kube-system")); !apierrors.IsForbidden(err) {
		t.Errorf("of another namespace: %v", err)
	}
}

// peersOf is the Service that the arguments name.
func peersOf(t *testing.T, d *appsv1.Deployment) types.NamespacedName {
	t.Helper()
	for _, arg := range d.Spec.Template.Spec.Containers[0].Args {
		if value, ok := strings.CutPrefix(arg, "--peers="); ok {
			namespace, name, _ := strings.Cut(value, "/")
			return types.NamespacedName{Namespace: namespace, Name: name}
		}
	}
	t.Fatal("no --peers")
	return types.NamespacedName{}
}

// replicasAs follows them with the rights of the API's service account.
func replicasAs(t *testing.T, config *rest.Config, service types.NamespacedName) (peer.Finder, client.Client) {
	t.Helper()
	as := rest.CopyConfig(config)
	as.Impersonate.UserName = "system:serviceaccount:" + controllers.MagnumNamespace + ":" + controllers.MagnumName
	as.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	store, err := cache.New(as, cache.Options{Scheme: scheme.Scheme, ByObject: peer.Slices(service)})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := client.New(as, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = store.Start(t.Context()) }()
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := store.GetInformer(within, &discoveryv1.EndpointSlice{}); err != nil {
		t.Fatalf("following the replicas: %v", err)
	}
	return peer.Behind(store, service), reader
}

func expectReplicas(t *testing.T, replicas peer.Finder, want []string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got, err := replicas.Find(t.Context())
		if err == nil && slices.Equal(got, want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("replicas %v, %v; want %v", got, err, want)
		}
	}
}
