package overview

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// arrival is closed when somebody came; waiting for it ends with the context.
type arrival chan struct{}

func (a arrival) wait(ctx context.Context) error {
	select {
	case <-a:
	case <-ctx.Done():
		select {
		case <-a: // both were there to choose from
		default:
			return errors.New("nobody else asks")
		}
	}
	return nil
}

// surveyed is what the cloud and the state say, and what is known then.
type surveyed struct {
	things     []openstack.Resource
	seed, list error
	asked      []bool // shelved, of each time the clusters were asked
	note       string
	// unwell and err are the errors; whole is that what the seed says counts.
	unwell, err error
	whole       bool
}

// TestTheCloudAndTheClustersAreAskedSideBySide, and what the cloud says decides what counts.
func TestTheCloudAndTheClustersAreAskedSideBySide(t *testing.T) {
	t.Parallel()
	running, shelved := []openstack.Resource{{Type: openstack.TypeServer, Step: stacks.StepSeed, State: "ACTIVE"}}, []openstack.Resource{{Type: openstack.TypeServer, Step: stacks.StepSeed, State: "SHELVED_OFFLOADED"}}
	noState, noCloud := errors.New("no state"), errors.New("no cloud")
	for name, test := range map[string]surveyed{
		"a seed that runs":        {running, nil, nil, []bool{false}, "awake", nil, nil, true},
		"one that is shelved":     {shelved, nil, nil, []bool{false, true}, "asleep", nil, nil, false},
		"nothing there":           {nil, nil, nil, []bool{false}, "", nil, nil, false},
		"a cloud that is away":    {nil, nil, noCloud, []bool{false}, "", nil, noCloud, false},
		"a state that is lost":    {running, noState, nil, nil, "", noState, nil, false},
		"a lost state of nothing": {nil, noState, nil, nil, "", nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			listing, asking := make(arrival), make(arrival)
			var asked []bool
			s := sources{
				list: func(ctx context.Context) ([]openstack.Resource, error) {
					close(listing)
					if err := asking.wait(ctx); err != nil {
						t.Error("the cloud is listed alone")
					}
					return test.things, test.list
				},
				seed: func(context.Context) (*target.Seed, error) {
					if test.seed != nil {
						close(asking)
					}
					return &target.Seed{}, test.seed
				},
				ask: func(ctx context.Context, _ *target.Seed, shelved bool) (facts, error) {
					if asked = append(asked, shelved); shelved {
						return facts{note: "asleep"}, nil
					}
					close(asking)
					if err := listing.wait(ctx); err != nil {
						t.Error("the clusters are asked alone")
					}
					if !test.whole { // what the cloud says ends it
						<-ctx.Done()
					}
					return facts{note: "awake"}, nil
				},
			}
			things, known, unwell, err := s.survey(ctx)
			if len(things) != len(test.things) || known.note != test.note || !errors.Is(unwell, test.unwell) || !errors.Is(err, test.err) || !slices.Equal(asked, test.asked) || ctx.Err() != nil {
				t.Errorf("%d things, note %q, asked %v, unwell %v, error %v", len(things), known.note, asked, unwell, err)
			}
		})
	}
}

// TestTheSeedAndTheManagementClusterAreAskedSideBySide: what one says counts if the other does
// not answer, and the errors have an order.
func TestTheSeedAndTheManagementClusterAreAskedSideBySide(t *testing.T) {
	t.Parallel()
	mute, lost := errors.New("the seed is mute"), errors.New("the rest is lost")
	for name, test := range map[string]struct {
		seed, management error
		says             string
	}{"both answer": {}, "one does not": {mute, nil, "the seed is mute"}, "the other does not": {nil, lost, "the rest is lost"}, "none answers": {mute, lost, "the seed is mute; the rest is lost"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			first, second := make(arrival), make(arrival)
			meet := func(own, other arrival, err error) func() part {
				return func() part {
					close(own)
					if alone := other.wait(ctx); alone != nil {
						t.Error(alone)
					}
					return part{clusters: make([]Cluster, 1), err: err}
				}
			}
			var f facts
			err := f.places(meet(first, second, test.seed), meet(second, first, test.management))
			if (err == nil) != (test.says == "") || err != nil && err.Error() != test.says || len(f.clusters) != 2 {
				t.Errorf("%d clusters, %v", len(f.clusters), err)
			}
		})
	}
}

// TestTheSeedIsAskedForItsNodesAndThenForAllAtOnce: nodes, Deployments, Clusters and the record
// of backups take two turns; the management cluster has nothing to add but its record.
func TestTheSeedIsAskedForItsNodesAndThenForAllAtOnce(t *testing.T) {
	t.Parallel()
	m := &kubetest.Meeting{Wanted: 3, First: func(r *http.Request) bool { return r.URL.Path == "/api/v1/nodes" }}
	m.Answer = func(r *http.Request) (int, string) {
		switch {
		case m.First(r):
			return http.StatusOK, `{"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": [{"metadata": {"name": "seed"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}]}`
		case strings.HasSuffix(r.URL.Path, "/deployments"):
			return http.StatusOK, `{"apiVersion": "apps/v1", "kind": "DeploymentList", "metadata": {}, "items": [{"metadata": {"namespace": "capo-system", "name": "capo"}, "status": {"availableReplicas": 1, "replicas": 1}}]}`
		case strings.Contains(r.URL.Path, "/configmaps/"):
			return http.StatusOK, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "r"}, "data": {"schedule": "{\"backup\": \"b1\"}"}}`
		}
		return http.StatusOK, `{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterList", "metadata": {}, "items": []}`
	}
	on, err := kube.New(&rest.Config{Host: "https://meeting", Transport: m})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	p := askSeed(ctx, on, nil, true)
	if p.err != nil || len(p.components) != 2 || !p.components[0].Ready || p.components[1].Name != "capo-system/capo" || p.backups.Schedule == nil || p.backups.Schedule.Backup != "b1" {
		t.Errorf("%+v", p)
	}
	if asked := m.Asked(); len(asked) != 4 {
		t.Errorf("asked for %v", asked)
	}
	p = askManagement(ctx, on, nil)
	if asked := m.Asked(); p.err != nil || p.backups.Schedule == nil || len(asked) != 6 || !strings.Contains(asked[4], "/configmaps/") {
		t.Errorf("%+v, asked for %v", p, asked)
	}
}

// TestAManagementClusterWithoutASeedTellsOfItsBackups, which it makes itself as any other.
func TestAManagementClusterWithoutASeedTellsOfItsBackups(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/readyz":
			fmt.Fprint(w, "ok")
		case strings.Contains(r.URL.Path, "/configmaps/"):
			fmt.Fprint(w, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "r"}, "data": {"schedule": "{\"backup\": \"b1\"}"}}`)
		default:
			fmt.Fprint(w, `{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterList", "metadata": {}, "items": []}`)
		}
	}))
	t.Cleanup(server.Close)
	kubeconfig := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}], "clusters": [{"name": "a", "cluster": {"server": %q}}], "users": [{"name": "a", "user": {}}]}`, server.URL)
	var f facts
	if err := f.itself(t.Context(), &target.Seed{Local: "{}", Management: kubeconfig}); err != nil || f.backups.Schedule == nil || f.backups.Schedule.Backup != "b1" {
		t.Errorf("%+v, %v", f.backups, err)
	}
}
