package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// loadPause is the pause between two requests: 20 a second, of loadClients at most at a time. A
	// machine that is too slow for them would else be asked ever more, by those that ask again.
	loadPause   = 50 * time.Millisecond
	loadClients = 32
	// loadTries is how often an ordinary client asks again, as openstacksdk does by default.
	loadTries = 5
)

// load asks the Magnum API of an environment all the time, reads and writes, as a tenant.
type load struct {
	url, token, image string
	client            *http.Client
	asked, repeated   atomic.Int64
	// unanswered are those of the repeated ones to which nobody answered. The API itself answers
	// others with Retry-After: it is there, and busy.
	unanswered atomic.Int64
	mu         sync.Mutex
	failed     []string
	// again has the first requests that were repeated, and why.
	again   []string
	slowest time.Duration
}

// underLoad has the Magnum API asked 20 times a second while something is done, and wants no
// request to fail after what an ordinary client repeats: those that got no answer, and those
// that were answered with Retry-After.
func (p *project) underLoad(what string, do func()) (l *load) {
	p.t.Helper()
	l = p.newLoad()
	ctx, stop := context.WithCancel(p.t.Context())
	var requests sync.WaitGroup
	clients, busy := make(chan struct{}, loadClients), 0
	requests.Go(func() {
		tick := time.NewTicker(loadPause)
		defer tick.Stop()
		for turn := 0; ; turn++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				select {
				case clients <- struct{}{}:
					requests.Go(func() {
						l.turn(p.t.Context(), turn)
						<-clients
					})
				default:
					busy++
				}
			}
		}
	})
	defer func() {
		stop()
		requests.Wait()
		l.clean(p.t.Context())
		p.t.Logf("Magnum API during %s: %d requests, %d repeated (%d without an answer), the slowest answered after %s; %d times all %d clients waited", what, l.asked.Load(), l.repeated.Load(), l.unanswered.Load(), l.slowest.Round(time.Millisecond), busy, loadClients)
		if len(l.failed) > 0 {
			p.t.Errorf("%d requests of %d failed during %s:\n%s\n%s", len(l.failed), l.asked.Load(), what, strings.Join(l.failed[:min(5, len(l.failed))], "\n"), p.magnumErrors())
		}
		if l.asked.Load() == 0 {
			p.t.Error("no request was made")
		}
	}()
	do()
	return l
}

// magnumErrors are the last errors in the log of the Magnum API, as far as its Pods are
// still there: an answer tells clients nothing of the inside.
func (p *project) magnumErrors() string {
	out, err := p.on("", "logs", "--namespace=slipway-system", "--selector=app.kubernetes.io/name=slipway-magnum", "--tail=-1")
	if err != nil {
		return fmt.Sprintf("reading the log of the Magnum API: %v\n%s", err, out)
	}
	var errors []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, `"level":"ERROR"`) {
			errors = append(errors, line)
		}
	}
	return strings.Join(errors[max(0, len(errors)-5):], "")
}

func (p *project) newLoad() *load {
	p.t.Helper()
	authority, err := os.ReadFile(filepath.Join(p.folder, ".slipway", "magnum-ca.pem"))
	if err != nil {
		p.t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	l := &load{client: &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}}}}
	l.token = p.openstack("token", "issue", "-f", "value", "-c", "id")
	var endpoints []struct {
		Name string `json:"Service Type"`
		URL  string
	}
	if err := json.Unmarshal([]byte(p.openstack("--os-cloud", "sandbox-admin", "endpoint", "list", "--service", "container-infra", "--interface", "public", "-f", "json")), &endpoints); err != nil || len(endpoints) != 1 {
		p.t.Fatalf("endpoints %v: %v", endpoints, err)
	}
	l.url = endpoints[0].URL
	templates := l.get(p.t.Context(), "/clustertemplates")
	all, _ := templates["clustertemplates"].([]any)
	if len(all) == 0 {
		p.t.Fatalf("no cluster templates: %v", templates)
	}
	first, _ := all[0].(map[string]any)
	l.image, _ = first["image_id"].(string)
	return l
}

// turn makes one request in four a write: a template that is made, and then deleted.
func (l *load) turn(ctx context.Context, turn int) {
	switch turn % 4 {
	case 0:
		body := map[string]any{"name": "load-" + strconv.Itoa(turn), "coe": "kubernetes", "image_id": l.image, "external_network_id": "public",
			"flavor_id": "m1.large", "master_flavor_id": "m1.large"}
		if made := l.ask(ctx, http.MethodPost, "/clustertemplates", body, http.StatusCreated); made["uuid"] != nil {
			l.ask(ctx, http.MethodDelete, fmt.Sprint("/clustertemplates/", made["uuid"]), nil, http.StatusNoContent)
		}
	case 1:
		l.get(ctx, "/clustertemplates")
	default:
		l.get(ctx, "/clusters")
	}
}

func (l *load) get(ctx context.Context, path string) map[string]any {
	return l.ask(ctx, http.MethodGet, path, nil, http.StatusOK)
}

// ask asks as an ordinary client.
func (l *load) ask(ctx context.Context, method, path string, body any, want int) map[string]any {
	l.asked.Add(1)
	begun := time.Now()
	for try := 1; ; try++ {
		status, after, answer, err := l.once(ctx, method, path, body)
		again := err != nil || status == http.StatusServiceUnavailable && after > 0
		if again && try <= loadTries {
			l.repeated.Add(1)
			if err != nil {
				l.unanswered.Add(1)
			}
			l.mu.Lock()
			if len(l.again) < 10 {
				l.again = append(l.again, fmt.Sprintf("%s %s %s after %s: %d %v", begun.Format(time.TimeOnly), method, path, time.Since(begun).Round(time.Millisecond), status, err))
			}
			l.mu.Unlock()
			time.Sleep(max(after, time.Second))
			continue
		}
		l.mu.Lock()
		l.slowest = max(l.slowest, time.Since(begun))
		// What an answer that was lost had already deleted is deleted.
		if gone := method == http.MethodDelete && status == http.StatusNotFound && try > 1; err != nil || status != want && !gone {
			l.failed = append(l.failed, fmt.Sprintf("%s %s after %d tries in %s: %d %v %s", method, path, try, time.Since(begun).Round(time.Millisecond), status, err, answer))
		}
		l.mu.Unlock()
		var members map[string]any
		_ = json.Unmarshal(answer, &members)
		return members
	}
}

func (l *load) once(ctx context.Context, method, path string, body any) (status int, after time.Duration, answer []byte, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, l.url+path, bytes.NewReader(text))
	if err != nil {
		return 0, 0, nil, err
	}
	request.Header.Set("X-Auth-Token", l.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := l.client.Do(request)
	if err != nil {
		return 0, 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return response.StatusCode, time.Duration(seconds) * time.Second, answer, err
}

// clean deletes the templates that a lost answer left.
func (l *load) clean(ctx context.Context) {
	all, _ := l.get(ctx, "/clustertemplates")["clustertemplates"].([]any)
	for _, one := range all {
		template, _ := one.(map[string]any)
		if name, _ := template["name"].(string); strings.HasPrefix(name, "load-") {
			l.ask(ctx, http.MethodDelete, fmt.Sprint("/clustertemplates/", template["uuid"]), nil, http.StatusNoContent)
		}
	}
}
