package check

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/internal/check"
	"github.com/slipway-sh/slipway/internal/event"
)

// TestConformanceFlags refuses wrong flags all at once, before a cluster is asked.
func TestConformanceFlags(t *testing.T) {
	t.Parallel()
	good := suite{Suite: check.Suite{Focus: `\[Conformance\]`, Processes: 1, Patience: time.Hour}}
	if errs := good.valid(check.Conformance); len(errs) != 0 {
		t.Errorf("refused: %v", errs)
	}
	bad := suite{Suite: check.Suite{Focus: "[", Exclude: "(", Processes: 0}}
	text := errors.Join(bad.valid(check.Conformance)...).Error()
	for _, flag := range []string{"--focus", "--exclude", "--parallel", "--timeout"} {
		if strings.Count(text, flag) != 1 {
			t.Errorf("%s is named %d times in:\n%s", flag, strings.Count(text, flag), text)
		}
	}
	if errs := (suite{}).valid("quick"); len(errs) != 0 {
		t.Errorf("another check: %v", errs)
	}
}

// TestConformanceImage is that of the cluster's version, whatever distribution it is of. Results
// go to a folder, which is made.
func TestConformanceImage(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	client.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: "v1.34.4+k3s1"}
	folder := filepath.Join(t.TempDir(), "a", "results")
	o, err := suite{folder: folder}.options(check.Conformance, client)
	if err != nil || o.Image != "registry.k8s.io/conformance:v1.34.4" {
		t.Errorf("the image is %q, %v", o.Image, err)
	}
	if err := o.Keep("e2e.log", []byte("text")); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "e2e.log")); string(text) != "text" {
		t.Errorf("kept %q, %v", text, err)
	}
	if o, err := (suite{Suite: check.Suite{Image: "mine:1"}}).options(check.Conformance, client); err != nil || o.Image != "mine:1" || o.Keep != nil {
		t.Errorf("another image: %+v, %v", o, err)
	}
	if _, err := (suite{folder: filepath.Join(folder, "e2e.log", "x")}).options(check.Conformance, client); err == nil || !strings.Contains(err.Error(), "--output-dir") {
		t.Errorf("a folder in a file: %v", err)
	}
}

// TestProgressOfTests is told within their step.
func TestProgressOfTests(t *testing.T) {
	t.Parallel()
	events := &event.Recorder{}
	tell := teller(events)
	for _, s := range []check.Step{{Name: check.StepTests}, {Name: check.StepTests, Detail: "3 of 7 ended"}, {Name: check.StepTests, State: check.Passed, Detail: "7 passed"}} {
		tell(s)
	}
	var details []string
	for _, e := range events.Events() {
		details = append(details, string(e.State)+" "+e.Message)
	}
	if text := strings.Join(details, ", "); strings.Count(text, "3 of 7 ended") != 1 || !strings.Contains(text, "7 passed") || len(details) != 3 {
		t.Errorf("told %s", text)
	}
}
