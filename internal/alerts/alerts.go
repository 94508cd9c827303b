// Package alerts asks the Prometheus and the Alertmanager of a management cluster which alerts
// there are, and finds the other programs that monitor it.
package alerts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/internal/kube"
)

// Watchdog is the alert that always fires where alerts are evaluated. InfoInhibitor is no
// alert for people either: kube-prometheus-stack mutes others with it.
const (
	Watchdog      = "Watchdog"
	infoInhibitor = "InfoInhibitor"
)

// The states of an alert.
const (
	Firing  = "firing"
	Pending = "pending"
	// Silenced fires, but somebody asked not to be told.
	Silenced = "silenced"
)

// Namespace is where Prometheus is, be it Slipway's or kube-prometheus-stack.
const Namespace = "monitoring-system"

// Place is a Service of HTTP on a cluster.
type Place struct {
	Namespace, Service string
	Port               int
}

// Places are where a program may be, by its name, Slipway's own first; nil for an unknown one.
func Places(program string) []Place {
	return map[string][]Place{
		"prometheus":   {{Namespace, "prometheus", 9090}, {Namespace, "kube-prometheus-stack-prometheus", 9090}},
		"alertmanager": {{Namespace, "alertmanager", 9093}, {Namespace, "kube-prometheus-stack-alertmanager", 9093}},
		"loki":         {{Namespace, "loki", 3100}, {Namespace, "loki-stack", 3100}},
		"grafana":      {{Namespace, "kube-prometheus-stack-grafana", 80}},
	}[program]
}

// ErrAbsent is that a program is not on the cluster.
var ErrAbsent = errors.New("it is not on the management cluster")

// Find returns where a program is.
func Find(ctx context.Context, client kubernetes.Interface, program string) (Place, error) {
	for _, place := range Places(program) {
		_, err := client.CoreV1().Services(place.Namespace).Get(ctx, place.Service, metav1.GetOptions{})
		if err == nil {
			return place, nil
		}
		if !apierrors.IsNotFound(err) {
			return Place{}, fmt.Errorf("looking for %s: %w", program, err)
		}
	}
	return Place{}, ErrAbsent
}

// Access is how programs on a cluster are found and reached. NetworkPolicies keep everybody else
// from them, the API server's proxy too.
type Access struct {
	Client kubernetes.Interface
	// Dial connects to a port of a Service, as (*kube.Cluster).Dial does.
	Dial func(ctx context.Context, namespace, service string, port int) (net.Conn, error)
}

// On is the access to a cluster's programs by forwarded ports.
func On(c *kube.Cluster) Access { return Access{Client: c.Typed, Dial: c.Dial} }

// Transport sends requests to a program, whatever host they name. Close its idle connections.
func (a Access) Transport(to Place) *http.Transport {
	return &http.Transport{ResponseHeaderTimeout: headerTime, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return a.Dial(ctx, to.Namespace, to.Service, to.Port)
	}}
}

// headerTime bounds the wait for the beginning of an answer, answerSize is how many bytes of it
// are read.
const (
	headerTime = 5 * time.Minute
	answerSize = 256 << 20
)

// Get returns what a program answers to a path with its query. Without the program it is
// ErrAbsent; an answer that is not 200 is an error with the program's words.
func (a Access) Get(ctx context.Context, program, path string) ([]byte, error) {
	place, err := Find(ctx, a.Client, program)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	transport := a.Transport(place)
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+place.Service+path, nil)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", program, err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", program, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerSize))
	if err != nil {
		return nil, fmt.Errorf("reading what %s says: %w", program, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s: %s", program, response.Status, strings.TrimSpace(string(text[:min(len(text), 1000)])))
	}
	return text, nil
}

// Alert is an alert that is not over.
type Alert struct {
	Name     string    `json:"name"`
	State    string    `json:"state"`
	Severity string    `json:"severity"`
	Since    time.Time `json:"since"`
	// Summary and Runbook are for who responds to it.
	Summary string            `json:"summary,omitempty"`
	Runbook string            `json:"runbook,omitempty"`
	Labels  map[string]string `json:"labels"`
}

// Expected tells of an alert that is none for people.
func (a Alert) Expected() bool { return a.Name == Watchdog || a.Name == infoInhibitor }

// Look returns all alerts, the worst first. It is an error if Watchdog does not fire, or did
// not reach Alertmanager: nobody would be told of anything.
func (a Access) Look(ctx context.Context) ([]Alert, error) {
	var evaluated struct {
		Data struct {
			Alerts []struct {
				Labels, Annotations map[string]string
				State               string
				ActiveAt            time.Time
			}
		}
	}
	if err := a.ask(ctx, "prometheus", "/api/v1/alerts", &evaluated); err != nil {
		return nil, err
	}
	var told []received
	if err := a.ask(ctx, "alertmanager", "/api/v2/alerts", &told); err != nil {
		return nil, err
	}
	all := []Alert{}
	for _, e := range evaluated.Data.Alerts {
		one := Alert{Name: e.Labels["alertname"], State: e.State, Severity: e.Labels["severity"], Since: e.ActiveAt, Labels: e.Labels,
			Summary: cmp.Or(e.Annotations["summary"], e.Annotations["description"], e.Annotations["message"]), Runbook: e.Annotations["runbook_url"]}
		if one.State == Firing && silenced(told, one.Labels) {
			one.State = Silenced
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b Alert) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name), a.Since.Compare(b.Since))
	})
	return all, awake(all, told)
}

// awake is the error of alerts that nobody would be told of.
func awake(all []Alert, told []received) error {
	if !slices.ContainsFunc(all, func(a Alert) bool { return a.Name == Watchdog && a.State != Pending }) {
		return errors.New("the alert Watchdog does not fire: Prometheus has just started, or evaluates no rules")
	}
	if !slices.ContainsFunc(told, func(r received) bool { return r.Labels["alertname"] == Watchdog }) {
		return errors.New("the alert Watchdog did not reach Alertmanager: no receiver gets alerts")
	}
	return nil
}

// rank orders by state and severity.
func rank(a Alert) int {
	states, severities := []string{Firing, Silenced, Pending}, []string{"critical", "warning"}
	n := slices.Index(severities, a.Severity)
	if n < 0 {
		n = len(severities)
	}
	return slices.Index(states, a.State)*10 + n
}

// received is an alert as Alertmanager has it, with the labels of its Prometheus besides.
type received struct {
	Labels map[string]string
	Status struct{ SilencedBy []string }
}

func silenced(told []received, labels map[string]string) bool {
	return slices.ContainsFunc(told, func(r received) bool {
		for name, value := range labels {
			if r.Labels[name] != value {
				return false
			}
		}
		return len(r.Status.SilencedBy) > 0
	})
}

// ask reads JSON of a program.
func (a Access) ask(ctx context.Context, program, path string, into any) error {
	text, err := a.Get(ctx, program, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading what %s says: %w", program, err)
	}
	return nil
}
