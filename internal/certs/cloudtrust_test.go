package certs

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

const magnumDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusters.magnum.slipway.sh}
spec:
  group: magnum.slipway.sh
  scope: Namespaced
  names: {kind: Cluster, plural: clusters, singular: cluster}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// front is a Keystone behind TLS: its address, and the certificate by which it is trusted.
func front(t *testing.T) (address string, certificate []byte, password string) {
	t.Helper()
	box := sandboxtest.Start(t)
	behind, err := url.Parse(box.URL())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(behind))
	t.Cleanup(server.Close)
	return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), box.Passwords().Demo
}

// trust looks at four clusters of a cloud that is about to change its CA, after that of the world.
func (w *world) trust() {
	w.Helper()
	before, err := CloudTrust(w.Context(), w.Cluster, nil)
	if err != nil || len(before.Clusters) != 1 || !strings.Contains(before.Clusters[0].Says(), "127.0.0.1:1") {
		w.Fatalf("without Magnum: %+v, %v", before, err)
	}
	w.server.Serve(w.T, []byte(magnumDefinition))
	address, now, password := front(w.T)
	next, _ := issued(w.T, begin, begin.AddDate(10, 0, 0), true)
	login := []byte(fmt.Sprintf("clouds: {openstack: {region_name: RegionOne, auth: {auth_url: %s/identity/v3, username: demo, password: %s, project_name: demo, user_domain_id: default, project_domain_id: default}}}", address, password))
	for name, secret := range map[string]map[string][]byte{
		"both":      {"clouds.yaml": login, "cacert": append(append([]byte{}, now...), next...)},
		"behind":    {"clouds.yaml": login, "cacert": now},
		"ahead":     {"clouds.yaml": login, "cacert": next},
		"public":    {"clouds.yaml": login},
		"waits":     {"clouds.yaml": login, "cacert": append(append([]byte{}, next...), now...)},
		"unwritten": nil,
	} {
		if secret != nil {
			w.secret("shop", name+"-login", corev1.SecretTypeOpaque, secret, nil)
		}
		w.put("clusters", `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: `+name+`}
spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: `+name+`}}
`)
		w.put("openstackclusters", `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: `+name+`, labels: {cluster.x-k8s.io/cluster-name: `+name+`}}
spec: {identityRef: {name: `+name+`-login, cloudName: openstack}}
`)
	}
	w.magnum(`{metadata: {name: other}, spec: {stackID: waits}, status: {conditions: [{type: CloudCATrusted, status: "False", message: "pods restart later"}]}}`)
	w.magnum(`{metadata: {name: both}, spec: {}, status: {conditions: [{type: CloudCATrusted, status: "True"}]}}`)

	wanted, err := cert.ParseCertsPEM(append(append([]byte("# text\n"), next...), now...))
	if err != nil || len(wanted) != 2 {
		w.Fatalf("%d certificates, %v", len(wanted), err)
	}
	l, err := CloudTrust(w.Context(), w.Cluster, wanted)
	if err != nil {
		w.Fatal(err)
	}
	l.Sort()
	w.said(l, map[string][]string{
		"both": {"trusts the cloud"}, "behind": {"lacks " + wanted[0].Subject.String()}, "waits": {"pods restart later"},
		"ahead": {"lacks " + wanted[1].Subject.String(), "certificate"}, "public": {"lacks " + wanted[0].Subject.String() + ", " + wanted[1].Subject.String(), "certificate"},
		"unwritten": {`"unwritten-login" not found`}, "shop": {"127.0.0.1:1"},
	})
	if late := l.Straggling(); len(late) != 6 {
		w.Errorf("%d stragglers: %+v", len(late), late)
	}
	// After the change, what is trusted besides is said.
	if l, err = CloudTrust(w.Context(), w.Cluster, wanted[1:]); err != nil {
		w.Fatal(err)
	}
	for _, one := range l.Clusters {
		if others := len(one.Others) > 0; others != (one.Cluster == "both" || one.Cluster == "waits" || one.Cluster == "ahead") {
			w.Errorf("%s trusts besides: %v", one.Cluster, one.Others)
		}
	}
}

func (w *world) magnum(text string) {
	w.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		w.Fatal(err)
	}
	object["apiVersion"], object["kind"] = "magnum.slipway.sh/v1alpha1", "Cluster"
	if _, err := w.Dynamic.Resource(magnumClusters).Namespace("shop").Create(w.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// said compares what is said about clusters with parts of it.
func (w *world) said(l TrustListing, want map[string][]string) {
	w.Helper()
	if len(l.Clusters) != len(want) {
		w.Errorf("%d clusters, want %d", len(l.Clusters), len(want))
	}
	for _, one := range l.Clusters {
		for _, part := range want[one.Cluster] {
			if !strings.Contains(one.Says(), part) {
				w.Errorf("%s %s, want %q", one.Cluster, one.Says(), part)
			}
		}
	}
}
