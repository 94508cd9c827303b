package workload

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// tenancy is a cluster that is up: the same API server, with a namespace for what talks to
// OpenStack. Stand-ins do what the addon provider, kubelets, Cluster API's provider and the
// cloud controller manager do with credentials.
type tenancy struct {
	*world
	key    Key
	inside string

	mu sync.Mutex
	// pods is what the pods of each reader read at their start.
	pods map[string][]byte
	// refused are the calls that a credential failed.
	refused []string
}

func (w *world) tenancy(name string) *tenancy {
	w.Helper()
	t := &tenancy{world: w, inside: name + "-inside", pods: map[string][]byte{}}
	m := *w.Management
	m.Way = func(context.Context, string, string) (*rest.Config, string, error) {
		return w.server.Config, "here", nil
	}
	t.world = &world{T: w.T, Management: &m, server: w.server, box: w.box, cloud: w.cloud}
	t.key, _ = t.create(wanted(w.T, name, small+"\naddons: {openstack: {targetNamespace: "+t.inside+"}}"))
	ctx := w.Context()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.inside}}
	if _, err := w.Kube.Typed.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	t.hand(ctx)
	apps := w.Kube.Typed.AppsV1()
	for _, name := range []string{"ccm", "csi", "other"} {
		template, selector := t.template(name)
		if _, err := apps.Deployments(t.inside).Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}}, metav1.CreateOptions{}); err != nil {
			w.Fatal(err)
		}
	}
	template, selector := t.template("node") // without nodes it has no pods
	if _, err := apps.DaemonSets(t.inside).Create(ctx, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	return t
}

// template is that of pods which read the Secret, but for "other".
func (t *tenancy) template(name string) (corev1.PodTemplateSpec, *metav1.LabelSelector) {
	labels := map[string]string{"app": name}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if name != "other" {
		template.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: cloudConfig}}}}
	}
	return template, &metav1.LabelSelector{MatchLabels: labels}
}

// hand writes the cluster's Secret onto the cluster, as the addon provider does.
func (t *tenancy) hand(ctx context.Context) {
	secrets := t.Kube.Typed.CoreV1()
	source, err := secrets.Secrets(t.key.Namespace).Get(ctx, SecretName(t.key.Name), metav1.GetOptions{})
	if err != nil {
		return
	}
	clouds := source.Data[keyClouds]
	if second := source.Data[keyCloudProvider]; len(second) > 0 {
		clouds = second
	}
	target := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: cloudConfig}, Data: map[string][]byte{keyClouds: clouds}}
	if _, err := secrets.Secrets(t.inside).Update(ctx, target, metav1.UpdateOptions{}); err != nil {
		_, _ = secrets.Secrets(t.inside).Create(ctx, target, metav1.CreateOptions{})
	}
}

// run runs the stand-ins until stop, which tells what credentials failed.
func (t *tenancy) run() (stop func() []string) {
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for _, stand := range []func(context.Context){t.hand, t.kubelets, t.provider, t.controllers} {
		group.Go(func() {
			for ctx.Err() == nil {
				stand(ctx)
				time.Sleep(300 * time.Millisecond)
			}
		})
	}
	return func() []string {
		cancel()
		group.Wait()
		return t.refused
	}
}

// kubelets start pods: each reads the Secret then, and never again.
func (t *tenancy) kubelets(ctx context.Context) {
	const running = `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`
	pods := t.Kube.Typed.CoreV1().Pods(t.inside)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, pod := range list.Items {
		if pod.Status.Phase == corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		if name := pod.Labels["app"]; name != "other" {
			t.start1(ctx, name)
		}
		_, _ = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(running), metav1.PatchOptions{}, "status")
	}
}

func (t *tenancy) start1(ctx context.Context, pod string) {
	secret, err := t.Kube.Typed.CoreV1().Secrets(t.inside).Get(ctx, cloudConfig, metav1.GetOptions{})
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pods[pod] = secret.Data[keyClouds]
}

// provider is Cluster API's: it reads the Secret for each reconciliation.
func (t *tenancy) provider(ctx context.Context) {
	secret, err := t.Kube.Typed.CoreV1().Secrets(t.key.Namespace).Get(ctx, SecretName(t.key.Name), metav1.GetOptions{})
	if err == nil {
		t.uses(ctx, "provider", secret.Data[keyClouds])
	}
}

func (t *tenancy) controllers(ctx context.Context) {
	t.mu.Lock()
	pods := []string{"csi", "ccm"}
	read := [][]byte{t.pods["csi"], t.pods["ccm"]}
	t.mu.Unlock()
	for i, clouds := range read {
		if clouds != nil {
			t.uses(ctx, pods[i], clouds)
		}
	}
}

func (t *tenancy) uses(ctx context.Context, who string, clouds []byte) {
	err := listServers(ctx, clouds)
	if err != nil && ctx.Err() == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		// A pod that was replaced between reading and calling is gone.
		if who == "provider" || string(t.pods[who]) == string(clouds) {
			t.refused = append(t.refused, fmt.Sprintf("%s, with %s: %v", who, idIn(clouds), err))
		}
	}
}

func listServers(ctx context.Context, clouds []byte) error {
	opened, err := cloud.Open(ctx, cloud.Options{Cloud: "openstack", CloudsYAML: clouds})
	if err != nil {
		return err
	}
	defer opened.Close()
	client, err := opened.Compute()
	if err != nil {
		return err
	}
	_, err = servers.List(client, nil).AllPages(ctx)
	return err
}
