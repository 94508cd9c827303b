package move

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/internal/kube"
)

// TestMove has one pair of servers; each scenario has a namespace.
func TestMove(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	t.Run("there and back", p.thereAndBack)
	t.Run("killed", p.killed)
	t.Run("killed on the way back", p.killedOnTheWayBack)
	t.Run("the target refuses", p.targetRefuses)
	t.Run("the target is gone", p.targetGone)
	t.Run("the source fails while it is cleared", p.sourceFails)
	t.Run("something does not arrive", p.lost)
	t.Run("not admitted", p.notAdmitted)
	t.Run("a seed made anew", p.seedMadeAnew)
}

// world is a namespace with its cluster.
type world struct {
	Move
	t      *testing.T
	before inventory
}

func (p pair) world(t *testing.T, seed, management *wire) *world {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(strings.TrimPrefix(t.Name(), "TestMove/")))
	if len(name) > 50 {
		name = name[:50]
	}
	p.namespace(t, name)
	m, err := newMove(p.folder, name, seed, management)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Move: m, t: t}
	if err := w.Seed.label(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Seed.labelRelease(t.Context(), w.Cluster); err != nil {
		t.Fatal(err)
	}
	w.before = w.inventory(w.Seed)
	if len(w.before) != 19 {
		t.Fatalf("%d objects: %v", len(w.before), w.before)
	}
	return w
}

func (w *world) inventory(s Side) inventory {
	w.t.Helper()
	i, err := s.take(w.t.Context(), w.Cluster)
	if err != nil {
		w.t.Fatal(err)
	}
	return i
}

// at fails the test unless all is in one place and nothing in the other.
func (w *world) at(place Place) {
	w.t.Helper()
	other, here := w.sides(place)
	if wrong := w.before.differences(w.inventory(here)); len(wrong) > 0 {
		w.t.Errorf("on the %s: %v", here.Name, wrong)
	}
	left := w.inventory(other)
	for key := range w.before {
		if e, there := left[key]; there {
			w.t.Errorf("left on the %s: %s %s", other.Name, e.Kind, e.Name)
		}
	}
	w.notPaused(here)
	r, err := Read(w.t.Context(), w.Seed.Kube, w.Cluster)
	if err != nil || !r.Done() || r.Place() != place {
		w.t.Errorf("the record is %+v, %v", r, err)
	}
	if place == Management && r.Kubeconfig != w.Kubeconfig {
		w.t.Error("the record does not lead to the management cluster")
	}
	w.release(here, other)
	if _, err := w.Seed.Kube.Typed.CoreV1().Secrets(w.Cluster.Namespace).Get(w.t.Context(), "beside", metav1.GetOptions{}); err != nil {
		w.t.Errorf("what does not belong to the cluster: %v", err)
	}
}

func (w *world) notPaused(s Side) {
	w.t.Helper()
	cluster, err := s.cluster(w.t.Context(), w.Cluster)
	if err != nil || cluster == nil {
		w.t.Fatalf("Cluster on the %s: %v, %v", s.Name, cluster, err)
	}
	if value, found, _ := unstructured.NestedBool(cluster.Object, "spec", "paused"); found {
		w.t.Errorf("the Cluster on the %s has paused: %t", s.Name, value)
	}
}

// release fails the test unless the Helm release is as it was, with what
// clusterctl does not know.
func (w *world) release(here, other Side) {
	w.t.Helper()
	for _, side := range []Side{here, other} {
		client, err := helm.New(side.Config, w.Cluster.Namespace, slog.New(slog.DiscardHandler))
		if err != nil {
			w.t.Fatal(err)
		}
		last, err := client.Last("c")
		_, absent := side.Kube.Typed.CoreV1().ServiceAccounts(w.Cluster.Namespace).Get(w.t.Context(), "autoscaler", metav1.GetOptions{})
		if side.Name == other.Name {
			if last != nil || !kube.Absent(absent) {
				w.t.Errorf("left on the %s: release %v, service account %v", side.Name, last, absent)
			}
			continue
		}
		if err != nil || last == nil || absent != nil {
			w.t.Errorf("on the %s: release %v, %v; service account: %v", side.Name, last, err, absent)
		}
		if _, changed, err := client.Ensure(w.t.Context(), testRelease()); err != nil || changed {
			w.t.Errorf("the release on the %s is not what it was: %t, %v", side.Name, changed, err)
		}
	}
}

func (w *world) run(to Place) Proof {
	w.t.Helper()
	proof, err := w.Run(w.t.Context(), to)
	if err != nil {
		w.t.Fatalf("moving to the %s: %v", to, err)
	}
	if want := map[string]string{"cp-1": "openstack:///cp-1", "md-1": "openstack:///md-1"}; !maps.Equal(proof.Machines, want) || proof.Objects != len(w.before) {
		w.t.Errorf("proof %+v", proof)
	}
	w.control(to)
	return proof
}

// control stands in for the controllers where the objects arrived.
func (w *world) control(to Place) {
	w.t.Helper()
	_, here := w.sides(to)
	if err := control(w.t.Context(), here, w.Cluster.Namespace); err != nil {
		w.t.Fatal(err)
	}
}

