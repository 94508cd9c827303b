package velero_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/slipway-sh/slipway/addons/velero"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/s3test"
)

// patience is how long anything of Velero may take; its own loops run once a minute.
const patience = 4 * time.Minute

// world is a real API server with the objects of Velero, a real S3 server, and the server
// of the bundle's image with the rights of its ServiceAccount.
type world struct {
	*testing.T
	on          *kube.Cluster
	server      *kubetest.Server
	store       s3test.Server
	definitions []*unstructured.Unstructured
	settings    velero.Settings
	// dir has the files of both images, kubeconfig is of the ServiceAccount.
	dir, kubeconfig string
	// ended says that the server has ended.
	ended atomic.Bool
}

const bucket = "velero"

func newWorld(t *testing.T, s velero.Schedule) *world {
	t.Helper()
	built := os.Getenv("SLIPWAY_VELERO")
	if built == "" {
		t.Skip("SLIPWAY_VELERO names no bundle with Velero: run make velero-test")
	}
	w := &world{T: t, dir: t.TempDir(), store: s3test.Start(t, bucket), server: kubetest.Start(t)}
	folder, err := bundle.Open(built)
	w.fine(err)
	w.on, err = kube.New(w.server.Config)
	w.fine(err)
	for _, name := range []string{component.VeleroImage, component.VeleroPluginImage} {
		w.unpack(folder, name)
	}
	text, err := os.ReadFile(filepath.Join(built, folder.Bill().Item(component.VeleroDefinitions).Path))
	w.fine(err)
	w.definitions, err = kube.Decode(bytes.NewReader(text))
	w.fine(err)
	w.settings = velero.Settings{Image: "velero", PluginImage: "plugin", Bucket: bucket, Prefix: "demo", Endpoint: "http://" + w.store.Address, Region: "default", PathStyle: true,
		Credentials: "[default]\naws_access_key_id = key\naws_secret_access_key = secret\n", Schedule: s}
	w.fine(velero.Apply(t.Context(), w.on, w.definitions, w.settings))
	w.login()
	return w
}

func (w *world) fine(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// unpack writes the files of an image; another process does, so that they can be run.
func (w *world) unpack(folder *bundle.Folder, name string) {
	w.Helper()
	image, err := folder.Image(*folder.Bill().Item(name))
	w.fine(err)
	files := mutate.Extract(image)
	defer files.Close()
	cmd := exec.CommandContext(w.Context(), "tar", "-x", "--no-same-owner", "-C", w.dir, "-f", "-")
	cmd.Stdin = files
	if said, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("unpacking %s: %v: %s", name, err, said)
	}
}

// login writes a kubeconfig of the ServiceAccount: Velero gets no right that the chart does not give.
func (w *world) login() {
	w.Helper()
	token, err := w.on.Typed.CoreV1().ServiceAccounts(velero.Namespace).CreateToken(w.Context(), "velero", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	w.fine(err)
	config, err := clientcmd.Load(w.server.Kubeconfig)
	w.fine(err)
	for _, user := range config.AuthInfos {
		user.ClientCertificateData, user.ClientKeyData, user.Token = nil, nil, token.Status.Token
	}
	w.kubeconfig = filepath.Join(w.dir, "kubeconfig")
	w.fine(clientcmd.WriteToFile(*config, w.kubeconfig))
}

func (w *world) command(ctx context.Context, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(w.dir, "velero"), arguments...)
	for _, folder := range []string{"tmp", "scratch"} {
		w.fine(os.MkdirAll(filepath.Join(w.dir, folder), 0o700))
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "KUBECONFIG=" + w.kubeconfig, "VELERO_NAMESPACE=" + velero.Namespace,
		"VELERO_SCRATCH_DIR=" + filepath.Join(w.dir, "scratch"), "TMPDIR=" + filepath.Join(w.dir, "tmp")}
	return cmd
}

