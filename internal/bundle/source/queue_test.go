package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
)

// grouped is a text that is made in a group.
type grouped struct {
	text
	Group string
}

func (g grouped) group() string { return g.Group }

// log notes the order in which recipes begin.
type log struct {
	mu    sync.Mutex
	names []string
}

func (l *log) recipe(name string, needs ...string) text {
	return text{Text: name, Needs: needs, wait: func(context.Context) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.names = append(l.names, name)
	}}
}

func TestTheLongestWorkBegins(t *testing.T) {
	t.Parallel()
	for range 20 { // the recipes ask in another order each time
		var began log
		all := map[string]recipe{
			"crictl": began.recipe("crictl"), "ctr": began.recipe("ctr"), "runc": began.recipe("runc"),
			"k3s": began.recipe("k3s", "k3s-server", "runc"), "k3s-server": began.recipe("k3s-server"),
			"kubectl": grouped{began.recipe("kubectl"), "kubernetes"}, "kubelet": grouped{began.recipe("kubelet"), "kubernetes"},
		}
		if _, err := run(t, t.TempDir(), Options{Jobs: 1}, all); err != nil {
			t.Fatal(err)
		}
		// kubectl is light, but its group waits for it. runc frees nothing that is heavier.
		if got := strings.Join(began.names, " "); got != "k3s-server kubelet kubectl ctr runc crictl k3s" {
			t.Fatalf("order %q", got)
		}
	}
}

func TestOneOfAGroupAtATime(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now, most := map[string]int{}, map[string]int{}
	all := map[string]recipe{}
	for name, group := range map[string]string{"kubectl": "a", "kubelet": "a", "kubeadm": "a", "crictl": "b", "ctr": "b", "helm": "", "k9s": ""} {
		all[name] = grouped{text{Text: name, wait: func(context.Context) {
			mu.Lock()
			now[group]++
			most[group] = max(most[group], now[group])
			mu.Unlock()
			time.Sleep(5 * time.Millisecond)
			mu.Lock()
			now[group]--
			mu.Unlock()
		}}, group}
	}
	if _, err := run(t, t.TempDir(), Options{Jobs: 7}, all); err != nil {
		t.Fatal(err)
	}
	if most["a"] != 1 || most["b"] != 1 {
		t.Errorf("at once: %v, want one of a group", most)
	}
}

