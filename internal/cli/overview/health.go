package overview

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/slipway-sh/slipway/internal/backup/record"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// Component is a Deployment or a node on the seed.
type Component struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	State   string `json:"state"`
	Version string `json:"version"`
	// Since is when it was created.
	Since time.Time `json:"since"`

	// Ready is that it does its work.
	Ready bool `json:"-"`
}

// kindNode is the kind of components that are nodes.
const kindNode = "Node"

// errShelved says why the seed is not asked, which is no fault.
var errShelved = errors.New("the seed is shelved; wake it with slipway seed wake")

// healthTime bounds the wait for the seed's answers.
const healthTime = 30 * time.Second

// facts are what the environment's Kubernetes clusters report.
type facts struct {
	access   *target.Access
	seed     []Component
	clusters []Cluster
	backups  record.State
	// note says why there is no seed, which is no fault.
	note     string
	services target.Services
}

// Cluster is a cluster of Cluster API.
type Cluster struct {
	// On is the cluster whose Cluster API manages it: "seed" or "management".
	On string `json:"on"`
	clusterapi.Report
}

// health lists what runs on the seed, and the clusters of Cluster API on the seed
// and on the management cluster. If the seed is shelved, the management cluster is
// asked directly.
func health(ctx context.Context, t *target.Target, shelved bool) (facts, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, healthTime, fmt.Errorf("no answer in %s", healthTime))
	defer cancel()
	seed, err := t.Seed(ctx)
	if err != nil {
		return facts{}, err
	}
	f := facts{access: seed.Access(t.Loaded), services: seed.Services}
	if seed.Local != "" {
		f.note = target.NoSeed
		if seed.Management == "" {
			f.note = "the local seed is at work, or waits for the next slipway up"
			return f, nil
		}
		return f, f.itself(ctx, seed)
	}
	if seed.Kubeconfig == "" {
		return f, nil
	}
	if shelved {
		err := f.direct(ctx, t, seed)
		return f, err
	}
	machine, err := seed.Login(ctx)
	if err != nil {
		return f, err
	}
	defer machine.Close()
	on, err := kubernetes.Reach(machine, seed.Kubeconfig)
	if err != nil {
		return f, err
	}
	if f.seed, err = components(ctx, on); err != nil {
		return f, err
	}
	if f.clusters, err = clusters(ctx, on, "seed", target.Way(on, machine)); err != nil || seed.Management == "" {
		return f, err
	}
	own, err := record.Load(ctx, on.Typed)
	if err != nil {
		return f, err
	}
	if on, err = kubernetes.Reach(machine, seed.Management); err != nil {
		return f, err
	}
	more, err := clusters(ctx, on, "management", target.Way(on, machine))
	f.clusters = append(f.clusters, more...)
	if err == nil {
		f.backups, err = record.Load(ctx, on.Typed)
	}
	f.backups.Seed = own.Schedule
	return f, err
}

// itself asks a management cluster that has no seed.
func (f *facts) itself(ctx context.Context, seed *target.Seed) error {
	config, leave, err := seed.Reach(ctx, seed.Management)
	if err != nil {
		return err
	}
	defer leave()
	on, err := kube.New(config)
	if err != nil {
		return err
	}
	f.clusters, err = clusters(ctx, on, "management", target.Way(on, nil))
	return err
}

// direct asks the management cluster without going through the seed.
func (f *facts) direct(ctx context.Context, t *target.Target, seed *target.Seed) error {
	config, err := kubernetes.Config(seed.Management)
	if err != nil {
		return t.ErrShelved()
	}
	on, err := kube.New(config)
	if err != nil {
		return err
	}
	if f.clusters, err = clusters(ctx, on, "management", target.Way(on, nil)); err == nil {
		f.backups, err = record.Load(ctx, on.Typed)
	}
	return errors.Join(errShelved, err)
}

func components(ctx context.Context, c *kube.Cluster) ([]Component, error) {
	nodes, err := c.Typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	list := []Component{}
	for _, n := range nodes.Items {
		list = append(list, Component{kindNode, n.Name, nodeState(n), n.Status.NodeInfo.KubeletVersion, n.CreationTimestamp.Time, nodeState(n) == nodeReady})
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
		list = append(list, Component{"Deployment", d.Namespace + "/" + d.Name, state, version, d.CreationTimestamp.Time, d.Status.AvailableReplicas >= ptr.Deref(d.Spec.Replicas, 1)})
	}
	return list, nil
}

func nodeState(n corev1.Node) string {
	for _, condition := range n.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return nodeReady
		}
	}
	return "not ready"
}

const nodeReady = "Ready"

// tagOf returns the tag of an image reference.
func tagOf(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[i+1:]
	}
	return ""
}

// rows returns the components as rows of the table.
func rows(list []Component, now time.Time) [][]string {
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
