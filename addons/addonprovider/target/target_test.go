package target

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

func kubeconfig(user string) []byte {
	return []byte(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://192.0.2.1:6443"}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
users: [{name: u, user: ` + user + `}]
`)
}

func TestKubeconfigsThatReachOutAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user string
		ok   bool
	}{
		"token":   {"{token: abc}", true},
		"program": {"{exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}}", false},
		"plugin":  {"{auth-provider: {name: gcp}}", false},
		"key":     {"{client-certificate: /etc/a, client-key: /etc/b}", false},
		"file":    {"{tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}", false},
	} {
		if _, err := Connect(kubeconfig(c.user), time.Second); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Connect([]byte("{"), time.Second); err == nil {
		t.Error("broken YAML was read")
	}
}

func TestClientsAreKeptUntilTheKubeconfigChanges(t *testing.T) {
	t.Parallel()
	clusters, key := NewClusters(time.Second, 1, 1), types.NamespacedName{Name: "c"}
	first, err := clusters.Connect(key, kubeconfig("{token: a}"))
	if err != nil {
		t.Fatal(err)
	}
	if same, _ := clusters.Connect(key, kubeconfig("{token: a}")); same != first {
		t.Error("made again")
	}
	if other, _ := clusters.Connect(key, kubeconfig("{token: b}")); other == first || other.Config.BearerToken != "b" {
		t.Error("kept although the kubeconfig changed")
	}
	clusters.Drop(key)
	if clusters.Len() != 0 {
		t.Error("not dropped")
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	clusters := NewClusters(time.Second, 1, 2)
	a, b, c := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}, types.NamespacedName{Name: "c"}
	first := clusters.Place(a)
	if err := errors.Join(first.Take(context.Background()), first.Take(context.Background())); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := clusters.Place(a).Take(soon); err == nil {
		t.Error("two places on one cluster")
	}
	second := clusters.Place(b)
	if err := second.Take(context.Background()); err != nil {
		t.Fatal(err) // the one who waited on a took nothing of b's
	}
	soon, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := clusters.Place(c).Take(soon); err == nil {
		t.Error("three places in all")
	}
	first.Leave()
	first.Leave()
	if err := clusters.Place(c).Take(context.Background()); err != nil {
		t.Error(err)
	}
}

// Who begins comes after who goes on: otherwise all releases of many clusters
// were begun, and held what they know, before the first was finished.
func TestWhoComesBackGoesFirst(t *testing.T) {
	t.Parallel()
	clusters := NewClusters(time.Second, 1, 1)
	key := types.NamespacedName{Name: "a"}
	going := clusters.Place(key)
	if err := going.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	going.Leave()
	held := clusters.Place(types.NamespacedName{Name: "b"})
	if err := held.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	order := make(chan string)
	queue := func(name string, place *Place, waiting func(*gate) int) {
		go func() {
			if err := place.Take(t.Context()); err != nil {
				name = err.Error()
			}
			order <- name
			place.Leave()
		}()
		for waits := 0; waits == 0; {
			clusters.places.mu.Lock()
			waits = waiting(clusters.places)
			clusters.places.mu.Unlock()
		}
	}
	queue("new", clusters.Place(types.NamespacedName{Name: "c"}), func(g *gate) int { return len(g.new) })
	queue("back", going, func(g *gate) int { return len(g.back) })
	held.Leave()
	if first, second := <-order, <-order; first != "back" || second != "new" {
		t.Errorf("%s went before %s", first, second)
	}
}

// A wait that is given up leaves no place behind, and takes none along.
func TestAWaitThatIsGivenUp(t *testing.T) {
	t.Parallel()
	g := newGate(1)
	for range 1000 {
		if err := g.take(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- g.take(ctx, true) }()
		go cancel()
		g.leave()
		if err := <-ended; err == nil {
			g.leave()
		}
	}
	if g.free != 1 || len(g.back)+len(g.new) > 0 {
		t.Errorf("%d places are free, %d wait", g.free, len(g.back)+len(g.new))
	}
}

func TestSilentClusterIsAskedOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	var down atomic.Bool
	down.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte("{}")) //nolint:errcheck // a test's answer
	}))
	t.Cleanup(server.Close)
	cluster, err := New(&rest.Config{Host: server.URL}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	clusters, key := NewClusters(time.Second, 2, 2), types.NamespacedName{Name: "c"}
	var unreachable *UnreachableError
	for range 5 {
		if err := clusters.Reach(context.Background(), key, cluster); !errors.As(err, &unreachable) {
			t.Fatalf("got %v", err)
		}
	}
	if n := asked.Load(); n != 1 || time.Until(unreachable.Retry) > downTime {
		t.Errorf("asked %d times, again at %s", n, unreachable.Retry)
	}
	down.Store(false)
	clusters.entry(key).reach.until = time.Time{}
	for range 5 {
		if err := clusters.Reach(context.Background(), key, cluster); err != nil {
			t.Fatal(err)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

// Who goes away while a cluster is asked leaves the next one to ask it again.
func TestAProbeThatIsCancelledSaysNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			cancel()
			<-r.Context().Done()
			return
		}
		w.Write([]byte("{}")) //nolint:errcheck // a test's answer
	}))
	t.Cleanup(server.Close)
	cluster, err := New(&rest.Config{Host: server.URL}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	clusters, key := NewClusters(time.Minute, 1, 1), types.NamespacedName{Name: "c"}
	var unreachable *UnreachableError
	if err := clusters.Reach(ctx, key, cluster); !errors.Is(err, context.Canceled) || errors.As(err, &unreachable) {
		t.Errorf("got %v", err)
	}
	if err := clusters.Reach(t.Context(), key, cluster); err != nil || asked.Load() != 2 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}

// A kubeconfig that changes while a cluster is asked leaves nobody behind who waits for ever.
func TestAKubeconfigThatChangesDuringAProbe(t *testing.T) {
	t.Parallel()
	clusters, key := NewClusters(time.Minute, 2, 2), types.NamespacedName{Name: "c"}
	var changing error
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, changing = clusters.Connect(key, kubeconfig("{token: b}"))
		w.Write([]byte("{}")) //nolint:errcheck // a test's answer
	}))
	t.Cleanup(server.Close)
	cluster, err := New(&rest.Config{Host: server.URL}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- clusters.Reach(t.Context(), key, cluster) }()
	select {
	case err := <-ended:
		if err := errors.Join(err, changing); err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("whoever asked waits for ever")
	}
}
