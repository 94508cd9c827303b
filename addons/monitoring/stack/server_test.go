package stack_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/monitoring"
	"github.com/slipway-sh/slipway/addons/monitoring/stack"
	"github.com/slipway-sh/slipway/internal/alerts"
)

// TestMonitoring: the programs of the images find all that they are to read by a real API
// server, with no right but what the stack gives. The rules are loaded, and their metrics
// are those that kube-state-metrics and node-exporter serve. Alerts go from Prometheus to
// Alertmanager, and are seen there.
//
// proves: F44, F53
func TestMonitoring(t *testing.T) {
	w := newWorld(t)
	leader := &atomic.Bool{}
	leader.Store(true)
	w.machine("early", 25*24*time.Hour)
	w.machine("late", 300*24*time.Hour)
	w.around(leader)
	w.start()
	w.targets()
	w.rules()
	w.metrics()
	w.logs()
	w.quiet()
	leader.Store(false)
	w.critical()
	w.restricted()
	w.grown()
	w.removed()
}

// machine makes a Machine of a control plane whose certificates end.
func (w *world) machine(name string, in time.Duration) {
	w.Helper()
	m := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
		"metadata": map[string]any{"namespace": "default", "name": name}, "spec": map[string]any{"clusterName": "shop", "bootstrap": map[string]any{"dataSecretName": "none"},
			"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackMachine", "name": name}}}}
	client, err := w.on.Resource(m)
	w.fine(err)
	made, err := client.Create(w.Context(), m, metav1.CreateOptions{})
	w.fine(err)
	w.fine(unstructured.SetNestedField(made.Object, time.Now().Add(in).UTC().Format(time.RFC3339), "status", "certificatesExpiryDate"))
	_, err = client.UpdateStatus(w.Context(), made, metav1.UpdateOptions{})
	w.fine(err)
}

