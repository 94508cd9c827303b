// Command calico makes images and the chart of Calico, for its test, of sources that you give:
// neither Calico nor its operator is available as a module.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/slipway-sh/slipway/test/e2e/imagebundle"
)

// maker makes a bundle and a repository of charts.
type maker struct {
	// calico, operator and api are folders with a release's sources, base is an archive of the root
	// file system below Calico's agent, bundle has the reference plugins of CNI.
	calico, operator, api, base, bundle string
	// dir is where the results go: programs, images and charts.
	dir string
}

func main() {
	var m maker
	flag.StringVar(&m.calico, "calico", "calico", "folder with the sources of a release of projectcalico/calico")
	flag.StringVar(&m.operator, "operator", "operator", "folder with those of the release of tigera/operator that it names")
	flag.StringVar(&m.api, "api", "api", "folder with those of tigera/api at the commit that the operator's go.mod names")
	flag.StringVar(&m.base, "base", "bin/calico.tar", "archive with the root file system that its agent runs in")
	flag.StringVar(&m.bundle, "bundle", "bundle", "bundle with the reference plugins of CNI")
	flag.StringVar(&m.dir, "dir", "bin/calico", "folder for the bundle and for the charts in it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := m.make(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "calico:", err)
		os.Exit(1)
	}
}

func (m maker) make(ctx context.Context) error {
	from, err := loader.LoadDir(filepath.Join(m.calico, "charts/tigera-operator"))
	if err != nil {
		return fmt.Errorf("reading the chart: %w", err)
	}
	version, operator, err := versions(from)
	if err != nil {
		return err
	}
	if err := m.programs(ctx, version); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(m.dir, "images")); err != nil {
		return err
	}
	if err := imagebundle.Write(ctx, filepath.Join(m.dir, "images"), m.images(version, operator)...); err != nil {
		return err
	}
	return m.chart(from, version)
}

// versions are those of Calico and of its operator, as the chart names them.
func versions(of *chart.Chart) (calico, operator string, err error) {
	read := func(path string) string {
		text, _ := chartutil.Values(of.Values).PathValue(path)
		version, _ := text.(string)
		return version
	}
	if calico, operator = read("calicoctl.tag"), read("tigeraOperator.version"); calico == "" || operator == "" {
		return "", "", errors.New("the chart names no versions: give a release, not a branch")
	}
	return calico, operator, nil
}

// packages are those of the programs, by their names.
func packages() map[string]string {
	return map[string]string{
		"calico-node": "./node/cmd/calico-node", "calico": "./cni-plugin/cmd/calico", "install": "./cni-plugin/cmd/install",
		"calico-typha": "./typha/cmd/calico-typha", "apiserver": "./apiserver/cmd/apiserver",
		"kube-controllers": "./kube-controllers/cmd/kube-controllers", "check-status": "./kube-controllers/cmd/check-status",
		"wrapper": "./kube-controllers/cmd/wrapper", "flexvol": "./pod2daemon/flexvol",
	}
}

// programs compiles them without C, as upstream does where eBPF is not to be had.
func (m maker) programs(ctx context.Context, version string) error {
	bin, err := filepath.Abs(filepath.Join(m.dir, "bin"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	calico, err := take(ctx, m.calico, bin+"/calico.mod")
	if err != nil {
		return err
	}
	flags := "-s -w -X github.com/projectcalico/calico/pkg/buildinfo.Version=" + version
	for name, pkg := range packages() {
		if err := calico.build(ctx, filepath.Join(bin, name), pkg, "-ldflags="+flags); err != nil {
			return err
		}
	}
	api, err := filepath.Abs(m.api)
	if err != nil {
		return err
	}
	operator, err := take(ctx, m.operator, bin+"/operator.mod", "github.com/tigera/api="+api)
	if err != nil {
		return err
	}
	overlay, err := m.withoutIstio(bin)
	if err != nil {
		return err
	}
	if err := operator.build(ctx, filepath.Join(bin, "operator"), "./cmd", "-ldflags=-s -w", overlay); err != nil {
		return err
	}
	return run(ctx, ".", nil, "tar", "-xzf", filepath.Join(m.bundle, "bin/cni-plugins.tgz"), "-C", bin, "loopback", "host-local", "portmap", "tuning")
}

// sources are those of one module.
type sources struct {
	dir, modules, toolchain string
}

var goVersion = regexp.MustCompile(`(?m)^go (\S+)$`)

// take writes another go.mod for sources: of some of Kubernetes' modules not every patch version is
// served, so that they are of an earlier one, and of others none.
func take(ctx context.Context, dir, to string, others ...string) (sources, error) {
	s := sources{dir: dir, modules: to}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return s, err
		}
		if version := goVersion.FindSubmatch(text); version != nil && name == "go.mod" {
			s.toolchain = "go" + string(version[1])
		}
		if err := os.WriteFile(strings.TrimSuffix(to, ".mod")+filepath.Ext(name), text, 0o644); err != nil {
			return s, err
		}
	}
	args := []string{"mod", "edit", "-replace=k8s.io/kubernetes=k8s.io/kubernetes@v1.33.5"}
	for _, module := range []string{"component-helpers", "controller-manager", "kms", "kube-aggregator", "kubelet"} {
		args = append(args, fmt.Sprintf("-replace=k8s.io/%[1]s=k8s.io/%[1]s@v0.33.5", module))
	}
	for _, other := range others {
		args = append(args, "-replace="+other)
	}
	return s, run(ctx, dir, nil, "go", append(args, to)...)
}

