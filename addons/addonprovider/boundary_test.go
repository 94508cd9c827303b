package addonprovider

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

// loot is what an addon of one namespace must not get out of another.
const loot = "s3cr3t-of-another-namespace"

// The provider may read Secrets of all namespaces; an author of addons may not.
// Each attempt ends with an addon that is not deployed and says nothing of what
// it was after.
func TestAddonsReadNoOtherNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "other-"}}).GetName()
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "stolen"}, Data: map[string][]byte{"values.yaml": []byte("a: " + loot)}})
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "stolen"}, Data: map[string]string{"values.yaml": "a: " + loot}})
	crooked := func(name string, infrastructure map[string]any) string {
		w.create(object("cluster.x-k8s.io/v1beta1", "Cluster", w.namespace, name, map[string]any{
			"spec":   map[string]any{"infrastructureRef": infrastructure},
			"status": map[string]any{"phase": "Provisioned", "conditions": []any{map[string]any{"type": "ControlPlaneInitialized", "status": "True"}, map[string]any{"type": "Ready", "status": "True"}}}}))
		w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name + "-kubeconfig"}, Data: map[string][]byte{"value": realServer.Kubeconfig}})
		return name
	}
	w.create(object("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", w.namespace, "borrows", map[string]any{
		"spec": map[string]any{"identityRef": map[string]any{"name": "stolen", "namespace": other, "cloudName": "openstack"}}}))
	w.create(object("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", w.namespace, "climbs", map[string]any{
		"spec": map[string]any{"identityRef": map[string]any{"name": "../../" + other + "/secrets/stolen", "cloudName": "openstack"}}}))
	identity := "a: {{ cloud_identity | tojson }}"
	attempts := map[string]func(*v1alpha1.HelmRelease){
		"secret-path":      secretNamed("../../" + other + "/secrets/stolen"),
		"secret-namespace": secretNamed(other + "/stolen"),
		"secret-escaped":   secretNamed("..%2f..%2f" + other + "%2fsecrets%2fstolen"),
		"config-path": func(r *v1alpha1.HelmRelease) {
			r.Spec.ValuesSources = []v1alpha1.ValuesSource{{ConfigMap: &v1alpha1.NameKey{Name: "../../" + other + "/configmaps/stolen"}}}
		},
		"include":        withTemplate("{% include '/etc/hostname' %}"),
		"lookup":         withTemplate(fmt.Sprintf("a: {{ lookup('v1', 'Secret', '%s', 'stolen') }}", other)),
		"insides":        withTemplate("a: {{ cluster.__class__.__mro__ }}"),
		"cluster-path":   func(r *v1alpha1.HelmRelease) { r.Spec.ClusterName = "../" + w.namespace + "/c" },
		"identity-there": onCluster(crooked("identity-there", map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackCluster", "name": "borrows"}), identity),
		"identity-path":  onCluster(crooked("identity-path", map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackCluster", "name": "climbs"}), identity),
		// Were Secrets watched for this, all of the cluster's would be in memory.
		"infrastructure": onCluster(crooked("infrastructure", map[string]any{"apiVersion": "v1", "kind": "Secret", "namespace": other, "name": "stolen"}), "a: {{ infra_cluster | tojson }}"),
		"own-secret":     onCluster(crooked("own-secret", map[string]any{"apiVersion": "v1", "kind": "Secret", "name": "c-cloud-credentials"}), "a: {{ infra_cluster | tojson }}"),
	}
	for name, attempt := range attempts {
		w.helmRelease(name, attempt)
	}
	w.start()
	for name := range attempts {
		r := &v1alpha1.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
		w.until(name+" is judged", func() error {
			if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(r), r); err != nil {
				return err
			}
			if s := r.Status; s.ObservedGeneration != r.Generation || !slices.Contains([]v1alpha1.Phase{v1alpha1.PhasePending, v1alpha1.PhaseFailed, v1alpha1.PhaseDeployed}, s.Phase) {
				return fmt.Errorf("its status is %+v", s)
			}
			return nil
		})
		if text, _ := json.Marshal(r); r.Status.Phase == v1alpha1.PhaseDeployed || strings.Contains(string(text), loot) {
			t.Errorf("%s is %s: %s", name, r.Status.Phase, text)
		}
	}
	maps := &corev1.ConfigMapList{}
	if err := w.client.List(context.Background(), maps, client.InNamespace(w.target)); err != nil {
		t.Fatal(err)
	}
	if text, _ := json.Marshal(maps); strings.Contains(string(text), loot) {
		t.Errorf("on the target: %s", text)
	}
}

func secretNamed(name string) func(*v1alpha1.HelmRelease) {
	return func(r *v1alpha1.HelmRelease) {
		r.Spec.ValuesSources = []v1alpha1.ValuesSource{{Secret: &v1alpha1.NameKey{Name: name}}}
	}
}

func onCluster(cluster, template string) func(*v1alpha1.HelmRelease) {
	return func(r *v1alpha1.HelmRelease) {
		r.Spec.ClusterName = cluster
		r.Spec.ValuesSources = []v1alpha1.ValuesSource{{Template: ptr.To(template)}}
	}
}

// Templates see the Secret of the cluster's own namespace, never that of an
// OpenStackClusterIdentity, nor one of its name.
func TestTheIdentityIsOfTheNamespace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ref  map[string]any
		want string
	}{
		"a Secret":          {map[string]any{"name": "c", "cloudName": "openstack"}, "c"},
		"a Secret, by type": {map[string]any{"type": "Secret", "name": "c"}, "c"},
		"another kind":      {map[string]any{"kind": "Vault", "name": "c"}, ""},
		"a shared identity": {map[string]any{"type": "ClusterIdentity", "name": "c"}, ""},
		"none":              {nil, ""},
	} {
		got, ok := identityOf(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"identityRef": c.ref}}})
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}

// What a Cluster names as its infrastructure is watched in all namespaces: only
// kinds of infrastructure are.
func TestOnlyInfrastructureIsWatched(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ref map[string]any
		ok  bool
	}{
		{map[string]any{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackCluster", "name": "c"}, true},
		{map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackCluster", "name": "c"}, true},
		{map[string]any{"apiVersion": "v1", "kind": "Secret", "name": "c"}, false},
		{map[string]any{"apiGroup": "", "kind": "Secret", "name": "c"}, false},
		{map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "name": "c"}, false},
		{map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io.evil", "kind": "OpenStackCluster", "name": "c"}, false},
	} {
		cluster := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"infrastructureRef": c.ref}}}
		kind, _, named := infraRef(cluster)
		if watched := named && isInfrastructure(kind); watched != c.ok {
			t.Errorf("%v: watched %v", c.ref, watched)
		}
	}
}
