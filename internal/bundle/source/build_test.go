package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// text is a recipe that writes its text and those of its inputs. It counts its
// runs, and fails or waits when told to.
type text struct {
	plain
	Text  string
	Needs []string
	runs  *atomic.Int32
	err   error
	wait  func(ctx context.Context)
}

func (r text) needs() []string { return r.Needs }

func (r text) make(ctx context.Context, j *job) (output, error) {
	if r.runs != nil {
		r.runs.Add(1)
	}
	if r.wait != nil {
		r.wait(ctx)
	}
	if r.err != nil || ctx.Err() != nil {
		return output{}, errors.Join(r.err, ctx.Err())
	}
	whole := r.Text
	for _, need := range r.Needs {
		part, err := os.ReadFile(j.input(need))
		if err != nil {
			return output{}, err
		}
		whole += string(part)
	}
	return output{file: j.path("out"), source: "test"}, os.WriteFile(j.path("out"), []byte(whole), 0o644)
}

// The tests borrow names of the catalogue: kubectl is made of an intermediate
// result, kubeadm stands alone.
func chain(kubectl, middle, kubeadm *atomic.Int32) map[string]recipe {
	return map[string]recipe{
		"kubectl": text{Text: "kubectl ", Needs: []string{"middle"}, runs: kubectl},
		"middle":  text{Text: "middle", runs: middle},
		"kubeadm": text{Text: "kubeadm", runs: kubeadm},
	}
}

func run(t *testing.T, dir string, o Options, all map[string]recipe) (Report, error) {
	t.Helper()
	folder, err := bundle.Create(dir, platform())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	o.Env = os.Environ()
	return build(t.Context(), folder, o, all)
}

func sound(t *testing.T, dir string, want ...string) {
	t.Helper()
	folder, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	found, err := folder.Verify(t.Context(), event.Discard{})
	if err != nil || len(found) > 0 {
		t.Errorf("findings %v (%v), want none", found, err)
	}
	var names []string
	for _, item := range folder.Bill().Items {
		names = append(names, item.Name)
	}
	if !slices.Equal(names, want) {
		t.Errorf("items %v, want %v", names, want)
	}
}

func TestOnlyWhatChangedIsBuiltAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var kubectl, middle, kubeadm atomic.Int32
	all := chain(&kubectl, &middle, &kubeadm)
	counts := func(want string) {
		t.Helper()
		if got := fmt.Sprint(kubectl.Load(), middle.Load(), kubeadm.Load()); got != want {
			t.Errorf("runs of kubectl, middle and kubeadm: %s, want %s", got, want)
		}
	}
	build := func(o Options) Report {
		t.Helper()
		report, err := run(t, dir, o, all)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	build(Options{})
	counts("1 1 1")
	if report := build(Options{}); report.Counted("unchanged") != 2 || report.Counted("built") != 0 {
		t.Errorf("second build: %+v", report)
	}
	counts("1 1 1")
	all["middle"] = text{Text: "other", runs: &middle}
	build(Options{})
	counts("2 2 1")
	build(Options{Force: true, Only: []string{"kubeadm"}})
	counts("2 2 2")
	sound(t, dir, "kubeadm", "kubectl")
}

func TestABundleWithoutItsCacheIsWholeAndBuildsOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var kubectl, middle, kubeadm atomic.Int32
	all := chain(&kubectl, &middle, &kubeadm)
	for i, want := range []string{"1 1 1", "1 1 1", "2 2 1"} {
		if i == 2 {
			all["kubectl"] = text{Text: "newer ", Needs: []string{"middle"}, runs: &kubectl}
		}
		if _, err := run(t, dir, Options{DiscardCache: true}, all); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(kubectl.Load(), middle.Load(), kubeadm.Load()); got != want {
			t.Errorf("build %d: runs of kubectl, middle and kubeadm: %s, want %s", i+1, got, want)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, bundle.WorkDir, "cache")); len(left) > 0 {
			t.Errorf("build %d: %d intermediate results are left", i+1, len(left))
		}
		sound(t, dir, "kubeadm", "kubectl")
	}
}

