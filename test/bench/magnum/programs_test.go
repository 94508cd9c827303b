package magnum

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/test/endpoint"
)

// program is `slipway serve controllers` as a process of its own.
type program struct {
	*testing.T
	name string
	// args are those of the sets that it runs, environment is what its Deployment sets.
	args, environment []string
	// looks is how often each of its controllers looks at a cluster, at least, when it starts.
	looks map[string]int

	process *exec.Cmd
	metrics string
}

// slipway is the program that is measured.
func slipway(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs("../../../bin/slipway")
	if err == nil {
		_, err = os.Stat(file)
	}
	if err != nil {
		t.Fatalf("%v: run make build", err)
	}
	return file
}

// start starts it. It is killed when the test ends; what it said is logged if the
// test failed.
func (p *program) start() {
	p.Helper()
	log := filepath.Join(p.TempDir(), "log")
	out, err := os.Create(log)
	if err != nil {
		p.Fatal(err)
	}
	defer out.Close() // the process has its own
	p.metrics = endpoint.FreeAddress(p.T)
	process := exec.Command(slipway(p.T), append([]string{"serve", "controllers", "--leader-election=false", "--metrics-address", p.metrics, "--health-address", "0"}, p.args...)...)
	process.Env = append(os.Environ(), p.environment...)
	process.Stdout, process.Stderr = out, out
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		p.Fatal(err)
	}
	p.process = process
	p.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
		if text, _ := os.ReadFile(log); p.Failed() {
			p.Logf("%s said at last:\n%s", p.name, text[max(0, len(text)-4000):])
		}
	})
}

func (p *program) pid() int { return p.process.Process.Pid }

// kill ends it as a crash would.
func (p *program) kill() {
	_ = p.process.Process.Kill()
	_ = p.process.Wait()
}

// stop ends it as Kubernetes does.
func (p *program) stop() {
	p.Helper()
	if err := p.process.Process.Signal(syscall.SIGTERM); err != nil {
		p.Fatalf("stopping %s: %v", p.name, err)
	}
	if err := p.process.Wait(); err != nil {
		p.Fatalf("stopping %s: %v", p.name, err)
	}
}

// each calls do with the labels and the values of a metric; there are none before it is served.
func (p *program) each(metric string, do func(labels string, value float64)) {
	p.Helper()
	response, err := http.Get("http://" + p.metrics + "/metrics")
	if err != nil {
		return
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), metric+"{")
		if !ok {
			continue
		}
		at := strings.LastIndex(rest, " ")
		value, err := strconv.ParseFloat(rest[at+1:], 64)
		if err != nil {
			p.Fatal(err)
		}
		do(rest[:at], value)
	}
}

// sum adds up a metric, of one controller unless that is "".
func (p *program) sum(metric, controller string) (sum float64) {
	p.Helper()
	p.each(metric, func(labels string, value float64) {
		if controller == "" || strings.Contains(labels, strconv.Quote(controller)) {
			sum += value
		}
	})
	return sum
}

// looked says whether each controller has looked at all of so many clusters since it
// started, and has nothing left to do.
func (p *program) looked(clusters int) bool {
	p.Helper()
	for controller, each := range p.looks {
		if p.sum("controller_runtime_reconcile_total", controller) < float64(each*clusters) || p.busy(controller) {
			return false
		}
	}
	return true
}

// busy says whether a controller, or any if it is "", works or has work waiting.
func (p *program) busy(controller string) bool {
	p.Helper()
	return p.sum("workqueue_depth", controller)+p.sum("controller_runtime_active_workers", controller) > 0
}

// finished is a program that ran to its end.
type finished struct {
	out        []byte
	took, used time.Duration
	// peak is its memory at most, in bytes.
	peak int64
}

// finish runs a program to its end; it is killed when ctx ends.
func finish(ctx context.Context, environment []string, name string, args ...string) (finished, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Env = append(os.Environ(), environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said strings.Builder
	command.Stderr = &said
	began := time.Now()
	out, err := command.Output()
	if err != nil {
		return finished{}, fmt.Errorf("running %s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, said.String())
	}
	state := command.ProcessState
	return finished{out, time.Since(began), state.UserTime() + state.SystemTime(), state.SysUsage().(*syscall.Rusage).Maxrss << 10}, nil
}
