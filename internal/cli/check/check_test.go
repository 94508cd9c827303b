package check

import (
	"bytes"
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/check"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks"
)

// TestTheImageIsOneThatNodesHave, with the registry that the cluster knows.
func TestTheImageIsOneThatNodesHave(t *testing.T) {
	t.Parallel()
	job := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "etcd-defrag"}}
	job.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Image: "mirror.test/slipway-sh/slipway:v1"}}
	if image := imageOn(t.Context(), fake.NewClientset(job)); image != "mirror.test/slipway-sh/slipway:v1" {
		t.Errorf("from the job: %s", image)
	}
	if image := imageOn(t.Context(), fake.NewClientset()); image != "ghcr.io/slipway-sh/slipway:"+component.SlipwayVersion() {
		t.Errorf("without the job: %s", image)
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{"https://keystone.test/v3": "keystone.test:443", "http://192.0.2.1/identity": "192.0.2.1:80", "https://[2001:db8::1]:5000/v3/": "[2001:db8::1]:5000", "": "", "/v3": ""} {
		if got := endpoint(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

// TestTheWayToALoadBalancer is direct, else through the seed; both causes are told.
func TestTheWayToALoadBalancer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	open := listener.Addr().String()
	tried := ""
	config := &rest.Config{Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		tried = address
		return nil, errors.New("the seed cannot")
	}}
	c, err := dialer(config)(t.Context(), "tcp", open)
	if err != nil || tried != "" {
		t.Fatalf("%v, tried %q", err, tried)
	}
	c.Close()
	listener.Close()
	if _, err := dialer(config)(t.Context(), "tcp", open); err == nil || tried != open || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), "the seed cannot") {
		t.Errorf("%v, tried %q", err, tried)
	}
	if _, err := dialer(&rest.Config{})(t.Context(), "tcp", open); err == nil {
		t.Error("nobody listens, and it is connected")
	}
}

// TestVerdict fails with the steps that failed; progress has each step.
func TestVerdict(t *testing.T) {
	t.Parallel()
	events := &event.Recorder{}
	tell := teller(events)
	r := check.Result{Check: "quick", Cluster: "shop", Steps: []check.Step{{Name: "dns", State: check.Passed, Detail: "fine"}, {Name: "egress", State: check.Failed, Detail: "no\nroute"}, {Name: "volume", State: check.Skipped, Detail: "no class"}}}
	for _, s := range r.Steps {
		tell(check.Step{Name: s.Name})
		tell(s)
	}
	if err := verdict(r); fault.ExitCode(err) != fault.ExitFailure || !strings.Contains(err.Error(), "1 of 3 steps failed: egress") {
		t.Errorf("%v", err)
	}
	if table := table(r); table.Rows[1][3] != "no route" || !strings.Contains(table.Footer[0], "did not pass") {
		t.Errorf("%v", table)
	}
	states := map[event.State]int{}
	for _, e := range events.Events() {
		states[e.State]++
	}
	if states[event.Failed] != 1 || states[event.Skipped] != 1 || states[event.Done] != 1 {
		t.Errorf("told %v", states)
	}
	r.Passed = true
	if err := verdict(r); err != nil {
		t.Error(err)
	}
}

// TestAClusterOfTheEnvironmentsNameIsCheckedInItsNamespace, not the management cluster instead.
func TestAClusterOfTheEnvironmentsNameIsCheckedInItsNamespace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, namespace string
		workload        bool
	}{{"", "", false}, {"", "team", false}, {"prod", "", false}, {"prod", stacks.ManagementNamespace, false}, {"prod", "team", true}, {"shop", "", true}, {"shop", "team", true}} {
		if got := (options{namespace: c.namespace}).workload(c.name, "prod"); got != c.workload {
			t.Errorf("%q in %q is a workload cluster: %t", c.name, c.namespace, got)
		}
	}
}

// TestTheResultIsShownWithoutItsFile: of a file that cannot be written only that is lost.
func TestTheResultIsShownWithoutItsFile(t *testing.T) {
	t.Parallel()
	ended := errors.New("interrupted")
	file := filepath.Join(t.TempDir(), "none", "junit.xml")
	for name, test := range map[string]struct {
		passed bool
		over   error
		want   []string // in the error
	}{
		"passed": {passed: true, want: []string{"--junit"}},
		"failed": {want: []string{"1 of 1 steps failed: dns", "--junit"}},
		"ended":  {over: ended, want: []string{"interrupted", "--junit"}},
	} {
		out := &bytes.Buffer{}
		state := map[bool]string{true: check.Passed, false: check.Failed}[test.passed]
		result := check.Result{Check: "quick", Cluster: "demo", Passed: test.passed, Steps: []check.Step{{Name: "dns", State: state}}}
		err := options{format: "json", junit: file}.tell(ui.Streams{Out: out}, result, test.over)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, without %q", name, err, want)
			}
		}
		if !strings.Contains(out.String(), `"name": "dns"`) {
			t.Errorf("%s: it shows %s", name, out)
		}
	}
}
