package lifecycle

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// world is a management cluster's API server with stand-ins for the controllers of
// Cluster API.
type world struct {
	server *kubetest.Server
	kube   *kube.Cluster
	client client.Client

	mu sync.Mutex
	// held are namespaces in which nothing becomes ready, kept those in which nothing
	// goes.
	held, kept map[string]bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{server: kubetest.Start(t), held: map[string]bool{}, kept: map[string]bool{}}
	var definitions [][]byte
	for _, text := range addons.Definitions() {
		definitions = append(definitions, text)
	}
	ours, err := vnflcm.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range ours {
		definitions = append(definitions, text)
	}
	w.server.Define(t, definitions...)
	w.server.Config.QPS = -1
	if w.kube, err = kube.New(w.server.Config); err != nil {
		t.Fatal(err)
	}
	if w.client, err = client.New(w.server.Config, client.Options{Scheme: scheme(t)}); err != nil {
		t.Fatal(err)
	}
	work, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); w.control(work) }()
	t.Cleanup(func() { stop(); <-ended })
	return w
}

func scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) set(flags map[string]bool, namespace string, value bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	flags[namespace] = value
}

func (w *world) is(flags map[string]bool, namespace string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return flags[namespace]
}

// build makes the package of the example under a name, with a Kubernetes version.
func build(t *testing.T, name, version string) *csar.Package {
	t.Helper()
	return buildAs(t, csar.Raw, name, version)
}

// buildAs makes it in a variant.
func buildAs(t *testing.T, variant csar.Variant, name, version string) *csar.Package {
	t.Helper()
	text, err := os.ReadFile("../../csar/testdata/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := csar.ParseSpec("shop.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	spec.Name = name
	spec.Values["kubernetesVersion"], spec.Values["machineImage"] = version, "node-"+version
	types := map[string][]byte{"etsi_nfv_sol001_common_types.yaml": []byte("x"), "etsi_nfv_sol001_vnfd_types.yaml": []byte("x")}
	p, err := csar.Workload(spec, csar.Options{Variant: variant, Types: types})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// onboard stores a package, with manifests added to it.
func (w *world) onboard(t *testing.T, p *csar.Package, more ...string) *csar.Package {
	t.Helper()
	text, err := p.Zip()
	if err != nil {
		t.Fatal(err)
	}
	if len(more) > 0 {
		text = rewrite(t, text, p.Deploy[0], func(old []byte) []byte { return append(old, "\n---\n"+strings.Join(more, "\n---\n")...) })
	}
	return w.offer(t, p, text)
}

// offer stores a package's bytes, over those that are there.
func (w *world) offer(t *testing.T, p *csar.Package, text []byte) *csar.Package {
	t.Helper()
	o := &v1alpha1.VNFPackage{ObjectMeta: metav1.ObjectMeta{Name: p.ID}, Spec: v1alpha1.VNFPackageSpec{Content: text}}
	err := w.client.Create(t.Context(), o)
	if apierrors.IsAlreadyExists(err) {
		patch := client.MergeFrom(&v1alpha1.VNFPackage{ObjectMeta: metav1.ObjectMeta{Name: p.ID}})
		err = w.client.Patch(t.Context(), o, patch)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// rewrite changes a file of a package, and corrects its digest.
func rewrite(t *testing.T, packed []byte, file string, change func([]byte) []byte) []byte {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	files, order := map[string][]byte{}, []string{}
	for _, f := range in.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		order = append(order, f.Name)
	}
	sum := func(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }
	old := sum(files[file])
	files[file] = change(files[file])
	const meta = "TOSCA-Metadata/TOSCA.meta"
	files[meta] = bytes.Replace(files[meta], []byte(old), []byte(sum(files[file])), 1)
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	for _, name := range order {
		f, err := out.Create(name)
		if err == nil {
			_, err = f.Write(files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// eventually waits for something.
func eventually(t *testing.T, what string, look func() (bool, string)) {
	t.Helper()
	why := ""
	for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		var ok bool
		if ok, why = look(); ok {
			return
		}
	}
	t.Fatalf("%s: %s", what, why)
}
