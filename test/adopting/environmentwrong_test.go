package adopting

import (
	"strings"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/takeover"
)

// refused: all that is wrong is told at once, with its object, and nothing is written.
func refused(s *site) {
	undo := []func(){
		s.wrong("ClusterRole", "", "cluster-api-addon-provider", []any{map[string]any{"apiGroups": []any{"*"}, "resources": []any{"*"}, "verbs": []any{"*"}}}, "rules"),
		s.wrong("Cluster", "default", "prod", true, "spec", "paused"),
		s.wrong("HelmRelease", "default", "prod-cni", "Upgrading", "status", "phase"),
		s.stray(),
		s.undefined(),
	}
	// An operator of another make under the known name; its release says another chart.
	undo = append(undo, s.wrongImage(), s.wrongChart())
	before := s.everything()
	plan := s.look(s.config, takeover.Options{})
	err := plan.Refused()
	for _, want := range []string{
		"ClusterRole cluster-api-addon-provider: it was changed by hand: rules",
		"Cluster default/prod: it is paused: spec.paused is set",
		"HelmRelease default/prod-cni: it is Upgrading",
		"Deployment elsewhere/janitor: it runs registry.example/cluster-api-janitor-openstack:0.15.0, which is known as capi-janitor-system/cluster-api-janitor-openstack only",
		"CustomResourceDefinition manifests.addons.stackhpc.com: it has versions v1alpha1, v1alpha2",
		"Deployment capi-addon-system/cluster-api-addon-provider: it runs registry.example/other:1, which is not the known controller",
		"release capi-janitor-system/cluster-api-janitor-openstack: its chart is of version 0.99.0; 0.1 to 0.15 are known",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			s.t.Errorf("%q is not told: %v", want, err)
		}
	}
	if changed, failed := plan.Take(s.t.Context(), silent); changed || failed == nil || fault.ExitCode(failed) != fault.ExitPreflight {
		s.t.Errorf("it was taken over: %v %v", changed, failed)
	}
	if diff := cmp.Diff(before, s.everything()); diff != "" {
		s.t.Errorf("something was written: %s", diff)
	}
	for _, one := range undo {
		one()
	}
	must(s.t, s.look(s.config, takeover.Options{}).Refused())
}

// wrong changes a field by hand, and returns what changes it back.
func (s *site) wrong(kind, namespace, name string, value any, path ...string) func() {
	s.t.Helper()
	o := s.get(kind, namespace, name)
	was, there, _ := unstructured.NestedFieldCopy(o.Object, path...)
	write := func(value any, set bool) {
		o := s.get(kind, namespace, name)
		if set {
			must(s.t, unstructured.SetNestedField(o.Object, value, path...))
		} else {
			unstructured.RemoveNestedField(o.Object, path...)
		}
		if path[0] == "status" {
			must(s.t, s.client.Status().Update(s.t.Context(), o))
			return
		}
		must(s.t, s.client.Update(s.t.Context(), o))
	}
	write(value, true)
	return func() { write(was, there) }
}

// stray is an operator in another namespace.
func (s *site) stray() func() {
	s.t.Helper()
	_ = s.client.Create(s.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}})
	none, selected := int32(0), map[string]string{"a": "b"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "janitor"}, Spec: appsv1.DeploymentSpec{Replicas: &none, Selector: &metav1.LabelSelector{MatchLabels: selected},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selected}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "registry.example/cluster-api-janitor-openstack:0.15.0"}}}}}}
	must(s.t, s.client.Create(s.t.Context(), d))
	return func() { must(s.t, s.client.Delete(s.t.Context(), d)) }
}

// undefined gives a definition a version that nobody knows.
func (s *site) undefined() func() {
	s.t.Helper()
	versions, _, _ := unstructured.NestedSlice(s.get("CustomResourceDefinition", "", "manifests.addons.stackhpc.com").Object, "spec", "versions")
	next := map[string]any{}
	for key, value := range versions[0].(map[string]any) {
		next[key] = value
	}
	next["name"], next["storage"] = "v1alpha2", false
	return s.wrong("CustomResourceDefinition", "", "manifests.addons.stackhpc.com", append(versions, next), "spec", "versions")
}

func (s *site) wrongImage() func() {
	s.t.Helper()
	containers, _, _ := unstructured.NestedSlice(s.get("Deployment", "capi-addon-system", "cluster-api-addon-provider").Object, "spec", "template", "spec", "containers")
	containers[0].(map[string]any)["image"] = "registry.example/other:1"
	return s.wrong("Deployment", "capi-addon-system", "cluster-api-addon-provider", containers, "spec", "template", "spec", "containers")
}

// wrongChart makes a revision of a version that nobody knows, and takes it away again.
func (s *site) wrongChart() func() {
	s.t.Helper()
	newer := operatorChart(s.t, "cluster-api-janitor-openstack")
	newer.Metadata.Version = "0.99.0"
	s.helm("capi-janitor-system", "cluster-api-janitor-openstack", newer)
	return func() {
		s.helm("capi-janitor-system", "cluster-api-janitor-openstack", operatorChart(s.t, "cluster-api-janitor-openstack"))
	}
}
