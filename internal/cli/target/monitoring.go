package target

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/addons/monitoring/stack"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
)

// monitoring reads what Prometheus and Alertmanager need from the bundle and from local
// files; all mistakes are told at once.
func (t *Target) monitoring(bill *bundle.Bill, e *stacks.Equipment) error {
	spec := t.Environment.Spec.Monitoring
	if spec == nil {
		return nil
	}
	var missing []string
	ref := func(name string) string {
		item := bill.Item(name)
		if item == nil {
			missing = append(missing, name)
			return ""
		}
		return item.Ref
	}
	s := &stack.Settings{Environment: t.Name(), StorageClass: spec.StorageClass, CA: strings.Join(e.Authorities, "\n"),
		Images:    stack.Images{Prometheus: ref(component.PrometheusImage), Alertmanager: ref(component.AlertmanagerImage), NodeExporter: ref(component.NodeExporterImage), KubeStateMetrics: ref(component.KubeStateMetricsImage)},
		Retention: hours(spec.Prometheus.Retention), VolumeGiB: spec.Prometheus.VolumeGiB,
		AlertRetention: hours(spec.Alertmanager.Retention), AlertVolumeGiB: spec.Alertmanager.VolumeGiB}
	if spec.Logs.Enabled {
		s.Images.Loki, s.Images.LogCollector = ref(component.LokiImage), ref(component.LogCollectorImage)
		s.Logs = &stack.Logs{Retention: hours(spec.Logs.Retention), VolumeGiB: spec.Logs.VolumeGiB}
	}
	var wrong []error
	if len(missing) > 0 {
		wrong = append(wrong, fault.Usage("spec.monitoring", fmt.Errorf("the bundle %s contains no %s", t.Environment.Spec.Bundle, strings.Join(missing, ", ")),
			"run slipway bundle build --with monitoring --dir "+string(t.Environment.Spec.Bundle)))
	}
	for i, r := range spec.Alerts.Receivers {
		receiver, err := alertReceiver(fmt.Sprintf("spec.monitoring.alerts.receivers[%d].", i), r)
		wrong = append(wrong, err)
		s.Receivers = append(s.Receivers, receiver)
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	e.Monitoring = s
	return nil
}

// hours writes a duration as Prometheus reads it.
func hours(d config.Duration) string { return fmt.Sprintf("%dh", int(time.Duration(d).Hours())) }

// alertReceiver reads the files of a receiver, whose key is at.
func alertReceiver(at string, r config.AlertReceiver) (stack.Receiver, error) {
	out := stack.Receiver{Name: r.Name, Severities: r.Severities}
	if len(out.Severities) == 0 {
		out.Severities = []string{"critical", "warning"}
	}
	var wrong [3]error
	if r.Slack != nil {
		out.Slack = &stack.Slack{Channel: r.Slack.Channel}
		if out.Slack.URL, wrong[0] = secretWord(at+"slack.urlFile", r.Slack.URLFile); wrong[0] == nil {
			if u, err := url.Parse(out.Slack.URL); err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme) {
				wrong[0] = fault.Usage(at+"slack.urlFile "+string(r.Slack.URLFile), errors.New("it contains no URL"), "write the URL of the incoming webhook into it, https://…, and nothing else")
			}
		}
	}
	if m := r.Mail; m != nil {
		out.Mail = &stack.Mail{To: m.To, From: m.From, Server: m.Server, Username: m.Username, Plain: !m.TLS}
		if m.PasswordFile != "" {
			out.Mail.Password, wrong[1] = secretWord(at+"mail.passwordFile", m.PasswordFile)
		}
	}
	if r.Webhook != nil {
		out.Webhook = &stack.Webhook{URL: r.Webhook.URL}
		if r.Webhook.TokenFile != "" {
			out.Webhook.Token, wrong[2] = secretWord(at+"webhook.tokenFile", r.Webhook.TokenFile)
		}
	}
	return out, errors.Join(wrong[:]...)
}

// secretWord reads a file with one secret, which others must not be able to.
func secretWord(key string, path config.File) (string, error) {
	about, err := os.Stat(string(path))
	if err != nil {
		return "", fault.Usage(key, err, "check the path in the environment file")
	}
	if about.Mode().Perm()&0o077 != 0 {
		return "", fault.Usage(key+" "+string(path), fmt.Errorf("its mode is %#o: others can read it", about.Mode().Perm()), "run chmod 600 "+string(path))
	}
	text, err := os.ReadFile(string(path))
	if err != nil {
		return "", fault.Usage(key, err, "check the path in the environment file")
	}
	word := strings.TrimSpace(string(text))
	if word == "" || strings.ContainsAny(word, "\r\n") {
		return "", fault.Usage(key+" "+string(path), errors.New("it is empty, or has more than one line"), "write the secret into it as one line")
	}
	return word, nil
}
