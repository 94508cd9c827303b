package upstream_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/upstream"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
)

// internet is a site that stands for every host, by the path https/HOST/PATH.
func internet(t *testing.T, files map[string][]byte) (*site, upstream.Options) {
	t.Helper()
	byPath := map[string][]byte{}
	for url, file := range files {
		byPath[strings.Replace(url, "://", "/", 1)] = file
	}
	s := newSite(t, byPath)
	return s, upstream.Options{Backoff: time.Millisecond, Transport: s.Client().Transport, Mirrors: map[string]string{
		"https://github.com": s.URL + "/https/github.com", "https://dl.k8s.io": s.URL + "/https/dl.k8s.io",
		"https://charts.jetstack.io": s.URL + "/https/charts.jetstack.io",
	}}
}

func components(t *testing.T, names ...string) []component.Component {
	t.Helper()
	var all []component.Component
	for _, name := range names {
		c, ok := component.Find(name)
		if !ok {
			t.Fatalf("the catalogue has no %s", name)
		}
		all = append(all, c)
	}
	return all
}

func urlOf(t *testing.T, name string) string {
	t.Helper()
	from, ok := components(t, name)[0].Upstream()
	if !ok {
		t.Fatalf("%s has no upstream", name)
	}
	return from.URL
}

func TestPinThenPull(t *testing.T) {
	t.Parallel()
	ctr, shim, kubelet := noise(50, 2000), noise(51, 2000), noise(52, 3000)
	chart := archive(t, map[string][]byte{"cert-manager/Chart.yaml": []byte("name: cert-manager")})
	index := fmt.Sprintf(`entries:
  cert-manager:
  - {version: v9.9.9, appVersion: v9.9.9, urls: [charts/new.tgz]}
  - {version: %[1]s-beta.0, appVersion: %[1]s, urls: [charts/beta.tgz]}
  - {version: %[1]s, appVersion: %[1]s, urls: [charts/wanted.tgz], digest: %[2]s}
`, component.CertManagerVersion, sum(chart))
	manifest := []byte("apiVersion: v1\nkind: List\n")
	s, o := internet(t, map[string][]byte{
		urlOf(t, "ctr"):                                archive(t, map[string][]byte{"bin/ctr": ctr, "bin/containerd-shim-runc-v2": shim}),
		urlOf(t, "kubelet"):                            kubelet,
		urlOf(t, "cert-manager"):                       manifest,
		"https://charts.jetstack.io/index.yaml":        []byte(index),
		"https://charts.jetstack.io/charts/wanted.tgz": chart,
	})
	wanted := components(t, "ctr", "containerd-shim-runc-v2", "kubelet", "cert-manager", "cert-manager-chart")
	pins, err := upstream.Pin(t.Context(), wanted, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.seen()); n != 5 {
		t.Errorf("%d requests, want 5: members of an archive share one", n)
	}
	text, err := pins.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if o.Pins, err = component.ParsePins("pins.yaml", text); err != nil {
		t.Fatalf("the file that pin writes: %v\n%s", err, text)
	}
	folder := newFolder(t)
	if err := upstream.Pull(t.Context(), folder, wanted, o); err != nil {
		t.Fatal(err)
	}
	for i, content := range [][]byte{ctr, shim, kubelet, manifest, chart} {
		checkStored(t, folder, wanted[i], content)
	}
}

func TestPinImage(t *testing.T) {
	t.Parallel()
	h, c := newHub(t), imageComponent()
	index := h.pushIndex(t, map[string]v1.Image{"amd64": randomImage(t, "amd64")})
	pins, err := upstream.Pin(t.Context(), []component.Component{c}, h.options())
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := pins.Pin("app"); got != pinnedImage(c, index) {
		t.Errorf("pinned %+v, want the index %s", got, index)
	}
	for _, path := range h.fetched() {
		if strings.HasSuffix(path, "/manifests/latest") {
			t.Error("the tag was lost")
		}
	}
}