// ask asks Prometheus.
func (w *world) ask(path string, into any) error {
	response, err := http.Get("http://" + w.outside + ":9090" + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// targets waits until each job has what it is to read, and can read it.
func (w *world) targets() {
	w.Helper()
	want := []string{"apiserver", "cadvisor", "cert-manager", "cluster-api", "coredns", "etcd", "kube-state-metrics", "kubelet", "log-collector", "monitoring", "monitoring", "monitoring", "node-exporter",
		"openstack-resource-controller", "slipway", "velero"}
	w.until("targets", func() error {
		var answer struct {
			Data struct {
				ActiveTargets []struct {
					Labels                       map[string]string
					Health, LastError, ScrapeURL string
				}
			}
		}
		if err := w.ask("/api/v1/targets?state=active", &answer); err != nil {
			return err
		}
		var up, down []string
		for _, target := range answer.Data.ActiveTargets {
			if target.Health == "up" {
				up = append(up, target.Labels["job"])
			} else {
				down = append(down, fmt.Sprintf("%s %s: %s %s", target.Labels["job"], target.ScrapeURL, target.Health, target.LastError))
			}
		}
		if slices.Sort(up); !slices.Equal(up, want) || len(down) > 0 {
			return fmt.Errorf("up %v, want %v; others %v", up, want, down)
		}
		return nil
	})
}

// rules expects all rules of both files to be evaluated without an error.
func (w *world) rules() {
	w.Helper()
	count := strings.Count(string(monitoring.Rules()), "- alert:") + strings.Count(string(monitoring.PlatformRules()), "- alert:")
	w.until("rules", func() error {
		var answer struct {
			Data struct {
				Groups []struct {
					Rules []struct{ Name, Health, LastError string }
				}
			}
		}
		if err := w.ask("/api/v1/rules", &answer); err != nil {
			return err
		}
		healthy := 0
		for _, g := range answer.Data.Groups {
			for _, r := range g.Rules {
				if r.Health != "ok" {
					return fmt.Errorf("%s: %s %s", r.Name, r.Health, r.LastError)
				}
				healthy++
			}
		}
		if healthy != count {
			return fmt.Errorf("%d of %d rules", healthy, count)
		}
		return nil
	})
}

// query waits for a query to have a result.
func (w *world) query(text string) {
	w.Helper()
	w.until(text, func() error {
		var answer struct{ Data struct{ Result []any } }
		if err := w.ask("/api/v1/query?query="+url.QueryEscape(text), &answer); err != nil {
			return err
		}
		if len(answer.Data.Result) == 0 {
			return errors.New("there is no such series")
		}
		return nil
	})
}

// metrics expects those that the rules are about of the programs that run here, with the
// labels that the rules match.
func (w *world) metrics() {
	w.Helper()
	text := string(monitoring.Rules()) + string(monitoring.PlatformRules())
	served := regexp.MustCompile(`\b(kube_(?:deployment|node)_\w+|node_\w+|alertmanager_\w+|otelcol_exporter_queue_\w+|kube_customresource_\w+)\b`).FindAllString(text, -1)
	slices.Sort(served)
	served = slices.Compact(served)
	if len(served) < 9 {
		w.Fatalf("the rules are about %v", served)
	}
	for _, name := range served {
		w.query(name)
	}
	for _, selector := range []string{
		`kube_deployment_status_replicas_available{namespace="monitoring-system", deployment="prometheus"}`,
		`kube_node_role{node="n1", role="control-plane"}`,
		`kube_node_status_condition{node="n1", condition="Ready", status="true"} == 1`,
		`kube_customresource_capi_machine_certificate_expiry_timestamp{namespace="default", name="early", cluster="shop"} > time()`,
		`container_network_receive_bytes_total{node="n1", id="/"}`,
		`up{job="slipway", namespace="slipway-system", pod="slipway-backup", node="n1"} == 1`,
		`etcd_server_has_leader{pod="etcd-n1"} == 1`,
	} {
		w.query(selector)
	}
}

// quiet expects Watchdog, and of the rest only what is so: a Machine whose certificates end
// in less than 30 days, at once.
func (w *world) quiet() {
	w.Helper()
	w.until("alerts", func() error {
		firing, err := w.firing()
		if err == nil && !slices.Equal(firing, []string{"CAPIMachineCertificateExpiringSoon early", "Watchdog "}) {
			err = fmt.Errorf("%v fire", firing)
		}
		return err
	})
}

// access reaches the programs where they listen: there is no kubelet to forward ports.
func (w *world) access() alerts.Access {
	return alerts.Access{Client: w.on.Typed, Dial: func(_ context.Context, _, _ string, port int) (net.Conn, error) {
		return net.Dial("tcp", net.JoinHostPort(w.outside, strconv.Itoa(port)))
	}}
}

// firing are the alerts that fire, each with the name of its object.
func (w *world) firing() (all []string, err error) {
	found, err := w.access().Look(w.Context())
	for _, a := range found {
		if a.State == alerts.Firing {
			all = append(all, a.Name+" "+a.Labels["name"])
		}
	}
	return all, err
}

// critical waits for the alert of an etcd without a leader, which fires after a minute.
func (w *world) critical() {
	w.Helper()
	w.until("critical", func() error {
		found, err := w.access().Look(w.Context())
		if err == nil && (len(found) == 0 || found[0].Name != "EtcdNoLeader" || found[0].State != alerts.Firing || found[0].Severity != "critical") {
			err = fmt.Errorf("%v", found)
		}
		return err
	})
	w.until("Alertmanager", func() error {
		response, err := http.Get("http://" + w.outside + ":9093/api/v2/alerts?filter=alertname%3DEtcdNoLeader")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err == nil && !strings.Contains(string(text), `"environment":"demo"`) {
			err = fmt.Errorf("it has %s", text)
		}
		return err
	})
}

// restricted expects that no pod is refused, and that Prometheus may read no Secret and no
// pod's log.
func (w *world) restricted() {
	w.Helper()
	as := w.as(stack.Prometheus)
	if _, err := as.CoreV1().Secrets("").List(w.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		w.Errorf("Prometheus reads Secrets: %v", err)
	}
	if _, err := as.CoreV1().ConfigMaps(stack.Namespace).List(w.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		w.Errorf("Prometheus reads ConfigMaps: %v", err)
	}
	if _, err := w.as(stack.StateMetrics).CoreV1().Secrets("").List(w.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		w.Errorf("kube-state-metrics reads Secrets: %v", err)
	}
}

// grown expects the volumes to ask for their new sizes, and a smaller one to be refused
// before anything is changed.
func (w *world) grown() {
	w.Helper()
	w.bind(stack.Prometheus)
	w.settings.VolumeGiB = 20
	w.fine(stack.Apply(w.Context(), w.on, w.settings))
	claim, err := w.on.Typed.CoreV1().PersistentVolumeClaims(stack.Namespace).Get(w.Context(), stack.Prometheus, metav1.GetOptions{})
	w.fine(err)
	if size := claim.Spec.Resources.Requests.Storage().String(); size != "20Gi" {
		w.Errorf("the volume asks for %s", size)
	}
	smaller := w.settings
	smaller.VolumeGiB = 5
	if err := stack.Apply(w.Context(), w.on, smaller); err == nil || !strings.Contains(err.Error(), "spec.monitoring.prometheus.volumeGiB") || !strings.Contains(err.Error(), "cannot shrink") {
		w.Errorf("smaller: %v", err)
	}
	smaller = w.settings
	smaller.Logs = &stack.Logs{Retention: "744h", VolumeGiB: 5}
	if err := stack.Apply(w.Context(), w.on, smaller); err == nil || !strings.Contains(err.Error(), "spec.monitoring.logs.volumeGiB") {
		w.Errorf("smaller logs: %v", err)
	}
}

// removed expects nothing but the volumes to be left.
func (w *world) removed() {
	w.Helper()
	for range 2 { // the second time nothing is there
		w.fine(stack.Remove(w.Context(), w.on))
	}
	core := w.on.Typed.CoreV1()
	for _, name := range []string{stack.Prometheus, stack.Alertmanager, stack.StateMetrics, stack.Loki} {
		w.gone(name, func(ctx context.Context) error {
			_, err := w.on.Typed.AppsV1().Deployments(stack.Namespace).Get(ctx, name, metav1.GetOptions{})
			return err
		})
	}
	w.gone("the Secret", func(ctx context.Context) error {
		_, err := core.Secrets(stack.Namespace).Get(ctx, stack.Alertmanager, metav1.GetOptions{})
		return err
	})
	roles, err := w.on.Typed.RbacV1().ClusterRoles().List(w.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=slipway-monitoring"})
	if err != nil || len(roles.Items) > 0 {
		w.Errorf("%d roles are left, %v", len(roles.Items), err)
	}
	policies, err := w.on.Typed.NetworkingV1().NetworkPolicies(stack.Namespace).List(w.Context(), metav1.ListOptions{})
	if err != nil || len(policies.Items) > 0 {
		w.Errorf("%d NetworkPolicies are left, %v", len(policies.Items), err)
	}
	if _, err := core.PersistentVolumeClaims(stack.Namespace).Get(w.Context(), stack.Prometheus, metav1.GetOptions{}); err != nil {
		w.Errorf("the volume: %v", err)
	}
	if _, err := w.access().Look(w.Context()); !errors.Is(err, alerts.ErrAbsent) {
		w.Errorf("alerts without Prometheus: %v", err)
	}
}
