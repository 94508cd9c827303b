package workload

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/release"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-sh/slipway/internal/cloudconfig"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

func cloudsOf(id string) []byte {
	return []byte("clouds: {openstack: {auth: {application_credential_id: " + id + "}}}")
}

// config is the Secret on a cluster with a credential.
func config(id string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cloudconfig.Namespace, Name: cloudConfig}, Data: map[string][]byte{keyClouds: cloudsOf(id)}}
}

// addonOf is an addon of a cluster on the management cluster.
func addonOf(cluster, release, phase string) string {
	return `{"apiVersion": "addons.stackhpc.com/v1alpha1", "kind": "Manifests", "metadata": {"namespace": "shop", "name": "` + cluster + `-` + release + `", "labels": {"` + labelStack + `": "` + cluster + `"}},
		"spec": {"releaseName": "` + release + `"}, "status": {"phase": "` + phase + `", "failureMessage": "no template"}}`
}

// upCluster is a cluster that is up and is to get the credential "new", with the addons that there are for it.
func upCluster(t *testing.T, addons []string, objects ...runtime.Object) (inside, *fake.Clientset, *dynamicfake.FakeDynamicClient) {
	t.Helper()
	on, err := keeping(map[schema.GroupVersionResource]string{kindOf("manifests"): "ManifestsList"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range addons {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := on.Resource(kindOf("manifests")).Namespace("shop").Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	client := fake.NewClientset(objects...)
	return inside{client: client, namespace: cloudconfig.Namespace, id: "new", management: &Management{Kube: &kube.Cluster{Dynamic: on}}, key: Key{Namespace: "shop", Name: "shop"}}, client, on
}

// away lets calls fail until some time has passed.
func away(d time.Duration) clienttesting.ReactionFunc {
	end := time.Now().Add(d)
	return func(clienttesting.Action) (bool, runtime.Object, error) { return time.Now().Before(end), nil, errAway }
}

// TestAClusterGetsItsCredential from its addon: it is waited for as long as it may come, and no longer.
func TestAClusterGetsItsCredential(t *testing.T) {
	t.Parallel()
	const waits, cloud = "waiting for Secret openstack-system/cloud-config on the cluster: ", "cloud-config"
	for name, test := range map[string]struct {
		there      string // the credential on the cluster
		addon      string
		later      string // what the addon writes after a while
		away, mute time.Duration
		has        bool
		had        string
		said, want string
	}{
		"it has it":                   {"new", "", "", 0, 0, true, "new", "", ""},
		"it is not to have any":       {"", "", "", 0, 0, false, "", "", ""},
		"another's addon failed":      {"", addonOf("other", cloud, "Failed"), "", 0, 0, false, "", "", ""},
		"another addon failed":        {"", addonOf("shop", "ingress", "Failed"), "", 0, 0, false, "", "", ""},
		"it gets it":                  {"former", addonOf("shop", cloud, "Installing"), "new", 0, 0, true, "former", waits + "it has the former credential", ""},
		"it gets it from elsewhere":   {"former", "", "new", 0, 0, true, "former", waits + "it has the former credential", ""},
		"it was lost there too":       {"", addonOf("shop", cloud, "Deployed"), "new", 0, 0, true, "new", waits + "it is not there", ""},
		"it answers again":            {"new", "", "", 7 * time.Second, 0, true, "new", waits + "the API server is away", ""},
		"its addons are known again":  {"", addonOf("shop", cloud, "Deployed"), "new", 0, 7 * time.Second, true, "new", waits + "reading addons: the API server is away", ""},
		"its addon failed":            {"", addonOf("shop", cloud, "Failed"), "", 0, 0, false, "", "", waits + "Manifests shop/shop-cloud-config: no template"},
		"its addon failed to replace": {"former", addonOf("shop", cloud, "Failed"), "", 0, 0, false, "former", "", waits + "Manifests shop/shop-cloud-config: no template"},
		"it never gets it":            {"former", "", "", 0, 0, false, "former", waits + "it has the former credential", waits + "context deadline exceeded"},
		"it never answers":            {"new", "", "", time.Hour, 0, false, "", waits + "the API server is away", waits + "context deadline exceeded\nthe API server is away"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var addons []string
				if test.addon != "" {
					addons = append(addons, test.addon)
				}
				in, client, on := upCluster(t, addons)
				put := func(id string) {
					_ = client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), cloudconfig.Namespace, cloudConfig)
					if err := client.Tracker().Add(config(id)); err != nil {
						t.Error(err)
					}
				}
				if test.there != "" {
					put(test.there)
				}
				client.PrependReactor("get", "secrets", away(test.away))
				on.PrependReactor("list", "manifests", away(test.mute))
				if test.later != "" {
					time.AfterFunc(5*time.Second, func() { put(test.later) })
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				said := map[string]bool{}
				has, had, err := in.awaitConfig(ctx, func(text string) { said[text] = true })
				if has != test.has || (had == nil) != (test.had == "") || had != nil && idIn(had.Data[keyClouds]) != test.had || test.said != "" && !said[test.said] || test.said == "" && len(said) > 0 {
					t.Errorf("it has it: %t, had %v; said %v", has, had, said)
				}
				if (err == nil) != (test.want == "") || err != nil && err.Error() != test.want || strings.Contains(test.want, "Manifests") && fault.Remedy(err) == "" {
					t.Errorf("%v (%s)", err, fault.Remedy(err))
				}
			})
		})
	}
}

