package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// outage is how long the management cluster's API may be silent in one go while
// its control planes are replaced: a request that went to the one that ends, and
// the load balancer's next look.
const outage = 10 * time.Second

// watch asks the management cluster's API all the time, and logs each request that failed. What
// it returns tells the longest time without an answer, and stops.
func (p *project) watch() func() time.Duration {
	ctx, stop := context.WithCancel(p.t.Context())
	longest := make(chan time.Duration, 1)
	go func() {
		var most time.Duration
		asked, failed := 0, 0
		for last := time.Now(); ctx.Err() == nil; time.Sleep(time.Second) {
			begun := time.Now()
			said, err := p.askReady(ctx)
			if ctx.Err() != nil {
				break
			}
			asked++
			if err == nil {
				most, last = max(most, time.Since(last)), time.Now()
				continue
			}
			failed++
			p.t.Logf("%s the API did not answer within %s: %s", begun.Format(time.TimeOnly), time.Since(begun).Round(time.Millisecond), said)
		}
		p.t.Logf("the API was silent for %s at most; %d of %d requests failed", most.Round(time.Second), failed, asked)
		longest <- most
	}()
	return func() time.Duration {
		stop()
		return <-longest
	}
}

// askReady asks the API once, by a connection of its own, whether it is ready; what it says of a
// failure is on one line.
func (p *project) askReady(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(bundleDir(p.t), "bin", "kubectl"), "get", "--raw", "/readyz", "--request-timeout=3s")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(p.folder, ".slipway", "management.kubeconfig"))
	out, err := cmd.CombinedOutput()
	return strings.Join(strings.Fields(string(out)), " "), err
}
