package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"k8s.io/client-go/rest"

	store "github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
	"github.com/slipway-sh/slipway/internal/backup/capture"
	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/backup/target"
)

// The goals: time, peak memory of the whole process (here with the API server that
// generates the objects), and what a second backup of the same may add.
const (
	clusters   = 1000
	mostTime   = time.Minute
	mostMemory = 256 << 20
)

// kind is a kind of objects: so many for each cluster, each of some length.
type kind struct {
	path, version, kind string
	each, length        int
}

func kinds() map[string]kind {
	all := map[string]kind{}
	for _, k := range []kind{
		{"/api/v1/namespaces", "v1", "Namespace", 1, 0}, {"/api/v1/configmaps", "v1", "ConfigMap", 2, 500}, {"/api/v1/secrets", "v1", "Secret", 12, 9000},
		{"/apis/cluster.x-k8s.io/v1beta2/clusters", "cluster.x-k8s.io/v1beta2", "Cluster", 1, 500}, {"/apis/cluster.x-k8s.io/v1beta2/machines", "cluster.x-k8s.io/v1beta2", "Machine", 6, 200},
		{"/apis/cluster.x-k8s.io/v1beta2/machinesets", "cluster.x-k8s.io/v1beta2", "MachineSet", 2, 200},
		{"/apis/infrastructure.cluster.x-k8s.io/v1beta1/openstackmachines", "infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackMachine", 6, 400},
		{"/apis/bootstrap.cluster.x-k8s.io/v1beta2/kubeadmconfigs", "bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", 6, 800},
		{"/apis/addons.stackhpc.com/v1alpha1/helmreleases", "addons.stackhpc.com/v1alpha1", "HelmRelease", 12, 1200},
	} {
		all[k.path] = k
	}
	return all
}

// fleet is an API server that makes the objects when they are asked for.
type fleet struct{ kinds map[string]kind }

func (f fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	q := r.URL.Query()
	k, ok := f.kinds[r.URL.Path]
	switch {
	case r.URL.Path == "/version":
		fmt.Fprint(w, `{"gitVersion":"v1.34.4"}`)
		return
	case strings.HasSuffix(r.URL.Path, "/customresourcedefinitions"):
		fmt.Fprintf(w, `{"metadata":{"resourceVersion":"7"},"items":[%s]}`, strings.Join(f.definitions(), ","))
		return
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	from, _ := strconv.Atoi(q.Get("continue"))
	limit, _ := strconv.Atoi(q.Get("limit"))
	to, next := min(from+limit, clusters*k.each), ""
	if to < clusters*k.each {
		next = strconv.Itoa(to)
	}
	fmt.Fprintf(w, `{"metadata":{"resourceVersion":"7","continue":%q},"items":[`, next)
	for n := from; n < to; n++ {
		if n > from {
			fmt.Fprint(w, ",")
		}
		text, _ := k.object(n).MarshalJSON()
		_, _ = w.Write(text)
	}
	fmt.Fprint(w, "]}")
}

func (k kind) object(n int) interface{ MarshalJSON() ([]byte, error) } {
	namespace := fmt.Sprintf("tenant-%04d", n/k.each)
	if k.kind == "Namespace" {
		return backuptest.Object(k.version, k.kind, "", namespace, nil)
	}
	return backuptest.Object(k.version, k.kind, namespace, fmt.Sprintf("%s-%d", strings.ToLower(k.kind), n%k.each),
		map[string]any{"data": map[string]any{"value": backuptest.Noise(n, k.kind, k.length)}, "status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}})
}

func (f fleet) definitions() (all []string) {
	for path, k := range f.kinds {
		parts := strings.Split(path, "/")
		if parts[1] != "apis" {
			continue
		}
		text, _ := json.Marshal(map[string]any{"metadata": map[string]any{"name": parts[4] + "." + parts[2]}, "spec": map[string]any{"group": parts[2],
			"names": map[string]any{"kind": k.kind, "plural": parts[4]}, "versions": []any{map[string]any{"name": parts[3], "served": true, "storage": true}}}})
		all = append(all, string(text))
	}
	return all
}

type sink struct{ *store.Writer }

func (s sink) Begin(context.Context) error { s.Restart(); return nil }

// backup makes one backup of the fleet.
func backup(t *testing.T, config *rest.Config, at target.Target, o store.Options) (store.Backup, time.Duration) {
	t.Helper()
	begun := time.Now()
	r, err := store.Open(t.Context(), at, o)
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	result, err := capture.Read(t.Context(), config, capture.Options{}, sink{w})
	if err != nil {
		t.Fatal(err)
	}
	s := backuptest.Snapshot(0, result.Ended)
	for n := range 6 * clusters {
		one := snapshot.Resource{ID: fmt.Sprintf("%036d", n), Name: fmt.Sprintf("tenant-%04d-%d", n/6, n%6), Project: "p", Status: "ACTIVE"}
		s.Cloud.Servers, s.Cloud.Ports = append(s.Cloud.Servers, one), append(s.Cloud.Ports, one)
	}
	b, err := w.Commit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return b, time.Since(begun)
}

// peak is the most memory that this process had, in bytes.
func peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(status)
	kib, err := strconv.ParseInt(string(match[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// TestThousandClusters: a backup takes at most a minute and 256 MiB, and a second
// one of the same adds at most a hundredth.
func TestThousandClusters(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("SLIPWAY_PROOFS is not set: run make proofs")
	}
	server := httptest.NewServer(fleet{kinds()})
	t.Cleanup(server.Close)
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	key, err := store.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	l, err := location.Parse("file://" + t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at, err := target.Open(l, target.Access{})
	if err != nil {
		t.Fatal(err)
	}
	o := store.Options{Environment: backuptest.Environment, Key: key, Recipients: []string{identity.Recipient().String()}}
	config := &rest.Config{Host: server.URL}
	first, took := backup(t, config, at, o)
	second, again := backup(t, config, at, o)
	memory := peak(t)
	t.Logf("%d objects, %d MiB before compression: %s and %d MiB stored; again: %s and %d bytes; peak memory %d MiB; %d processors",
		first.Objects, first.Bytes>>20, took.Round(time.Millisecond), first.Written>>20, again.Round(time.Millisecond), second.Written, memory>>20, runtime.NumCPU())
	if took > mostTime || again > mostTime || memory > mostMemory || second.Written*100 > first.Written {
		t.Error("more than the goal")
	}
}