func TestANamedItemThatIsDamagedIsMadeAgain(t *testing.T) {
	t.Parallel()
	// proves: F19
	dir := t.TempDir()
	var kubectl, middle, kubeadm atomic.Int32
	all := chain(&kubectl, &middle, &kubeadm)
	if _, err := run(t, dir, Options{}, all); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "bin/kubeadm")
	if err := os.WriteFile(path, []byte("KUBEADM"), 0o644); err != nil { // same size
		t.Fatal(err)
	}
	if _, err := run(t, dir, Options{Only: []string{"kubeadm"}}, all); err != nil {
		t.Fatal(err)
	}
	if kubeadm.Load() != 2 {
		t.Errorf("kubeadm was made %d times, want 2", kubeadm.Load())
	}
	sound(t, dir, "kubeadm", "kubectl")
}

func TestAFailureKeepsTheOthersAndIsToldOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := map[string]recipe{
		"kubelet": text{Text: "a", Needs: []string{"middle"}},
		"kubectl": text{Text: "b", Needs: []string{"middle"}},
		"middle":  text{err: errors.New("no rule")},
		"kubeadm": text{Text: "fine"},
	}
	report, err := run(t, dir, Options{}, all)
	if all := fault.All(err); len(all) != 1 || !strings.Contains(all[0].Error(), "middle") || fault.Remedy(all[0]) == "" {
		t.Errorf("errors %v, want one that names the input", all)
	}
	if code := fault.ExitCode(err); code != fault.ExitPartial {
		t.Errorf("exit code %d, want %d", code, fault.ExitPartial)
	}
	if report.Counted("failed") != 1 || report.Counted("built") != 1 {
		t.Errorf("report %+v", report)
	}
	sound(t, dir, "kubeadm")
}

func TestAFailedInputDoesNotStopThoseThatOthersNeed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	failed := make(chan struct{})
	all := map[string]recipe{
		"kubelet": text{Text: "a", Needs: []string{"bad", "shared"}},
		"kubectl": text{Text: "b", Needs: []string{"shared"}},
		"bad":     text{err: errors.New("no rule"), wait: func(context.Context) { close(failed) }},
		"shared": text{Text: "shared", wait: func(ctx context.Context) {
			<-failed
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}},
	}
	if _, err := run(t, dir, Options{Jobs: 4}, all); len(fault.All(err)) != 1 {
		t.Errorf("errors %v, want that of the bad input", err)
	}
	sound(t, dir, "kubectl")
}

func TestRelativeFolder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if _, err := run(t, "bundle", Options{}, map[string]recipe{"kubectl": program{Module: "kubernetes", Package: "./kube-proxy-launcher"}}); err != nil {
		t.Fatal(err)
	}
	sound(t, filepath.Join(dir, "bundle"), "kubectl")
}

func TestInterruptedBuildGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var kubectl, middle, kubeadm atomic.Int32
	all := chain(&kubectl, &middle, &kubeadm)
	ctx, cancel := context.WithCancelCause(t.Context())
	all["kubectl"] = text{Text: "kubectl ", Needs: []string{"middle", "kubeadm"}, wait: func(ctx context.Context) {
		cancel(fault.ErrInterrupted)
		<-ctx.Done()
	}}
	folder, err := bundle.Create(dir, platform())
	if err != nil {
		t.Fatal(err)
	}
	report, err := build(ctx, folder, Options{Env: os.Environ()}, all)
	folder.Close()
	if fault.ExitCode(err) != fault.ExitInterrupted {
		t.Fatalf("error %v, want the interrupt", err)
	}
	if report.Counted("failed") != 0 || report.Counted("interrupted") != 1 {
		t.Errorf("report %+v, want kubectl interrupted", report)
	}
	sound(t, dir, "kubeadm")
	all["kubectl"] = text{Text: "kubectl ", Needs: []string{"middle", "kubeadm"}, runs: &kubectl}
	if _, err := run(t, dir, Options{}, all); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(kubectl.Load(), middle.Load(), kubeadm.Load()); got != "1 1 1" {
		t.Errorf("runs of kubectl, middle and kubeadm: %s, want what was done kept", got)
	}
	sound(t, dir, "kubeadm", "kubectl")
}

