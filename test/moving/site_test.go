package moving

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"log/slog"
	"math/big"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/helm"
)

// The cluster shop-prod of the dump.
const (
	project   = "3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11"
	namespace = "magnum-" + project
	stack     = "shop-prod-k3v9x2m4q7zd"
	uuid      = "6c9f3a52-5c0e-4b9f-9a5c-000000000001"
	credtoken = "cred-1"
)

// site is the management cluster on which magnum-capi-helm made shop-prod.
type site struct {
	t      *testing.T
	config *rest.Config
	client client.Client
}

// Last is Helm's latest revision.
func (s *site) Last(_ context.Context, namespace, name string) (*helmrelease.Release, error) {
	c, err := helm.New(s.config, namespace, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return c.Last(name)
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// upstream is a chart that, like that of capi-helm-charts, has a chart inside that
// Helm does not keep: it cannot be rendered a second time.
func upstream(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := openstackcluster.Chart()
	if err != nil {
		t.Fatal(err)
	}
	made, metadata := *c, *c.Metadata
	made.Metadata, made.Schema = &metadata, nil // upstream's has no schema either
	metadata.Version, metadata.Dependencies = "0.23.0", []*chart.Dependency{{Name: "cluster-addons", Version: "0.23.0", Repository: "file://../cluster-addons"}}
	made.SetDependencies(&chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "cluster-addons", Version: "0.23.0"}})
	return &made
}

// values are what magnum-capi-helm 1.4 computes for shop-prod.
func values() map[string]any {
	class := map[string]any{"name": "ssd", "reclaimPolicy": "Retain", "allowVolumeExpansion": true, "volumeBindingMode": "WaitForFirstConsumer",
		"availabilityZone": "nova", "volumeType": "ssd", "fstype": "ext4", "enabled": true}
	return map[string]any{
		"kubernetesVersion": "1.34.2", "machineImageId": "5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1", "osDistro": "ubuntu", "machineSSHKeyName": "ops",
		"cloudCredentialsSecretName": stack + "-cloud-credentials",
		"apiServer":                  map[string]any{"enableLoadBalancer": true, "loadBalancerProvider": "amphora", "associateFloatingIP": true},
		"clusterNetworking": map[string]any{"dnsNameservers": []any{"192.0.2.53", "192.0.2.54"}, "externalNetworkId": "7a1e0b8c-0000-4000-8000-000000000001",
			"internalNetwork": map[string]any{"nodeCidr": "10.0.0.0/24"}},
		"controlPlane": map[string]any{"machineFlavor": "m1.medium", "machineCount": 3, "healthCheck": map[string]any{"enabled": true},
			"machineRootVolume": map[string]any{"diskSize": 40}},
		"nodeGroupDefaults": map[string]any{"healthCheck": map[string]any{"enabled": true}, "machineRootVolume": map[string]any{"diskSize": 40}},
		"nodeGroups": []any{map[string]any{"name": "default-worker", "machineFlavor": "m1.large", "machineCount": 2},
			map[string]any{"name": "gpu-1", "machineFlavor": "g1.large", "machineCount": 1}},
		"addons": map[string]any{"cni": map[string]any{"type": "calico"}, "monitoring": map[string]any{"enabled": false}, "ingress": map[string]any{"enabled": false},
			"openstack": map[string]any{"csiCinder": map[string]any{"defaultStorageClass": class}}},
	}
}

// build makes shop-prod as the driver does, and moves what Cluster API would.
func (s *site) build() {
	s.t.Helper()
	s.must(s.client.Create(s.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	s.secret("cloud-credentials", map[string][]byte{"cacert": {}, "clouds.yaml": []byte("clouds: {openstack: {auth: {auth_url: https://k/v3, application_credential_id: " + credtoken +
		", application_credential_secret: hush}}}")})
	for _, kind := range []string{"ca", "etcd", "proxy", "sa"} {
		certificate, key := authority(s.t, "shop-prod")
		s.secret(kind, map[string][]byte{"tls.crt": certificate, "tls.key": key})
	}
	c, err := helm.New(s.config, namespace, slog.New(slog.DiscardHandler))
	s.must(err)
	_, _, err = c.Ensure(s.t.Context(), helm.Wanted{Name: stack, Chart: upstream(s.t), Values: values(), Timeout: time.Minute})
	s.must(err)
	s.machines()
	s.settle()
}

func (s *site) secret(suffix string, data map[string][]byte) {
	s.t.Helper()
	s.must(s.client.Create(s.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: stack + "-" + suffix,
		Labels: map[string]string{"magnum.openstack.org/cluster-uuid": uuid, "cluster.x-k8s.io/cluster-name": stack}}, Data: data}))
}

