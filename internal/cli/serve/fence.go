package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/slipway-sh/slipway/addons/upkeep"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
)

// wrapper puts a transport around another one; nil puts none.
type wrapper = func(http.RoundTripper) http.RoundTripper

// fenceOptions are the flags of the fence: which environment this management cluster
// serves, and the login that reads its generation in the cloud.
type fenceOptions struct {
	environment, clouds, entry string

	every, patience time.Duration // 0: the usual ones
}

func (o *fenceOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.environment, "fence-environment", "", "environment of this management cluster: its controllers write only while no newer management cluster has taken it over (default: no fence)")
	f.StringVar(&o.clouds, "fence-clouds", "", "clouds.yaml of the credential that reads the environment's generation (default: the usual places)")
	f.StringVar(&o.entry, "fence-os-cloud", "openstack", "entry of that clouds.yaml")
}

// barrier is the fence of a process.
type barrier struct {
	watch *fence.Watch
	log   logger
	at    lazyCloud

	mu     sync.Mutex
	events record.EventRecorder
	pod    *corev1.Pod
}

// open makes the fence, or nil if no environment is named.
func (o fenceOptions) open(config *rest.Config, log logger) (*barrier, error) {
	if o.environment == "" {
		return nil, nil
	}
	var text []byte
	if o.clouds != "" {
		var err error
		if text, err = os.ReadFile(o.clouds); err != nil {
			return nil, fault.Usage("--fence-clouds", err, "give a readable clouds.yaml")
		}
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of the fence: %w", err)
	}
	b := &barrier{log: log}
	b.at = lazyCloud{options: cloud.Options{Cloud: o.entry, CloudsYAML: text, Env: environment.System(), UserAgent: environment.UserAgent() + " (fence)"}, environment: o.environment}
	b.watch = &fence.Watch{Every: o.every, Patience: o.patience, Read: b.at.read, Ours: func(ctx context.Context, now int) (int, error) { return restore.Join(ctx, client, now) }, Changed: b.changed}
	return b, nil
}

// lazyCloud logs in when the generation is read, and keeps the login.
type lazyCloud struct {
	options     cloud.Options
	environment string
	opened      *cloud.Cloud
}

// read is called by one goroutine at a time.
func (l *lazyCloud) read(ctx context.Context) (int, error) {
	if l.opened == nil {
		opened, err := cloud.Open(ctx, l.options)
		if err != nil {
			return 0, err
		}
		l.opened = opened
	}
	network, err := l.opened.Network()
	if err != nil {
		return 0, err
	}
	generation, err := fence.Fence{Network: network, Environment: l.environment}.Generation(ctx)
	if err != nil { // the next look logs in again: a token may have ended
		l.opened.Close()
		l.opened = nil
	}
	return generation, err
}

// wrap is put around the transports to clouds and workload clusters.
func (b *barrier) wrap() wrapper {
	if b == nil {
		return nil
	}
	return b.watch.Wrap
}

// project is the environment's project with the login of the fence; nil if there is no fence.
func (b *barrier) project() *upkeep.Project {
	if b == nil {
		return nil
	}
	login := b.at.options
	login.UserAgent = environment.UserAgent() + " (" + upkeep.Name + ")"
	return &upkeep.Project{Environment: b.at.environment, Login: login}
}

// run looks at once, and then regularly until ctx ends; wait waits for its end. A cloud
// that does not answer does not end the process, which may not write meanwhile.
func (b *barrier) run(ctx context.Context) (wait func()) {
	if b == nil {
		return func() {}
	}
	ended := make(chan struct{})
	go func() { defer close(ended); b.watch.Run(ctx) }()
	return func() { <-ended }
}

// changed tells the log, and an event on this pod.
func (b *barrier) changed(s fence.State) {
	if s.Open {
		b.log.Info("the fence is open: this management cluster may write", "generation", s.Ours)
		b.event(corev1.EventTypeNormal, "FenceOpen", fmt.Sprintf("this management cluster may write: its generation is %d", s.Ours))
		return
	}
	b.log.Error(s.Err, "the fence is closed: nothing is written to OpenStack and to workload clusters", "generation", s.Ours, "cloud", s.Cloud)
	b.event(corev1.EventTypeWarning, "Fenced", fmt.Sprintf("nothing is written to OpenStack and to workload clusters: %v", s.Err))
}

func (b *barrier) event(kind, reason, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.events != nil && b.pod != nil {
		b.events.Event(b.pod, kind, reason, text)
	}
}

// attach adds events, readiness and metrics to the manager that serves them.
func (b *barrier) attach(m manager.Manager, namespace string, registry prometheus.Registerer) error {
	if b == nil {
		return nil
	}
	name, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this pod: %w", err)
	}
	b.mu.Lock()
	b.events = m.GetEventRecorderFor("slipway-fence")
	b.pod = &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(namespace), Name: name}}
	b.mu.Unlock()
	if err := m.AddReadyzCheck("fence", func(r *http.Request) error { return b.watch.Allowed(r.Context()) }); err != nil {
		return fmt.Errorf("adding the readiness check: %w", err)
	}
	return b.measure(registry)
}

// namespaceOf is the pod's namespace unless another one is given.
func namespaceOf(given string) string {
	if given != "" {
		return given
	}
	if text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace"); err == nil {
		return string(text)
	}
	return metav1.NamespaceDefault
}

// measure registers the metrics. The registry belongs to the process, so that a second
// fence, as in a test, replaces the first.
func (b *barrier) measure(registry prometheus.Registerer) error {
	gauges := []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "slipway_fence_open", Help: "1 while the controllers may write to OpenStack and to workload clusters."}, func() float64 {
			if b.watch.State().Open {
				return 1
			}
			return 0
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "slipway_fence_generation", Help: "Generation of this management cluster."}, func() float64 { return float64(b.watch.State().Ours) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "slipway_fence_cloud_generation", Help: "Generation of the environment in the cloud, as it was read last."}, func() float64 { return float64(b.watch.State().Cloud) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "slipway_fence_last_read_timestamp_seconds", Help: "When the generation in the cloud was read last; 0 if never."}, func() float64 {
			if s := b.watch.State(); !s.Read.IsZero() {
				return float64(s.Read.UnixNano()) / 1e9
			}
			return 0
		}),
	}
	for _, g := range gauges {
		err := registry.Register(g)
		if already := (prometheus.AlreadyRegisteredError{}); errors.As(err, &already) {
			registry.Unregister(already.ExistingCollector)
			err = registry.Register(g)
		}
		if err != nil {
			return fmt.Errorf("metrics of the fence: %w", err)
		}
	}
	return nil
}
