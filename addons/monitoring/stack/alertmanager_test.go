package stack

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/process"
)

// receivers are one of each kind; hook is where the webhook goes.
func receivers(hook string) Settings {
	return Settings{Environment: "demo", Receivers: []Receiver{
		{Name: "team", Severities: []string{"critical", "warning"}, Webhook: &Webhook{URL: hook, Token: "hook-secret"}},
		{Name: "nights", Severities: []string{"critical"}, Slack: &Slack{URL: hook + "/slack-secret", Channel: "#nights"}},
		{Name: "days", Severities: []string{"warning"}, Mail: &Mail{To: []string{"a@example.org", "b@example.org"}, From: "slipway@example.org", Server: "mail.example.org:587", Username: "slipway", Password: "mail-secret"}},
	}}
}

// TestTheConfigHasNoSecret: Alertmanager shows its config to whoever asks. The proxy is that
// of the environment, but not for what is reached without.
func TestTheConfigHasNoSecret(t *testing.T) {
	t.Parallel()
	s := receivers("https://hooks.example.org")
	s.Receivers[1].Slack.URL = "https://inside.example.org/slack-secret"
	s.Variables = map[string]string{"HTTPS_PROXY": "http://proxy.example.org:3128", "NO_PROXY": "inside.example.org"}
	files, err := AlertmanagerFiles(s)
	if err != nil {
		t.Fatal(err)
	}
	config := files[alertmanagerConfig]
	if strings.Contains(config, "secret") {
		t.Errorf("the config has a secret:\n%s", config)
	}
	for name, want := range map[string]string{"nights.slack": "https://inside.example.org/slack-secret", "days.mail": "mail-secret", "team.webhook": "hook-secret"} {
		if files[name] != want || !strings.Contains(config, alertmanagerFolder+name) {
			t.Errorf("%s has %q, and the config names it: %t", name, files[name], strings.Contains(config, alertmanagerFolder+name))
		}
	}
	if strings.Count(config, "proxy_url: http://proxy.example.org:3128") != 1 {
		t.Errorf("not one receiver by the proxy:\n%s", config)
	}
}

// program is one of Debian's that make prometheus gets.
func program(t *testing.T, name string) string {
	t.Helper()
	folder := os.Getenv("SLIPWAY_PROMETHEUS")
	if folder == "" {
		t.Skip("set SLIPWAY_PROMETHEUS to the folder that make prometheus makes")
	}
	return filepath.Join(folder, name)
}

// TestAmtoolTakesTheConfig with every kind of receiver, and routes alerts as they say.
func TestAmtoolTakesTheConfig(t *testing.T) {
	t.Parallel()
	amtool, dir := program(t, "amtool"), t.TempDir()
	files, err := AlertmanagerFiles(receivers("https://hooks.example.org"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, files)
	config := filepath.Join(dir, alertmanagerConfig)
	if said, err := exec.CommandContext(t.Context(), amtool, "check-config", config).CombinedOutput(); err != nil || !strings.Contains(string(said), "4 receivers") {
		t.Errorf("amtool: %v\n%s", err, said)
	}
	for labels, want := range map[string]string{"severity=critical alertname=A": "team,nights", "severity=warning alertname=A": "team,days",
		"severity=none alertname=Watchdog": nobody, "severity=info alertname=A": nobody, "severity=none alertname=InfoInhibitor": nobody} {
		args := append([]string{"config", "routes", "test", "--config.file=" + config}, strings.Fields(labels)...)
		if said, err := exec.CommandContext(t.Context(), amtool, args...).Output(); err != nil || strings.TrimSpace(string(said)) != want {
			t.Errorf("%s goes to %s (%v), want %s", labels, said, err, want)
		}
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// post is what reached a receiver.
type post struct{ path, token, text string }

// alertmanager is the real one with the rendered config, told quickly of what changed.
type alertmanager struct {
	*testing.T
	url   string
	posts chan post
}

// TestAlertsReachReceivers by the real Alertmanager of Debian: when they begin, and when they
// are over. Critical and warning go where they are to go, and Watchdog nowhere. Mail goes to a
// server whose certificate is of an authority that the settings trust.
//
// proves: F52
func TestAlertsReachReceivers(t *testing.T) {
	t.Parallel()
	a := startAlertmanager(t)
	for name, severity := range map[string]string{"Disk": "critical", "Slow": "warning", "Watchdog": "none"} {
		a.send(name, severity, time.Now().Add(time.Hour))
	}
	got := a.collect(4)
	for _, want := range []string{"/ firing Disk", "/ firing Slow", "/slack-secret firing Disk", "mail to a@example.org b@example.org firing Slow"} {
		if !got[want] {
			t.Errorf("%q did not come: %v", want, got)
		}
	}
	a.send("Disk", "critical", time.Now())
	a.send("Slow", "warning", time.Now())
	got = a.collect(4)
	for _, want := range []string{"/ resolved Disk", "/ resolved Slow", "/slack-secret resolved Disk", "mail to a@example.org b@example.org resolved Slow"} {
		if !got[want] {
			t.Errorf("%q did not come: %v", want, got)
		}
	}
}

func startAlertmanager(t *testing.T) *alertmanager {
	t.Helper()
	path, dir := program(t, "prometheus-alertmanager"), t.TempDir()
	a := &alertmanager{T: t, posts: make(chan post, 100)}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		a.posts <- post{r.URL.Path, r.Header.Get("Authorization"), string(text)}
	}))
	t.Cleanup(hook.Close)
	authority := httptest.NewTLSServer(nil) // of which only the certificate is used
	t.Cleanup(authority.Close)
	s := receivers(hook.URL)
	s.Receivers[2].Mail.Server = mailServer{t, authority.TLS.Certificates[0], a.posts}.serve()
	files, err := AlertmanagerFiles(s)
	if err != nil {
		t.Fatal(err)
	}
	// The folder is another, and nobody waits for minutes.
	files[alertmanagerConfig] = strings.NewReplacer(alertmanagerFolder, dir+"/", "group_wait: 30s", "group_wait: 100ms", "group_interval: 5m", "group_interval: 1s").Replace(files[alertmanagerConfig])
	write(t, dir, files)
	trust := t.TempDir()
	write(t, trust, map[string]string{"ca.crt": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate().Raw}))})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	said := &bytes.Buffer{}
	cmd := withShare(filepath.Join(filepath.Dir(path), "share"), path, "--config.file="+filepath.Join(dir, alertmanagerConfig), "--storage.path="+filepath.Join(dir, "data"), "--cluster.listen-address=", "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr, cmd.Env = said, said, append(os.Environ(), "SSL_CERT_DIR="+trust) // as the Deployment sets it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Alertmanager said:\n%s", said)
		}
	})
	a.url = "http://" + address
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if response, err := http.Get(a.url + "/-/ready"); err == nil {
			response.Body.Close()
			return a
		}
		if time.Now().After(end) {
			t.Fatal("Alertmanager is not ready")
		}
	}
}

