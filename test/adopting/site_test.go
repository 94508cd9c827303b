package adopting

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/magnum"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// site is a management cluster.
type site struct {
	t      *testing.T
	config *rest.Config
	client client.Client
	// kubeconfig is config as a file's content.
	kubeconfig []byte
}

// manage is a management cluster without any cluster.
func manage(t *testing.T) *site {
	t.Helper()
	return manageWith(t, addons.Definitions())
}

// manageWith is one with others' definitions of addons.
func manageWith(t *testing.T, definitions map[string][]byte) *site {
	t.Helper()
	log.SetLogger(logr.Discard())
	server := kubetest.Start(t)
	config := server.Config
	config.QPS = -1
	ours, err := magnum.CRDs()
	must(t, err)
	server.Define(t, slices.AppendSeq(slices.Collect(maps.Values(definitions)), maps.Values(ours))...)
	convert(t, config)
	c, err := client.New(config, client.Options{})
	must(t, err)
	return &site{t, config, c, server.Kubeconfig}
}

// install makes a release as Helm's command does, and what Cluster API would make of it.
func (s *site) install(namespace, name string, from *chart.Chart, values map[string]any) {
	s.t.Helper()
	_ = s.client.Create(s.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	h, err := helm.New(s.config, namespace, slog.New(slog.DiscardHandler))
	must(s.t, err)
	_, _, err = h.Ensure(s.t.Context(), helm.Wanted{Name: name, Chart: from, Values: values, Timeout: time.Minute})
	must(s.t, err)
	s.secrets(namespace, name, "ca", "etcd", "proxy", "sa", "kubeconfig")
	s.machines(namespace, name)
}

func (s *site) secrets(namespace, name string, suffixes ...string) {
	s.t.Helper()
	for _, suffix := range suffixes {
		must(s.t, s.client.Create(s.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + suffix,
			Labels: map[string]string{"cluster.x-k8s.io/cluster-name": name}}, Data: map[string][]byte{"value": []byte(suffix)}}))
	}
}

// machines are those of the sizes that the objects say.
func (s *site) machines(namespace, name string) {
	s.t.Helper()
	for _, o := range slices.Concat(s.list(capi("KubeadmControlPlane"), namespace), s.list(capi("MachineDeployment"), namespace)) {
		n, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		if !strings.HasPrefix(o.GetName(), name+"-") {
			continue
		}
		for i := range n {
			m := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"clusterName": name, "providerID": fmt.Sprintf("openstack:///%s-%d", o.GetName(), i),
				"bootstrap":         map[string]any{"dataSecretName": "x"},
				"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackMachine", "name": fmt.Sprintf("%s-%d", o.GetName(), i)}}}}
			m.SetGroupVersionKind(capi("Machine"))
			m.SetNamespace(namespace)
			m.SetName(fmt.Sprintf("%s-%d", o.GetName(), i))
			m.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": name})
			must(s.t, s.client.Create(s.t.Context(), m))
		}
	}
}

func capi(kind string) schema.GroupVersionKind {
	switch kind {
	case "KubeadmControlPlane":
		return schema.GroupVersionKind{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Kind: kind}
	case "KubeadmConfigTemplate":
		return schema.GroupVersionKind{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Kind: kind}
	case "OpenStackCluster", "OpenStackMachineTemplate":
		return schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: kind}
	case "HelmRelease", "Manifests":
		return schema.GroupVersionKind{Group: "addons.stackhpc.com", Version: "v1alpha1", Kind: kind}
	case "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
		return schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: kind}
	case "PodDisruptionBudget":
		return schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: kind}
	case "CustomResourceDefinition":
		return schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: kind}
	case "Secret", "ServiceAccount", "Namespace", "ConfigMap", "Service":
		return schema.GroupVersionKind{Version: "v1", Kind: kind}
	case "Deployment":
		return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
	}
	return schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: kind}
}

func (s *site) list(kind schema.GroupVersionKind, namespace string) []unstructured.Unstructured {
	s.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
	must(s.t, s.client.List(s.t.Context(), list, client.InNamespace(namespace)))
	return list.Items
}

func (s *site) get(kind, namespace, name string) *unstructured.Unstructured {
	s.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(capi(kind))
	must(s.t, s.client.Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o))
	return o
}

// edit changes an object by hand.
func (s *site) edit(kind, namespace, name string, value any, path ...string) {
	s.t.Helper()
	o := s.get(kind, namespace, name)
	must(s.t, unstructured.SetNestedField(o.Object, value, path...))
	must(s.t, s.client.Update(s.t.Context(), o))
}

// versions are the resource versions of all objects in a namespace but Helm's records.
func (s *site) versions(namespace string) map[string]string {
	s.t.Helper()
	all := map[string]string{}
	for _, kind := range []string{"Cluster", "KubeadmControlPlane", "MachineDeployment", "Machine", "MachineHealthCheck", "OpenStackCluster", "OpenStackMachineTemplate",
		"KubeadmConfigTemplate", "HelmRelease", "Manifests", "Secret", "ServiceAccount", "Deployment"} {
		for _, o := range s.list(capi(kind), namespace) {
			if !strings.HasPrefix(o.GetName(), "sh.helm.release.") {
				all[kind+" "+o.GetName()] = o.GetResourceVersion()
			}
		}
	}
	return all
}

// plan is what slipway adopt cluster would do.
func (s *site) plan(ctx context.Context, name, namespace string) *adopt.Plan {
	s.t.Helper()
	to, err := adopt.Open(s.config)
	must(s.t, err)
	p, err := adopt.New(ctx, to, name, namespace)
	must(s.t, err)
	return p
}

// take adopts what can be adopted.
func (s *site) take(p *adopt.Plan) (changed []string) {
	s.t.Helper()
	to, err := adopt.Open(s.config)
	must(s.t, err)
	must(s.t, p.Take(s.t.Context(), to, func(c *adopt.Cluster, wrote bool) {
		if wrote {
			changed = append(changed, c.Key().String())
		}
	}))
	return changed
}
