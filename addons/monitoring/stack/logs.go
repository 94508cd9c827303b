package stack

import (
	"context"
	_ "embed"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/kube"
)

const (
	// Loki names a Deployment, its Service and its volume.
	Loki = "loki"
	// LogCollector is the DaemonSet that brings Loki the logs of pods.
	LogCollector = "log-collector"
	// logPolicy names the NetworkPolicy that lets the collector reach Loki.
	logPolicy = "slipway-logs"
)

//go:embed logs.yaml
var logObjects string

//go:embed loki.yaml
var loki string

//go:embed collector.yaml
var collector string

// Logs is how the logs of pods are kept.
type Logs struct {
	// Retention is how long lines are kept, in Prometheus' notation, at least 24 hours, which is
	// Loki's own limit.
	Retention string `json:"retention"`
	VolumeGiB int    `json:"volumeGiB"`
}

// renderLogs writes the objects of Loki and of the collector.
func renderLogs(s Settings) ([]byte, error) {
	config, err := render("config of Loki", loki, s.Logs)
	if err != nil {
		return nil, err
	}
	follow, err := render("config of the log collector", collector, map[string]string{
		"NodesNamespace": NodesNamespace, "Namespace": Namespace, "Loki": Loki, "Collector": LogCollector})
	if err != nil {
		return nil, err
	}
	return render("objects of logs", logObjects, struct {
		Settings
		LokiConfig, CollectorConfig string
	}{s, string(config), string(follow)})
}

// removeLogs takes Loki and the collector away, but not the volume.
func removeLogs(ctx context.Context, on *kube.Cluster) error {
	now, core, apps := metav1.DeleteOptions{}, on.Typed.CoreV1(), on.Typed.AppsV1()
	for _, step := range []func() error{
		func() error { return apps.DaemonSets(NodesNamespace).Delete(ctx, LogCollector, now) },
		func() error { return core.ConfigMaps(NodesNamespace).Delete(ctx, LogCollector, now) },
		func() error { return apps.Deployments(Namespace).Delete(ctx, Loki, now) },
		func() error { return core.ConfigMaps(Namespace).Delete(ctx, Loki, now) },
		func() error { return core.Services(Namespace).Delete(ctx, Loki, now) },
		func() error { return on.Typed.NetworkingV1().NetworkPolicies(Namespace).Delete(ctx, logPolicy, now) },
	} {
		if err := step(); err != nil && !kube.Absent(err) {
			return fmt.Errorf("removing Loki: %w", err)
		}
	}
	return nil
}