func authority(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// In UTF-8, as Magnum's library writes it; Go's own would be a PrintableString.
	subject, err := asn1.Marshal(pkix.RDNSequence{{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(name)}}}})
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), RawSubject: subject, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(1000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

func capi(kind string) schema.GroupVersionKind {
	group := "cluster.x-k8s.io"
	if kind == "KubeadmControlPlane" {
		group = "controlplane.cluster.x-k8s.io"
	}
	return schema.GroupVersionKind{Group: group, Version: "v1beta2", Kind: kind}
}

// machines are what Cluster API makes of three control planes and three workers.
func (s *site) machines() {
	s.t.Helper()
	for name, group := range map[string]string{"cp-1": "", "cp-2": "", "cp-3": "", "w-1": "default-worker", "w-2": "default-worker", "g-1": "gpu-1"} {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"clusterName": stack, "providerID": "openstack:///" + name,
			"bootstrap":         map[string]any{"dataSecretName": "x"},
			"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackMachine", "name": name}}}}
		o.SetGroupVersionKind(capi("Machine"))
		o.SetNamespace(namespace)
		o.SetName(stack + "-" + name)
		labels := map[string]string{"cluster.x-k8s.io/cluster-name": stack}
		if group == "" {
			labels["cluster.x-k8s.io/control-plane"] = ""
		} else {
			labels["capi.stackhpc.com/node-group"], labels["cluster.x-k8s.io/deployment-name"] = group, stack+"-"+group
		}
		o.SetLabels(labels)
		s.must(s.client.Create(s.t.Context(), o))
	}
}

func (s *site) get(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	s.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	s.must(s.client.Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o))
	return o
}

func (s *site) say(kind schema.GroupVersionKind, name string, status map[string]any) {
	s.t.Helper()
	s.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		o := s.get(kind, name)
		status["observedGeneration"] = o.GetGeneration()
		o.Object["status"] = status
		return s.client.Status().Update(s.t.Context(), o)
	}))
}

func timed(types ...string) []any {
	var all []any
	for _, kind := range types {
		all = append(all, map[string]any{"type": kind, "status": "True", "reason": "Test", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"})
	}
	return all
}

func (s *site) settleWorkers(group string) {
	n, _, _ := unstructured.NestedInt64(s.get(capi("MachineDeployment"), stack+"-"+group).Object, "spec", "replicas")
	s.say(capi("MachineDeployment"), stack+"-"+group, map[string]any{"phase": "Running", "replicas": n, "readyReplicas": n, "upToDateReplicas": n})
}

// settle is a cluster that is complete.
func (s *site) settle() {
	s.t.Helper()
	s.say(capi("KubeadmControlPlane"), stack+"-control-plane", map[string]any{"replicas": int64(3), "readyReplicas": int64(3), "upToDateReplicas": int64(3), "version": "v1.34.2",
		"conditions": timed("Available", "MachinesReady", "EtcdClusterHealthy", "ControlPlaneComponentsHealthy")})
	for _, group := range []string{"default-worker", "gpu-1"} {
		s.settleWorkers(group)
	}
	cluster := s.get(capi("Cluster"), stack)
	before := cluster.DeepCopy()
	s.must(unstructured.SetNestedMap(cluster.Object, map[string]any{"host": "203.0.113.21", "port": int64(6443)}, "spec", "controlPlaneEndpoint"))
	s.must(s.client.Patch(s.t.Context(), cluster, client.MergeFrom(before)))
	s.say(capi("Cluster"), stack, map[string]any{"conditions": timed("Available", "InfrastructureReady", "ControlPlaneAvailable", "ControlPlaneInitialized", "RemoteConnectionProbe")})
	for _, kind := range []string{"HelmRelease", "Manifests"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "addons.stackhpc.com", Version: "v1alpha1", Kind: kind + "List"})
		s.must(s.client.List(s.t.Context(), list, client.InNamespace(namespace)))
		for i := range list.Items {
			s.say(schema.GroupVersionKind{Group: "addons.stackhpc.com", Version: "v1alpha1", Kind: kind}, list.Items[i].GetName(), map[string]any{"phase": "Deployed"})
		}
	}
}

// versions are the resource versions of all objects that are not Slipway's.
func (s *site) versions() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	for _, kind := range []schema.GroupVersionKind{capi("Cluster"), capi("KubeadmControlPlane"), capi("MachineDeployment"), capi("Machine"), capi("MachineHealthCheck"),
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: "OpenStackCluster"},
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: "OpenStackMachineTemplate"},
		{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmConfigTemplate"},
		{Group: "addons.stackhpc.com", Version: "v1alpha1", Kind: "HelmRelease"}, {Group: "addons.stackhpc.com", Version: "v1alpha1", Kind: "Manifests"}, {Version: "v1", Kind: "Secret"}} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
		s.must(s.client.List(s.t.Context(), list, client.InNamespace(namespace)))
		for _, o := range list.Items {
			if !strings.HasPrefix(o.GetName(), "7e5c4b7d-9d0d-4e0b-8a7f-9c113f1d5a0b") { // authorities of the cluster of Heat
				all[kind.Kind+" "+o.GetName()] = o.GetResourceVersion()
			}
		}
	}
	return all
}