// proves: S-24
func TestPinRefusesWhatCannotBeIt(t *testing.T) {
	t.Parallel()
	jetstack := "https://charts.jetstack.io/"
	index := func(digest string) []byte {
		return fmt.Appendf(nil, "entries: {cert-manager: [{version: v1, appVersion: %s, urls: [c.tgz], digest: %q}]}", component.CertManagerVersion, digest)
	}
	gzip := archive(t, map[string][]byte{"a": []byte("b")})
	for name, test := range map[string]struct {
		component string
		files     map[string][]byte
		texts     []string
	}{
		"a page for a program":      {"kubelet", map[string][]byte{"kubelet": []byte("<html>")}, []string{"neither a program nor"}},
		"a page for a manifest":     {"cert-manager", map[string][]byte{"cert-manager": []byte("<html><body>Log in")}, []string{"text/html", "not YAML"}},
		"a page for a chart":        {"cert-manager-chart", map[string][]byte{jetstack + "index.yaml": index(""), jetstack + "c.tgz": []byte("<html>")}, []string{"not a gzip archive"}},
		"nothing there":             {"runc", nil, []string{"404"}},
		"archive without the file":  {"crictl", map[string][]byte{"crictl": gzip}, []string{"the archive has no crictl"}},
		"other than the index says": {"cert-manager-chart", map[string][]byte{jetstack + "index.yaml": index(sum(nil)), jetstack + "c.tgz": gzip}, []string{"expected sha256:" + sum(nil)}},
		"no chart of that version":  {"cert-manager-chart", map[string][]byte{jetstack + "index.yaml": []byte("entries: {}")}, []string{"no chart cert-manager for " + component.CertManagerVersion}},
		"nobody publishes it":       {"node", nil, []string{"not published", "bundle build --only node"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string][]byte{}
			for file, content := range test.files {
				if !strings.Contains(file, "://") {
					file = urlOf(t, file)
				}
				files[file] = content
			}
			_, o := internet(t, files)
			pins, err := upstream.Pin(t.Context(), components(t, test.component), o)
			wantFault(t, err, fault.ExitFailure, append(test.texts, test.component)...)
			if len(pins.Entries) > 0 {
				t.Errorf("pinned %+v", pins.Entries)
			}
		})
	}
}

func TestPinRefusesHTMLByItsHeader(t *testing.T) {
	t.Parallel()
	s, o := internet(t, nil)
	s.before = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("apiVersion: v1"))
		return true
	}
	_, err := upstream.Pin(t.Context(), components(t, "cert-manager"), o)
	wantFault(t, err, fault.ExitFailure, "the server sent text/html")
}

func TestPinReturnsWhatWentWell(t *testing.T) {
	t.Parallel()
	_, o := internet(t, map[string][]byte{urlOf(t, "kubelet"): noise(53, 100)})
	pins, err := upstream.Pin(t.Context(), components(t, "kubelet", "kubectl"), o)
	wantFault(t, err, fault.ExitPartial, "kubectl from", "404")
	if _, ok := pins.Pin("kubelet"); !ok || len(pins.Entries) != 1 {
		t.Errorf("pinned %+v, want kubelet alone", pins.Entries)
	}
}

func TestBadMirrors(t *testing.T) {
	t.Parallel()
	for name, mirror := range map[string]map[string]string{
		"URL to a registry":      {"https://dl.k8s.io": "quay.io"},
		"registry to a URL":      {"quay.io": "https://mirror.test"},
		"no host":                {"https://dl.k8s.io": "https:///path"},
		"plain HTTP":             {"https://dl.k8s.io": "http://mirror.test"},
		"query":                  {"https://dl.k8s.io": "https://mirror.test/?a=b"},
		"no registry host":       {"quay.io": "/path"},
		"a name without a dot":   {"quay.io": "mirror"},
		"other than file or TLS": {"ftp://dl.k8s.io": "https://mirror.test"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := upstream.Pull(t.Context(), newFolder(t), nil, upstream.Options{Mirrors: mirror})
			for from := range maps.Keys(mirror) {
				wantFault(t, err, fault.ExitUsage, "mirror "+from)
			}
		})
	}
}

func TestPrefixOfMirrorEndsAtASlash(t *testing.T) {
	t.Parallel()
	c, file := binary("tool"), noise(54, 100)
	s := newSite(t, map[string][]byte{"tool": file})
	o := s.options(pinned(c, file))
	o.Mirrors[base[:len(base)-3]] = "https://wrong.invalid"
	delete(o.Mirrors, base)
	o.Mirrors[strings.TrimSuffix(base, "/release")] = s.URL + "/other"
	s.files["other/release/tool"] = file
	folder := newFolder(t)
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, o); err != nil {
		t.Fatal(err)
	}
	checkStored(t, folder, c, file)
}

func TestUserPinsComeBesidesBuiltIn(t *testing.T) {
	t.Parallel()
	builtIn, err := component.UpstreamPins()
	if err != nil {
		t.Fatal(err)
	}
	file := noise(55, 100)
	user := component.NewPins()
	user.Set(component.Pin{Name: "k3s", Version: component.K3sVersion, URL: urlOf(t, "k3s"), SHA256: sum(file)})
	if err := builtIn.Merge("pins.yaml", user); err != nil {
		t.Fatal(err)
	}
	_, o := internet(t, map[string][]byte{urlOf(t, "k3s"): file})
	o.Pins = builtIn
	folder := newFolder(t)
	if err := upstream.Pull(t.Context(), folder, components(t, "k3s"), o); err != nil {
		t.Fatal(err)
	}
	if got := folder.Bill().Item("k3s"); got.Kind != bundle.Binary || got.SHA256 != sum(file) {
		t.Errorf("recorded %+v", got)
	}
}
