package restore

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
)

// TestRestore has two API servers: the one that is lost and the new one.
func TestRestore(t *testing.T) {
	t.Parallel()
	config := start(t)
	t.Run("status, owners and pause come back", func(t *testing.T) { thereAgain(t, config) })
	t.Run("killed anywhere", func(t *testing.T) { killed(t, config, 4) })
	t.Run("refused", func(t *testing.T) { refusals(t, config) })
	t.Run("one cluster", func(t *testing.T) { oneCluster(t, config) })
	t.Run("held and released", func(t *testing.T) { letGo(t, config) })
	t.Run("seen by its controllers", func(t *testing.T) { sighted(t, config) })
	t.Run("controllers", func(t *testing.T) { controllers(t, config) })
	t.Run("record", func(t *testing.T) { record(t, config) })
}

// thereAgain makes a graph on the lost cluster as its controllers do, backs it up, and
// restores it into a new one.
func thereAgain(t *testing.T, second *rest.Config) {
	first := cluster(t, start(t), nil)
	made := recoverytest.New("a", "b")
	p := plan(t, made)
	if _, err := (Restorer{To: first}).Run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	// On the lost cluster nothing waited: it was at work.
	for _, step := range p.Steps {
		for _, o := range step {
			if err := Release(t.Context(), first, o); err != nil {
				t.Fatal(err)
			}
		}
	}
	g := snapshotOf(t, first, made, p)
	p = plan(t, g)
	if p.Objects() < 60 || len(p.Dangling) > 0 {
		t.Fatalf("the backup has %d objects, dangling %v", p.Objects(), p.Dangling)
	}
	w := &wire{}
	on := cluster(t, second, w)
	told := 0
	result, err := Restorer{To: on, Progress: func(_ string, n, total int) {
		if n < 1 || n > total {
			t.Errorf("progress %d of %d", n, total)
		}
		told++
	}}.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if result.Created != p.Objects() || result.Kept != 0 || result.Statuses == 0 || told < p.Objects() {
		t.Errorf("result %+v of %d, told %d times", result, p.Objects(), told)
	}
	e := evidence(t, on, g, p)
	proved(t, e)
	want, got := statuses(g.Snapshot.Objects), statuses(e.Live)
	if len(want) < 30 {
		t.Fatalf("%d statuses", len(want))
	}
	for object, status := range want {
		if got[object] != status {
			t.Errorf("%s: status\n%s, was\n%s", object, got[object], status)
		}
	}
	for _, o := range e.Live {
		if o.GetKind() == "Machine" && (len(o.GetOwnerReferences()) != 1 || len(o.GetFinalizers()) != 1) {
			t.Errorf("%s has owners %v, finalizers %v", recovery.Describe(o), o.GetOwnerReferences(), o.GetFinalizers())
		}
	}
	// Kubernetes collects what has an owner that is not there: nothing may go.
	before, writes := versions(t, on, p), w.writes()
	again, err := Restorer{To: on}.Run(t.Context(), p)
	if err != nil || again.Created != 0 || again.Statuses != 0 || again.Kept != p.Objects() {
		t.Errorf("a second run: %+v, %v", again, err)
	}
	if after := versions(t, on, p); !maps.Equal(before, after) {
		t.Errorf("a second run changed objects:\n%v\n%v", before, after)
	}
	if more := w.writes() - writes; more != p.Objects() {
		t.Errorf("a second run wrote %d times for %d objects", more, p.Objects())
	}
	wipe(t, on, p, "a", "b")
}

var errKilled = errors.New("killed")

// TestKilledTwentyTimes is what TestRestore has no time for.
func TestKilledTwentyTimes(t *testing.T) {
	t.Parallel()
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("SLIPWAY_PROOFS is not set: run make proofs")
	}
	killed(t, start(t), 20)
}