// build compiles one program, with the Go that the sources name: reflect2 1.0.2, which encodes what
// Typha sends, does not know how Go 1.26 lays out structs of one pointer and what has no size.
func (s sources) build(ctx context.Context, to, pkg string, flags ...string) error {
	args := append([]string{"build", "-mod=mod", "-modfile=" + s.modules, "-buildvcs=false", "-o", to}, append(flags, pkg)...)
	return run(ctx, s.dir, []string{"CGO_ENABLED=0", "GOTOOLCHAIN=" + s.toolchain}, "go", args...)
}

// withoutIstio gives the flag that lets the operator be compiled without Istio's charts, which its
// Makefile would download: they are read only where a cluster asks for Istio.
func (m maker) withoutIstio(bin string) (flag string, err error) {
	sources, err := filepath.Abs(m.operator)
	if err != nil {
		return "", err
	}
	empty, overlay := filepath.Join(bin, "empty"), filepath.Join(bin, "overlay.json")
	replaced := map[string]string{}
	for _, chart := range []string{"base", "istiod", "cni", "ztunnel"} {
		replaced[filepath.Join(sources, "pkg/render/istio", chart+".tgz")] = empty
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	return "-overlay=" + overlay, errors.Join(os.WriteFile(empty, nil, 0o644), os.WriteFile(overlay, text, 0o644))
}

// images are what the operator starts of Calico for a pod network with VXLAN, and itself.
func (m maker) images(version, operator string) []imagebundle.Image {
	const calico = "quay.io/calico/"
	bin := func(name string) string { return filepath.Join(m.dir, "bin", name) }
	plugins := map[string]string{}
	for _, name := range []string{"calico", "install", "loopback", "host-local", "portmap", "tuning"} {
		plugins["/opt/cni/bin/"+name] = bin(name)
	}
	node := filepath.Join(m.calico, "node/filesystem")
	return []imagebundle.Image{
		// Without eBPF it cannot look for what an agent with eBPF left behind.
		{Ref: calico + "node", Version: version, Base: m.base, Command: []string{"start_runit"}, Env: []string{"FELIX_DebugSkipCTLBCleanup=true"},
			Files: map[string]string{"/usr/bin/calico-node": bin("calico-node"), "/usr/sbin": filepath.Join(node, "sbin"), "/etc": filepath.Join(node, "etc")}},
		{Ref: calico + "cni", Version: version, Command: []string{"/opt/cni/bin/install"}, Files: plugins, Links: map[string]string{"/opt/cni/bin/calico-ipam": "calico"}},
		{Ref: calico + "pod2daemon-flexvol", Version: version, Base: m.base, Entrypoint: []string{"/usr/local/bin/flexvol.sh"},
			Files: map[string]string{"/usr/local/bin/flexvol": bin("flexvol"), "/usr/local/bin/flexvol.sh": filepath.Join(m.calico, "pod2daemon/flexvol/docker-image/flexvol.sh")}},
		{Ref: calico + "typha", Version: version, User: "999", Command: []string{"/usr/bin/calico-typha"},
			Files: map[string]string{"/usr/bin/calico-typha": bin("calico-typha"), "/etc/calico/typha.cfg": filepath.Join(m.calico, "typha/docker-image/typha.cfg")}},
		{Ref: calico + "kube-controllers", Version: version, Entrypoint: []string{"/usr/bin/wrapper", "/usr/bin/kube-controllers"}, Writable: []string{"/status", "/profiles"},
			Files: map[string]string{"/usr/bin/kube-controllers": bin("kube-controllers"), "/usr/bin/check-status": bin("check-status"), "/usr/bin/wrapper": bin("wrapper")}},
		{Ref: calico + "apiserver", Version: version, User: "10001:10001", Entrypoint: []string{"/code/apiserver"}, Files: map[string]string{"/code/apiserver": bin("apiserver")}},
		{Ref: "quay.io/tigera/operator", Version: operator, User: "10001:10001", Entrypoint: []string{"/usr/bin/operator"}, Files: map[string]string{"/usr/bin/operator": bin("operator")}},
	}
}

// chart packs it as upstream publishes it, for the test to serve.
func (m maker) chart(from *chart.Chart, version string) error {
	dir := filepath.Join(m.dir, "charts")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	from.Metadata.Version, from.Metadata.AppVersion = version, version
	if _, err := chartutil.Save(from, dir); err != nil {
		return fmt.Errorf("packing the chart: %w", err)
	}
	index, err := repo.IndexDirectory(dir, "")
	if err != nil {
		return fmt.Errorf("listing the chart: %w", err)
	}
	return index.WriteFile(filepath.Join(dir, "index.yaml"), 0o644)
}

func run(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %v: %w", name, args, err)
	}
	return nil
}
