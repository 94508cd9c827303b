package why

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/support"
)

// many are the clusters of one project: half of them are not well. copies are the namespaces
// besides the first that have two of them, with a credential of their own.
const (
	many   = 1000
	copies = many/2 - 1
)

// counters are fault rules that hit nothing and count calls, by what they count.
type counters struct {
	box *sandboxtest.Cloud
	ids map[string]string
}

func count(t *testing.T, box *sandboxtest.Cloud) counters {
	t.Helper()
	c := counters{box, map[string]string{}}
	for _, service := range []string{"identity", "compute", "network", "load-balancer", "image"} {
		r, err := box.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: service, Delay: faultinject.Duration(time.Microsecond)})
		if err != nil {
			t.Fatal(err)
		}
		c.ids[r.ID] = service
	}
	return c
}

func (c counters) calls() map[string]int {
	all := map[string]int{}
	for _, r := range c.box.Faults.List() {
		if service := c.ids[r.ID]; service != "" {
			all[service] = r.Calls
		}
	}
	return all
}

// thousand are the clusters, of which each namespace has a credential of its own.
func thousand(t *testing.T) (*sandboxtest.Cloud, witness.Place) {
	t.Helper()
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("set SLIPWAY_PROOFS=1")
	}
	box := sandboxtest.Start(t)
	plant(t, box)
	on := cluster(t, box)
	multiply(t, box, on)
	on.Way = func(context.Context, string, string) (*rest.Config, string, error) {
		return &rest.Config{Host: "https://127.0.0.1:1"}, "the seed", nil
	}
	return box, on
}

// starved reports whether this process got so little of the machine that its times say
// nothing: less than a quarter of one processor.
func starved(wall, cpu time.Duration) bool { return cpu < wall/4 }