func (p pair) thereAndBack(t *testing.T) {
	w := p.world(t, nil, nil)
	uids := func() map[string]bool {
		own, _, err := w.Management.objects(t.Context(), w.Cluster)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]bool{}
		for _, o := range own {
			all[string(o.GetUID())] = true
		}
		return all
	}
	w.run(Management)
	w.at(Management)
	before := uids()
	w.run(Management) // nothing is done a second time
	if after := uids(); !maps.Equal(before, after) {
		t.Error("the objects were made anew")
	}
	w.run(Seed)
	w.at(Seed)
	w.run(Management)
	w.at(Management)
}

// child runs a move in a process of its own, which ends itself at a write; 0 lets
// it live. It returns how often one that lived wrote, else 0.
func (p pair) child(w *world, to Place, kill int) int {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childNamespace+"="+w.Cluster.Namespace, childFolder+"="+p.folder, childTo+"="+string(to), childKill+"="+strconv.Itoa(kill))
	out, err := cmd.Output()
	var exit *exec.ExitError
	if kill != 0 && errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return 0
	}
	n, wrong := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || wrong != nil || n == 0 {
		w.t.Fatalf("child: %v\n%s", err, out)
	}
	return n
}

// killedChild is a child killed at a write of a move that writes so often. The
// move counted may have written something again, which this one need not: one that
// ended before that write goes back, and is killed as far before its own end.
func (p pair) killedChild(w *world, to Place, kill, whole int) {
	w.t.Helper()
	for range 5 {
		n := p.child(w, to, kill)
		if n == 0 {
			return
		}
		if kill > 0 {
			kill -= whole - n
		} else {
			kill += whole - n
		}
		whole = n
		w.control(to)
		w.run(other(to))
	}
	w.t.Fatal("no child was killed")
}

// killed ends moves everywhere on their way, and runs them again.
func (p pair) killed(t *testing.T) { p.killedOnTheWayTo(t, Management) }

func (p pair) killedOnTheWayBack(t *testing.T) { p.killedOnTheWayTo(t, Seed) }

func (p pair) killedOnTheWayTo(t *testing.T, to Place) {
	whole := 0
	t.Run("not", func(t *testing.T) {
		w := p.world(t, nil, nil)
		if to == Seed {
			w.run(Management)
		}
		whole = p.child(w, to, 0)
		w.at(to)
	})
	if whole < 40 {
		t.Fatalf("a move writes %d times", whole)
	}
	// Before a request, or after its answer: while it begins, copies, has copied,
	// deletes and ends.
	points := []int{1, -1, -2, whole * 2 / 10, whole * 4 / 10, -whole * 5 / 10, whole * 6 / 10, -whole * 8 / 10, whole - 1, whole}
	if to == Seed {
		points = []int{-2, whole * 3 / 10, whole * 7 / 10}
	}
	for _, kill := range points {
		t.Run(fmt.Sprintf("at-%d-of-%d", kill, whole), func(t *testing.T) {
			w := p.world(t, nil, nil)
			if to == Seed {
				w.run(Management)
			}
			p.killedChild(w, to, kill, whole)
			w.nowhereLost()
			w.run(to)
			w.at(to)
		})
	}
}

// nowhereLost fails the test unless each object is somewhere.
func (w *world) nowhereLost() {
	w.t.Helper()
	seed, management := w.inventory(w.Seed), w.inventory(w.Management)
	for key, e := range w.before {
		if _, here := seed[key]; here {
			continue
		}
		if _, there := management[key]; !there {
			w.t.Errorf("%s %s is nowhere", e.Kind, e.Name)
		}
	}
}

// targetRefuses: a failure half-way leaves nothing paused, and nothing behind.
//
// proves: F32
func (p pair) targetRefuses(t *testing.T) {
	management := &wire{}
	refuse := true
	management.before = func(n int, r *http.Request) *http.Response {
		if refuse && n > 12 && r.Method == http.MethodPost {
			return answer(r, http.StatusInternalServerError, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"the disk is full","code":500}`)
		}
		return nil
	}
	w := p.world(t, nil, management)
	w.patience = time.Second
	_, err := w.Run(t.Context(), Management)
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatalf("told %v", err)
	}
	w.at(Seed)
	refuse = false
	w.run(Management)
	w.at(Management)
}

// targetGone: the source goes on even if the target cannot be cleared.
//
// proves: F32
func (p pair) targetGone(t *testing.T) {
	management := &wire{}
	gone := true
	management.before = func(n int, r *http.Request) *http.Response {
		if gone && n > 12 {
			return answer(r, http.StatusServiceUnavailable, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","message":"nobody is here","code":503}`)
		}
		return nil
	}
	w := p.world(t, nil, management)
	w.patience = time.Second
	if _, err := w.Run(t.Context(), Management); err == nil || !strings.Contains(err.Error(), "nobody is here") {
		t.Fatalf("told %v", err)
	}
	w.notPaused(w.Seed)
	if wrong := w.before.differences(w.inventory(w.Seed)); len(wrong) > 0 {
		t.Errorf("on the seed: %v", wrong)
	}
	gone = false
	w.run(Management)
	w.at(Management)
}

