package peer

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// TestSilentDNS: where the cluster's DNS was lost with a node, writes do not queue for it, and
// still wait for the replicas that were known.
func TestSilentDNS(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	replica := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(replica.Close)
	host, port, err := net.SplitHostPort(replica.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dns := &names{host: "replicas", port: port, addresses: []string{net.JoinHostPort(host, port)}}
	group := NewGroup(dns, slog.New(slog.DiscardHandler))
	var lookups atomic.Int64
	dns.resolve = func(ctx context.Context, _ string) ([]string, error) {
		lookups.Add(1)
		<-ctx.Done() // nobody answers
		return nil, ctx.Err()
	}
	const writes = 50
	written := &v1alpha1.ClusterTemplate{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b", ResourceVersion: "1"}}
	var all sync.WaitGroup
	for range writes {
		all.Go(func() { group.Await(t.Context(), written, false) })
	}
	all.Wait()
	if n := lookups.Load(); n == 0 || n > writes/5 {
		t.Errorf("%d lookups for %d writes", n, writes)
	}
	if n := asked.Load(); n != writes {
		t.Errorf("the replica was asked %d times for %d writes", n, writes)
	}
	// A client that went away does not keep the next from an answer.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	dns.until = dns.until.Add(-lookupTime)
	dns.resolve = func(ctx context.Context, _ string) ([]string, error) { return []string{"10.0.0.9"}, ctx.Err() }
	if got, err := dns.Find(gone); err != nil || !slices.Equal(got, []string{net.JoinHostPort("10.0.0.9", port)}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestReplicasByName have a port; an address that no request can be made of is told of in the log.
func TestReplicasByName(t *testing.T) {
	t.Parallel()
	if found, err := Named("replicas"); err == nil || found != nil {
		t.Errorf("without a port: %v", found)
	}
	found, err := Named("localhost:8080")
	if err != nil || found.(*names).host != "localhost" || found.(*names).port != "8080" {
		t.Errorf("%+v, %v", found, err)
	}
	if err := NewGroup(found, slog.New(slog.DiscardHandler)).ask(t.Context(), "http://[::1"+Path); err == nil {
		t.Error("an address that is none was asked")
	}
}