func TestACancelledWaitGivesItsTurnBack(t *testing.T) {
	t.Parallel()
	q := newQueue(1)
	q.look(1)
	done, err := q.wait(t.Context(), "a", rank{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	q.look(1)
	if _, err := q.wait(ctx, "a", rank{}); !errors.Is(err, cause) {
		t.Errorf("error %v, want the cause", err)
	}
	done()
	q.look(1)
	if done, err = q.wait(t.Context(), "a", rank{}); err != nil {
		t.Fatal(err)
	}
	done()
	if q.free != 1 || len(q.busy) != 0 || len(q.waiting) != 0 {
		t.Errorf("%+v, want an idle queue", q)
	}
}

// TestTheRealBuildBeginsWithKubernetesTwice: k3s has its own, and everything else fits beside.
func TestTheRealBuildBeginsWithKubernetesTwice(t *testing.T) {
	t.Parallel()
	all := recipes()
	order, of := []string{}, ranks(all)
	for name := range all {
		order = append(order, name)
	}
	slices.SortFunc(order, func(x, y string) int {
		if of[x].before(of[y]) {
			return -1
		}
		return 1
	})
	groups := slices.Compact(slices.DeleteFunc(order, func(name string) bool { return all[name].group() == "" }))
	if order[0] != "k3s-server" || groups[slices.IndexFunc(groups, func(name string) bool { return all[name].group() != "k3s" })] != "kubeadm" {
		t.Errorf("the order begins with %v", order[:6])
	}
}

func TestWeightsAreOfRecipes(t *testing.T) {
	t.Parallel()
	all := recipes()
	for name := range weights() {
		if _, ok := all[name]; !ok {
			t.Errorf("%s has a weight, but no recipe", name)
		}
	}
}

// TestWorkFollowsWhatIsMissing: one item is not a part of all by its number.
func TestWorkFollowsWhatIsMissing(t *testing.T) {
	t.Parallel()
	all := Names()
	whole := fmt.Sprintf("about %.0f minutes on two processors", Duration(all, 2).Minutes())
	for _, page := range []string{"README.md", "docs/get-started/try-it.md", "docs/guides/bundle.md", "docs/reference/slipway_bundle_build.md"} {
		text, err := os.ReadFile(filepath.Join("../../..", page))
		if said := strings.Join(strings.Fields(string(text)), " "); err != nil || !strings.Contains(said, whole) {
			t.Errorf("%s does not say that a bundle takes %s (%v)", page, whole, err)
		}
	}
	if k3s := Duration([]string{"k3s"}, 2); k3s < 5*time.Minute || k3s > 8*time.Minute {
		t.Errorf("k3s alone takes %s", k3s)
	}
	if chart := Duration([]string{"metrics-server-chart"}, 2); chart != time.Minute {
		t.Errorf("a chart takes %s", chart)
	}
	if alone := work([]string{"node"}, func(string) bool { return false }); alone < work([]string{"node"}, func(name string) bool { return name == "kubelet" }) {
		t.Error("what the bundle has is counted")
	}
}

func TestProgressOnlyRisesAndIsWholeAtTheEnd(t *testing.T) {
	t.Parallel()
	var rec event.Recorder
	all := map[string]recipe{}
	for _, name := range []string{"k3s", "k3s-server", "kubelet", "kubectl", "crictl", "ctr", "helm", "coredns-program", "cni-plugins"} {
		all[name] = text{Text: name}
	}
	all["k3s"] = text{Needs: []string{"k3s-server"}}
	dir := t.TempDir()
	if _, err := run(t, dir, Options{Jobs: 3, Sink: &rec}, all); err != nil {
		t.Fatal(err)
	}
	percents := percentsOf(t, rec.Events())
	if !slices.IsSorted(percents) || percents[0] != 0 || percents[len(percents)-1] != 100 || len(percents) < 5 {
		t.Errorf("percents %v", percents)
	}
	var again event.Recorder
	if _, err := run(t, dir, Options{Sink: &again}, all); err != nil || len(again.Events()) > 0 {
		t.Errorf("a build that makes nothing tells %v (%v)", again.Events(), err)
	}
}

// TestProgressWithinAProgram counts packages, also more than were expected.
func TestProgressWithinAProgram(t *testing.T) {
	t.Parallel()
	var rec event.Recorder
	p := newProgress(&rec)
	for _, name := range []string{"k3s-server", "kubelet"} {
		p.add(name)
	}
	p.compiled("k3s-server", 1)
	p.begin()
	for n := range 400 {
		p.compiled("k3s-server", 10*n)
	}
	p.compiled("kubelet", 5)
	p.compiled("kubelet", 3)
	if percents := percentsOf(t, rec.Events()); !slices.IsSorted(percents) || len(percents) < 50 || percents[len(percents)-1] > 81 {
		t.Errorf("percents %v", percents)
	}
	p.end(errors.New("kubelet: no rule"))
	if last := rec.Events()[len(rec.Events())-1]; last.State != event.Failed || last.Error != "not complete" {
		t.Errorf("a failure: %+v", last)
	}
}

func percentsOf(t *testing.T, events []event.Event) []int64 {
	t.Helper()
	var percents []int64
	for _, e := range events {
		if e.Step == wholeStep && e.Unit != "" {
			percents = append(percents, 100*e.Done/e.Total)
		}
	}
	if len(percents) == 0 {
		t.Fatal("no progress was told")
	}
	return percents
}