// withShare makes the command of a program that reads files of its package below /usr/share,
// which it alone sees.
func withShare(share, path string, args ...string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", append([]string{"-c", `mount --bind "$0" /usr/share && exec "$@"`, share, path}, args...)...)
	cmd.SysProcAttr = process.Bound(true)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS // nothing of it is seen by others
	} else {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return cmd
}

// send tells Alertmanager of an alert as Prometheus does.
func (a *alertmanager) send(name, severity string, ends time.Time) {
	a.Helper()
	text := fmt.Sprintf(`[{"labels": {"alertname": %q, "severity": %q, "namespace": %q}, "annotations": {"summary": "it is"}, "startsAt": %q, "endsAt": %q}]`,
		name, severity, strings.ToLower(name), time.Now().Add(-time.Minute).Format(time.RFC3339Nano), ends.Format(time.RFC3339Nano))
	response, err := http.Post(a.url+"/api/v2/alerts", "application/json", strings.NewReader(text))
	if err != nil {
		a.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		a.Fatalf("%s: %s", name, response.Status)
	}
}

// collect waits for so many different messages, and a moment for others.
func (a *alertmanager) collect(count int) map[string]bool {
	a.Helper()
	got := map[string]bool{}
	for end := time.After(time.Minute); ; {
		var moment <-chan time.Time
		if len(got) >= count {
			moment = time.After(2 * time.Second)
		}
		select {
		case p := <-a.posts:
			got[p.path+" "+a.read(p)] = true
		case <-moment:
			if len(got) != count {
				a.Errorf("%d messages came, not %d: %v", len(got), count, got)
			}
			return got
		case <-end:
			a.Fatalf("only these came: %v", got)
		}
	}
}

// read is the state and name of the alert that a message is about.
func (a *alertmanager) read(p post) string {
	a.Helper()
	if strings.HasPrefix(p.path, "mail ") {
		message, err := mail.ReadMessage(strings.NewReader(p.text))
		if err != nil || p.token != "\x00slipway\x00mail-secret" || message.Header.Get("From") != "slipway@example.org" {
			a.Fatalf("%v, login %q: %s", err, p.token, p.text)
		}
		state, rest, _ := strings.Cut(strings.TrimPrefix(message.Header.Get("Subject"), "["), "] ")
		state, _, _ = strings.Cut(state, ":") // how many fire
		return strings.ToLower(state) + " " + strings.Fields(rest)[0]
	}
	if p.path != "/" { // Slack's
		var message struct{ Attachments []struct{ Title string } }
		if err := json.Unmarshal([]byte(p.text), &message); err != nil || len(message.Attachments) != 1 {
			a.Fatalf("%v: %s", err, p.text)
		}
		state, rest, _ := strings.Cut(message.Attachments[0].Title, ": ")
		return strings.ToLower(state) + " " + strings.Fields(rest)[0]
	}
	var message struct {
		Status       string
		CommonLabels map[string]string
	}
	if err := json.Unmarshal([]byte(p.text), &message); err != nil || p.token != "Bearer hook-secret" {
		a.Fatalf("%v, token %q: %s", err, p.token, p.text)
	}
	return message.Status + " " + message.CommonLabels["alertname"]
}
