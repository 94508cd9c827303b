package status

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// component is something that runs on the seed.
type component struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	State   string `json:"state"`
	Version string `json:"version"`
	// Since is when it was made.
	Since time.Time `json:"since"`
}

// healthTime is how long the seed may take to answer.
const healthTime = 10 * time.Second

// health asks the seed what runs on it.
func health(ctx context.Context, t *target.Target) ([]component, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, healthTime, fmt.Errorf("no answer in %s", healthTime))
	defer cancel()
	seed, err := t.Seed(ctx)
	if err != nil || seed.Kubeconfig == "" {
		return nil, err
	}
	machine, err := seed.Login(ctx)
	if err != nil {
		return nil, err
	}
	defer machine.Close()
	cluster, err := kubernetes.Reach(machine, seed.Kubeconfig)
	if err != nil {
		return nil, err
	}
	return components(ctx, cluster)
}

func components(ctx context.Context, c *kube.Cluster) ([]component, error) {
	nodes, err := c.Typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	list := []component{}
	for _, n := range nodes.Items {
		list = append(list, component{"Node", n.Name, nodeState(n), n.Status.NodeInfo.KubeletVersion, n.CreationTimestamp.Time})
	}
	deployments, err := c.Typed.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing Deployments: %w", err)
	}
	for _, d := range deployments.Items {
		state := fmt.Sprintf("%d/%d available", d.Status.AvailableReplicas, d.Status.Replicas)
		version := ""
		if containers := d.Spec.Template.Spec.Containers; len(containers) > 0 {
			version = tagOf(containers[0].Image)
		}
		list = append(list, component{"Deployment", d.Namespace + "/" + d.Name, state, version, d.CreationTimestamp.Time})
	}
	return list, nil
}

func nodeState(n corev1.Node) string {
	for _, condition := range n.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return "Ready"
		}
	}
	return "not ready"
}

// tagOf is the version in the name of an image.
func tagOf(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[i+1:]
	}
	return ""
}

// rows are the components as lines of the table.
func rows(list []component, now time.Time) [][]string {
	var lines [][]string
	for _, c := range list {
		state := c.State
		if c.Version != "" {
			state += ", " + c.Version
		}
		lines = append(lines, []string{c.Kind, c.Name, state, "since " + duration.HumanDuration(now.Sub(c.Since))})
	}
	return lines
}
