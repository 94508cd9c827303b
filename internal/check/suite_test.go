package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/check/inside"
)

// conforms has a check of Kubernetes' own tests pass, fail, break and be interrupted. What runs
// the tests is played; the pod, its rights and what reports are real.
func (w *world) conforms(ctx context.Context) {
	w.Helper()
	w.mu.Lock()
	w.waiting, w.tests = "", w.suite(0, `<testcase name="[It] a"></testcase><testcase name="[It] b"><skipped></skipped></testcase><testcase name="[SynchronizedBeforeSuite]"></testcase>`)
	w.mu.Unlock()
	kept, said := map[string]string{}, []string{}
	var mu sync.Mutex
	o := w.conformance()
	o.Suite.Keep = func(name string, text []byte) error { kept[name] = string(text); return nil }
	o.Tell = func(s Step) {
		mu.Lock()
		defer mu.Unlock()
		if s.Name == StepTests && s.State == "" {
			said = append(said, s.Detail)
		}
		if s.Name == StepTests && s.Detail == "" {
			w.administers()
			w.leaves("e2e-left")
		}
	}
	r, err := Run(ctx, o)
	if err != nil || !r.Passed || w.states(r) != "nodes passed, suite passed, tests passed, cleanup passed" || r.Tests == nil || r.Tests.Passed != 1 || r.Tests.Skipped != 1 {
		w.Errorf("conforms: %+v, %+v, %v", r, r.Tests, err)
	}
	if kept[inside.FileLog] != suiteLog || !strings.Contains(kept[inside.FileJUnit], "[It] a") {
		w.Errorf("kept %q", kept)
	}
	if !slices.Contains(said, "2 of 2 ended, 1 failed") {
		w.Errorf("said %q", said)
	}
	w.clean()
	w.noRights()

	w.mu.Lock()
	w.tests = w.suite(1, `<testcase name="[It] a"></testcase><testcase name="[It] b"><failure message="no"></failure></testcase>`)
	w.mu.Unlock()
	if r, err := Run(ctx, w.conformance()); err != nil || r.Passed || r.Tests.Failed != 1 || r.Steps[2].Detail != "1 of 2 failed: b" {
		w.Errorf("a test that fails: %+v, %v", r, err)
	}

	w.mu.Lock()
	w.tests = func(string) int32 { return 2 }
	w.mu.Unlock()
	w.must(os.Remove(filepath.Join(w.disk, inside.FileJUnit)))
	if r, err := Run(ctx, w.conformance()); err != nil || r.Passed || r.Tests != nil || !strings.Contains(r.Steps[2].Detail, "exit code 2 and left no junit_01.xml") {
		w.Errorf("without results: %+v, %v", r, err)
	}

	w.mu.Lock()
	w.tests = nil
	w.mu.Unlock()
	within, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	why := errors.New("Ctrl-C")
	o = w.conformance()
	log := ""
	o.Suite.Keep = func(_ string, text []byte) error { log = string(text); return nil }
	o.Tell = func(s Step) {
		if s.Name == StepTests && s.State == "" && s.Detail == "" {
			w.leaves("e2e-interrupted")
			interrupt(why)
		}
	}
	if r, err := Run(within, o); !errors.Is(err, why) || r.Passed || r.Steps[len(r.Steps)-1].State != Passed {
		w.Errorf("interrupted: %s, %v", w.states(r), err)
	}
	if log != suiteLog {
		w.Errorf("of tests that did not end %q is kept", log)
	}
	w.clean()
	w.noRights()

	other, err := w.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "slipway-check-other", Labels: map[string]string{Label: Conformance}}}, metav1.CreateOptions{})
	w.must(err)
	if _, err := Run(ctx, w.conformance()); err == nil || !strings.Contains(err.Error(), other.Name+" is of another run") {
		w.Errorf("beside another check: %v", err)
	}
	w.must(w.client.CoreV1().Namespaces().Delete(ctx, other.Name, metav1.DeleteOptions{}))
	w.leaves("e2e-of-others")
	if _, err := Run(ctx, w.conformance()); err == nil || !strings.Contains(err.Error(), "e2e-of-others is of another run") {
		w.Errorf("beside another run: %v", err)
	}
	if _, err := w.client.CoreV1().Namespaces().Get(ctx, "e2e-of-others", metav1.GetOptions{}); err != nil {
		w.Errorf("the namespace of the other run: %v", err)
	}
}

