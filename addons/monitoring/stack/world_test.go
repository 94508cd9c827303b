package stack_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/slipway-sh/slipway/addons/monitoring/stack"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// patience is how long anything may take; Prometheus looks twice a minute.
const patience = 5 * time.Minute

// world is a real API server, whose controllers make the pods of the stack, and the programs
// of the bundle's images, each as its pod would have it run: with the files, the user, the
// arguments and the token that the pod has. There is no node, so nobody else would run them.
type world struct {
	*testing.T
	on       *kube.Cluster
	server   *kubetest.Server
	folder   *bundle.Folder
	settings stack.Settings
	// outside is an address of this machine that is not loopback, which the API server
	// leads no one to.
	outside string
	// collector is the program that follows the logs of pods.
	collector *podProgram
	// node is a folder with the files of a node.
	node string
	// ended names a program that ended by itself.
	ended atomic.Pointer[string]
}

// fine ends the test on an error.
func (w *world) fine(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// until waits for something to be true.
func (w *world) until(what string, try func() error) {
	w.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if gone := w.ended.Load(); gone != nil {
			w.Fatalf("%s: %v: %s has ended", what, err, *gone)
		}
		if time.Now().After(end) {
			w.Fatalf("%s: %v", what, err)
		}
	}
}

// pod waits for the pod that a controller of Kubernetes makes.
func (w *world) pod(namespace, name string) *corev1.Pod {
	w.Helper()
	var found *corev1.Pod
	w.until("pod of "+name, func() error {
		list, err := w.on.Typed.CoreV1().Pods(namespace).List(w.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + name})
		if err == nil && len(list.Items) != 1 {
			err = fmt.Errorf("there are %d", len(list.Items))
		}
		if err == nil {
			found = &list.Items[0]
		}
		return err
	})
	return found
}

// running writes what the scheduler and a kubelet would of a pod. One without a node is in
// no Service.
func (w *world) running(pod *corev1.Pod, ip string) {
	w.Helper()
	if pod.Spec.NodeName == "" {
		w.fine(w.on.Typed.CoreV1().Pods(pod.Namespace).Bind(w.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}, metav1.CreateOptions{}))
	}
	w.until("the status of "+pod.Name, func() error {
		now, err := w.on.Typed.CoreV1().Pods(pod.Namespace).Get(w.Context(), pod.Name, metav1.GetOptions{})
		if err == nil {
			now.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}}
			_, err = w.on.Typed.CoreV1().Pods(pod.Namespace).UpdateStatus(w.Context(), now, metav1.UpdateOptions{})
		}
		return err
	})
}

// run runs the program of a pod at an address, until the test ends.
func (w *world) run(item, namespace, name, ip string, more ...string) *podProgram {
	w.Helper()
	pod := w.pod(namespace, name)
	container := pod.Spec.Containers[0]
	root := filepath.Join(w.TempDir(), name)
	w.unpack(item, root)
	binds := w.volumes(pod, root)
	user := fmt.Sprintf("%d:%d", *pod.Spec.SecurityContext.RunAsUser, *pod.Spec.SecurityContext.RunAsGroup)
	script := "mkdir -p \"$0/proc\" && mount --rbind /proc \"$0/proc\" && "
	for inside, of := range binds {
		script += fmt.Sprintf("mkdir -p \"$0%[1]s\" && mount --rbind %[2]s \"$0%[1]s\" && ", inside, of)
	}
	script += `exec chroot --userspec=` + user + ` "$0" "$@"`
	// There is no DNS.
	w.files(filepath.Join(root, "etc"), map[string]string{"hosts": w.outside + " " + stack.Loki + "." + stack.Namespace + "\n"})
	p := &podProgram{world: w, name: name, words: append(append([]string{"/bin/sh", "-c", script, root}, append(container.Command, container.Args...)...), more...), env: w.environment(container)}
	p.launch()
	w.Cleanup(p.halt)
	w.running(pod, ip)
	return p
}

// environment are the variables of a container.
func (w *world) environment(c corev1.Container) []string {
	w.Helper()
	api, err := url.Parse(w.server.Config.Host)
	w.fine(err)
	all := []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "KUBERNETES_SERVICE_HOST=" + api.Hostname(), "KUBERNETES_SERVICE_PORT=" + api.Port()}
	for _, v := range c.Env {
		value := v.Value
		if v.ValueFrom != nil && v.ValueFrom.FieldRef != nil && v.ValueFrom.FieldRef.FieldPath == "spec.nodeName" {
			value = "n1"
		}
		all = append(all, v.Name+"="+value)
	}
	return all
}

// unpack writes the files of an image; another process does, so that they can be run.
func (w *world) unpack(name, dir string) {
	w.Helper()
	item := w.folder.Bill().Item(name)
	if item == nil {
		w.Fatalf("the bundle contains no %s", name)
	}
	image, err := w.folder.Image(*item)
	w.fine(err)
	w.fine(os.MkdirAll(dir, 0o755))
	w.fine(os.Chmod(filepath.Dir(dir), 0o755))
	files := mutate.Extract(image)
	defer files.Close()
	cmd := exec.CommandContext(w.Context(), "tar", "-x", "--no-same-owner", "-C", dir, "-f", "-")
	cmd.Stdin = files
	if said, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("unpacking %s: %v: %s", name, err, said)
	}
}