// TestKilledBuildGoesOnWhereItWas builds in a process of its own and kills it
// while it writes.
func TestKilledBuildGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	const variable = "SLIPWAY_TEST_KILLED_BUILD"
	slow := func(ready string) map[string]recipe {
		return map[string]recipe{
			"kubeadm": text{Text: "kubeadm"},
			"kubectl": text{Text: "kubectl ", Needs: []string{"kubeadm"}, wait: func(context.Context) {
				if ready != "" {
					_ = os.WriteFile(ready, nil, 0o644)
					time.Sleep(time.Minute)
				}
			}},
		}
	}
	if dir := os.Getenv(variable); dir != "" {
		_, err := run(t, dir, Options{}, slow(filepath.Join(filepath.Dir(dir), "ready")))
		t.Fatalf("the build was not killed: %v", err)
	}
	root := t.TempDir()
	dir := filepath.Join(root, "bundle")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledBuildGoesOnWhereItWas$")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if _, err := os.Stat(filepath.Join(root, "ready")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	report, err := run(t, dir, Options{}, slow(""))
	if err != nil || report.Counted("unchanged") != 1 || report.Counted("built") != 1 {
		t.Errorf("after the kill: %+v (%v), want the first item kept", report, err)
	}
	sound(t, dir, "kubeadm", "kubectl")
}

func TestUnknownItemsAreRefusedBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	_, err := choose(recipes(), Options{Only: []string{"kubelt", "kubelet", "kube-api"}, With: []string{"velro"}})
	all := fault.All(err)
	if len(all) != 3 || fault.ExitCode(err) != fault.ExitUsage {
		t.Fatalf("errors %v with exit code %d", all, fault.ExitCode(err))
	}
	if remedy := fault.Remedy(all[0]); !strings.Contains(remedy, "velero, monitoring, conformance, ingress, flux, cilium") {
		t.Errorf("remedy %q does not name the options", remedy)
	}
	if remedy := fault.Remedy(all[2]); !strings.Contains(remedy, "kube-apiserver") {
		t.Errorf("remedy %q does not name the item that was meant", remedy)
	}
}

// TestRefusedModule has the real go command ask a proxy that refuses.
func TestRefusedModule(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "This module version is not available.", http.StatusForbidden)
	}))
	defer proxy.Close()
	dir := t.TempDir()
	folder, err := bundle.Create(dir, platform())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	env := append(os.Environ(), "GOPROXY="+proxy.URL, "GOMODCACHE="+t.TempDir(), "GONOSUMDB=*")
	all := map[string]recipe{"kubectl": program{Module: "cni-flannel", Package: "github.com/containernetworking/plugins/plugins/meta/flannel"}}
	_, err = build(t.Context(), folder, Options{Env: env}, all)
	if err == nil || !strings.Contains(err.Error(), "module proxy refuses") || !strings.Contains(err.Error(), "item kubectl") {
		t.Fatalf("error %v, want item and cause", err)
	}
	if remedy := fault.Remedy(err); !strings.Contains(remedy, "GOPROXY") || !strings.Contains(remedy, "bundle pull") {
		t.Errorf("remedy %q", remedy)
	}
}

func TestExplainNamesKnownCauses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ err, cause, remedy string }{
		"checksum": {"go: verifying example.com/a@v1.0.0: checksum mismatch\n\tdownloaded: h1:x", "example.com/a@v1.0.0 differs from the pinned one", "clean -modcache"},
		"disk":     {"write /root/.cache/x: no space left on device", "no space left", "free space"},
		"gone":     {"example.com/b@v1.2.0: reading http://proxy/b.zip: 410 Gone", "refuses example.com/b@v1.2.0: 410 Gone", "GOPROXY"},
		"other":    {"syntax error", "syntax error", "run the build again"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := explain(t.Context(), "x", errors.New(test.err))
			if !strings.Contains(err.Error(), "item x: ") || !strings.Contains(err.Error(), test.cause) || !strings.Contains(fault.Remedy(err), test.remedy) {
				t.Errorf("%v, fix %q; want %q, fix %q", err, fault.Remedy(err), test.cause, test.remedy)
			}
		})
	}
}

func TestEveryComponentHasARecipeOrAReason(t *testing.T) {
	t.Parallel()
	all := recipes()
	for _, c := range component.Known(component.DefaultVersions()) {
		if _, ok := all[c.Name]; ok == (c.Unbuildable != "") {
			t.Errorf("%s: recipe %t, reason %q", c.Name, ok, c.Unbuildable)
		}
	}
	if _, err := keys(all, "go1.26"); err != nil {
		t.Error(err)
	}
}