// serve runs the server until the test ends, with the arguments of the Deployment. One of its
// ports, 8080, cannot be chosen.
func (w *world) serve() {
	w.Helper()
	port, err := kubetest.FreePorts(2)
	w.fine(err)
	deployment, err := w.on.Typed.AppsV1().Deployments(velero.Namespace).Get(w.Context(), velero.Name, metav1.GetOptions{})
	w.fine(err)
	pod := deployment.Spec.Template.Spec
	if got := strings.Join(pod.Containers[0].Command, " "); got != "/velero" || pod.ServiceAccountName != "velero" {
		w.Fatalf("the Deployment runs %q as %s", got, pod.ServiceAccountName)
	}
	said := &bytes.Buffer{}
	ctx, stop := context.WithCancel(context.Background())
	cmd := w.command(ctx, append(pod.Containers[0].Args, "--plugin-dir", filepath.Join(w.dir, "plugins"),
		"--metrics-address", fmt.Sprintf("127.0.0.1:%d", port), "--profiler-address", fmt.Sprintf("127.0.0.1:%d", port+1))...)
	cmd.Stdout, cmd.Stderr = said, said
	w.fine(cmd.Start())
	over := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		w.ended.Store(true)
		close(over)
	}()
	w.Cleanup(func() {
		stop()
		<-over
		if w.Failed() {
			text := said.String()
			w.Logf("velero said:\n%s", text[max(0, len(text)-20000):])
		}
	})
}

// list are the objects of a kind of Velero's.
func (w *world) list(kind string) []unstructured.Unstructured {
	w.Helper()
	probe := &unstructured.Unstructured{}
	probe.SetAPIVersion("velero.io/v1")
	probe.SetKind(kind)
	probe.SetNamespace(velero.Namespace)
	client, err := w.on.Resource(probe)
	w.fine(err)
	found, err := client.List(w.Context(), metav1.ListOptions{})
	w.fine(err)
	return found.Items
}

func phase(o unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return text
}

// await waits until an object of a kind, but for the one of a name, has a phase, and returns it.
func (w *world) await(kind, wanted, but string) unstructured.Unstructured {
	w.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		var phases []string
		for _, o := range w.list(kind) {
			if phase(o) == wanted && o.GetName() != but {
				return o
			}
			phases = append(phases, o.GetName()+" "+phase(o))
		}
		if time.Now().After(end) || w.ended.Load() {
			w.Fatalf("no %s is %s: %v", kind, wanted, phases)
		}
	}
}

// stored reads the file of a backup's objects from the bucket.
func (w *world) stored(backup string) []byte {
	w.Helper()
	file, err := os.Open(filepath.Join(w.store.Folder, bucket, "demo", "backups", backup, backup+".tar.gz"))
	w.fine(err)
	defer file.Close()
	cmd := exec.CommandContext(w.Context(), "tar", "-tz")
	cmd.Stdin = io.Reader(file)
	list, err := cmd.Output()
	w.fine(err)
	return list
}

// keep makes something that a backup must have.
func (w *world) keep(name string) {
	w.Helper()
	_, err := w.on.Typed.CoreV1().ConfigMaps("default").Create(w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": "b"}}, metav1.CreateOptions{})
	w.fine(err)
}

// refused waits until something is forbidden: the API server hears of a binding's end a moment later.
func (w *world) refused(what string, try func() error) {
	w.Helper()
	for end := time.Now().Add(patience); !apierrors.IsForbidden(try()); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("Velero %s without a right to", what)
		}
	}
}

// itself is a client with Velero's rights.
func (w *world) itself() *kube.Cluster {
	w.Helper()
	text, err := os.ReadFile(w.kubeconfig)
	w.fine(err)
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	w.fine(err)
	as, err := kube.New(config)
	w.fine(err)
	return as
}

// run runs the image's program as a client.
func (w *world) run(arguments ...string) {
	w.Helper()
	if said, err := w.command(w.Context(), arguments...).CombinedOutput(); err != nil {
		w.Fatalf("velero %v: %v: %s", arguments, err, said)
	}
}