// killed ends a restore at random points, before a request is sent and after it was
// answered, and runs it again: it goes on, and what was there is not made a second time.
func killed(t *testing.T, config *rest.Config, points int) {
	g := recoverytest.New("k")
	p := plan(t, g)
	whole := &wire{}
	if _, err := (Restorer{To: cluster(t, config, whole)}).Run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("a restore has %d requests; the seed is %d", whole.writes(), seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, point := range random.Perm(whole.writes() - 2)[:points] {
		wipe(t, cluster(t, config, nil), p, "k")
		killedAt(t, config, g, p, point+1, random.IntN(2) == 0)
		if t.Failed() {
			t.Fatalf("point %d", point+1)
		}
	}
	wipe(t, cluster(t, config, nil), p, "k")
}

// killedAt kills one restore. answered says that the request of that moment arrives, and
// only its answer is lost.
func killedAt(t *testing.T, config *rest.Config, g *recoverytest.Graph, p *recovery.Plan, point int, answered bool) {
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &wire{before: func(n int, r *http.Request) *http.Response {
		if n < point {
			return nil
		}
		cancel(errKilled)
		if answered {
			return nil
		}
		return answer(r, http.StatusServiceUnavailable, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":503}`)
	}}
	if _, err := (Restorer{To: cluster(t, config, w)}).Run(ctx, p); !errors.Is(err, errKilled) {
		t.Fatalf("point %d: %v", point, err)
	}
	on := cluster(t, config, nil)
	made := uids(t, on, p)
	did, err := Restorer{To: on}.Run(t.Context(), p)
	if err != nil {
		t.Fatalf("point %d: the next run: %v", point, err)
	}
	if did.Created+did.Kept != p.Objects() || did.Kept < len(made) {
		t.Errorf("point %d: %d objects were there, and the next run did %+v of %d", point, len(made), did, p.Objects())
	}
	now := uids(t, on, p)
	for object, uid := range made {
		if now[object] != uid {
			t.Errorf("point %d: %s was made a second time", point, object)
		}
	}
	proved(t, evidence(t, on, g, p))
}

// uids are those of the restored objects.
func uids(t *testing.T, on *kube.Cluster, p *recovery.Plan) map[string]types.UID {
	t.Helper()
	live, err := Live(t.Context(), on, p)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]types.UID{}
	for _, o := range live {
		if o.GetAnnotations()[recovery.AnnotationUID] != "" && o.GetNamespace() != "" {
			all[o.GetAPIVersion()+" "+recovery.Describe(o)] = o.GetUID()
		}
	}
	return all
}

// refusals: one clear cause with the object, and nothing of others changed.
func refusals(t *testing.T, config *rest.Config) {
	on := cluster(t, config, nil)
	g := recoverytest.New("r")
	p := plan(t, g)
	told := func(err error, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("told %v, not %q", err, part)
			}
		}
		if err != nil && fault.Remedy(fault.All(err)[0]) == "" {
			t.Errorf("no remedy: %v", err)
		}
	}
	// A kind that is not served: nothing is created.
	g.Find("Machine", "r-md-1").SetAPIVersion("cluster.x-k8s.io/v9")
	_, err := Restorer{To: on}.Run(t.Context(), plan(t, g))
	told(err, "Machine r/r-md-1", "does not serve Machine of cluster.x-k8s.io/v9")
	if _, err := on.Typed.CoreV1().Namespaces().Get(t.Context(), "r", metav1.GetOptions{}); !kube.Absent(err) {
		t.Errorf("with a missing kind: %v", err)
	}
	g.Find("Machine", "r-md-1").SetAPIVersion("cluster.x-k8s.io/v1beta2")
	// The name is taken.
	if _, err := on.Typed.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "r"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	taken, err := on.Typed.CoreV1().Secrets("r").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "r-files"}, StringData: map[string]string{"mine": "x"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Restorer{To: on}.Run(t.Context(), p)
	told(err, "Secret r/r-files", "another object of this name")
	if now, err := on.Typed.CoreV1().Secrets("r").Get(t.Context(), "r-files", metav1.GetOptions{}); err != nil || now.ResourceVersion != taken.ResourceVersion {
		t.Errorf("another's object was changed: %v", err)
	}
	if err := on.Typed.CoreV1().Secrets("r").Delete(t.Context(), "r-files", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// The schema refuses.
	machine := g.Find("Machine", "r-md-1")
	spec := machine.Object["spec"]
	machine.Object["spec"] = map[string]any{"clusterName": ""}
	_, err = Restorer{To: on}.Run(t.Context(), plan(t, g))
	told(err, "Machine r/r-md-1", "is invalid")
	machine.Object["spec"] = spec
	// A webhook refuses for good, and one whose pod starts only now.
	for body, part := range map[string]string{
		`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"admission webhook \"x\" denied the request: not today","code":403}`: "not today",
	} {
		w := &wire{before: func(_ int, r *http.Request) *http.Response {
			if strings.HasSuffix(r.URL.Path, "/openstackmachinetemplates") {
				return answer(r, http.StatusForbidden, body)
			}
			return nil
		}}
		_, err = Restorer{To: cluster(t, config, w)}.Run(t.Context(), p)
		told(err, "OpenStackMachineTemplate r/r-cp", "OpenStackMachineTemplate r/r-md", part)
		if len(fault.All(err)) != 2 {
			t.Errorf("%d causes: %v", len(fault.All(err)), err)
		}
	}
	tries := 0
	w := &wire{before: func(_ int, r *http.Request) *http.Response {
		if strings.HasSuffix(r.URL.Path, "/openstackservers") && tries < 4 {
			tries++
			return answer(r, http.StatusInternalServerError, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","message":"Internal error occurred: failed calling webhook \"x\": connection refused","code":500}`)
		}
		return nil
	}}
	if _, err := (Restorer{To: cluster(t, config, w)}).Run(t.Context(), p); err != nil {
		t.Errorf("a webhook that is late: %v", err)
	}
	proved(t, evidence(t, on, g, p))
	wipe(t, on, p, "r")
}