// What is optional costs a build nothing that did not ask for it.
func TestOptionsAreBuiltOnRequest(t *testing.T) {
	t.Parallel()
	usual, err := choose(recipes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	more, err := choose(recipes(), Options{With: []string{component.OptionVelero}})
	if err != nil {
		t.Fatal(err)
	}
	alone, err := choose(recipes(), Options{Only: []string{"kubectl"}, With: []string{component.OptionVelero}})
	if err != nil {
		t.Fatal(err)
	}
	items := []string{component.VeleroImage, component.VeleroPluginImage, component.VeleroDefinitions}
	for _, item := range items {
		if slices.Contains(usual, item) || !slices.Contains(more, item) {
			t.Errorf("%s: in the usual build %t, asked for %t", item, slices.Contains(usual, item), slices.Contains(more, item))
		}
	}
	watched, err := choose(recipes(), Options{With: []string{component.OptionMonitoring}})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range []string{component.PrometheusImage, component.AlertmanagerImage, component.NodeExporterImage, component.KubeStateMetricsImage, component.LokiImage, component.LogCollectorImage} {
		if slices.Contains(usual, item) || !slices.Contains(watched, item) {
			t.Errorf("%s: in the usual build %t, asked for %t", item, slices.Contains(usual, item), slices.Contains(watched, item))
		}
	}
	if len(more) != len(usual)+len(items) || !slices.Equal(alone, append([]string{"kubectl"}, items...)) {
		t.Errorf("%d items besides %d; with one named item %v", len(more), len(usual), alone)
	}
}

// A program that was linked without its version is refused by others: kubelet
// by containerd's, kubeadm by kubelet's.
func TestProgramsHaveASourceAndVersions(t *testing.T) {
	t.Parallel()
	for name, r := range recipes() {
		p, ok := r.(program)
		if !ok {
			continue
		}
		for _, variable := range p.Variables {
			if strings.HasSuffix(variable, "=") {
				t.Errorf("%s: %s is empty", name, variable)
			}
		}
		if source := p.source(); strings.Contains(source, "module .") || strings.HasSuffix(strings.Fields(source)[1], "@") {
			t.Errorf("%s: source %q", name, source)
		}
	}
}

func TestKeysFollowTheirInputs(t *testing.T) {
	t.Parallel()
	key := func(all map[string]recipe, toolchain string) string {
		t.Helper()
		got, err := keys(all, toolchain)
		if err != nil {
			t.Fatal(err)
		}
		return got["kubectl"]
	}
	base := key(chain(nil, nil, nil), "go1")
	other := chain(nil, nil, nil)
	other["middle"] = text{Text: "changed"}
	if key(chain(nil, nil, nil), "go1") != base {
		t.Error("the key of an unchanged recipe changed")
	}
	if key(other, "go1") == base || key(chain(nil, nil, nil), "go2") == base {
		t.Error("the key did not follow an input or the toolchain")
	}
	other["middle"] = text{Needs: []string{"kubectl"}}
	if _, err := keys(other, "go1"); err == nil {
		t.Error("recipes that need each other are accepted")
	}
}

func TestDefaultJobsRespectMemory(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		processors int
		memory     int64
		want       int
	}{{2, 24 << 30, 2}, {16, 12 << 30, 3}, {4, 1 << 30, 1}} {
		if got := DefaultJobs(test.processors, test.memory); got != test.want {
			t.Errorf("%d processors, %d bytes: %d jobs, want %d", test.processors, test.memory, got, test.want)
		}
	}
}

// Compilers do without collecting garbage only where all that run at a time have room.
func TestCompilersRespectMemory(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		processors, jobs int
		memory           int64
		want             string
	}{{2, 2, 8 << 30, "GOGC=off GOMEMLIMIT=1572864000"}, {2, 2, 5 << 30, "GOGC=400"}, {16, 8, 64 << 30, "GOGC=400"}, {1, 1, 1 << 30, "GOGC=400"}} {
		if got := strings.Join(compilerGC(test.processors, test.jobs, test.memory), " "); got != test.want {
			t.Errorf("%d processors, %d jobs, %d bytes: %s, want %s", test.processors, test.jobs, test.memory, got, test.want)
		}
	}
}