// sourceFails: what arrived goes on, and what is left behind goes later.
//
// proves: F32
func (p pair) sourceFails(t *testing.T) {
	seed := &wire{}
	fail := true
	deletions := 0
	seed.before = func(_ int, r *http.Request) *http.Response {
		if r.Method == http.MethodDelete {
			deletions++
		}
		if fail && deletions > 5 && r.Method == http.MethodDelete {
			return answer(r, http.StatusInternalServerError, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no quorum","code":500}`)
		}
		return nil
	}
	w := p.world(t, seed, nil)
	w.patience = time.Second
	if _, err := w.Run(t.Context(), Management); err == nil || !strings.Contains(err.Error(), "no quorum") {
		t.Fatalf("told %v", err)
	}
	w.notPaused(w.Management)
	if wrong := w.before.differences(w.inventory(w.Management)); len(wrong) > 0 {
		t.Errorf("on the management cluster: %v", wrong)
	}
	if r, err := Read(t.Context(), w.Seed.Kube, w.Cluster); err != nil || r.Done() || r.Place() != Management {
		t.Errorf("the record is %+v, %v", r, err)
	}
	// What has changed since is not overwritten.
	w.scale(3)
	fail = false
	w.run(Management)
	if replicas := w.replicas(); replicas != 3 {
		t.Errorf("%d replicas after the move was finished", replicas)
	}
	w.scale(1)
	w.at(Management)
}

func (w *world) scale(n int) {
	w.t.Helper()
	resource := w.Management.Kube.Dynamic.Resource(clusterKind().GroupVersion().WithResource("machinedeployments")).Namespace(w.Cluster.Namespace)
	md, err := resource.Get(w.t.Context(), "md", metav1.GetOptions{})
	if err == nil {
		_ = unstructured.SetNestedField(md.Object, int64(n), "spec", "replicas")
		_, err = resource.Update(w.t.Context(), md, metav1.UpdateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) replicas() int64 {
	w.t.Helper()
	md, err := w.Management.Kube.Dynamic.Resource(clusterKind().GroupVersion().WithResource("machinedeployments")).Namespace(w.Cluster.Namespace).Get(w.t.Context(), "md", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	n, _, _ := unstructured.NestedInt64(md.Object, "spec", "replicas")
	return n
}

// lost: nothing is deleted before everything is proved to be there.
func (p pair) lost(t *testing.T) {
	management := &wire{}
	drop := true
	management.before = func(_ int, r *http.Request) *http.Response {
		if drop && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/openstackmachines") {
			return answer(r, http.StatusCreated, `{"apiVersion":"`+infra+`","kind":"OpenStackMachine","metadata":{"name":"x","namespace":"x","uid":"nobody"}}`)
		}
		if drop && r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/openstackmachines/") {
			return answer(r, http.StatusOK, `{"apiVersion":"`+infra+`","kind":"OpenStackMachine","metadata":{"name":"x","namespace":"x","uid":"nobody"}}`)
		}
		return nil
	}
	w := p.world(t, nil, management)
	_, err := w.Run(t.Context(), Management)
	if err == nil || !strings.Contains(err.Error(), "OpenStackMachine server-cp-1 is missing") || !strings.Contains(err.Error(), "nothing was deleted") {
		t.Fatalf("told %v", err)
	}
	w.at(Seed)
	drop = false
	w.run(Management)
	w.at(Management)
}

func (p pair) notAdmitted(t *testing.T) {
	for name, test := range map[string]struct {
		change func(w *world)
		want   string
	}{
		"paused":               {func(w *world) { w.patch(w.Seed, `{"spec":{"paused":true}}`) }, "it is paused"},
		"paused by annotation": {func(w *world) { w.patch(w.Seed, `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`) }, "it is paused"},
		"with others": {func(w *world) {
			w.make(w.Seed, "tenant")
		}, "a pivot moves the whole namespace"},
		"on both": {func(w *world) {
			if err := kubeNamespace(w, w.Management); err != nil {
				w.t.Fatal(err)
			}
			w.make(w.Management, "c")
		}, "it exists here and also on the "},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			w := p.world(t, nil, nil)
			test.change(w)
			before, err := w.Seed.cluster(t.Context(), w.Cluster)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Run(t.Context(), Management); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("told %v", err)
			}
			after, err := w.Seed.cluster(t.Context(), w.Cluster)
			if err != nil || after.GetResourceVersion() != before.GetResourceVersion() {
				t.Errorf("the Cluster was touched: %v", err)
			}
		})
	}
}

// seedMadeAnew: a seed that lost its data finds where the objects are.
func (p pair) seedMadeAnew(t *testing.T) {
	w := p.world(t, nil, nil)
	w.run(Management)
	if err := w.Seed.Kube.Typed.CoreV1().Secrets(w.Cluster.Namespace).Delete(t.Context(), recordName(w.Cluster), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.run(Management)
	w.at(Management)
}
