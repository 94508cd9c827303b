package kubernetes

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/internal/clusterapi"
)

// Console returns the end of what a server printed; "" where the cloud does not
// tell.
type Console func(ctx context.Context, serverID string) string

// ReadConsole reads by Nova's API.
func ReadConsole(compute func() (*gophercloud.ServiceClient, error)) Console {
	return func(ctx context.Context, id string) string {
		client, err := compute()
		if err != nil {
			return ""
		}
		return printed(ctx, client, id, bootLines)
	}
}

const (
	// listenEvery is how often consoles are looked at, and how long a machine may
	// take before.
	listenEvery = 15 * time.Second
	// bootLines are how many lines are looked at: kubelet prints more after
	// kubeadm's.
	bootLines = 1000
)

// listener hears on their consoles why machines that run do not become nodes: no
// controller can tell, since kubeadm's words reach nobody else.
type listener struct {
	console Console
	tell    func(string)

	mu       sync.Mutex
	report   clusterapi.Report
	progress string
	said     string
}

// hear takes a report.
func (l *listener) hear(r clusterapi.Report) {
	l.mu.Lock()
	l.report, l.progress = r, r.Progress()
	text := l.text()
	l.mu.Unlock()
	l.tell(text)
}

// text is what is waited for. l.mu is held.
func (l *listener) text() string {
	if l.said == "" {
		return l.progress
	}
	return l.progress + "; " + l.said
}

// listen looks at consoles until the context ends.
func (l *listener) listen(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(listenEvery):
		}
		l.look(ctx)
	}
}

// look asks for the consoles of machines that run without being nodes.
func (l *listener) look(ctx context.Context) {
	l.mu.Lock()
	report := l.report
	l.mu.Unlock()
	said := ""
	for _, p := range report.Parts {
		if p.Kind != "Machine" || p.Ready || p.Server == "" {
			continue
		}
		if words := bootFailure(l.console(ctx, p.Server)); words != "" {
			said = fmt.Sprintf("the console of %s says: %s", p.Name, words)
			break
		}
	}
	l.mu.Lock()
	changed := said != l.said
	l.said = said
	text := l.text()
	l.mu.Unlock()
	if changed {
		l.tell(text)
	}
}

// explain adds what was heard to the error that the wait ended with.
func (l *listener) explain(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil || l.said == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, l.said)
}

// bootFailure is why kubeadm or cloud-init gave up, in their words; "" if they
// did not.
func bootFailure(console string) string {
	for _, pattern := range []string{`\[ERROR [\w-]+\]: .*`, `error execution phase .*`, `Failed to run module scripts-user.*`} {
		if found := regexp.MustCompile(pattern).FindAllString(console, 3); len(found) > 0 {
			for i := range found {
				found[i] = strings.TrimSpace(found[i])
			}
			return strings.Join(found, "; ")
		}
	}
	return ""
}
