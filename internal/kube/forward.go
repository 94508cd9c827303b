package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/httpstream/spdy"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	transportspdy "k8s.io/client-go/transport/spdy"
)

// forwardPing keeps a connection that says nothing, and notices one that is gone.
const forwardPing = 5 * time.Second

// Dial connects to a TCP port of a Service as `kubectl port-forward` does: the API server and the
// kubelet lead into a ready pod of it, on the pod's loopback. It needs the right to
// create pods/portforward, and no NetworkPolicy of the pod has to let it in. Closing the
// connection ends it; ctx bounds only the dialling.
func (c *Cluster) Dial(ctx context.Context, namespace, service string, port int) (net.Conn, error) {
	pod, number, err := c.behind(ctx, namespace, service, port)
	if err != nil {
		return nil, err
	}
	connection, err := c.upgrade(ctx, namespace, pod)
	if err != nil {
		return nil, fmt.Errorf("forwarding to pod %s/%s: %w", namespace, pod, err)
	}
	conn, err := newForwarded(connection, pod, number)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("forwarding to pod %s/%s: %w", namespace, pod, err), connection.Close())
	}
	return conn, nil
}

// behind returns a ready pod of a Service, and which of its ports the Service leads to.
func (c *Cluster) behind(ctx context.Context, namespace, service string, port int) (pod string, number int, err error) {
	s, err := c.Typed.CoreV1().Services(namespace).Get(ctx, service, metav1.GetOptions{})
	if err != nil {
		return "", 0, fmt.Errorf("reading service %s/%s: %w", namespace, service, err)
	}
	if len(s.Spec.Selector) == 0 {
		return "", 0, fmt.Errorf("service %s/%s selects no pods", namespace, service)
	}
	pods, err := c.Typed.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: s.Spec.Selector})})
	if err != nil {
		return "", 0, fmt.Errorf("listing pods of service %s/%s: %w", namespace, service, err)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; isReady(p) {
			if number := targetPort(s, p, port); number > 0 {
				return p.Name, number, nil
			}
			return "", 0, fmt.Errorf("service %s/%s leads to no port of pod %s by port %d", namespace, service, p.Name, port)
		}
	}
	return "", 0, fmt.Errorf("no pod of service %s/%s is ready", namespace, service)
}

// targetPort is the port of a pod that a port of its Service leads to, 0 for none.
func targetPort(s *corev1.Service, p *corev1.Pod, port int) int {
	for _, at := range s.Spec.Ports {
		switch {
		case int(at.Port) != port:
		case at.TargetPort.Type == intstr.Int && at.TargetPort.IntVal == 0:
			return port
		case at.TargetPort.Type == intstr.Int:
			return int(at.TargetPort.IntVal)
		default:
			return containerPort(p, at.TargetPort.StrVal)
		}
	}
	return 0
}

// containerPort is the number of a pod's port with a name, 0 for none.
func containerPort(p *corev1.Pod, name string) int {
	for _, c := range p.Spec.Containers {
		for _, port := range c.Ports {
			if port.Name == name {
				return int(port.ContainerPort)
			}
		}
	}
	return 0
}

// upgrade opens the connection that streams to a pod's ports share.
func (c *Cluster) upgrade(ctx context.Context, namespace, pod string) (httpstream.Connection, error) {
	transport, upgrader, err := upgrading(c.config)
	if err != nil {
		return nil, err
	}
	url := c.Typed.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url.String(), nil)
	if err != nil {
		return nil, err
	}
	connection, _, err := transportspdy.Negotiate(upgrader, &http.Client{Transport: transport}, request, portforward.PortForwardProtocolV1Name)
	return connection, err
}

// upgrading is client-go's transport for such connections, which would not go by config.Dial.
func upgrading(config *rest.Config) (http.RoundTripper, transportspdy.Upgrader, error) {
	if config.Dial == nil {
		return transportspdy.RoundTripperFor(config)
	}
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, nil, err
	}
	upgrader, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{PingPeriod: forwardPing,
		UpgradeTransport: &http.Transport{DialContext: config.Dial, TLSClientConfig: tls}})
	if err != nil {
		return nil, nil, err
	}
	transport, err := rest.HTTPWrappersForConfig(config, upgrader)
	return transport, upgrader, err
}

// forwarded is a TCP connection into a pod.
type forwarded struct {
	httpstream.Stream
	connection httpstream.Connection
	pod        podAddress
	// refused is closed when the kubelet has said all it had to, which is why.
	refused chan struct{}
	why     string
	once    sync.Once
}

// podAddress is where such a connection leads.
type podAddress string

func (podAddress) Network() string  { return "tcp" }
func (a podAddress) String() string { return string(a) }

func newForwarded(connection httpstream.Connection, pod string, port int) (*forwarded, error) {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	problems, err := connection.CreateStream(headers)
	if err != nil {
		return nil, fmt.Errorf("opening the stream of errors: %w", err)
	}
	// Nothing is sent on it.
	if err := problems.Close(); err != nil {
		return nil, fmt.Errorf("closing the stream of errors: %w", err)
	}
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := connection.CreateStream(headers)
	if err != nil {
		return nil, fmt.Errorf("opening the stream of data: %w", err)
	}
	f := &forwarded{Stream: data, connection: connection, pod: podAddress(net.JoinHostPort(pod, strconv.Itoa(port))), refused: make(chan struct{})}
	go func() {
		defer close(f.refused)
		said, _ := io.ReadAll(io.LimitReader(problems, 4096)) // it ends with the connection
		f.why = strings.TrimSpace(string(said))
	}()
	return f, nil
}

// Read tells why the kubelet ended the connection, such as a refused port.
func (f *forwarded) Read(b []byte) (int, error) {
	n, err := f.Stream.Read(b)
	if n > 0 || err == nil {
		return n, err
	}
	select {
	case <-f.refused:
		if f.why != "" {
			return 0, errors.New(f.why)
		}
	case <-time.After(time.Second): // what it says may come after the end
	}
	return n, err
}

// Close ends the connection. It can be repeated.
func (f *forwarded) Close() (err error) {
	f.once.Do(func() { err = f.connection.Close() })
	return err
}

func (f *forwarded) LocalAddr() net.Addr  { return podAddress("portforward") }
func (f *forwarded) RemoteAddr() net.Addr { return f.pod }

// errNoDeadline: a stream of a shared connection has none. http.Transport needs none.
var errNoDeadline = errors.New("a forwarded connection has no deadline")

func (f *forwarded) SetDeadline(time.Time) error      { return errNoDeadline }
func (f *forwarded) SetReadDeadline(time.Time) error  { return errNoDeadline }
func (f *forwarded) SetWriteDeadline(time.Time) error { return errNoDeadline }
