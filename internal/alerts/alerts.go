// Package alerts asks the Prometheus and the Alertmanager of a management cluster, through
// its API server, which alerts there are.
package alerts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
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

// Path is the path of the place below the API server, which leads requests on.
func (p Place) Path() string {
	return fmt.Sprintf("/api/v1/namespaces/%s/services/http:%s:%d/proxy", p.Namespace, p.Service, p.Port)
}

// Alert is an alert that is not over.
type Alert struct {
	Name     string    `json:"name"`
	State    string    `json:"state"`
	Severity string    `json:"severity"`
	Since    time.Time `json:"since"`
	// Summary and Runbook are for who looks after it.
	Summary string            `json:"summary,omitempty"`
	Runbook string            `json:"runbook,omitempty"`
	Labels  map[string]string `json:"labels"`
}

// Expected tells of an alert that is none for people.
func (a Alert) Expected() bool { return a.Name == Watchdog || a.Name == infoInhibitor }

// Look returns all alerts, the worst first. It is an error if Watchdog does not fire, or did
// not reach Alertmanager: nobody would be told of anything.
func Look(ctx context.Context, client kubernetes.Interface) ([]Alert, error) {
	var evaluated struct {
		Data struct {
			Alerts []struct {
				Labels, Annotations map[string]string
				State               string
				ActiveAt            time.Time
			}
		}
	}
	if err := ask(ctx, client, "prometheus", "/api/v1/alerts", &evaluated); err != nil {
		return nil, err
	}
	var told []received
	if err := ask(ctx, client, "alertmanager", "/api/v2/alerts", &told); err != nil {
		return nil, err
	}
	all := []Alert{}
	for _, a := range evaluated.Data.Alerts {
		one := Alert{Name: a.Labels["alertname"], State: a.State, Severity: a.Labels["severity"], Since: a.ActiveAt, Labels: a.Labels,
			Summary: cmp.Or(a.Annotations["summary"], a.Annotations["description"], a.Annotations["message"]), Runbook: a.Annotations["runbook_url"]}
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

// ask reads JSON of a program through the API server.
func ask(ctx context.Context, client kubernetes.Interface, program, path string, into any) error {
	place, err := Find(ctx, client, program)
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	text, err := client.CoreV1().RESTClient().Get().AbsPath(place.Path() + path).DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("asking %s: %w", program, Reason(err))
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading what %s says: %w", program, err)
	}
	return nil
}

// Reason is what a program said, if the API server reached it, and err otherwise.
func Reason(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			if c.Type == metav1.CauseTypeUnexpectedServerResponse {
				return errors.New(strings.TrimSpace(c.Message))
			}
		}
	}
	return err
}
