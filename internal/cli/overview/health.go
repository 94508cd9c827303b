package overview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/slipway-sh/slipway/internal/backup/record"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/clusterapi/within"
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
func health(ctx context.Context, t *target.Target, seed *target.Seed, shelved bool) (facts, error) {
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
	reach := func(kubeconfig string, ask func(on *kube.Cluster, way within.Way) part) func() part {
		return func() part {
			on, err := kubernetes.Reach(machine, kubeconfig)
			if err != nil {
				return part{err: err}
			}
			return ask(on, target.Way(on, machine))
		}
	}
	var management func() part
	if seed.Management != "" {
		management = reach(seed.Management, func(on *kube.Cluster, way within.Way) part { return askManagement(ctx, on, way) })
	}
	err = f.places(reach(seed.Kubeconfig, func(on *kube.Cluster, way within.Way) part { return askSeed(ctx, on, way, management != nil) }), management)
	return f, err
}

// part is what one of the environment's clusters says.
type part struct {
	components []Component
	clusters   []Cluster
	backups    record.State
	err        error
}

// places asks the seed and the management cluster, nil if there is none, at the same time.
func (f *facts) places(seed, management func() part) error {
	var own, other part
	var group sync.WaitGroup
	group.Go(func() { own = seed() })
	if management != nil {
		group.Go(func() { other = management() })
	}
	group.Wait()
	f.seed, f.clusters = own.components, slices.Concat(own.clusters, other.clusters)
	f.backups = other.backups
	f.backups.Seed = own.backups.Schedule
	if own.err != nil && other.err != nil {
		return fmt.Errorf("%w; %w", own.err, other.err)
	}
	return cmp.Or(own.err, other.err)
}

// askSeed asks for the nodes first, alone: what is asked side by side then has a connection.
func askSeed(ctx context.Context, on *kube.Cluster, way within.Way, managing bool) (p part) {
	nodes, err := seedNodes(ctx, on)
	if err != nil {
		return part{err: err}
	}
	var (
		group    sync.WaitGroup
		deployed []Component
		failed   [3]error
	)
	group.Go(func() { deployed, failed[0] = deployments(ctx, on) })
	group.Go(func() { p.clusters, failed[1] = clusters(ctx, on, "seed", way) })
	if managing {
		group.Go(func() { p.backups, failed[2] = record.Load(ctx, on.Typed) })
	}
	group.Wait()
	if failed[0] == nil {
		p.components = slices.Concat(nodes, deployed)
	}
	p.err = cmp.Or(failed[:]...)
	return p
}

// askManagement asks for the small record first, for the same reason.
func askManagement(ctx context.Context, on *kube.Cluster, way within.Way) (p part) {
	backups, lost := record.Load(ctx, on.Typed)
	p.backups = backups
	if p.clusters, p.err = clusters(ctx, on, "management", way); p.err == nil {
		p.err = lost
	}
	return p
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
	p := askManagement(ctx, on, target.Way(on, nil))
	f.clusters, f.backups = p.clusters, p.backups
	return p.err
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
	p := askManagement(ctx, on, target.Way(on, nil))
	f.clusters, f.backups = p.clusters, p.backups
	return errors.Join(errShelved, p.err)
}

func seedNodes(ctx context.Context, c *kube.Cluster) ([]Component, error) {
	nodes, err := c.Typed.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	list := []Component{}
	for _, n := range nodes.Items {
		list = append(list, Component{kindNode, n.Name, nodeState(n), n.Status.NodeInfo.KubeletVersion, n.CreationTimestamp.Time, nodeState(n) == nodeReady})
	}
	return list, nil
}

func deployments(ctx context.Context, c *kube.Cluster) (list []Component, err error) {
	found, err := c.Typed.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing Deployments: %w", err)
	}
	for _, d := range found.Items {
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
