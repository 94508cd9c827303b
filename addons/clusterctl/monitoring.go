package clusterctl

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/monitoring"
	"github.com/slipway-sh/slipway/internal/kube"
)

//go:embed monitoring/objects.yaml
var monitoringObjects string

//go:embed monitoring/dashboard.json
var dashboard string

const (
	capoNamespace  = "capo-system"
	capoDeployment = "capo-controller-manager"
	// metricsPort is where Cluster API's own managers serve their metrics.
	metricsPort = 8443
)

// dashboardMap has the label by which Grafana's sidecar finds dashboards.
func dashboardMap() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "capo-grafana-dashboard", "namespace": capoNamespace, "labels": map[string]any{"grafana_dashboard": "1"}},
		"data":     map[string]any{"capo.json": dashboard}}}
}

// Monitor lets Prometheus read the metrics of CAPO, cert-manager and Slipway's own controllers, and
// alert on them, and lets Grafana show those of CAPO. It does so where the Prometheus operator is
// installed, which the definition of PodMonitors shows; elsewhere it removes all of that (rows F26,
// F29).
func (i Installation) Monitor(ctx context.Context) error {
	present, err := i.Cluster.Exists("monitoring.coreos.com", "PodMonitor")
	if err != nil {
		return fmt.Errorf("checking for PodMonitors: %w", err)
	}
	objects, err := kube.Decode(strings.NewReader(monitoringObjects))
	if err != nil {
		return fmt.Errorf("objects for monitoring: %w", err)
	}
	alerts, err := monitoring.Objects(capoNamespace)
	if err != nil {
		return err
	}
	objects = append(append(objects, dashboardMap()), alerts...)
	if present {
		if objects, err = i.known(objects); err != nil {
			return err
		}
		return i.Cluster.ApplyObjects(ctx, objects)
	}
	for _, object := range objects {
		client, err := i.Cluster.Resource(object)
		if err == nil {
			err = client.Delete(ctx, object.GetName(), metav1.DeleteOptions{})
		}
		if err != nil && !kube.Absent(err) {
			return fmt.Errorf("removing %s: %w", kube.Describe(object), err)
		}
	}
	return nil
}

// known leaves out objects of kinds that this operator lacks: an operator may be installed in
// parts.
func (i Installation) known(objects []*unstructured.Unstructured) (all []*unstructured.Unstructured, err error) {
	for _, object := range objects {
		kind := object.GroupVersionKind()
		there := kind.Group != monitoring.Group
		if !there {
			if there, err = i.Cluster.Exists(kind.Group, kind.Kind); err != nil {
				return nil, fmt.Errorf("checking for %ss: %w", kind.Kind, err)
			}
		}
		if there {
			all = append(all, object)
		}
	}
	return all, nil
}

// serveMetrics makes CAPO serve its metrics as the managers of Cluster API do: over TLS, to those
// whom the API server allows to read them. By default, CAPO serves them in plain text and only
// inside its pod. Arguments that an operator set are kept.
func serveMetrics(objects []*unstructured.Unstructured) error {
	return eachContainer(objects, func(deployment *unstructured.Unstructured, container map[string]any) error {
		if deployment.GetName() == capoDeployment && container["name"] == managerContainer {
			exposeMetrics(container)
		}
		return nil
	})
}

func exposeMetrics(container map[string]any) {
	args, _ := container["args"].([]any)
	address, insecure := slices.Index(args, any("--diagnostics-address=127.0.0.1:8080")), slices.Index(args, any("--insecure-diagnostics=true"))
	if address < 0 || insecure < 0 {
		return
	}
	args[address], args[insecure] = fmt.Sprintf("--diagnostics-address=:%d", metricsPort), "--insecure-diagnostics=false"
	ports, _ := container["ports"].([]any)
	container["ports"] = append(ports, map[string]any{"name": "metrics", "containerPort": int64(metricsPort), "protocol": "TCP"})
}
