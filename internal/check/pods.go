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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/slipway-sh/slipway/internal/check/inside"
)

// each is the name of the DaemonSet and of its Service.
const each = "each-node"

// pod is a pod that answers.
type pod struct{ name, node, address string }

// nodes looks whether all nodes are ready.
func (r *run) nodes(ctx context.Context) (string, error) {
	list, err := r.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("listing nodes: %w", err)
	}
	var bad []string
	for _, node := range list.Items {
		i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
		if i < 0 || node.Status.Conditions[i].Status != corev1.ConditionTrue {
			why := "it has not said that it is ready"
			if i >= 0 {
				why = node.Status.Conditions[i].Message
			}
			bad = append(bad, node.Name+": "+why)
		}
	}
	if len(list.Items) == 0 {
		return "", errors.New("the cluster has no node")
	}
	if len(bad) > 0 {
		return "", fmt.Errorf("%d of %d are not ready: %s", len(bad), len(list.Items), strings.Join(bad, "; "))
	}
	return fmt.Sprintf("%d are ready", len(list.Items)), nil
}

// spec is a pod that runs the server of package inside.
func (r *run) spec() corev1.PodSpec {
	return corev1.PodSpec{
		AutomountServiceAccountToken: ptr.To(false), TerminationGracePeriodSeconds: ptr.To(int64(1)),
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(int64(65532)), FSGroup: ptr.To(int64(65532)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{
			Name: "check", Image: r.Image, ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"check", "inside"},
			Env: []corev1.EnvVar{{Name: "SLIPWAY_CHECK_TOKEN", Value: r.token},
				{Name: "SLIPWAY_CHECK_NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: inside.PathHello, Port: intstr.FromInt32(inside.Port)}}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
				Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")}},
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		}},
	}
}

// makePod makes a pod, and waits for the service account that each namespace gets: a moment after
// it is made, pods are refused for want of it. Any other refusal stays.
func (r *run) makePod(ctx context.Context, p *corev1.Pod) error {
	var refused error
	err := r.until(ctx, func() (bool, error) {
		_, err := r.Client.CoreV1().Pods(r.namespace).Create(ctx, p, metav1.CreateOptions{})
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "error looking up service account") {
			return false, err
		}
		refused = err
		return true, nil
	})
	return errors.Join(err, refused)
}

// startPods has a pod on every node, whatever its taints, and waits for all of them.
func (r *run) startPods(ctx context.Context) (string, error) {
	labels := map[string]string{"app": each}
	spec := r.spec()
	spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: each}, Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}}}
	if _, err := r.Client.AppsV1().DaemonSets(r.namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("making a DaemonSet: %w", err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: each}, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(inside.Port)}}}}
	if _, err := r.Client.CoreV1().Services(r.namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("making a Service: %w", err)
	}
	nodes, err := r.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("listing nodes: %w", err)
	}
	missing := "no pod"
	err = r.until(ctx, func() (bool, error) {
		list, err := r.Client.CoreV1().Pods(r.namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + each})
		if err != nil {
			return false, err
		}
		var up []pod
		missing = fmt.Sprintf("%d pods for %d nodes", len(list.Items), len(nodes.Items))
		for _, p := range list.Items {
			if isReady(p) {
				up = append(up, pod{p.Name, p.Spec.NodeName, p.Status.PodIP})
			} else {
				missing = "pod " + p.Name + " on " + p.Spec.NodeName + ": " + state(p)
			}
		}
		r.mu.Lock()
		r.pods = up
		r.mu.Unlock()
		return len(up) >= len(nodes.Items) && len(up) == len(list.Items) && len(up) > 0, nil
	})
	if err != nil {
		return "", fmt.Errorf("%w; %s", err, missing)
	}
	return fmt.Sprintf("one on each of %d nodes", len(nodes.Items)), nil
}

func isReady(p corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
}

// state says why a pod does not run.
func state(p corev1.Pod) string {
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Reason != "ContainerCreating" {
			words := strings.TrimSuffix(w.Reason+": "+w.Message, ": ")
			if t := c.LastTerminationState.Terminated; t != nil {
				words += fmt.Sprintf(" (it ended with %d)", t.ExitCode)
			}
			return words
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			return "not scheduled: " + c.Message
		}
	}
	return string(p.Status.Phase)
}

// onEach tries something from each pod at the same time, and joins what fails.
func (r *run) onEach(ctx context.Context, path string, target func(i int, all []pod) string) (int, error) {
	r.mu.Lock()
	pods := r.pods
	r.mu.Unlock()
	if len(pods) == 0 {
		return 0, errSkip("no pod runs")
	}
	errs := make([]error, len(pods))
	var group sync.WaitGroup
	room := make(chan struct{}, 16)
	for i, p := range pods {
		group.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			of := target(i, pods)
			if _, err := r.Ask(ctx, r.namespace, p.name, path, url.Values{"token": {r.token}, "of": {of}}); err != nil {
				errs[i] = fmt.Errorf("%s from node %s: %w", of, p.node, err)
			}
		})
	}
	group.Wait()
	return len(pods), errors.Join(errs...)
}

// names looks up the API server's name and that of the Service.
func (r *run) names(ctx context.Context) (string, error) {
	for _, name := range []string{"kubernetes.default.svc", each + "." + r.namespace + ".svc"} {
		if _, err := r.onEach(ctx, inside.PathName, func(int, []pod) string { return name }); err != nil {
			return "", err
		}
	}
	return "every node resolves names of Services", nil
}

// podToPod has every pod fetch from the next: so each node sends and receives, across nodes.
func (r *run) podToPod(ctx context.Context) (string, error) {
	return r.fromNext(ctx, inside.PathFetch, "every node reaches the next one's pod")
}

// packets has every pod exchange packets of full size with the next (row D-17).
func (r *run) packets(ctx context.Context) (string, error) {
	detail, err := r.fromNext(ctx, inside.PathExchange, "every node exchanges packets of full size with the next one's pod")
	skip := errSkip("")
	switch {
	case err != nil && strings.Contains(err.Error(), "404 page not found"):
		return "", errSkip("the image on the nodes is older than this step")
	case err != nil && !errors.As(err, &skip):
		err = fmt.Errorf("%w; if pod-to-pod passed, packets of full size are lost: the MTU of the pods is larger than the network of the nodes carries", err)
	}
	return detail, err
}

// fromNext asks each pod to try something with the next one.
func (r *run) fromNext(ctx context.Context, path, detail string) (string, error) {
	n, err := r.onEach(ctx, path, func(i int, all []pod) string {
		return net.JoinHostPort(all[(i+1)%len(all)].address, strconv.Itoa(inside.Port))
	})
	if err == nil && n == 1 {
		return "", errSkip("there is one node only")
	}
	return detail, err
}

func (r *run) service(ctx context.Context) (string, error) {
	service, err := r.Client.CoreV1().Services(r.namespace).Get(ctx, each, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the Service: %w", err)
	}
	_, err = r.onEach(ctx, inside.PathFetch, func(int, []pod) string { return net.JoinHostPort(service.Spec.ClusterIP, "80") })
	return "every node reaches the Service", err
}

func (r *run) egress(ctx context.Context) (string, error) {
	if r.Egress == "" {
		return "", errSkip("no address outside is known")
	}
	_, err := r.onEach(ctx, inside.PathDial, func(int, []pod) string { return r.Egress })
	return "every node reaches " + r.Egress, err
}