func (w *world) conformance() Options {
	o := w.options(Conformance)
	o.Suite = Suite{Image: "conformance:test", Focus: "a|b", Processes: 1, Patience: time.Minute}
	return o
}

// suite plays tests of which the first passes and the second fails, by its log, and leaves results.
func (w *world) suite(code int32, cases string) func(string) int32 {
	return func(folder string) int32 {
		w.must(os.WriteFile(filepath.Join(folder, inside.FileLog), []byte(suiteLog), 0o644))
		w.must(os.WriteFile(filepath.Join(folder, inside.FileJUnit), fmt.Appendf(nil, `<testsuites><testsuite>%s</testsuite></testsuites>`, cases), 0o644))
		return code
	}
}

const suiteLog = "Will run 2 of 7144 specs\nSS•SS\n• [FAILED] [1.0 seconds]\n"

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Error(err)
	}
}

// leaves makes a namespace as tests do.
func (w *world) leaves(name string) {
	w.Helper()
	_, err := w.client.CoreV1().Namespaces().Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{testNamespaces: "1"}}}, metav1.CreateOptions{})
	w.must(err)
}

// administers fails unless there is one binding of a check, which goes with its namespace.
func (w *world) administers() {
	w.Helper()
	list, err := w.client.RbacV1().ClusterRoleBindings().List(w.Context(), metav1.ListOptions{LabelSelector: Label})
	if err != nil || len(list.Items) != 1 || len(list.Items[0].OwnerReferences) != 1 || list.Items[0].Subjects[0].Namespace != list.Items[0].OwnerReferences[0].Name {
		w.Errorf("the administrators: %+v, %v", list, err)
	}
}

// noRights waits until the garbage collector has taken the rights of the tests.
func (w *world) noRights() {
	w.Helper()
	for range 300 {
		list, err := w.client.RbacV1().ClusterRoleBindings().List(w.Context(), metav1.ListOptions{LabelSelector: Label})
		if err == nil && len(list.Items) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.Error("the tests' rights are still there")
}

// TestTheTestsAreChosen by variables of upstream's image: several at a time leave out those that
// want the cluster for themselves.
func TestTheTestsAreChosen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		suite Suite
		want  map[string]string
	}{
		{Suite{Focus: "a", Processes: 1}, map[string]string{"E2E_FOCUS": "a", "E2E_SKIP": "", "E2E_EXTRA_GINKGO_ARGS": "", "KUBE_TEST_REPO": ""}},
		{Suite{Focus: "a", Processes: 4}, map[string]string{"E2E_SKIP": `\[Serial\]`, "E2E_EXTRA_GINKGO_ARGS": "--procs=4"}},
		{Suite{Exclude: "b", Processes: 4, Registry: "r.test/k8s"}, map[string]string{"E2E_SKIP": `\[Serial\]|b`, "KUBE_TEST_REPO": "r.test/k8s"}},
	} {
		r := &run{Options: Options{Suite: c.suite}}
		spec := r.suiteSpec()
		got := map[string]string{}
		for _, variable := range spec.Containers[1].Env {
			got[variable.Name] = variable.Value
		}
		for name, want := range c.want {
			if got[name] != want {
				t.Errorf("%+v: %s is %q, want %q", c.suite, name, got[name], want)
			}
		}
		if c := spec.Containers[0].SecurityContext; c.RunAsNonRoot == nil || !*c.RunAsNonRoot || c.RunAsUser == nil || *c.RunAsUser == 0 {
			t.Errorf("Slipway's own container may be root's: %+v", c)
		}
	}
}
