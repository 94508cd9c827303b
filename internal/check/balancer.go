package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slipway-sh/slipway/internal/check/inside"
)

const outside = "outside"

// getTime bounds one request to the load balancer.
const getTime = 5 * time.Second

// balancer has a load balancer for the pods, and gets an answer through it.
func (r *run) balancer(ctx context.Context) (string, error) {
	r.mu.Lock()
	running := len(r.pods)
	r.mu.Unlock()
	if running == 0 {
		return "", errSkip("no pod runs")
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: outside}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": each},
		Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(inside.Port)}}}}
	if _, err := r.Client.CoreV1().Services(r.namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("making a Service: %w", err)
	}
	address, node := "", ""
	err := r.until(ctx, func() (bool, error) {
		s, err := r.Client.CoreV1().Services(r.namespace).Get(ctx, outside, metav1.GetOptions{})
		if err != nil || len(s.Status.LoadBalancer.Ingress) == 0 {
			return false, err
		}
		address = s.Status.LoadBalancer.Ingress[0].IP
		if address == "" {
			address = s.Status.LoadBalancer.Ingress[0].Hostname
		}
		node, err = r.get(ctx, net.JoinHostPort(address, "80"))
		return err == nil, err
	})
	if err != nil && address == "" {
		return "", errors.Join(fmt.Errorf("the Service has no address: %w", err), r.lastWarning(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return "", fmt.Errorf("address %s: %w", address, err)
	}
	return "node " + node + " answers at " + address, nil
}

// get fetches the name of a node through the load balancer.
func (r *run) get(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, getTime, fmt.Errorf("no answer within %s", getTime))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+inside.PathHello, nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{DialContext: r.Dial, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 256))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the answer is %s", answer.Status)
	}
	return string(text), err
}
