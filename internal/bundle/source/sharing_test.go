package source

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// apart are the groups that do not select the shared versions, and why. It can only shrink.
func apart() map[string]string {
	return map[string]string{
		"k3s":          "its forks of containerd, etcd and others replace modules",
		"kubernetes":   "the versions that Kubernetes is tested with",
		"conformance":  "those of kubernetes, which has most of its packages",
		"cert-manager": "Kubernetes' libraries v0.36",
		"cni-flannel":  "a release of 2021, which knows no newer ones",
		"velero":       "an option, with newer libraries of clouds than the program's",
		"monitoring":   "an option, with a client of Prometheus that is not released",
		"loki":         "an option, with libraries that it replaces by forks",
		"collector":    "an option, whose parts ask for each other's versions",
		"ingress":      "an option, with Kubernetes' libraries v0.36",
		"flux":         "an option, with newer libraries of OpenAPI and kustomize than the program's",
		"cilium":       "an option, with Kubernetes' libraries v0.36",
		"kind":         "files only, nothing is compiled",
		"charts":       "files only, nothing is compiled",
	}
}

// otherwise are the modules of which a group that shares has a version of its own, and why. It
// can only shrink.
func otherwise() map[string]map[string]string {
	const (
		etcd    = "etcd tells its own version by that of this module"
		plugins = "the group's own version of CNI's plugins, the one that the catalogue has or that containerd is tested with"
		newer   = "asks for a newer one than the program's"
		cri     = "its types have the fields and methods that this containerd is written for"
	)
	return map[string]map[string]string{
		"etcd": {"go.etcd.io/etcd/api/v3": etcd, "go.etcd.io/etcd/client/pkg/v3": etcd, "go.etcd.io/etcd/client/v3": etcd},
		"cni":  {"github.com/containernetworking/plugins": plugins, "github.com/coreos/go-systemd/v22": newer, "github.com/mdlayher/socket": newer},
		"containerd": {"github.com/containernetworking/plugins": plugins, "github.com/containerd/platforms": newer, "github.com/mdlayher/socket": newer,
			"k8s.io/cri-api": cri, "k8s.io/kubelet": cri,
			"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc": "later ones have no interceptors, which containerd calls"},
		"runc": {"github.com/cyphar/filepath-securejoin": "keeps containers out of the host's files: the one that this runc is tested with"},
	}
}

// selection is what a go.mod selects and replaces.
func selection(t *testing.T, name string, text []byte, err error) (versions map[string]string, file *modfile.File) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	file, err = modfile.Parse(name, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions = map[string]string{}
	for _, r := range file.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	return versions, file
}

// Two versions of a module compile it, and all that imports it, twice: minutes of a build from
// nothing.
func TestGroupsThatShareSelectTheSameVersions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../go.mod")
	chosen, _ := selection(t, "go.mod", text, err)
	by := map[string]string{}
	for module := range chosen {
		by[module] = "go.mod"
	}
	for _, group := range sharing() {
		text, err := modules.ReadFile("modules/" + group + ".mod")
		versions, file := selection(t, group+".mod", text, err)
		excepted := otherwise()[group]
		for _, module := range slices.Sorted(maps.Keys(versions)) {
			version := versions[module]
			reason, ok := excepted[module]
			delete(excepted, module)
			switch {
			case chosen[module] == "" && !ok:
				chosen[module], by[module] = version, group+".mod"
			case chosen[module] != version && !ok:
				t.Errorf("%s.mod has %s %s, %s %s", group, module, version, by[module], chosen[module])
			case chosen[module] == version && ok:
				t.Errorf("%s.mod has %s as the others: remove the exception (%s)", group, module, reason)
			}
		}
		for module := range excepted {
			t.Errorf("%s.mod has no %s: remove the exception", group, module)
		}
		for _, r := range file.Replace {
			if selected := versions[r.Old.Path]; selected != "" && r.New.Version != selected {
				t.Errorf("%s.mod selects %s %s and replaces it by %s: exclude the version instead, or it is compiled apart", group, r.Old.Path, selected, r.New)
			}
		}
	}
}

// TestGuestsSelectTheVersionsOfTheProduct: `make verify` compiles that program right after the
// product, and has Kubernetes' libraries from there.
func TestGuestsSelectTheVersionsOfTheProduct(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../go.mod")
	product, _ := selection(t, "go.mod", text, err)
	text, err = os.ReadFile("../../../test/devcloud/moving/guests/go.mod")
	guests, _ := selection(t, "guests/go.mod", text, err)
	shared := 0
	for path, version := range guests {
		switch product[path] {
		case "":
		case version:
			shared++
		default:
			t.Errorf("go.mod has %s %s, guests/go.mod %s: run go get %s@%s there", path, product[path], version, path, product[path])
		}
	}
	if shared == 0 {
		t.Error("they have no module in common")
	}
}

func TestEveryGroupSharesOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	files, err := modules.ReadDir("modules")
	if err != nil {
		t.Fatal(err)
	}
	groups := append(slices.Sorted(maps.Keys(apart())), sharing()...)
	slices.Sort(groups)
	var found []string
	for _, file := range files {
		if name := file.Name(); filepath.Ext(name) == ".mod" {
			found = append(found, strings.TrimSuffix(name, ".mod"))
		}
	}
	if slices.Sort(found); !slices.Equal(found, groups) {
		t.Errorf("there are %v; those that share or are apart: %v", found, groups)
	}
}

func TestGroupsThatShareTakeTurns(t *testing.T) {
	t.Parallel()
	turns := map[string]bool{}
	for _, group := range sharing() {
		turns[turn(group)] = true
	}
	if len(turns) != 1 || turns[turn("k3s")] || turn("k3s") == turn("kubernetes") || turn("") != "" {
		t.Errorf("groups that share wait for %v, k3s for %q, kubernetes for %q", turns, turn("k3s"), turn("kubernetes"))
	}
}