// TestWhatReadsTheCredentialIsRestarted, and nothing is done with the former one before that is up again.
func TestWhatReadsTheCredentialIsRestarted(t *testing.T) {
	t.Parallel()
	reader := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: cloudconfig.Namespace, Name: "ccm"}, Status: appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: cloudConfig}}}}}}}}
	for name, test := range map[string]struct {
		objects []runtime.Object
		up      bool // after a while
		away    time.Duration
		want    []string
		said    string
		fails   string
	}{
		"nothing reads it":    {nil, false, 0, nil, "", ""},
		"it is up again":      {[]runtime.Object{reader}, true, 0, []string{"Deployment ccm"}, "Deployment ccm is not up again", ""},
		"it stays down":       {[]runtime.Object{reader}, false, 0, []string{"Deployment ccm"}, "Deployment ccm is not up again", "context deadline exceeded"},
		"the cluster is away": {nil, false, time.Hour, nil, "listing Deployments: the API server is away", "context deadline exceeded\nlisting Deployments: the API server is away"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in, client, _ := upCluster(t, nil, test.objects...)
				client.PrependReactor("list", "deployments", away(test.away))
				if test.up {
					time.AfterFunc(9*time.Second, func() {
						d, err := client.AppsV1().Deployments(cloudconfig.Namespace).Get(t.Context(), "ccm", metav1.GetOptions{})
						if err != nil || d.Spec.Template.Annotations[annotationCredential] != "new" {
							t.Errorf("it was restarted for %v, %v", d.Spec.Template.Annotations, err)
						}
						d.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
						if _, err := client.AppsV1().Deployments(cloudconfig.Namespace).UpdateStatus(t.Context(), d, metav1.UpdateOptions{}); err != nil {
							t.Error(err)
						}
					})
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				const what = "restarting what reads the credential: "
				said := map[string]bool{}
				restarted, err := in.awaitRestart(ctx, func(text string) { said[text] = true })
				if !slices.Equal(restarted, test.want) || (len(said) > 0) != (test.said != "") || test.said != "" && !said[what+test.said] {
					t.Errorf("restarted %q; said %v", restarted, said)
				}
				if (err == nil) != (test.fails == "") || err != nil && err.Error() != what+test.fails {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// TestACredentialForAClusterThatIsNotUp comes to it when it is, and what keeps it from one that is up is told.
func TestACredentialForAClusterThatIsNotUp(t *testing.T) {
	t.Parallel()
	leads := func(objects ...runtime.Object) func(context.Context, string, string) (*rest.Config, string, error) {
		server := httptest.NewServer(secretsOnly(fake.NewClientset(objects...)))
		t.Cleanup(server.Close)
		return func(context.Context, string, string) (*rest.Config, string, error) {
			return &rest.Config{Host: server.URL}, "here", nil
		}
	}
	no := func(err error) func(context.Context, string, string) (*rest.Config, string, error) {
		return func(context.Context, string, string) (*rest.Config, string, error) { return nil, "", err }
	}
	for name, test := range map[string]struct {
		way   func(context.Context, string, string) (*rest.Config, string, error)
		had   string
		fails string
	}{
		"nobody leads there":       {nil, "", ""},
		"no kubeconfig yet":        {no(apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "shop-kubeconfig")), "", ""},
		"a kubeconfig that is not": {no(errAway), "", "the API server is away"},
		"it is not to have one":    {leads(), "", ""},
	} {
		in, _, _ := upCluster(t, nil)
		in.management.Way = test.way
		got, err := in.management.distribute(t.Context(), in.key, known{}, "new", silent)
		if (err == nil) != (test.fails == "") || err != nil && !strings.HasPrefix(err.Error(), test.fails) || (got.had == nil) != (test.had == "") || got.had != nil && idIn(got.had.Data[keyClouds]) != test.had || got.restarted != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestWhereACredentialGoes on a cluster: that of the cloud provider, where the release puts what reads it.
func TestWhereACredentialGoes(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]map[string]any{"inside": {"addons": map[string]any{"openstack": map[string]any{"targetNamespace": "inside"}}}, "openstack-system": {"addons": map[string]any{"openstack": map[string]any{"targetNamespace": ""}}}} {
		if got := cloudNamespace(known{release: &release.Release{Config: config}}); got != want {
			t.Errorf("%v: %s", config, got)
		}
	}
	if got := cloudNamespace(known{}); got != "openstack-system" {
		t.Errorf("without a release: %s", got)
	}
	both := &corev1.Secret{Data: map[string][]byte{keyClouds: cloudsOf("capi"), keyCloudProvider: cloudsOf("ccm")}}
	if got := insideID(both); got != "ccm" {
		t.Errorf("of two: %s", got)
	}
	delete(both.Data, keyCloudProvider)
	if got := insideID(both); got != "capi" {
		t.Errorf("of one: %s", got)
	}
	if !errors.Is(orCause(t.Context(), errAway), errAway) {
		t.Error("an error that ended a wait is lost")
	}
}
