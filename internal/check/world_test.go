package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/slipway-sh/slipway/internal/check/inside"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// world is a cluster whose API server and controllers are real, and whose nodes are not: the
// test does what a scheduler, kubelets and a cloud would. The pods' servers are real too, in
// this process.
type world struct {
	*testing.T
	client kubernetes.Interface

	mu sync.Mutex
	// waiting is the reason for which containers do not start; empty lets them start.
	waiting string
	// closed is where a connection fails.
	closed string
	// disobeys is set if NetworkPolicies have no effect.
	disobeys bool
	// loses is set if volumes lose what is written.
	loses bool
	// tests ends the tests of a pod of the check conformance, with an exit code.
	tests   func(folder string) int32
	played  map[string]outcome
	servers map[string]*httptest.Server
	disk    string
}

func newWorld(t *testing.T, server *kubetest.Server) *world {
	t.Helper()
	config := rest.CopyConfig(server.Config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &world{T: t, client: client, servers: map[string]*httptest.Server{}, played: map[string]outcome{}, disk: t.TempDir()}
}

func (w *world) nodes(names ...string) {
	w.Helper()
	for _, name := range names {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := w.client.CoreV1().Nodes().Create(w.Context(), node, metav1.CreateOptions{}); err != nil {
			w.Fatal(err)
		}
	}
	w.must(w.beat(w.Context(), names...))
}

// beat says of nodes that they are ready. Kubernetes believes it for 40 seconds.
func (w *world) beat(ctx context.Context, names ...string) (errs error) {
	for _, name := range names {
		errs = errors.Join(errs, retry.RetryOnConflict(retry.DefaultBackoff, func() error { // its controllers write too
			now, err := w.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				now.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}}
				_, err = w.client.CoreV1().Nodes().UpdateStatus(ctx, now, metav1.UpdateOptions{})
			}
			return err
		}))
	}
	return errs
}

// work is what runs beside the API server, until ctx ends.
func (w *world) work(ctx context.Context) {
	for ctx.Err() == nil {
		pods, err := w.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err == nil {
			for i := range pods.Items {
				w.kubelet(ctx, &pods.Items[i])
			}
		}
		services, err := w.client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err == nil {
			for _, s := range services.Items {
				if s.Spec.Type == corev1.ServiceTypeLoadBalancer && len(s.Status.LoadBalancer.Ingress) == 0 {
					s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.9"}}
					_, _ = w.client.CoreV1().Services(s.Namespace).UpdateStatus(ctx, &s, metav1.UpdateOptions{})
				}
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// kubelet binds a pod, runs it, and lets it go.
func (w *world) kubelet(ctx context.Context, p *corev1.Pod) {
	pods := w.client.CoreV1().Pods(p.Namespace)
	switch {
	case p.DeletionTimestamp != nil:
		_ = pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	case p.Spec.NodeName == "":
		_ = pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: nodeFor(p)}}, metav1.CreateOptions{})
	case !isReady(*p):
		w.mu.Lock()
		reason := w.waiting
		w.mu.Unlock()
		if reason != "" {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "check", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "no such image"}}}}
		} else {
			address := map[bool]string{true: "10.1.0.2", false: "10.1.0.1"}[p.Name == closed]
			p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		}
		_, _ = pods.UpdateStatus(ctx, p, metav1.UpdateOptions{})
	case p.Name == suitePod && len(p.Status.ContainerStatuses) == 0:
		w.mu.Lock()
		server, tests := w.servers[p.Namespace+p.Name], w.tests
		w.mu.Unlock()
		if server != nil && tests != nil { // somebody has asked how far they are
			w.play(ctx, p, func() int32 { return tests(w.disk) })
		}
	}
}

// outcome is how tests ended, and when.
type outcome struct {
	code int32
	at   time.Time
}

// play has the tests of a pod end, some looks after they have told how far they are.
func (w *world) play(ctx context.Context, p *corev1.Pod, tests func() int32) {
	end, is := w.played[p.Namespace]
	if !is {
		w.played[p.Namespace] = outcome{tests(), time.Now()}
		return
	}
	if time.Since(end.at) > 3*lookEvery {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: suiteContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: end.code}}}}
		_, _ = w.client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
	}
}

// nodeFor is the node of a DaemonSet's pod; the writer gets n1, and the reader another if it
// asks for that.
func nodeFor(p *corev1.Pod) string {
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		if required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			return required.NodeSelectorTerms[0].MatchFields[0].Values[0]
		}
		return "n2"
	}
	return "n1"
}

// ask asks the server of a pod, which it starts first.
func (w *world) ask(ctx context.Context, namespace, name, path string, values url.Values) (string, error) {
	p, err := w.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	args := p.Spec.Containers[0].Args
	if !slices.Equal(args[:2], []string{"check", "inside"}) {
		return "", fmt.Errorf("the pod runs %v", args)
	}
	w.mu.Lock()
	server := w.servers[namespace+name]
	if server == nil {
		s := inside.Server{Node: p.Spec.NodeName, Token: p.Spec.Containers[0].Env[0].Value, Resolve: w.resolve, Dial: w.dial}
		switch {
		case slices.Contains(args, "--results"):
			s.Results = w.disk
		case len(p.Spec.Volumes) > 0:
			s.Dir = w.disk
		}
		server = httptest.NewServer(s.Handler())
		w.Cleanup(server.Close)
		w.servers[namespace+name] = server
	}
	if path == inside.PathWrite && w.loses {
		values = url.Values{"token": values["token"], "text": {"something else"}}
	}
	w.mu.Unlock()
	r, err := http.Get(server.URL + path + "?" + values.Encode())
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	text := make([]byte, 4096)
	n, _ := r.Body.Read(text)
	if r.StatusCode != http.StatusOK {
		return "", errors.New(string(text[:n]))
	}
	return string(text[:n]), nil
}

func (w *world) resolve(_ context.Context, name string) ([]string, error) {
	if !strings.HasSuffix(name, ".svc") {
		return nil, fmt.Errorf("lookup %s: no such host", name)
	}
	return []string{"10.96.0.1"}, nil
}

// dial connects to a pod's server whatever the address is, but for the one that is closed.
func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if address == w.closed {
		return nil, fmt.Errorf("dial %s: connection refused", address)
	}
	if strings.HasPrefix(address, "10.1.0.2:") && !w.disobeys {
		policies, err := w.client.NetworkingV1().NetworkPolicies(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil || len(policies.Items) > 0 {
			return nil, fmt.Errorf("dial %s: connection refused (%w)", address, err)
		}
	}
	for _, s := range w.servers {
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}
	return nil, errors.New("no pod runs")
}

func (w *world) options(name string) Options {
	return Options{Name: name, Cluster: "shop", Client: w.client, Ask: w.ask, Dial: w.dial, Image: "slipway:test", Egress: "192.0.2.7:5000", Patience: time.Minute, Tell: func(Step) {}}
}

func (w *world) states(r Result) string {
	var words []string
	for _, s := range r.Steps {
		words = append(words, s.Name+" "+s.State)
	}
	return strings.Join(words, ", ")
}

// clean checks that nothing is left.
func (w *world) clean() {
	w.Helper()
	list, err := w.client.CoreV1().Namespaces().List(context.Background(), metav1.ListOptions{LabelSelector: Label})
	if err != nil || len(list.Items) > 0 {
		w.Errorf("left: %d namespaces, %v", len(list.Items), err)
	}
}
