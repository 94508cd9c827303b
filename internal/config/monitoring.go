package config

import (
	"fmt"
	"net"
	"net/mail"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Monitoring is Prometheus and what goes with it on the management cluster; on the seed if there is none. The bundle must have it: `slipway bundle build --with monitoring`.
type Monitoring struct {
	// Prometheus, which records and evaluates.
	Prometheus MonitoringPrometheus `json:"prometheus"`
	// Alertmanager, which tells people.
	Alertmanager MonitoringAlertmanager `json:"alertmanager"`
	// Logs of pods, which Loki keeps.
	Logs MonitoringLogs `json:"logs"`
	// Storage class of all volumes. Empty: the management cluster's default. A seed has folders on its data volume instead.
	StorageClass string `json:"storageClass,omitempty"`
	// Alerts (docs/operations/alerts.md).
	Alerts MonitoringAlerts `json:"alerts"`
}

// MonitoringPrometheus is what Prometheus keeps.
type MonitoringPrometheus struct {
	// How long samples are kept, in whole hours, unless 85 % of the volume are full before.
	Retention Duration `json:"retention" default:"2160h" schema:"format=duration"`
	// Size of its volume in GiB, or what it may fill of the seed's data volume. You can make it larger at any time; a volume cannot become smaller.
	VolumeGiB int `json:"volumeGiB" default:"10" schema:"min=1,max=10000"`
}

// MonitoringAlertmanager is what Alertmanager keeps.
type MonitoringAlertmanager struct {
	// How long silences and what was told are kept, in whole hours.
	Retention Duration `json:"retention" default:"168h" schema:"format=duration"`
	// Size of its volume in GiB. You can make it larger at any time, but not smaller.
	VolumeGiB int `json:"volumeGiB" default:"10" schema:"min=1,max=10000"`
}

// MonitoringLogs is what Loki keeps of the logs of the management cluster's pods.
type MonitoringLogs struct {
	// Keep logs, by Loki and a collector on each node.
	Enabled bool `json:"enabled" default:"true"`
	// How long lines are kept, in whole hours, at least 24.
	Retention Duration `json:"retention" default:"744h" schema:"format=duration"`
	// Size of its volume in GiB. You can make it larger at any time, but not smaller.
	VolumeGiB int `json:"volumeGiB" default:"10" schema:"min=1,max=10000"`
}

// MonitoringAlerts is who gets alerts.
type MonitoringAlerts struct {
	// Who gets them. Empty: nobody; `slipway check alerts` shows what fires.
	Receivers []AlertReceiver `json:"receivers,omitempty"`
}

// AlertReceiver gets alerts in one or more ways, when they begin and when they end.
type AlertReceiver struct {
	// Name of the receiver: a lower-case RFC 1123 label.
	Name string `json:"name" schema:"required,format=label"`
	// Severities of the alerts that it gets: `critical`, `warning`. Empty: both.
	Severities []string `json:"severities,omitempty" schema:"enum=critical|warning"`
	// Slack, or what takes the same messages.
	Slack *SlackReceiver `json:"slack,omitempty"`
	// Mail.
	Mail *MailReceiver `json:"mail,omitempty"`
	// Any other program: it gets Alertmanager's JSON.
	Webhook *WebhookReceiver `json:"webhook,omitempty"`
}

// SlackReceiver is an incoming webhook of Slack.
type SlackReceiver struct {
	// File with the URL of the incoming webhook, mode 0600. Who has the URL can write into the channel.
	URLFile File `json:"urlFile" schema:"required"`
	// Channel, such as `#alerts`. Empty: that of the webhook.
	Channel string `json:"channel,omitempty"`
}

// MailReceiver is mail by a server of yours.
type MailReceiver struct {
	// Addresses that get the mail.
	To []string `json:"to" schema:"required,format=mail"`
	// Address that it is from.
	From string `json:"from" schema:"required,format=mail"`
	// Host and port of the server that takes mail, such as `mail.example.org:587`.
	Server string `json:"server" schema:"required,format=hostPort"`
	// User name for the server. Empty: it wants none.
	Username string `json:"username,omitempty"`
	// File with the password for the server, mode 0600.
	PasswordFile File `json:"passwordFile,omitempty"`
	// Refuse a server without STARTTLS.
	TLS bool `json:"tls" default:"true"`
}

// WebhookReceiver is a program that takes HTTP.
type WebhookReceiver struct {
	// URL that alerts are posted to. It is no secret: Alertmanager shows it.
	URL string `json:"url" schema:"required,format=httpURL"`
	// File with a token, mode 0600, that is sent as `Authorization: Bearer`.
	TokenFile File `json:"tokenFile,omitempty"`
}

// monitoring refuses what Prometheus and Alertmanager would, and what makes no sense together.
func (v *validator) monitoring(e *Environment) {
	at, m := field.NewPath("spec", "monitoring"), e.Spec.Monitoring
	if m == nil {
		return
	}
	if e.Spec.ManagementCluster == nil {
		if m.StorageClass != "" {
			v.add(at.Child("storageClass"), "leave it out", "without spec.managementCluster Prometheus runs on the seed, which has no storage classes")
		}
		if whole := e.Spec.Seed.DataVolume.SizeGiB; m.Prometheus.VolumeGiB >= whole {
			v.add(at.Child("prometheus", "volumeGiB"), "make it smaller, or spec.seed.dataVolume.sizeGiB larger", "Prometheus may fill %d GiB, but the seed's data volume has %d GiB, with k3s on it", m.Prometheus.VolumeGiB, whole)
		}
	} else if on, _, _ := unstructured.NestedBool(e.Spec.ManagementCluster.Values, "addons", "monitoring", "enabled"); on {
		v.add(at, "keep one of the two", "spec.managementCluster.values has addons.monitoring.enabled: that is another Prometheus")
	}
	for _, kept := range []struct {
		name string
		time Duration
	}{{"prometheus", m.Prometheus.Retention}, {"alertmanager", m.Alertmanager.Retention}, {"logs", m.Logs.Retention}} {
		if d := time.Duration(kept.time); d < time.Hour || d%time.Hour != 0 {
			v.add(at.Child(kept.name, "retention"), "write whole hours, such as 2160h", "%s is less than an hour, or not whole hours", d)
		}
	}
	// Loki deletes whole days' tables.
	if d := time.Duration(m.Logs.Retention); d >= time.Hour && d < 24*time.Hour {
		v.add(at.Child("logs", "retention"), "write 24h or more", "Loki keeps lines for 24 hours at least, but this is %s", d)
	}
	seen := map[string]bool{}
	for i, r := range m.Alerts.Receivers {
		at := at.Child("alerts", "receivers").Index(i)
		if seen[r.Name] && r.Name != "" {
			v.add(at.Child("name"), "choose another one", "there is already a receiver %s", r.Name)
		}
		seen[r.Name] = true
		if r.Slack == nil && r.Mail == nil && r.Webhook == nil {
			v.add(at, "add slack, mail or webhook", "there is no way to tell this receiver")
		}
		if r.Mail != nil && (r.Mail.Username == "") != (r.Mail.PasswordFile == "") {
			v.add(at.Child("mail"), "give username and passwordFile, or none of them", "one is given without the other")
		}
	}
}

func checkMail(text string) (cause, remedy string) {
	if a, err := mail.ParseAddress(text); err != nil || a.Name != "" || a.Address != text {
		return fmt.Sprintf("%q is not an address", text), "write one such as alerts@example.org"
	}
	return "", ""
}

func checkHostPort(text string) (cause, remedy string) {
	host, port, err := net.SplitHostPort(text)
	if n, bad := strconv.Atoi(port); err != nil || host == "" || bad != nil || n < 1 || n > 65535 {
		return fmt.Sprintf("%q is not a host and a port", text), "write them such as mail.example.org:587"
	}
	return "", ""
}
