package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/internal/alerts"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// alert is one as Prometheus tells it.
func alert(name, state, severity, node string) string {
	return fmt.Sprintf(`{"labels": {"alertname": %q, "severity": %q, "node": %q}, "annotations": {"summary": "it is so"}, "state": %q, "activeAt": "2026-01-02T03:04:05Z", "value": "1"}`, name, severity, node, state)
}

const watchdog = `{"labels": {"alertname": "Watchdog", "severity": "none", "environment": "demo"}, "status": {"state": "active", "silencedBy": []}}`

// monitored is a cluster with a Prometheus and an Alertmanager, which answer with these alerts; the
// first answers are later ones.
func monitored(t *testing.T, services string, told string, evaluated ...string) alerts.Access {
	t.Helper()
	asked := &atomic.Int32{}
	return answering(t, services, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/prometheus:9090/api/v1/alerts":
			i := min(int(asked.Add(1)), len(evaluated)) - 1
			fmt.Fprintf(w, `{"status": "success", "data": {"alerts": [%s]}}`, evaluated[i])
		case "/alertmanager:9093/api/v2/alerts":
			fmt.Fprintf(w, `[%s]`, told)
		default:
			http.NotFound(w, r)
		}
	})
}

// answering is a cluster with two Services, whose names begin so. What is asked of one has its
// name and port before the path.
func answering(t *testing.T, services string, handler http.HandlerFunc) alerts.Access {
	t.Helper()
	var objects []runtime.Object
	at := map[string]string{}
	for _, program := range []string{"prometheus:9090", "alertmanager:9093"} {
		name, _, _ := strings.Cut(program, ":")
		objects = append(objects, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: alerts.Namespace, Name: services + name}})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL.Path = "/" + program + r.URL.Path
			handler(w, r)
		}))
		t.Cleanup(s.Close)
		at[services+program] = s.Listener.Addr().String()
	}
	return alerts.Access{Client: fake.NewClientset(objects...), Dial: func(_ context.Context, _, service string, port int) (net.Conn, error) {
		return net.Dial("tcp", at[fmt.Sprintf("%s:%d", service, port)])
	}}
}

// TestAlertsByTheirExitCode: it is 0 if nothing fires but Watchdog, which must.
//
// proves: F44
func TestAlertsByTheirExitCode(t *testing.T) {
	t.Parallel()
	dog, disk, slow := alert("Watchdog", "firing", "none", ""), alert("Disk", "firing", "critical", "n1"), alert("Slow", "firing", "warning", "n2")
	soon := alert("Soon", "pending", "critical", "n3")
	silence := `, {"labels": {"alertname": "Disk", "severity": "critical", "node": "n1", "environment": "demo"}, "status": {"state": "suppressed", "silencedBy": ["x"]}}`
	for name, c := range map[string]struct {
		options   alertOptions
		services  string
		told      string
		evaluated []string
		want      string // of the error, empty for none
	}{
		"quiet":                 {told: watchdog, evaluated: []string{dog}},
		"of the operator":       {services: "kube-prometheus-stack-", told: watchdog, evaluated: []string{dog + "," + alert("InfoInhibitor", "firing", "none", "")}},
		"one fires":             {told: watchdog, evaluated: []string{dog + "," + slow + "," + disk}, want: "2 of its alerts fire: Disk, Slow"},
		"critical only":         {options: alertOptions{severity: []string{"critical"}}, told: watchdog, evaluated: []string{dog + "," + slow}},
		"one will":              {told: watchdog, evaluated: []string{dog + "," + soon}},
		"one will, and counts":  {options: alertOptions{pending: true}, told: watchdog, evaluated: []string{dog + "," + soon}, want: "1 of its alerts fire: Soon"},
		"silenced":              {told: watchdog + silence, evaluated: []string{dog + "," + disk}},
		"another is silenced":   {told: watchdog + silence, evaluated: []string{dog + "," + alert("Disk", "firing", "critical", "n9")}, want: "1 of its alerts fire"},
		"nothing is evaluated":  {told: watchdog, evaluated: []string{""}, want: "Watchdog does not fire"},
		"nothing is delivered":  {told: "", evaluated: []string{dog}, want: "did not reach Alertmanager"},
		"it ends while we wait": {options: alertOptions{timeout: time.Minute}, told: watchdog, evaluated: []string{dog + "," + disk, dog}},
		"there is none":         {services: "other-", evaluated: []string{dog}, want: "not on the management cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, file := &bytes.Buffer{}, filepath.Join(t.TempDir(), "junit.xml")
			c.options.format, c.options.junit = "json", file
			err := c.options.look(t.Context(), ui.Streams{Out: out, Err: out}, monitored(t, c.services, c.told, c.evaluated...), "demo")
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || fault.ExitCode(err) != fault.ExitFailure || fault.Remedy(err) == "") {
				t.Errorf("%v, want %q", err, c.want)
			}
			if passed := strings.Contains(out.String(), `"passed": true`); passed != (c.want == "") || c.services == "other-" && out.Len() > 0 {
				t.Errorf("it said %s", out)
			}
			text, err := os.ReadFile(file)
			if err != nil || strings.Contains(string(text), "<failure") != (c.want != "") || !strings.Contains(string(text), "Watchdog") {
				t.Errorf("JUnit: %v\n%s", err, text)
			}
		})
	}
}

// TestAlertsAsATable has the worst first.
func TestAlertsAsATable(t *testing.T) {
	t.Parallel()
	out := &bytes.Buffer{}
	all := []string{alert("Watchdog", "firing", "none", ""), alert("Soon", "pending", "critical", "n3"), alert("Slow", "firing", "warning", "n2"), alert("Disk", "firing", "critical", "n1")}
	err := alertOptions{format: "table"}.look(t.Context(), ui.Streams{Out: out, Err: out}, monitored(t, "", watchdog, strings.Join(all, ",")), "demo")
	if err == nil {
		t.Error("two fire, and it passes")
	}
	var order []string
	for line := range strings.Lines(out.String()) {
		order = append(order, strings.Join(strings.Fields(line)[:3], " "))
	}
	if got := strings.Join(order, ", "); got != "ALERT STATE SEVERITY, Disk firing critical, Slow firing warning, Watchdog firing none, Soon pending critical" {
		t.Errorf("%s\n%s", got, out)
	}
}

// TestAPrometheusThatHangsIsWaitedForNoLonger than --timeout says.
func TestAPrometheusThatHangsIsWaitedForNoLonger(t *testing.T) {
	t.Parallel()
	on := answering(t, "", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out := &bytes.Buffer{}
	err := alertOptions{timeout: 100 * time.Millisecond, format: "json"}.look(ctx, ui.Streams{Out: out, Err: out}, on, "demo")
	if ctx.Err() != nil || !errors.Is(err, errSilent) || fault.Remedy(err) == "" {
		t.Errorf("%v (%v)", err, ctx.Err())
	}
}
