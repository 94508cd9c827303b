// Package stack installs Prometheus and what goes with it on a management cluster, or on a
// seed, for those who have no monitoring of their own (docs/operations/monitoring.md).
package stack

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/monitoring"
	"github.com/slipway-sh/slipway/internal/kube"
)

// The names of what is installed.
const (
	Namespace = "monitoring-system"
	// NodesNamespace has what runs on each node and reads files of the host.
	NodesNamespace = "monitoring-nodes"
	// Prometheus and Alertmanager name a Deployment, its Service and its volume each.
	Prometheus   = "prometheus"
	Alertmanager = "alertmanager"
	// StateMetrics is the Deployment of kube-state-metrics, NodeExporter a DaemonSet.
	StateMetrics = "kube-state-metrics"
	NodeExporter = "node-exporter"
	// policy names the NetworkPolicy that lets Prometheus alone reach them.
	policy = "slipway-monitoring"
)

//go:embed objects.yaml
var objects string

//go:embed prometheus.yaml
var prometheus string

//go:embed resources.yaml
var resources string

// Images are references.
type Images struct {
	Prometheus       string `json:"prometheus"`
	Alertmanager     string `json:"alertmanager"`
	NodeExporter     string `json:"nodeExporter"`
	KubeStateMetrics string `json:"kubeStateMetrics"`
	// Loki and LogCollector are empty without logs.
	Loki         string `json:"loki,omitempty"`
	LogCollector string `json:"logCollector,omitempty"`
}

// Settings are what an installation needs. They hold logins: never print them.
type Settings struct {
	// Environment is the environment's name, a label of all alerts.
	Environment string `json:"environment"`
	Images      Images `json:"images"`
	// Retention and AlertRetention are how long samples and silences are kept, in
	// Prometheus' notation; the volumes' sizes are in GiB.
	Retention      string `json:"retention"`
	VolumeGiB      int    `json:"volumeGiB"`
	AlertRetention string `json:"alertRetention"`
	AlertVolumeGiB int    `json:"alertVolumeGiB"`
	// Logs are nil if none are kept.
	Logs *Logs `json:"logs,omitempty"`
	// StorageClass of all volumes; empty is the cluster's default.
	StorageClass string `json:"storageClass,omitempty"`
	// Folders take the place of volumes on a seed, nil elsewhere.
	Folders   *Folders   `json:"folders,omitempty"`
	Receivers []Receiver `json:"receivers,omitempty"`
	// CA holds PEM certificates that receivers' are verified with, besides those of the image.
	CA string `json:"ca,omitempty"`
	// Variables are the environment of programs that go out: the proxy.
	Variables map[string]string `json:"variables,omitempty"`
}

// ParseSettings reads Settings from JSON. No error quotes what it read.
func ParseSettings(text []byte) (Settings, error) {
	var s Settings
	if err := json.Unmarshal(text, &s); err != nil {
		return s, errors.New("reading the settings of monitoring: they are not JSON") // the library's error could quote a login
	}
	if !s.complete() {
		return s, errors.New("reading the settings of monitoring: they are incomplete")
	}
	return s, nil
}

func (s Settings) complete() bool {
	wanted, sizes := []string{s.Images.Prometheus, s.Images.Alertmanager, s.Images.NodeExporter, s.Images.KubeStateMetrics}, []int{s.VolumeGiB, s.AlertVolumeGiB}
	if s.Logs != nil {
		wanted, sizes = append(wanted, s.Images.Loki, s.Images.LogCollector, s.Logs.Retention), append(sizes, s.Logs.VolumeGiB)
	}
	if s.Folders != nil {
		wanted = append(wanted, s.Folders.Node, s.Folders.Path)
	}
	return !slices.Contains(wanted, "") && slices.Min(sizes) > 0
}

// rendered is what objects.yaml is written with.
type rendered struct {
	Settings
	PrometheusFiles, AlertmanagerFiles map[string]string
	Resources                          string
}

// Objects are what is applied. Equal settings give equal objects.
func Objects(s Settings) ([]*unstructured.Unstructured, error) {
	config, err := prometheusConfig(s)
	if err != nil {
		return nil, err
	}
	receivers, err := AlertmanagerFiles(s)
	if err != nil {
		return nil, err
	}
	files := map[string]string{"prometheus.yaml": config}
	for name, text := range map[string][]byte{"slipway.rules.yaml": monitoring.Rules(), "platform.rules.yaml": monitoring.PlatformRules()} {
		if files[name], err = s.rules(text); err != nil {
			return nil, fmt.Errorf("choosing rules of %s: %w", name, err)
		}
	}
	text, err := render("objects", objects, rendered{s, files, receivers, resources})
	if err != nil {
		return nil, err
	}
	if s.Logs != nil {
		logs, err := renderLogs(s)
		if err != nil {
			return nil, err
		}
		text = append(append(text, "---\n"...), logs...)
	}
	if s.Folders != nil {
		volumes, err := render("volumes", folderObjects, s)
		if err != nil {
			return nil, err
		}
		text = append(append(text, "---\n"...), volumes...)
	}
	return kube.Decode(bytes.NewReader(text))
}

func prometheusConfig(s Settings) (string, error) {
	text, err := render("config of Prometheus", prometheus, map[string]any{"Environment": s.Environment, "NodesNamespace": NodesNamespace})
	return string(text), err
}

func render(what, text string, values any) ([]byte, error) {
	parsed, err := template.New(what).Option("missingkey=error").Funcs(template.FuncMap{"json": asJSON, "base64": encoded, "digest": digest, "megabytes": megabytes}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parsing the %s: %w", what, err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, values); err != nil {
		return nil, fmt.Errorf("writing the %s: %w", what, err)
	}
	return out.Bytes(), nil
}

// asJSON writes a value as JSON, which is YAML too, so that no value can break out of its place.
func asJSON(v any) (string, error) {
	out, err := json.Marshal(v)
	return string(out), err
}

func encoded(files map[string]string) map[string]string {
	all := map[string]string{}
	for name, text := range files {
		all[name] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return all
}

// digest changes with what a program reads only when it starts.
func digest(parts ...any) (string, error) {
	text, err := json.Marshal(parts)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// megabytes are how much of a volume Prometheus may fill with what is compacted: 85 of a
// hundred, as the chart of capi-helm-charts has it.
func megabytes(gib int) int { return gib * 1024 * 85 / 100 }

// Deployments are what an installer waits for.
func Deployments(s Settings) []types.NamespacedName {
	all := []types.NamespacedName{{Namespace: Namespace, Name: Prometheus}, {Namespace: Namespace, Name: Alertmanager}, {Namespace: Namespace, Name: StateMetrics}}
	if s.Logs != nil {
		all = append(all, types.NamespacedName{Namespace: Namespace, Name: Loki})
	}
	return all
}
