package inside

import (
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// TestARealClusterTellsItsCauses: a real API server with a webhook that nobody answers for,
// whose words come from Kubernetes' own controllers, a node without network plugin, and a
// pod with an image that does not exist, as a kubelet writes them. Nothing of a tenant's
// namespace is read.
func TestARealClusterTellsItsCauses(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	client, err := kubernetes.NewForConfig(server.Config)
	check(t, err)
	if i := Ask(t.Context(), server.Config, "here"); i.Unreachable != nil || len(i.Missing) > 0 || len(i.Failing) > 0 || i.Version == "" || !i.Expires.After(time.Now()) || i.Ahead.Abs() > 2*time.Second {
		t.Fatalf("of a server that is well: %+v", i)
	}
	node(t, client)
	sickPod(t, client, "kube-system", "calico-node-x")
	sickPod(t, client, "shop", "db-0")
	blocked(t, client)
	var inside *cause.Inside
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		began := time.Now()
		inside = Ask(t.Context(), server.Config, "here")
		if took := time.Since(began); took > patience+time.Second {
			t.Errorf("it took %s", took)
		}
		// Kubernetes warns of other things, too, while it starts.
		if slices.ContainsFunc(inside.Warnings, func(w cause.Warning) bool { return strings.Contains(w.Message, "failed calling webhook") }) || time.Now().After(end) {
			break
		}
	}
	for _, p := range inside.Pods {
		if p.Namespace != "kube-system" {
			t.Errorf("pod %s/%s is the tenant's", p.Namespace, p.Name)
		}
	}
	a := cause.Explain(cause.Snapshot{Objects: shop(), Cloud: &cause.Cloud{}, Inside: inside, Now: time.Now().Add(3 * time.Minute)})
	told := map[string]cause.Finding{}
	for _, f := range a.Findings {
		t.Logf("%s [%s] %v then %v", f.Line(), f.Reason, f.Evidence, f.Consequences)
		told[f.Reason+" of "+f.Object.String()] = f
	}
	hook, ok := told["cluster-webhook-down of webhook check.example.com"]
	if !ok || !strings.Contains(strings.Join(hook.Evidence, " "), "failed calling webhook") || !strings.Contains(hook.Cause, "no ready endpoints") {
		t.Errorf("webhook: %+v", hook)
	}
	if _, ok := told["image-pull of container image quay.io/calico/node:v9"]; !ok || len(told) != 2 {
		t.Errorf("the node without network plugin waits for the image that is not there: %v", told)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func shop() cause.Objects {
	return cause.Objects{"Cluster": {object(`{"kind":"Cluster","metadata":{"name":"shop","namespace":"prod"}}`)}}
}

// node is one that waits for its network plugin.
func node(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	_, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}, metav1.CreateOptions{})
	check(t, err)
	// Kubernetes' controllers write the node at the same time.
	check(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		n, err := client.CoreV1().Nodes().Get(t.Context(), "w1", metav1.GetOptions{})
		if err != nil {
			return err
		}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			Message: "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"}}
		n.Status.NodeInfo.KubeletVersion = "v1.33.9"
		_, err = client.CoreV1().Nodes().UpdateStatus(t.Context(), n, metav1.UpdateOptions{})
		return err
	}))
}

// sickPod is one whose image does not exist.
func sickPod(t *testing.T, client kubernetes.Interface, namespace, name string) {
	t.Helper()
	if namespace != metav1.NamespaceSystem {
		_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		check(t, err)
	}
	image := "quay.io/calico/node:v9"
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: "w1", AutomountServiceAccountToken: ptr.To(false),
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, Containers: []corev1.Container{{Name: "main", Image: image}}}}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) { // until the namespace has its service account
		_, err := client.CoreV1().Pods(namespace).Create(t.Context(), p, metav1.CreateOptions{})
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	check(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		p, err := client.CoreV1().Pods(namespace).Get(t.Context(), p.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		p.Status.Phase = corev1.PodPending
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Image: image, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff",
			Message: `Back-off pulling image "quay.io/calico/node:v9": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image "quay.io/calico/node:v9": quay.io/calico/node:v9: not found`}}}}
		_, err = client.CoreV1().Pods(namespace).UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
		return err
	}))
}

// blocked is a webhook for pods of one namespace whose service has no endpoints, and a
// Deployment that it keeps from having pods.
func blocked(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hook-system"}}, metav1.CreateOptions{})
	check(t, err)
	_, err = client.CoreV1().Services("hook-system").Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "hook"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}},
		Selector: map[string]string{"app": "hook"}}}, metav1.CreateOptions{})
	check(t, err)
	none := admissionv1.SideEffectClassNone
	_, err = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "check"},
		Webhooks: []admissionv1.ValidatingWebhook{{Name: "check.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: ptr.To[int32](1),
			ClientConfig:      admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "hook-system", Name: "hook"}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "hook-system"}},
			Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create}, Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
				Resources: []string{"pods"}}}}}}}, metav1.CreateOptions{})
	check(t, err)
	labels := map[string]string{"app": "hook"}
	_, err = client.AppsV1().Deployments("hook-system").Create(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "hook"}, Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/hook:1"}}}}}}, metav1.CreateOptions{})
	check(t, err)
}
