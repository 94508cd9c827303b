package addonprovider

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

func (w *world) helmRelease(name string, change ...func(*v1alpha1.HelmRelease)) *v1alpha1.HelmRelease {
	w.t.Helper()
	r := &v1alpha1.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: v1alpha1.HelmReleaseSpec{
			AddonSpec: v1alpha1.AddonSpec{ClusterName: "c", Bootstrap: true, TargetNamespace: w.target},
			Chart:     v1alpha1.Chart{Repo: "https://charts.example.com", Name: "demo", Version: "1.0.0"},
		},
	}
	for _, f := range change {
		f(r)
	}
	w.create(r)
	return r
}

func (w *world) manifests(name string, templates ...string) *v1alpha1.Manifests {
	w.t.Helper()
	m := &v1alpha1.Manifests{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec:       v1alpha1.ManifestsSpec{AddonSpec: v1alpha1.AddonSpec{ClusterName: "c", Bootstrap: true, TargetNamespace: w.target}},
	}
	for _, text := range templates {
		m.Spec.ManifestSources = append(m.Spec.ManifestSources, v1alpha1.ManifestSource{Template: ptr.To(text)})
	}
	w.create(m)
	return m
}

func withTemplate(texts ...string) func(*v1alpha1.HelmRelease) {
	return func(r *v1alpha1.HelmRelease) {
		for _, text := range texts {
			r.Spec.ValuesSources = append(r.Spec.ValuesSources, v1alpha1.ValuesSource{Template: ptr.To(text)})
		}
	}
}

// until waits for something to be so.
func (w *world) until(what string, f func() error) {
	w.t.Helper()
	deadline := time.Now().Add(patienceOfTests)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// phase waits for an addon to be in a phase, for its latest generation.
func (w *world) phase(a addon, phase v1alpha1.Phase) {
	w.t.Helper()
	w.until(fmt.Sprintf("%s is %s", a.GetName(), phase), func() error {
		if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(a), a); err != nil {
			return err
		}
		s := a.AddonStatus()
		if s.Phase != phase || s.ObservedGeneration != a.GetGeneration() {
			text, _ := json.Marshal(s)
			return fmt.Errorf("status is %s", text)
		}
		return nil
	})
}

// reason waits for an addon's condition Ready to have a reason.
func (w *world) reason(a addon, reason string) string {
	w.t.Helper()
	message := ""
	w.until(fmt.Sprintf("%s has reason %s", a.GetName(), reason), func() error {
		if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(a), a); err != nil {
			return err
		}
		for _, c := range a.AddonStatus().Conditions {
			if c.Type == v1alpha1.ReadyCondition && c.Reason == reason {
				message = c.Message
				return nil
			}
		}
		text, _ := json.Marshal(a.AddonStatus())
		return fmt.Errorf("status is %s", text)
	})
	return message
}

// revision waits for a deployed revision.
func (w *world) revision(a addon, revision int) {
	w.t.Helper()
	w.until(fmt.Sprintf("%s has revision %d", a.GetName(), revision), func() error {
		if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(a), a); err != nil {
			return err
		}
		if s := a.AddonStatus(); s.Revision != revision || s.Phase != v1alpha1.PhaseDeployed {
			return fmt.Errorf("it is %s at revision %d: %s", s.Phase, s.Revision, s.FailureMessage)
		}
		return nil
	})
}

// change updates an object.
func (w *world) change(o client.Object, f func()) {
	w.t.Helper()
	w.until("updating "+o.GetName(), func() error {
		if err := w.client.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		f()
		return w.client.Update(context.Background(), o)
	})
}

// configMap reads a ConfigMap of the target; nil where it is missing.
func (w *world) configMap(name string) *corev1.ConfigMap {
	w.t.Helper()
	c := &corev1.ConfigMap{}
	err := w.client.Get(context.Background(), types.NamespacedName{Namespace: w.target, Name: name}, c)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// revisions are the records of a release on the target, by status.
func (w *world) revisions(release string) map[string]int {
	w.t.Helper()
	var secrets corev1.SecretList
	if err := w.client.List(context.Background(), &secrets, client.InNamespace(w.target), client.MatchingLabels{"owner": "helm", "name": release}); err != nil {
		w.t.Fatal(err)
	}
	all := map[string]int{}
	for _, s := range secrets.Items {
		all[s.Labels["status"]]++
	}
	return all
}

func (w *world) clusterObject(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta1", Kind: "Cluster"})
	u.SetNamespace(w.namespace)
	u.SetName(name)
	return u
}
