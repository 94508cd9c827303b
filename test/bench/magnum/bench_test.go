package magnum

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/test/devcloud/cloud"
	"github.com/slipway-sh/slipway/test/endpoint"
)

// bench is the two endpoints, with one Keystone.
type bench struct {
	t                    *testing.T
	cloud                *cloud.Cloud
	project, user, token string
	ours, theirs         string
	process              *endpoint.Endpoint
	kube                 client.Client
	made                 int
	last                 string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := os.Getenv("SLIPWAY_DEVCLOUD")
	if dir == "" {
		t.Skip("SLIPWAY_DEVCLOUD names no devcloud: run make bench-magnum")
	}
	c, err := cloud.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, cloud: c, theirs: "http://" + c.Address().String() + ":9511/v1"}
}

// target is how soon a list of a thousand clusters is answered, at most.
const target = 20 * time.Millisecond

// TestBesideMagnum prints a table, and fails where Slipway is slower than
// magnum-api or than its own target. SLIPWAY_BENCH_CLUSTERS are the numbers of
// clusters in lists.
func TestBesideMagnum(t *testing.T) {
	b := newBench(t)
	b.login()
	b.serve()
	packaged := b.packaged()
	var table strings.Builder
	table.WriteString("| call | clusters | magnum-api p50 | p99 | calls/s | Slipway p50 | p99 | calls/s | ratio of p50 |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	sizes := os.Getenv("SLIPWAY_BENCH_CLUSTERS")
	if sizes == "" {
		sizes = "0 100 1000"
	}
	for _, text := range strings.Fields(sizes) {
		count, err := strconv.Atoi(text)
		b.must(err)
		b.compare(&table, count)
	}
	api, err := b.cloud.Memory(":9511 ")
	b.must(err)
	conductor, err := b.cloud.Memory("magnum-conductor")
	b.must(err)
	ours := cloud.MemoryOf(b.process.PID())
	table.WriteString(fmt.Sprintf("\nMemory: magnum-api %s in one process, %s in the %s and a master of Debian's package; magnum-conductor %s; Slipway in place of them %s. Load of the machine: %s.\n"+
		"magnum-api logs in to Keystone for each question to its database, two and one more for each cluster.\n",
		inWords(api), inWords(packaged), packagedProcesses, inWords(conductor), inWords(ours), average()))
	fmt.Print(table.String())
	if 3*ours.Resident > packaged.Resident || 3*ours.Own > packaged.Own {
		t.Errorf("Slipway has more than a third of the memory of magnum-api as Debian ships it")
	}
}

// compare measures lists of that many clusters, and one of them.
func (b *bench) compare(table *strings.Builder, count int) {
	one, other := b.fill(count), b.make(count)
	b.await("the list", func() bool { return b.listed() == count })
	quick, slow := load{b.token, 20, 5 * time.Second}, load{b.token, 10, 5 * time.Second}
	if count >= 100 {
		slow.least = 2 // each is seconds, or a minute
	}
	list := b.row(table, "GET /clusters", count, slow, quick, "/clusters", "/clusters")
	if count == 1000 && list.p50 > target {
		b.t.Errorf("a list of 1,000 clusters takes %s, the target is %s", list.p50, target)
	}
	if count > 0 {
		slow.least = 10
		b.row(table, "GET /clusters/{uuid}", count, slow, quick, "/clusters/"+one, "/clusters/"+other)
	}
}

func (b *bench) row(table *strings.Builder, what string, count int, slow, quick load, theirPath, ourPath string) measured {
	b.t.Helper()
	theirs, err := slow.run(b.t.Context(), b.theirs+theirPath)
	b.must(err)
	ours, err := quick.run(b.t.Context(), b.ours+ourPath)
	b.must(err)
	ratio := float64(theirs.p50) / float64(ours.p50)
	fmt.Fprintf(table, "| %s | %d | %s | %s | %.2f | %s | %s | %.0f | %.0f |\n", what, count, round(theirs.p50), round(theirs.p99), theirs.callsPerSecond,
		round(ours.p50), round(ours.p99), ours.callsPerSecond, ratio)
	if ratio < 1 {
		b.t.Errorf("%s with %d clusters: Slipway takes %s, magnum-api %s", what, count, ours.p50, theirs.p50)
	}
	return ours
}

// listed is how many complete clusters Slipway lists, -1 while it cannot ask
// Keystone: that answers late on a machine that is busy.
func (b *bench) listed() int {
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.ours+"/clusters", nil)
	b.must(err)
	request.Header.Set("X-Auth-Token", b.token)
	response, err := http.DefaultClient.Do(request)
	b.must(err)
	defer response.Body.Close()
	if response.StatusCode == http.StatusServiceUnavailable {
		return -1
	}
	var list struct{ Clusters []struct{ Status string } }
	b.must(json.NewDecoder(response.Body).Decode(&list))
	complete := 0
	for _, c := range list.Clusters {
		if c.Status == "CREATE_COMPLETE" {
			complete++
		}
	}
	return complete
}

// login takes a token of the user demo.
func (b *bench) login() {
	b.t.Helper()
	b.token = b.provider("devcloud").Token()
	for name, id := range map[string]*string{"project": &b.project, "local_user": &b.user} {
		column := map[string]string{"project": "id", "local_user": "user_id"}[name]
		rows, err := b.cloud.Query(b.t.Context(), "keystone", "SELECT "+column+" FROM "+name+" WHERE name = 'demo'")
		b.must(err)
		*id = rows[0]
	}
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// inWords tells memory, with the part that is no page of a file.
func inWords(m cloud.Memory) string {
	return fmt.Sprintf("%d MiB (%d without its files)", m.Resident>>20, m.Own>>20)
}

func average() string {
	text, _ := os.ReadFile("/proc/loadavg")
	return strings.Join(strings.Fields(string(text))[:1], "")
}
