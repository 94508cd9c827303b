package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/check/inside"
)

// closed is the name of the pod that a NetworkPolicy closes, and of the policy.
const closed = "closed"

// policyTime is how long a pod network may take to obey a policy.
const policyTime = 30 * time.Second

// policies closes a pod to all others by a NetworkPolicy. Without somebody who obeys them,
// Kubernetes takes them all the same.
func (r *run) policies(ctx context.Context) (string, error) {
	r.mu.Lock()
	pods := r.pods
	r.mu.Unlock()
	if len(pods) == 0 {
		return "", errSkip("no pod runs")
	}
	address, err := r.startClosed(ctx)
	if err != nil {
		return "", err
	}
	if _, err := r.onEach(ctx, inside.PathFetch, func(int, []pod) string { return address }); err != nil {
		return "", fmt.Errorf("before there is a policy: %w", err)
	}
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: closed}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": closed}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}}}
	if _, err := r.Client.NetworkingV1().NetworkPolicies(r.namespace).Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("making a NetworkPolicy: %w", err)
	}
	var open []string
	within, cancel := context.WithTimeoutCause(ctx, policyTime, fmt.Errorf("not done after %s", policyTime))
	defer cancel()
	err = r.until(within, func() (bool, error) {
		open = r.reaching(ctx, pods, address)
		return len(open) == 0, nil
	})
	if len(open) > 0 {
		return "", fmt.Errorf("a NetworkPolicy closes a pod, and nodes still reach it after %s: %s: the pod network does not obey NetworkPolicies", policyTime, strings.Join(open, ", "))
	}
	return "a NetworkPolicy closes a pod to every node's", err
}

// startClosed has a pod beside those on each node, and returns where it listens.
func (r *run) startClosed(ctx context.Context) (string, error) {
	spec := r.spec()
	spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	if err := r.makePod(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: closed, Labels: map[string]string{"app": closed}}, Spec: spec}); err != nil {
		return "", fmt.Errorf("making a pod: %w", err)
	}
	var address, missing string
	err := r.until(ctx, func() (bool, error) {
		p, err := r.Client.CoreV1().Pods(r.namespace).Get(ctx, closed, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		address, missing = net.JoinHostPort(p.Status.PodIP, strconv.Itoa(inside.Port)), state(*p)
		return isReady(*p), nil
	})
	if err != nil {
		err = fmt.Errorf("%w; pod %s: %s", err, closed, missing)
	}
	return address, err
}

// reaching are the nodes whose pods get an answer from an address, and those that cannot be asked.
func (r *run) reaching(ctx context.Context, pods []pod, address string) []string {
	var mu sync.Mutex
	var nodes []string
	var group sync.WaitGroup
	room := make(chan struct{}, 16)
	for _, p := range pods {
		group.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			_, err := r.Ask(ctx, r.namespace, p.name, inside.PathFetch, url.Values{"token": {r.token}, "of": {address}})
			var status apierrors.APIStatus
			if err == nil || errors.As(err, &status) || ctx.Err() != nil {
				mu.Lock()
				defer mu.Unlock()
				nodes = append(nodes, p.node)
			}
		})
	}
	group.Wait()
	slices.Sort(nodes)
	return nodes
}
