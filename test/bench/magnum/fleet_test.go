package magnum

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"

	addonsv1alpha1 "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	devcloud "github.com/slipway-sh/slipway/test/devcloud/cloud"
)

const (
	// calmTime is how long nothing happens. Clouds are asked every five minutes about
	// what ends or is used up (package upkeep): a shorter time has all of that, or none.
	calmTime = 5 * time.Minute
	// startTime is how long programs may take until they have looked at all clusters.
	startTime = 10 * time.Minute
	// early is how many clusters are there before the others are created.
	early = 3
)

// TestFleet measures a management cluster of a thousand clusters
// (SLIPWAY_BENCH_CLUSTERS) with all that runs on one, together: the Magnum API and its
// controllers, the addon provider with three releases for each cluster, the janitor, the
// pruner, causes and upkeep, the fence, backups, and `slipway why` of all. Programs, API
// server, etcd, charts and Helm are real, the cloud is the sandbox; who would make
// machines is played, and the same API server is each cluster's own, so that it also has
// what is on the clusters. It fails where something does not work, never for a time.
func TestFleet(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	m := newManagement(t)
	m.create()
	m.calm()
	m.lag()
	m.why()
	m.again()
}

// create makes the clusters by the API, as tenants do, and waits until all are complete. The
// first few are there before, and are looked after while the others are made.
func (m *management) create() {
	caller := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	m.Cleanup(caller.CloseIdleConnections)
	token := m.cloud.Member.Provider.Token()
	template, err := post(caller, token, m.api.URL+"/clustertemplates", map[string]any{"name": "bench", "coe": "kubernetes", "image_id": "k134",
		"external_network_id": "public", "flavor_id": "m1.large", "master_flavor_id": "m1.large"}, http.StatusCreated)
	m.must(err)
	request := func(from, to int) {
		var group errgroup.Group
		group.SetLimit(clients)
		for i := from; i < to; i++ {
			group.Go(func() error {
				_, err := post(caller, token, m.api.URL+"/clusters", map[string]any{"name": fmt.Sprintf("c-%d", i), "cluster_template_id": template,
					"node_count": 1, "create_timeout": 0}, http.StatusAccepted)
				return err
			})
		}
		m.must(group.Wait())
	}
	had := min(early, m.clusters)
	request(0, had)
	if !m.watch.until(settleTime, func(all map[string]seen) bool { return complete(all) == had }) {
		m.Fatalf("after %s %s", settleTime, m.missing())
	}
	known := m.workers()
	before, called, began := m.shares(), m.calls(), time.Now()
	request(had, m.clusters)
	accepted := time.Since(began)
	lags := m.createdWhile(known)
	took := time.Since(began)
	fmt.Printf("%d clusters: accepted in %s, CREATE_COMPLETE with %d releases each in %s. Load of the machine: %s.\n", m.clusters-had,
		accepted.Round(100*time.Millisecond), releases, took.Round(time.Second), average())
	tellLags(lags, took, "clusters are created")
	m.report("Creation", before, called, took)
}

// createdWhile waits until all clusters are complete, and measures meanwhile how soon the
// changes of some machines are seen.
func (m *management) createdWhile(known []unstructured.Unstructured) (lags []time.Duration) {
	m.Helper()
	began := time.Now()
	for told := began; !m.watch.until(time.Second, func(all map[string]seen) bool { return complete(all) == m.clusters }) || m.undeployed() > 0; {
		lags = append(lags, m.flap(&known[len(lags)/2%len(known)])...)
		if time.Since(began) > settleTime {
			m.Fatalf("after %s %s; %d releases are not deployed", settleTime, m.missing(), m.undeployed())
		}
		if time.Since(told) > time.Minute {
			told = time.Now()
			fmt.Printf("%s: %s; %d releases are not deployed; slowest change %s\n", time.Since(began).Round(time.Second), m.missing(), m.undeployed(), round(slices.Max(lags)))
		}
	}
	return lags
}

// undeployed is how many releases are not on their clusters. A cluster may be complete
// before the controllers have seen its releases, which here come after it.
func (m *management) undeployed() int {
	m.Helper()
	var list addonsv1alpha1.HelmReleaseList
	m.must(m.List(m.Context(), &list))
	missing := m.clusters * releases
	for i := range list.Items {
		if list.Items[i].Status.Phase == addonsv1alpha1.PhaseDeployed {
			missing--
		}
	}
	return missing
}

// calm measures a time in which nothing happens.
func (m *management) calm() {
	began := time.Now()
	for rested := 0; rested < 3; rested++ {
		time.Sleep(5 * time.Second)
		for _, p := range m.programs {
			if p.busy("") {
				rested = -1
			}
		}
		if time.Since(began) > startTime {
			m.Fatalf("%s after the clusters are complete there is still work", startTime)
		}
	}
	before, called, looks, asked := m.shares(), m.calls(), m.looks(), m.asked()
	time.Sleep(calmTime)
	fmt.Printf("At rest: reconciles: %s; requests to API servers: %s.\n", since(looks, m.looks(), calmTime), since(asked, m.asked(), calmTime))
	m.report("At rest", before, called, calmTime)
}

