package kubernetes

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/clusterapi"
)

// Console returns the end of a server's console log; "" if the cloud does not provide it.
type Console func(ctx context.Context, serverID string) string

// ReadConsole reads the console log from Nova.
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
	// listenEvery is how often consoles are read, and how long a machine may take before that.
	listenEvery = 15 * time.Second
	// bootLines is how many lines are read: the kubelet logs more lines after kubeadm's.
	bootLines = 1000
)

// listener reads from consoles why running machines do not become nodes: no controller
// knows, because kubeadm's errors are visible nowhere else.
type listener struct {
	console Console
	tell    func(string)

	mu       sync.Mutex
	report   clusterapi.Report
	progress string
	said     string
}

// hear receives a report.
func (l *listener) hear(r clusterapi.Report) {
	l.mu.Lock()
	l.report, l.progress = r, r.Progress()
	text := l.text()
	l.mu.Unlock()
	l.tell(text)
}

// text describes the current wait. The caller holds l.mu.
func (l *listener) text() string {
	if l.said == "" {
		return l.progress
	}
	return l.progress + "; " + l.said
}

// listen reads consoles until the context ends.
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

// look reads the consoles of running machines that are not nodes.
func (l *listener) look(ctx context.Context) {
	l.mu.Lock()
	report := l.report
	l.mu.Unlock()
	said := ""
	for _, p := range report.Parts {
		if p.Kind != "Machine" || p.Ready || p.Server == "" {
			continue
		}
		if _, words := cause.Boot(l.console(ctx, p.Server)); words != "" {
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

// explain adds the console's message to the error of the wait.
func (l *listener) explain(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil || l.said == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, l.said)
}
