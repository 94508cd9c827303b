package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
)

// watched is a target with one receiver of each kind, whose files have the texts and mode.
func watched(t *testing.T, slack, password string, mode os.FileMode) *Target {
	t.Helper()
	file := func(name, text string) config.File {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return config.File(path)
	}
	e := &config.Environment{Metadata: config.Metadata{Name: "demo"}}
	e.Spec.ManagementCluster = &config.ManagementCluster{}
	e.Spec.Monitoring = &config.Monitoring{Prometheus: config.MonitoringPrometheus{Retention: config.Duration(48 * time.Hour), VolumeGiB: 20},
		Alertmanager: config.MonitoringAlertmanager{Retention: config.Duration(time.Hour), VolumeGiB: 1}, Logs: config.MonitoringLogs{Enabled: true, Retention: config.Duration(72 * time.Hour), VolumeGiB: 3},
		Alerts: config.MonitoringAlerts{Receivers: []config.AlertReceiver{
			{Name: "a", Severities: []string{"critical"}, Slack: &config.SlackReceiver{URLFile: file("slack", slack)}},
			{Name: "b", Mail: &config.MailReceiver{To: []string{"x@example.org"}, Username: "u", PasswordFile: file("password", password), TLS: true},
				Webhook: &config.WebhookReceiver{URL: "https://example.org", TokenFile: file("token", "word\n")}}}}}
	return &Target{Loaded: &config.Loaded{Environment: e}}
}

// TestMonitoringOfAnEnvironment: who names no severities is told of both, and secrets are the
// one line of their files.
func TestMonitoringOfAnEnvironment(t *testing.T) {
	t.Parallel()
	bill := holding(component.PrometheusImage, component.AlertmanagerImage, component.NodeExporterImage, component.KubeStateMetricsImage, component.LokiImage, component.LogCollectorImage)
	e := stacks.Equipment{Authorities: []string{"authority"}}
	if err := watched(t, "https://hooks.example.org/x\n", "secret\n", 0o600).monitoring(bill, &e); err != nil {
		t.Fatal(err)
	}
	s := e.Monitoring
	if s.Images.Prometheus != "quay.io/prometheus/prometheus:"+component.PrometheusVersion || s.Images.KubeStateMetrics == "" || s.Environment != "demo" || s.Retention != "48h" || s.VolumeGiB != 20 || s.AlertRetention != "1h" || s.CA != "authority" {
		t.Errorf("images %+v, retention %s and %s, environment %s", s.Images, s.Retention, s.AlertRetention, s.Environment)
	}
	if s.Logs == nil || s.Logs.Retention != "72h" || s.Logs.VolumeGiB != 3 || s.Images.Loki != "docker.io/grafana/loki:"+component.LokiVersion[1:] || s.Images.LogCollector == "" {
		t.Errorf("logs %+v, images %+v", s.Logs, s.Images)
	}
	a, b := s.Receivers[0], s.Receivers[1]
	if a.Slack.URL != "https://hooks.example.org/x" || strings.Join(a.Severities, ",") != "critical" || strings.Join(b.Severities, ",") != "critical,warning" || b.Mail.Password != "secret" || b.Mail.Plain || b.Webhook.Token != "word" {
		t.Error("the receivers are not those of the file")
	}
	without := &Target{Loaded: &config.Loaded{Environment: &config.Environment{}}}
	e = stacks.Equipment{}
	if err := without.monitoring(holding(), &e); err != nil || e.Monitoring != nil {
		t.Errorf("not asked for: %v, %v", e.Monitoring, err)
	}
}

// TestMonitoringIsRefused: all mistakes at once, each with its key and remedy, and no secret.
func TestMonitoringIsRefused(t *testing.T) {
	t.Parallel()
	const key = "spec.monitoring.alerts.receivers"
	all := []string{component.PrometheusImage, component.AlertmanagerImage, component.NodeExporterImage, component.KubeStateMetricsImage, component.LokiImage, component.LogCollectorImage}
	for name, test := range map[string]struct {
		slack, password string
		mode            os.FileMode
		items           []string
		want            []string // key or cause | remedy
	}{
		"a bundle without it": {"https://x.org", "p", 0o600, all[:1], []string{"contains no alertmanager, node-exporter, kube-state-metrics, loki, opentelemetry-collector | bundle build --with monitoring"}},
		"files for all":       {"https://x.org", "p", 0o644, all, []string{key + "[0].slack.urlFile | chmod 600", key + "[1].mail.passwordFile | chmod 600", key + "[1].webhook.tokenFile | chmod 600"}},
		"no URL, no password": {"secret-word", "secret-word\nmore", 0o600, all, []string{key + "[0].slack.urlFile | https://", key + "[1].mail.passwordFile | one line"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var e stacks.Equipment
			told := fault.All(watched(t, test.slack, test.password, test.mode).monitoring(holding(test.items...), &e))
			if len(told) != len(test.want) || e.Monitoring != nil {
				t.Fatalf("told %v", told)
			}
			for i, want := range test.want {
				cause, remedy, _ := strings.Cut(want, " | ")
				if !strings.Contains(told[i].Error(), cause) || !strings.Contains(fault.Remedy(told[i]), remedy) || strings.Contains(told[i].Error(), "secret-word") || fault.ExitCode(told[i]) != fault.ExitUsage {
					t.Errorf("%v, remedy %q; want %q", told[i], fault.Remedy(told[i]), want)
				}
			}
		})
	}
}
