package magnum

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"filippo.io/age"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/backup"
)

const (
	// changes are how many clusters become unhealthy, and healthy again.
	changes = 200
	// changePause is between two changes.
	changePause = 150 * time.Millisecond
	// lagTarget is how soon 99 of 100 changes are to be seen, lagTime when the test gives up.
	lagTarget = time.Second
	lagTime   = 2 * time.Minute
)

// seen is what was last seen of a cluster, and when.
type seen struct {
	complete bool
	health   v1alpha1.HealthStatus
	at       time.Time
}

func complete(all map[string]seen) (count int) {
	for _, s := range all {
		if s.complete {
			count++
		}
	}
	return count
}

// watch sees the clusters of the Magnum API as a client does that watches them.
type watch struct {
	mu sync.Mutex
	// all are by the names of their stacks.
	all map[string]seen
	// news is closed at the next change.
	news chan struct{}
}

func (m *management) watchClusters(config *rest.Config) *watch {
	m.Helper()
	w, kept := &watch{all: map[string]seen{}, news: make(chan struct{})}, m.kept(config)
	go func() {
		if err := kept.Start(m.Context()); err != nil {
			m.Error(err)
		}
	}()
	informer, err := kept.GetInformer(m.Context(), &v1alpha1.Cluster{})
	m.must(err)
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { w.see(o.(*v1alpha1.Cluster)) }, UpdateFunc: func(_, o any) { w.see(o.(*v1alpha1.Cluster)) }})
	m.must(err)
	return w
}

func (w *watch) see(c *v1alpha1.Cluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[c.Stack()] = seen{c.Status.Phase == v1alpha1.CreateComplete && c.Status.ObservedGeneration == c.Generation, c.Status.HealthStatus, time.Now()}
	close(w.news)
	w.news = make(chan struct{})
}

// until waits until something is so, and says whether that came in time.
func (w *watch) until(limit time.Duration, so func(map[string]seen) bool) bool {
	late := time.After(limit)
	for {
		w.mu.Lock()
		is, news := so(w.all), w.news
		w.mu.Unlock()
		if is {
			return true
		}
		select {
		case <-news:
		case <-late:
			return false
		}
	}
}

// lag measures how long it takes from a change of a machine until the status of its
// cluster in the Magnum API shows it, one change after the other, while backups are made
// without a pause.
func (m *management) lag() {
	machines := m.workers()
	if len(machines) != m.clusters {
		m.Fatalf("%d clusters have %d workers", m.clusters, len(machines))
	}
	before, called, began := m.shares(), m.calls(), time.Now()
	copies := m.backUp()
	random := rand.New(rand.NewPCG(1, 2))
	var lags []time.Duration
	for range changes {
		lags = append(lags, m.flap(&machines[random.IntN(len(machines))])...)
	}
	tellLags(lags, time.Since(began), "backups are made")
	tell(copies())
	m.report("Changes and backups", before, called, time.Since(began))
}

// workers are the machines of groups of workers.
func (m *management) workers() []unstructured.Unstructured {
	m.Helper()
	machines := &unstructured.UnstructuredList{}
	machines.SetGroupVersionKind(machineKind())
	machines.SetKind("MachineList")
	m.must(m.List(m.Context(), machines, client.HasLabels{"cluster.x-k8s.io/deployment-name"}))
	return machines.Items
}

// flap makes a machine's node not ready and ready again, and returns how long each took to
// be seen.
func (m *management) flap(machine *unstructured.Unstructured) (lags []time.Duration) {
	m.Helper()
	for _, health := range []v1alpha1.HealthStatus{v1alpha1.Unhealthy, v1alpha1.Healthy} {
		lags = append(lags, m.change(machine, health))
		time.Sleep(changePause)
	}
	return lags
}

// tellLags prints how soon changes were seen, which were made while something went on.
func tellLags(lags []time.Duration, took time.Duration, while string) {
	if len(lags) == 0 {
		fmt.Printf("Status lag while %s: there was no time to measure it.\n", while)
		return
	}
	slices.Sort(lags)
	result, p99 := "ok", lags[len(lags)*99/100]
	if p99 > lagTarget {
		result = "missed"
	}
	fmt.Printf("Status lag of %d changes in %s, while %s: p50 %s, p99 %s (target %s, %s), max %s.\n", len(lags), took.Round(time.Second), while,
		round(lags[len(lags)/2]), round(p99), lagTarget, result, round(lags[len(lags)-1]))
}