// volumes writes the volumes of a pod and its token as files; folders of the host are to be
// mounted.
func (w *world) volumes(pod *corev1.Pod, root string) (binds map[string]string) {
	w.Helper()
	binds = map[string]string{}
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		at := filepath.Join(root, mount.MountPath)
		for _, v := range pod.Spec.Volumes {
			switch {
			case v.Name != mount.Name:
			case v.HostPath != nil:
				binds[mount.MountPath] = w.host(v.HostPath.Path)
			case v.PersistentVolumeClaim != nil, v.EmptyDir != nil:
				w.fine(os.MkdirAll(at, 0o755))
				w.fine(os.Chown(at, int(*pod.Spec.SecurityContext.FSGroup), int(*pod.Spec.SecurityContext.FSGroup)))
			default:
				w.files(at, w.content(pod.Namespace, v))
			}
		}
	}
	if automount := pod.Spec.AutomountServiceAccountToken; automount == nil || *automount {
		token, err := w.on.Typed.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(w.Context(), pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		w.fine(err)
		w.files(filepath.Join(root, "var/run/secrets/kubernetes.io/serviceaccount"), map[string]string{"token": token.Status.Token,
			"ca.crt": string(w.server.Config.CAData), "namespace": pod.Namespace})
	}
	return binds
}

func (w *world) content(namespace string, v corev1.Volume) map[string]string {
	w.Helper()
	files := map[string]string{}
	switch {
	case v.ConfigMap != nil:
		found, err := w.on.Typed.CoreV1().ConfigMaps(namespace).Get(w.Context(), v.ConfigMap.Name, metav1.GetOptions{})
		w.fine(err)
		files = found.Data
	case v.Secret != nil:
		found, err := w.on.Typed.CoreV1().Secrets(namespace).Get(w.Context(), v.Secret.SecretName, metav1.GetOptions{})
		w.fine(err)
		for name, text := range found.Data {
			files[name] = string(text)
		}
	}
	return files
}

func (w *world) files(dir string, files map[string]string) {
	w.Helper()
	w.fine(os.MkdirAll(dir, 0o755))
	for name, text := range files {
		w.fine(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}

// newWorld applies the stack to a server that has the definitions of Cluster API.
func newWorld(t *testing.T) *world {
	t.Helper()
	built := os.Getenv("SLIPWAY_MONITORING")
	if built == "" {
		t.Skip("SLIPWAY_MONITORING names no bundle with monitoring: run make monitoring-test")
	}
	if os.Geteuid() != 0 {
		t.Skip("programs of images are run by chroot, which needs root")
	}
	w := &world{T: t, server: kubetest.Start(t), outside: ownAddress(t), node: t.TempDir()}
	var err error
	w.folder, err = bundle.Open(built)
	w.fine(err)
	w.on, err = kube.New(w.server.Config)
	w.fine(err)
	w.server.Define(t)
	w.settings = stack.Settings{Environment: "demo", Retention: "2160h", VolumeGiB: 10, AlertRetention: "168h", AlertVolumeGiB: 10, Logs: &stack.Logs{Retention: "744h", VolumeGiB: 10},
		Images: stack.Images{Prometheus: component.PrometheusImage, Alertmanager: component.AlertmanagerImage, NodeExporter: component.NodeExporterImage, KubeStateMetrics: component.KubeStateMetricsImage,
			Loki: component.LokiImage, LogCollector: component.LogCollectorImage}}
	w.fine(stack.Apply(t.Context(), w.on, w.settings))
	return w
}

// start runs all programs. Those that the API server leads to are where it leads.
func (w *world) start() {
	w.Helper()
	w.run(component.AlertmanagerImage, stack.Namespace, stack.Alertmanager, w.outside, "--web.listen-address="+w.outside+":9093")
	w.run(component.KubeStateMetricsImage, stack.Namespace, stack.StateMetrics, "127.77.0.3", "--host=127.77.0.3", "--telemetry-host=127.77.0.3")
	w.run(component.NodeExporterImage, stack.NodesNamespace, stack.NodeExporter, "127.77.0.4", "--web.listen-address=127.77.0.4:9100")
	w.run(component.LokiImage, stack.Namespace, stack.Loki, w.outside, "-server.http-listen-address="+w.outside)
	w.collector = w.run(component.LogCollectorImage, stack.NodesNamespace, stack.LogCollector, "127.77.0.5")
	w.run(component.PrometheusImage, stack.Namespace, stack.Prometheus, w.outside, "--web.listen-address="+w.outside+":9090")
}

// host is where a folder of the node is: those of pods' logs and of the collector are the test's.
func (w *world) host(path string) string {
	if !strings.HasPrefix(path, "/var/") {
		return path
	}
	own := filepath.Join(w.node, path)
	w.fine(os.MkdirAll(own, 0o755))
	return own
}

// gone waits until an object is not there.
func (w *world) gone(what string, get func(context.Context) error) {
	w.Helper()
	w.until(what+" is still there", func() error {
		if err := get(w.Context()); !kube.Absent(err) {
			return fmt.Errorf("%v", err)
		}
		return nil
	})
}

func lines(all ...string) string { return strings.Join(all, "\n") + "\n" }
