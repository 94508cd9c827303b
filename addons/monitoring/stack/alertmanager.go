package stack

import (
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
	"sigs.k8s.io/yaml"
)

// Receiver is who gets alerts, in one or more ways.
type Receiver struct {
	Name string `json:"name"`
	// Severities are those of the alerts that it gets.
	Severities []string `json:"severities"`
	Slack      *Slack   `json:"slack,omitempty"`
	Mail       *Mail    `json:"mail,omitempty"`
	Webhook    *Webhook `json:"webhook,omitempty"`
}

// Slack is an incoming webhook of Slack's, or of what is like it.
type Slack struct {
	// URL is a secret.
	URL     string `json:"url"`
	Channel string `json:"channel,omitempty"`
}

// Mail is a server that takes mail.
type Mail struct {
	To     []string `json:"to"`
	From   string   `json:"from"`
	Server string   `json:"server"`
	// Username and Password are empty for a server that wants none.
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	// Plain allows a server without STARTTLS.
	Plain bool `json:"plain,omitempty"`
}

// Webhook is a URL that Alertmanager's JSON is posted to.
type Webhook struct {
	URL string `json:"url"`
	// Token is sent as a Bearer token, if there is one.
	Token string `json:"token,omitempty"`
}

// The folder of AlertmanagerFiles and the name of the config among them.
const (
	alertmanagerFolder = "/etc/alertmanager/"
	alertmanagerConfig = "alertmanager.yaml"
)

// nobody receives what is dropped. No name of a receiver can be the same.
const nobody = "_nobody"

// AlertmanagerFiles are the config of Alertmanager and the files with secrets that it
// names: the config itself has none, because Alertmanager shows it.
func AlertmanagerFiles(s Settings) (map[string]string, error) {
	files := map[string]string{}
	through := proxies(s.Variables)
	receivers := []any{map[string]any{"name": nobody}}
	// Watchdog always fires, to show that alerts are evaluated; InfoInhibitor is of other rules.
	routes := []any{map[string]any{"receiver": nobody, "matchers": []string{`alertname=~"Watchdog|InfoInhibitor"`}}}
	for _, r := range s.Receivers {
		receivers = append(receivers, r.config(files, through))
		routes = append(routes, map[string]any{"receiver": r.Name, "matchers": []string{fmt.Sprintf("severity=~%q", strings.Join(r.Severities, "|"))}, "continue": true})
	}
	text, err := yaml.Marshal(map[string]any{
		"route": map[string]any{"receiver": nobody, "group_by": []string{"alertname", "namespace", "severity"}, "group_wait": "30s", "group_interval": "5m", "repeat_interval": "12h", "routes": routes},
		// Who is told that something is critical need not be warned of it too.
		"inhibit_rules": []any{map[string]any{"source_matchers": []string{`severity="critical"`}, "target_matchers": []string{`severity="warning"`}, "equal": []string{"alertname", "namespace"}}},
		"receivers":     receivers,
	})
	if err != nil {
		return nil, fmt.Errorf("writing the config of Alertmanager: %w", err)
	}
	files[alertmanagerConfig] = string(text)
	return files, nil
}

// config is a receiver in Alertmanager's notation; its secrets go into files.
func (r Receiver) config(files map[string]string, through func(string) string) map[string]any {
	secret := func(what, text string) string {
		name := r.Name + "." + what
		files[name] = text
		return alertmanagerFolder + name
	}
	out := map[string]any{"name": r.Name}
	if r.Slack != nil {
		one := map[string]any{"api_url_file": secret("slack", r.Slack.URL), "send_resolved": true, "http_config": client(through(r.Slack.URL)),
			"title": slackTitle, "text": slackText}
		if r.Slack.Channel != "" {
			one["channel"] = r.Slack.Channel
		}
		out["slack_configs"] = []any{one}
	}
	if r.Mail != nil {
		one := map[string]any{"to": strings.Join(r.Mail.To, ", "), "from": r.Mail.From, "smarthost": r.Mail.Server, "require_tls": !r.Mail.Plain, "send_resolved": true}
		if r.Mail.Username != "" {
			one["auth_username"], one["auth_password_file"] = r.Mail.Username, secret("mail", r.Mail.Password)
		}
		out["email_configs"] = []any{one}
	}
	if r.Webhook != nil {
		settings := client(through(r.Webhook.URL))
		if r.Webhook.Token != "" {
			settings["authorization"] = map[string]any{"credentials_file": secret("webhook", r.Webhook.Token)}
		}
		out["webhook_configs"] = []any{map[string]any{"url": r.Webhook.URL, "send_resolved": true, "http_config": settings}}
	}
	return out
}

// What Slack shows: the alerts of a group with what to do.
const (
	slackTitle = `{{ .Status | toUpper }}: {{ .CommonLabels.alertname }} ({{ .CommonLabels.severity }})`
	slackText  = "{{ range .Alerts }}{{ .Annotations.summary }}. {{ .Annotations.description }} {{ .Annotations.runbook_url }}\n{{ end }}"
)

// client is how Alertmanager goes out: it reads no variables of a proxy.
func client(proxy string) map[string]any {
	if proxy == "" {
		return map[string]any{"follow_redirects": true}
	}
	return map[string]any{"follow_redirects": true, "proxy_url": proxy}
}

// proxies tells the proxy for a URL by the usual variables, empty for none.
func proxies(variables map[string]string) func(string) string {
	choose := (&httpproxy.Config{HTTPProxy: variables["HTTP_PROXY"], HTTPSProxy: variables["HTTPS_PROXY"], NoProxy: variables["NO_PROXY"]}).ProxyFunc()
	return func(text string) string {
		to, err := url.Parse(text)
		if err != nil {
			return "" // Alertmanager will say so
		}
		proxy, err := choose(to)
		if err != nil || proxy == nil {
			return ""
		}
		return proxy.String()
	}
}