// tell prints the first backup, and the slowest and the largest of those after it.
func tell(all []copied) {
	var took, used time.Duration
	var peak, written int64
	for i, c := range all {
		if i == 0 {
			fmt.Printf("First backup: %d objects in %s with %s of processor and %d MiB at most; %.1f MiB before compression, %.1f MiB stored.\n", c.Objects,
				c.took.Round(time.Millisecond), c.used.Round(time.Millisecond), c.peak>>20, float64(c.Bytes)/(1<<20), float64(c.Written)/(1<<20))
			continue
		}
		took, used, peak, written = max(took, c.took), max(used, c.used), max(peak, c.peak), max(written, c.Written)
	}
	fmt.Printf("%d more backups: each in %s at most with %s of processor and %d MiB; %d KiB stored at most.\n", max(0, len(all)-1),
		took.Round(time.Millisecond), used.Round(time.Millisecond), peak>>20, written>>10)
}

// change makes a machine's node ready or not, and returns when the cluster's health was
// seen, counted from before the write.
func (m *management) change(machine *unstructured.Unstructured, health v1alpha1.HealthStatus) time.Duration {
	m.Helper()
	all := conditions("Available", "Ready", "NodeReady")
	if health == v1alpha1.Unhealthy {
		for _, one := range all {
			one.(map[string]any)["status"] = "False"
		}
	}
	m.must(unstructured.SetNestedSlice(machine.Object, all, "status", "conditions"))
	stack, _, _ := unstructured.NestedString(machine.Object, "spec", "clusterName")
	began := time.Now()
	m.must(m.Status().Update(m.Context(), machine))
	var at time.Time
	if !m.watch.until(lagTime, func(all map[string]seen) bool { at = all[stack].at; return all[stack].health == health }) {
		m.Fatalf("%s after machine %s changed, its cluster is not %s", lagTime, machine.GetName(), health)
	}
	return at.Sub(began)
}

// copied is a backup and what it cost.
type copied struct {
	finished
	backup.Backup
}

// backUp makes backups by `slipway backup create`, one after the other, until it is told
// to end: it returns those, at least one.
func (m *management) backUp() (end func() []copied) {
	m.Helper()
	file := m.environment()
	ended, made := make(chan struct{}), make(chan []copied, 1)
	go func() {
		var all []copied
		for {
			c, err := m.backUpOnce(file)
			if err != nil {
				m.Error(err)
				break
			}
			all = append(all, c)
			select {
			case <-ended:
				made <- all
				return
			default:
			}
		}
		made <- all
	}()
	end = sync.OnceValue(func() []copied {
		close(ended)
		return <-made
	})
	m.Cleanup(func() { end() })
	return end
}

// environment writes the environment file.
func (m *management) environment() string {
	m.Helper()
	identity, err := age.GenerateX25519Identity()
	m.must(err)
	file := filepath.Join(m.TempDir(), "slipway.yaml")
	m.must(os.WriteFile(file, fmt.Appendf(nil, "apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: %s}\nspec:\n  cloud: %s\n"+
		"  backup: {target: file://./backups, recipients: [%s]}\n", environmentName, login, identity.Recipient()), 0o600))
	return file
}

func (m *management) backUpOnce(file string) (c copied, err error) {
	c.finished, err = finish(m.Context(), []string{"OS_CLIENT_CONFIG_FILE=" + m.cloud.CloudsYAML()}, slipway(m.T), "backup", "create", "-f", file,
		"--kubeconfig", m.kubeconfig, "--skip", "etcd,datastore", "-o", "json")
	if err != nil {
		return c, fmt.Errorf("making a backup: %w", err)
	}
	if err := json.Unmarshal(c.out, &c.Backup); err != nil {
		return c, fmt.Errorf("reading what slipway backup says: %w", err)
	}
	return c, nil
}