// used is the time of processors that this process has used, the sandbox in it included.
func used(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// ask is what `slipway why` does, from the objects to the text. It has to be done in a time,
// and with a quarter of that time of one processor.
func ask(t *testing.T, on witness.Place, name, namespace string, limit time.Duration) (answers support.Answers, busy bool) {
	t.Helper()
	began, before, cache := time.Now(), used(t), look.NewCache(time.Now)
	all, err := clusterapi.ReadAll(t.Context(), on.Client, metav1.NamespaceAll)
	if err != nil {
		t.Fatal(err)
	}
	scenes := witness.Scenes(t.Context(), on, all, cache, name, namespace, time.Now())
	answers = support.Snapshots{Environment: "prod", Scenes: scenes}.Explain(name, namespace)
	_ = answers.Text()
	wall, cpu := time.Since(began), used(t)-before
	t.Logf("%q: %d answers after %s with %s of processors", name, len(answers.Answers), wall, cpu)
	if wall > limit && !starved(wall, cpu) || cpu > limit/4 {
		t.Errorf("%q: it took %s, and %s of processors", name, wall, cpu)
	}
	return answers, starved(wall, cpu)
}

// TestAThousandClustersAreExplainedInTime: all within 30 s and one within 10 s, from the
// objects to the text. Each service is asked for all of them what it is asked for one, and
// Keystone once per credential; memory is bounded. It is alone, because it measures.
func TestAThousandClustersAreExplainedInTime(t *testing.T) {
	box, on := thousand(t)
	calls := count(t, box)
	if a, _ := ask(t, on, "shop", "tenant-7", 10*time.Second); len(a.Answers) != 1 || len(a.Answers[0].Findings) == 0 {
		t.Errorf("%d answers about one cluster", len(a.Answers))
	}
	one := calls.calls()
	stop := peak()
	a, busy := ask(t, on, "", "", 30*time.Second)
	if most := stop(); most > 256<<20 {
		t.Errorf("it took %d MiB of memory", most>>20)
	} else {
		t.Logf("it took %d MiB of memory", most>>20)
	}
	sick := 0
	for _, one := range a.Answers {
		if slices.ContainsFunc(one.Findings, func(f cause.Finding) bool { return f.Reason == "no-valid-host" }) {
			sick++
		}
		// Members may not ask Placement.
		one.Unseen = slices.DeleteFunc(one.Unseen, func(u cause.Unseen) bool { return u.What == cause.ListRooms })
		if len(one.Unseen) > 0 && !busy {
			t.Fatalf("%s: not seen: %v", one.Cluster, one.Unseen)
		}
	}
	if len(a.Answers) != many || sick != many/2 && !busy {
		t.Errorf("%d answers, %d with a cause", len(a.Answers), sick)
	}
	if text := a.Text(); !strings.Contains(text, fmt.Sprintf("no-valid-host (%d clusters: ", many/2)) && !busy || strings.Count(text, "  reason: ") > 10 {
		t.Errorf("one cause of all is told %d times", strings.Count(text, "  reason: "))
	}
	all := calls.calls()
	t.Logf("calls for one %v, for one and all %v", one, all)
	for service, n := range all {
		switch most := 2 * one[service]; {
		case service == "identity" && n-one[service] > one[service]*(copies+1):
			t.Errorf("Keystone was called %d times for %d credentials, and %d times for one", n, copies+1, one[service])
		case service != "identity" && (n > most || n == 0):
			t.Errorf("%s was called %d times for all, and %d times for one", service, n-one[service], one[service])
		}
	}
}

// TestAKeystoneThatIsDownIsAskedOnceForAll, or a thousand logins that are tried again and
// again would take minutes. It is alone, because it measures.
func TestAKeystoneThatIsDownIsAskedOnceForAll(t *testing.T) {
	box, on := thousand(t)
	if _, err := box.Faults.Add(faultinject.Rule{Kind: faultinject.API, Service: "identity", Method: "POST", Status: 503}); err != nil {
		t.Fatal(err)
	}
	calls := count(t, box)
	answers, busy := ask(t, on, "", "", 30*time.Second)
	for _, a := range answers.Answers {
		if busy && len(a.Unseen) > 0 {
			continue
		}
		if len(a.Findings) == 0 || a.Findings[0].Reason != "keystone-down" && a.Findings[len(a.Findings)-1].Reason != "keystone-down" {
			t.Fatalf("cluster %s/%s: %+v", a.Namespace, a.Cluster, a.Findings)
		}
	}
	if n := calls.calls()["identity"]; n > 200 {
		t.Errorf("Keystone was asked %d times", n)
	}
}

// peak samples the memory of the heap, and returns by how much it grew at most.
func peak() func() uint64 {
	read := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before, done, most := read(), make(chan struct{}), make(chan uint64)
	go func() {
		top := before
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				most <- top - before
				return
			case <-tick.C:
				top = max(top, read())
			}
		}
	}()
	return func() uint64 { close(done); return <-most }
}

// multiply copies both clusters with all their objects into other namespaces, and gives each
// an application credential.
func multiply(t *testing.T, box *sandboxtest.Cloud, on witness.Place) {
	t.Helper()
	text, err := os.ReadFile(box.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	c, err := cloud.Open(t.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: text})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	token, err := c.Token()
	if err != nil {
		t.Fatal(err)
	}
	keystone := box.Member.Identity(t)
	for _, kind := range []schema.GroupVersionResource{
		{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}, {Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machines"},
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "openstackclusters"}, {Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "openstackmachines"},
		{Version: "v1", Resource: "secrets"},
	} {
		list, err := on.Client.Resource(kind).Namespace("prod").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range copies {
			for _, item := range list.Items {
				o := item.DeepCopy()
				o.SetNamespace(fmt.Sprintf("tenant-%d", i))
				if kind.Resource == "secrets" {
					made, err := applicationcredentials.Create(t.Context(), keystone, token.UserID, applicationcredentials.CreateOpts{Name: o.GetNamespace()}).Extract()
					if err != nil {
						t.Fatal(err)
					}
					o.Object["data"] = map[string]any{"clouds.yaml": base64.StdEncoding.EncodeToString(fmt.Appendf(nil,
						"clouds: {sandbox: {region_name: %s, auth_type: v3applicationcredential, auth: {auth_url: %q, application_credential_id: %s, application_credential_secret: %q}}}", c.Endpoint.Region, box.URL()+"/identity", made.ID, made.Secret))}
				}
				if _, err := on.Client.Resource(kind).Namespace(o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
