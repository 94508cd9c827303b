package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// The process that is killed: this test program with a kubeconfig and a namespace.
const (
	victimConfig    = "SLIPWAY_TEST_VNFLCM_KUBECONFIG"
	victimNamespace = "SLIPWAY_TEST_VNFLCM_NAMESPACE"
	// victimStop is the state which it never comes to, or "result": it stops between the
	// two writes at the end.
	victimStop = "SLIPWAY_TEST_VNFLCM_STOP"
)

// TestVictim is the worker in the process that is killed.
func TestVictim(t *testing.T) {
	t.Parallel()
	path := os.Getenv(victimConfig)
	if path == "" {
		t.Skip("the subtest kill starts it in a process of its own, and kills that")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	plain, err := client.NewWithWatch(config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	stop := os.Getenv(victimStop)
	c := interceptor.NewClient(plain, interceptor.Funcs{SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
		if op, ok := o.(*v1alpha1.VNFOperation); ok && (string(op.Status.State) == stop || stop == "result" && op.Status.State.Final()) {
			select {}
		}
		return c.SubResource(sub).Update(ctx, o, opts...)
	}})
	o, err := workerOptions(config, c, "http://nowhere", slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err == nil {
		err = o.Prepare()
	}
	if err == nil {
		err = work(t.Context(), t, config, os.Getenv(victimNamespace), o)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// victim starts the worker in a process, and returns what kills it.
func (d *door) victim(stop string) (killed func()) {
	d.t.Helper()
	path := d.t.TempDir() + "/kubeconfig"
	if err := os.WriteFile(path, d.w.server.Kubeconfig, 0o600); err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.CommandContext(d.t.Context(), os.Args[0], "-test.run=^TestVictim$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), victimConfig+"="+path, victimNamespace+"="+d.namespace, victimStop+"="+stop)
	var said syncBuffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	return func() {
		d.t.Helper()
		_ = cmd.Process.Kill() // SIGKILL
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			d.t.Fatalf("the worker ended before it was killed: %v\n%s", err, said.String())
		}
	}
}

// kill kills the process of the worker in each state, and goes on with another one.
func kill(t *testing.T, w *world) {
	p := w.onboard(t, build(t, "killed", "1.34.4"))
	for i, c := range []struct {
		name, stop string
		prepare    func(*door, string) string
		state      v1alpha1.OperationState
		after      v1alpha1.OperationState
		next       string
		end        v1alpha1.OperationState
	}{
		{"STARTING", "PROCESSING", begin, v1alpha1.Starting, v1alpha1.RolledBack, "", ""},
		{"PROCESSING", "", begin, v1alpha1.Processing, v1alpha1.FailedTemp, "retry", v1alpha1.Completed},
		{"ROLLING_BACK", "", rollingBack, v1alpha1.RollingBack, v1alpha1.FailedTemp, "rollback", v1alpha1.RolledBack},
		{"FAILED_TEMP", "", failedTemp, v1alpha1.FailedTemp, v1alpha1.FailedTemp, "retry", v1alpha1.Completed},
		{"between the writes at the end", "result", begin, v1alpha1.Processing, v1alpha1.Completed, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			project := fmt.Sprintf("ccccccc%d", i)
			d := w.open(t, project, nil)
			w.set(w.held, d.namespace, c.stop != "result")
			killed := d.victim(c.stop)
			op := c.prepare(d, p.ID)
			d.reach(op, c.state)
			d.waitClaimed(op, c.stop == "result")
			killed()
			w.set(w.held, d.namespace, false)
			w.set(w.kept, d.namespace, false)
			successor, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- work(successor, t, w.server.Config, d.namespace, d.options) }()
			defer func() { stop(); <-ended }()
			if c.after == c.state {
				time.Sleep(time.Second) // nothing happens to it
			}
			d.reach(op, c.after)
			if c.next != "" {
				d.do("POST", "vnf_lcm_op_occs/"+op+"/"+c.next, nil).want(202)
				d.reach(op, c.end)
			}
		})
	}
}

// waitClaimed waits until the process works on the operation, or has written its result.
func (d *door) waitClaimed(op string, result bool) {
	d.t.Helper()
	eventually(d.t, "nobody works on it", func() (bool, string) {
		o, i := &v1alpha1.VNFOperation{}, &v1alpha1.VNFInstance{}
		if err := d.w.client.Get(d.t.Context(), named(d.namespace, op), o); err != nil {
			return false, err.Error()
		}
		if err := d.w.client.Get(d.t.Context(), named(d.namespace, o.Spec.InstanceID), i); err != nil {
			return false, err.Error()
		}
		if result {
			return i.Status.Ended == v1alpha1.Completed, fmt.Sprint(i.Status)
		}
		return o.Status.Worker != "" || o.Status.State == v1alpha1.FailedTemp, fmt.Sprint(o.Status)
	})
}

func begin(d *door, vnfd string) string {
	id := d.create(vnfd)
	return d.start(id, "instantiate", d.instantiation([]string{"Files/kubernetes/10-cluster.yaml", "Files/kubernetes/20-anchors.yaml"}))
}

// failedTemp lets an operation fail: somebody deletes what it waits for.
func failedTemp(d *door, vnfd string) string {
	op := begin(d, vnfd)
	d.reach(op, v1alpha1.Processing)
	o := &v1alpha1.VNFOperation{}
	eventually(d.t, "it does not fail", func() (bool, string) {
		if err := d.w.client.Get(d.t.Context(), named(d.namespace, op), o); err != nil {
			return false, err.Error()
		}
		old := time.Now().Add(-24 * time.Hour)
		o.Status.Entered.Time = old
		return d.w.client.Status().Update(d.t.Context(), o) == nil, "conflict"
	})
	d.reach(op, v1alpha1.FailedTemp)
	return op
}

func rollingBack(d *door, vnfd string) string {
	op := failedTemp(d, vnfd)
	d.w.set(d.w.kept, d.namespace, true)
	d.do("POST", "vnf_lcm_op_occs/"+op+"/rollback", nil).want(202)
	return op
}
