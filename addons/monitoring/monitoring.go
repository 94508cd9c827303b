// Package monitoring tells the operator of Prometheus what to alert on: the promises of a
// management cluster, each with a page for who is woken.
package monitoring

import (
	_ "embed"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Group is the API group of the operator of Prometheus.
const Group = "monitoring.coreos.com"

// The objects, by their kinds.
const (
	KindRule, RuleName       = "PrometheusRule", "slipway-alerts"
	KindMonitor, MonitorName = "ServiceMonitor", "slipway-controllers"
)

//go:embed rules/slipway.yaml
var rules []byte

// Rules is the file of rules, as Prometheus itself reads it.
func Rules() []byte { return append([]byte(nil), rules...) }

//go:embed rules/platform.yaml
var platformRules []byte

// PlatformRules is a second file of rules, for a Prometheus that has no others: of nodes,
// volumes, etcd and Machines, and of monitoring itself.
func PlatformRules() []byte { return append([]byte(nil), platformRules...) }

// Objects are the rules, and what has the metrics of Slipway's own controllers read, which
// the rules are about. They are in a namespace that must be there.
func Objects(namespace string) ([]*unstructured.Unstructured, error) {
	spec := map[string]any{}
	if err := yaml.Unmarshal(rules, &spec); err != nil {
		return nil, fmt.Errorf("reading the rules of alerts: %w", err)
	}
	monitor := map[string]any{
		// The Services are in several namespaces.
		"namespaceSelector": map[string]any{"any": true},
		"selector":          map[string]any{"matchLabels": map[string]any{"app.kubernetes.io/part-of": "slipway"}},
		"endpoints":         []any{map[string]any{"port": "metrics"}},
	}
	return []*unstructured.Unstructured{object(KindRule, namespace, RuleName, spec), object(KindMonitor, namespace, MonitorName, monitor)}, nil
}

func object(kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": Group + "/v1", "kind": kind,
		"metadata": map[string]any{"namespace": namespace, "name": name, "labels": map[string]any{"app.kubernetes.io/part-of": "slipway"}}, "spec": spec}}
}
