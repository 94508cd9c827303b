package janitor

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/fault"
)

func TestMarks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		match func(mark, cluster string) bool
		mark  string
		want  bool
	}{
		"address":                        {AddressOf, "Floating IP for Kubernetes external service default/web from cluster prod", true},
		"address of older OCCM":          {AddressOf, "Floating IP for Kubernetes service web from cluster prod", true},
		"address of a longer name":       {AddressOf, "Floating IP for Kubernetes external service default/web from cluster my-prod", false},
		"address of a name that goes on": {AddressOf, "Floating IP for Kubernetes external service default/web from cluster prod-2", false},
		"address without the beginning":  {AddressOf, "kept: Floating IP for Kubernetes from cluster prod", false},
		"address that only ends so":      {AddressOf, "from cluster prod", false},
		"balancer":                       {BalancerOf, "kube_service_prod_default_web", true},
		"balancer of a longer name":      {BalancerOf, "kube_service_prod-2_default_web", false},
		"balancer of CAPO":               {BalancerOf, "k8s-clusterapi-cluster-default-prod-kubeapi", false},
		"group":                          {GroupOf, "Security Group for default/web Service LoadBalancer in cluster prod", true},
		"group of a longer name":         {GroupOf, "Security Group for default/web Service LoadBalancer in cluster not-prod", false},
		"group of CAPO":                  {GroupOf, "Cluster API managed group", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.match(test.mark, "prod"); got != test.want {
				t.Errorf("%q: %t", test.mark, got)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	all := []Resource{
		{Kind: kindVolume, ID: "plain"}, {Kind: kindVolume, ID: "kept", keep: true}, {Kind: kindVolume, ID: "busy", busy: true},
		{Kind: kindBalancer, ID: "ours", claim: ours}, {Kind: kindBalancer, ID: "ours-busy", claim: ours, busy: true},
	}
	alien := Resource{Kind: kindBalancer, ID: "alien", claim: foreign}
	for name, test := range map[string]struct {
		resources []Resource
		rivals    []string
		want      string // remove | wait | keep | refuse | foreign
	}{
		"alone":                {all, nil, "plain ours|busy ours-busy|kept||"},
		"beside a rival":       {all, []string{"a/b"}, "ours|ours-busy|kept|plain busy|"},
		"beside what is not":   {append(all[:len(all):len(all)], alien), nil, "ours|ours-busy|kept|plain busy|alien"},
		"only what is not his": {[]Resource{alien}, nil, "||||alien"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := decide(test.resources, test.rivals)
			var parts []string
			for _, list := range [][]Resource{p.remove, p.wait, p.keep, p.refuse, p.foreign} {
				var ids []string
				for _, resource := range list {
					ids = append(ids, resource.ID)
				}
				parts = append(parts, strings.Join(ids, " "))
			}
			if got := strings.Join(parts, "|"); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestPausesGrowWithoutProgressAndAreBounded(t *testing.T) {
	t.Parallel()
	waiting := map[string]float64{}
	p := newPace(10*time.Second, func(reason string, change float64) { waiting[reason] += change })
	key := types.NamespacedName{Name: "a"}
	var got []string
	for _, left := range []int{5, 5, 5, 4, 4, 4, 4, 4, 4} {
		got = append(got, p.next(key, ReasonDeleting, left).String())
	}
	if want := "1s 2s 4s 1s 2s 4s 8s 10s 10s"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	for range 100 {
		if d := p.next(key, ReasonCleanupFailed, 4); d <= 0 || d > 10*time.Second {
			t.Fatalf("pause %s", d)
		}
	}
	if waiting[ReasonDeleting] != 0 || waiting[ReasonCleanupFailed] != 1 {
		t.Errorf("waiting %v", waiting)
	}
	p.forget(key)
	p.forget(key)
	if waiting[ReasonCleanupFailed] != 0 {
		t.Errorf("waiting %v after the end", waiting)
	}
	if d := p.next(key, ReasonDeleting, 4); d != firstDelay {
		t.Errorf("first pause %s", d)
	}
}

func TestWrongOptionsAreAllTold(t *testing.T) {
	t.Parallel()
	err := Options{DefaultVolumesPolicy: "drop", Workers: 1}.Validate()
	if all := fault.All(err); len(all) != 4 || fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("errors %v", all)
	}
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
}

// A report of many resources stays within what annotations may hold.
func TestReportsAreBounded(t *testing.T) {
	t.Parallel()
	many := make([]Resource, 5000)
	for i := range many {
		many[i] = Resource{Kind: kindVolume, ID: "5d9cdd4c-6d1b-4f1a-9e56-0f4d1f8a7f11", Name: "pvc-5d9cdd4c-6d1b-4f1a-9e56-0f4d1f8a7f11"}
	}
	r := newReport("prod", plan{remove: many, refuse: many}, nil)
	if len(r.Delete) != reportMost || len(r.Refuse) != reportMost || r.Counts["delete"] != 5000 {
		t.Errorf("%d and %d of %v", len(r.Delete), len(r.Refuse), r.Counts)
	}
	if text := names(many); len(text) > 1024 {
		t.Errorf("a message of %d characters", len(text))
	}
}
