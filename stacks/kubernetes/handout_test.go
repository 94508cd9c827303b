package kubernetes

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/internal/cloudconfig"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// logsIn are values of a chart whose cluster logs in with a credential.
func logsIn(id string, more map[string]any) map[string]any {
	values := map[string]any{"clouds": map[string]any{"openstack": map[string]any{"auth": map[string]any{"application_credential_id": id}}}}
	for key, value := range more {
		values[key] = value
	}
	return values
}

// TestCredentialsOfValues are those that the chart gives to what runs on the cluster.
func TestCredentialsOfValues(t *testing.T) {
	t.Parallel()
	addons := func(openstack map[string]any) map[string]any {
		return map[string]any{"addons": map[string]any{"openstack": openstack}}
	}
	for name, c := range map[string]struct {
		values        map[string]any
		namespace, id string
	}{
		"none":               {nil, cloudconfig.Namespace, ""},
		"one":                {logsIn("a", nil), cloudconfig.Namespace, "a"},
		"another namespace":  {logsIn("a", addons(map[string]any{"targetNamespace": "os"})), "os", "a"},
		"of another cloud":   {logsIn("a", map[string]any{"cloudName": "mine"}), cloudconfig.Namespace, ""},
		"a Secret of theirs": {logsIn("a", map[string]any{"cloudCredentialsSecretName": "mine"}), "", ""},
		"no addons":          {logsIn("a", map[string]any{"addons": map[string]any{"enabled": false}}), "", ""},
		"nothing of ours":    {logsIn("a", addons(map[string]any{"enabled": false})), "", ""},
	} {
		if namespace, id := credentialIn(c.values); namespace != c.namespace || id != c.id {
			t.Errorf("%s: %q in %q", name, id, namespace)
		}
	}
}

// TestWhatRunsOnAClusterGetsItsCredential: it is restarted once the new one is there, and not
// before; what has nothing of it is left alone.
func TestWhatRunsOnAClusterGetsItsCredential(t *testing.T) {
	t.Parallel()
	secret := func(id string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "os", Name: cloudconfig.Secret},
			Data: map[string][]byte{cloudconfig.Clouds: fmt.Appendf(nil, "clouds: {openstack: {auth: {application_credential_id: %s}}}", id)}}
	}
	set := func(name, mounts string) *appsv1.DaemonSet {
		d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "os", Name: name}}
		d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: mounts}}}}
		return d
	}
	client := fake.NewClientset(set("ccm", cloudconfig.Secret), set("other", "other"))
	h := &handOut{itself: client, namespace: "os", id: "new", tell: func(string) {}}
	restarted := func(name string) string {
		t.Helper()
		d, err := client.AppsV1().DaemonSets("os").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return d.Spec.Template.Annotations[cloudconfig.Annotation]
	}
	write := func(id string) {
		t.Helper()
		_, err := client.CoreV1().Secrets("os").Update(t.Context(), secret(id), metav1.UpdateOptions{})
		if err != nil {
			_, err = client.CoreV1().Secrets("os").Create(t.Context(), secret(id), metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !h.done(t.Context()) || restarted("ccm") != "" {
		t.Error("without the Secret something is restarted")
	}
	write("old")
	if h.done(t.Context()) || h.missing != "Secret os/cloud-config on it has the former one" || restarted("ccm") != "" {
		t.Errorf("with the former one: missing %q, restarted for %q", h.missing, restarted("ccm"))
	}
	write("new")
	if h.done(t.Context()) || h.missing != "DaemonSet ccm is not up again" || restarted("ccm") != "new" || restarted("other") != "" {
		t.Errorf("with the new one: missing %q, restarted for %q", h.missing, restarted("ccm"))
	}
	if !h.done(t.Context()) || h.missing != "" {
		t.Errorf("in the end: missing %q", h.missing)
	}
	if none := (&handOut{}); !none.done(t.Context()) || none.end(t.Context()) != nil {
		t.Error("a cluster whose credential is what it was waits for something")
	}
}

// TestAnotherCredentialIsNoted on the Cluster before its release has it, and not at the first.
func TestAnotherCredentialIsNoted(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	on, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	server.Serve(t, []byte(clusterDefinition))
	in := ClusterInputs{Name: "c", Namespace: "default", Chart: smallChart(t)}
	for i, c := range []struct{ id, noted string }{{"a", ""}, {"a", ""}, {"b", "b"}, {"b", "b"}, {"c", "c"}} {
		if err := release(t.Context(), on, server.Config, in, logsIn(c.id, nil)); err != nil {
			t.Fatal(err)
		}
		cluster, err := on.Dynamic.Resource(clusterResource()).Namespace("default").Get(t.Context(), "c", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if noted := cluster.GetAnnotations()[annotationHandOut]; noted != c.noted {
			t.Errorf("%d: credential %s: noted %q", i, c.id, noted)
		}
	}
	h := &handOut{parent: on, itself: on.Typed}
	h.cluster.Namespace, h.cluster.Name = "default", "c"
	if err := h.end(t.Context()); err != nil {
		t.Fatal(err)
	}
	cluster, err := on.Dynamic.Resource(clusterResource()).Namespace("default").Get(t.Context(), "c", metav1.GetOptions{})
	if err != nil || cluster.GetAnnotations()[annotationHandOut] != "" {
		t.Errorf("at the end: %v, %v", cluster.GetAnnotations(), err)
	}
}
