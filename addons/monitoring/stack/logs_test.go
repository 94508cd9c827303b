package stack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/slipway-sh/slipway/internal/process"
)

// podProgram is the program of a pod, which can be stopped and started again.
type podProgram struct {
	*world
	name       string
	words, env []string
	cmd        *exec.Cmd
	said       bytes.Buffer
	over       chan struct{}
	stopped    atomic.Bool
}

func (p *podProgram) launch() {
	p.Helper()
	p.stopped.Store(false)
	p.cmd, p.over = exec.Command(p.words[0], p.words[1:]...), make(chan struct{})
	// Its own mounts, which nobody else sees.
	p.cmd.SysProcAttr = process.Bound(true)
	p.cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	p.cmd.Env = p.env
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	p.fine(p.cmd.Start())
	go func() {
		_ = p.cmd.Wait()
		if !p.stopped.Load() {
			p.ended.Store(&p.name)
		}
		close(p.over)
	}()
}

// halt kills it. What it said is told if the test failed.
func (p *podProgram) halt() {
	p.stopped.Store(true)
	_ = p.cmd.Process.Kill()
	<-p.over
	if text := p.said.String(); p.Failed() {
		p.Logf("%s said:\n%s", p.name, text[max(0, len(text)-6000):])
	}
}

// logs expects what a container writes to be in Loki, once, with the names of its pod, also
// what it writes while the collector does not run; and nothing of the collector itself.
func (w *world) logs() {
	w.Helper()
	const uid = "0f8b6b9e-3c7e-4d2b-9a51-6f2f0f6c2a11"
	shop := w.host(filepath.Join("/var/log/pods", "default_shop-0_"+uid, "web"))
	own := w.host(filepath.Join("/var/log/pods", "monitoring-nodes_log-collector-x_"+uid, "log-collector"))
	w.write(own, "F", "of itself")
	w.write(shop, "P", "hel")
	w.write(shop, "F", "lo")
	w.lines("hello")
	w.collector.halt()
	w.write(shop, "F", "again")
	w.collector.launch()
	w.lines("hello", "again")
}

// write adds a line to a container's log, as the runtime does: P is a part of one, F its end.
func (w *world) write(dir, tag, text string) {
	w.Helper()
	file, err := os.OpenFile(filepath.Join(dir, "0.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	w.fine(err)
	_, err = fmt.Fprintf(file, "%s stdout %s %s\n", time.Now().UTC().Format(time.RFC3339Nano), tag, text)
	w.fine(errors.Join(err, file.Close()))
}

// lines waits for Loki to have exactly these lines, all of one container, in all the time that it
// keeps.
func (w *world) lines(want ...string) {
	w.Helper()
	labels := map[string]string{"k8s_namespace_name": "default", "k8s_pod_name": "shop-0", "k8s_container_name": "web", "k8s_node_name": "n1"}
	w.until("logs", func() error {
		response, err := http.Get("http://" + w.outside + ":3100/loki/api/v1/query_range?since=744h&direction=forward&query=" + url.QueryEscape(`{k8s_namespace_name=~".+"}`))
		if err != nil {
			return err
		}
		defer response.Body.Close()
		var answer struct {
			Data struct {
				Result []struct {
					Stream map[string]string
					Values [][]string
				}
			}
		}
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			return err
		}
		var values [][]string
		for _, stream := range answer.Data.Result {
			for name, value := range labels {
				if stream.Stream[name] != value {
					return fmt.Errorf("a line has %s %q, want %q", name, stream.Stream[name], value)
				}
			}
			values = append(values, stream.Values...)
		}
		slices.SortFunc(values, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
		var got []string
		for _, value := range values {
			got = append(got, value[1])
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("Loki has %q, want %q", got, want)
		}
		return nil
	})
}