// why asks for the causes of all clusters once, in a process of its own.
func (m *management) why() {
	before, called := m.shares(), m.calls()
	self, err := os.Executable()
	m.must(err)
	done, err := finish(m.Context(), []string{whyVariable + "=" + m.kubeconfig}, self)
	m.must(err)
	var e explained
	m.must(json.Unmarshal(done.out, &e))
	fmt.Printf("why of all: %d answers with %d causes and %d bytes of text in %s and %s of processor, %d MiB at most; %d lack something%s\n", e.Clusters, e.Causes,
		e.Bytes, done.took.Round(time.Millisecond), done.used.Round(time.Millisecond), done.peak>>20, e.Unseen, e.example())
	m.report("why", before, called, done.took)
	if e.Clusters != m.clusters {
		m.Errorf("why has %d answers", e.Clusters)
	}
}

// again restarts all controllers at once, as a new version of Slipway does.
func (m *management) again() {
	for _, p := range m.programs {
		p.stop()
	}
	before, called, began := m.shares(), m.calls(), time.Now()
	for _, p := range m.programs {
		p.start()
	}
	took := map[string]time.Duration{}
	for len(took) < len(m.programs) {
		for _, p := range m.programs {
			if took[p.name] == 0 && p.looked(m.clusters) {
				took[p.name] = time.Since(began)
			}
		}
		if time.Since(began) > startTime {
			m.Fatalf("%s after a restart only %v have looked at all clusters", startTime, slices.Sorted(maps.Keys(took)))
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, p := range m.programs {
		fmt.Printf("Restart: %s looked at all clusters in %s.\n", p.name, took[p.name].Round(100*time.Millisecond))
	}
	m.report("Restart", before, called, slices.Max(slices.Collect(maps.Values(took))))
	m.must(m.whole())
}

// whole is an error unless all clusters are complete.
func (m *management) whole() error {
	if text := m.missing(); text != "" {
		return fmt.Errorf("in the end %s", text)
	}
	return nil
}

// share is what a program has had of the machine until now.
type share struct {
	pid    int
	used   time.Duration
	memory devcloud.Memory
	// peak is the memory that it had at most, with its files.
	peak int64
}

// shares are those of all programs of the management cluster, by their names.
func (m *management) shares() map[string]share {
	m.Helper()
	all := map[string]share{}
	for pid, u := range family(m.T) {
		if name := m.nameOf(pid, u); name != "" {
			all[name] = share{pid, u.used, devcloud.MemoryOf(pid), peakOf(m.T, pid)}
		}
	}
	return all
}

// nameOf is "" for what no management cluster runs.
func (m *management) nameOf(pid int, u usage) string {
	if m.api.PID() == pid {
		return "Magnum API"
	}
	for _, p := range m.programs {
		if p.pid() == pid {
			return p.name
		}
	}
	if u.name == "kube-apiserver" || u.name == "etcd" {
		return u.name
	}
	return ""
}

// report prints what the programs used since then, and what the cloud was asked.
func (m *management) report(what string, before map[string]share, called map[string]int, took time.Duration) {
	m.Helper()
	fmt.Printf("\n| %s | processor time | processors | memory | at most |\n|---|--:|--:|---|--:|\n", what)
	now := m.shares()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		used := now[name].used
		if before[name].pid == now[name].pid {
			used -= before[name].used
		}
		fmt.Printf("| %s | %s | %.4f | %s | %d MiB |\n", name, used, used.Seconds()/took.Seconds(), inWords(now[name].memory), now[name].peak>>20)
	}
	fmt.Printf("\n%s: calls to the cloud: %s.\n\n", what, since(called, m.calls(), took))
}

// since tells what was counted in a time, by its names, and all of it a minute.
func since(before, now map[string]int, took time.Duration) string {
	total, parts := 0, []string{}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if n := now[name] - before[name]; n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf("%s %d", name, n))
		}
	}
	return fmt.Sprintf("%d (%s), %.1f a minute", total, cmp.Or(strings.Join(parts, ", "), "none"), float64(total)/took.Minutes())
}

// looks are the reconciles of all controllers so far, by their names.
func (m *management) looks() map[string]int {
	m.Helper()
	all := map[string]int{}
	for _, p := range m.programs {
		p.each("controller_runtime_reconcile_total", func(labels string, value float64) {
			_, name, _ := strings.Cut(labels, `controller="`)
			name, _, _ = strings.Cut(name, `"`)
			all[name] += int(value)
		})
	}
	return all
}

// asked are the requests to API servers so far, by program.
func (m *management) asked() map[string]int {
	m.Helper()
	all := map[string]int{}
	for _, p := range m.programs {
		all[p.name] = int(p.sum("rest_client_requests_total", ""))
	}
	return all
}
