package kubernetes

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/localseed"
)

// TestAClusterIsDeletedFromItsSeed, unless it manages itself; what Cluster API refuses is told.
func TestAClusterIsDeletedFromItsSeed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		record  string
		refused bool
		want    string
	}{
		"on the seed":   {"", false, ""},
		"self-managed":  {`{"to":"management","phase":"rested"}`, false, "it is self-managed and cannot delete itself"},
		"refused":       {"", true, "deleting the cluster"},
		"broken record": {"{", false, "reading where the objects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := withKinds(t)
			seed.Put(demoCluster)
			if test.record != "" {
				seed.Put(recorded(test.record, api(t, true)))
			}
			seed.Refuse = func(r *http.Request) (int, string) {
				if test.refused && r.Method == http.MethodDelete {
					return http.StatusForbidden, "Forbidden"
				}
				return 0, ""
			}
			s, _, settings := seeds(t, true)
			s.Provider = func(context.Context) (localseed.Provider, error) {
				return &runtime{kubeconfig: seed.Kubeconfig(), there: &localseed.Cluster{Owner: "demo@1", Finished: true}}, nil
			}
			s.install = func(context.Context, string, LocalSettings, func(string)) error { return nil }
			state := ClusterState{ClusterInputs: ClusterInputs{Login: Login{Local: settings}, Name: "demo", Namespace: "default"}}
			err := clusterKind{seeds: s}.remove(t.Context(), state)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if left := seed.Get("clusters default/demo"); (left == nil) != (err == nil) {
				t.Errorf("there is %v", left)
			}
		})
	}
}

// TestASeedThatIsNotReachedIsToldWithAWayOut: what is to be removed goes with the environment then.
func TestASeedThatIsNotReachedIsToldWithAWayOut(t *testing.T) {
	t.Parallel()
	away := Login{Address: "192.0.2.5"}
	for name, err := range map[string]error{
		"cluster": clusterKind{}.remove(t.Context(), ClusterState{ClusterInputs: ClusterInputs{Login: away}}),
		"pivot":   managementMoveKind{}.remove(t.Context(), ManagementMoveState{ManagementMoveInputs: ManagementMoveInputs{Login: away}}),
	} {
		if err == nil || !strings.Contains(err.Error(), "seed at 192.0.2.5") || !strings.Contains(fault.Remedy(err), "slipway down") {
			t.Errorf("%s: %v (%s)", name, err, fault.Remedy(err))
		}
	}
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errStopped)
	for name, settle := range map[string]func() error{
		"cluster": func() error {
			_, err := clusterKind{}.settle(stopped, ClusterInputs{Login: away, Values: "{}"})
			return err
		},
		"ready": func() error {
			_, err := readyClusterKind{}.settle(stopped, ReadyClusterInputs{Login: away})
			return err
		},
		"pivot": func() error {
			_, err := managementMoveKind{}.settle(stopped, ManagementMoveInputs{Login: away})
			return err
		},
		"Cluster API": func() error { _, err := clusterAPIKind{}.settle(stopped, ClusterAPIInputs{Login: away}); return err },
	} {
		if err := settle(); !errors.Is(err, errStopped) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSettingsOfALocalSeedThatAreBrokenAreTold by whatever needs them.
func TestSettingsOfALocalSeedThatAreBrokenAreTold(t *testing.T) {
	t.Parallel()
	broken, none := Login{Local: "{"}, &LocalSeeds{}
	for name, try := range map[string]func() error{
		"cluster": func() error {
			_, err := clusterKind{seeds: none}.settle(t.Context(), ClusterInputs{Login: broken, Values: "{}"})
			return err
		},
		"removal": func() error {
			return clusterKind{seeds: none}.remove(t.Context(), ClusterState{ClusterInputs: ClusterInputs{Login: broken}})
		},
		"ready": func() error {
			_, err := readyClusterKind{seeds: none}.settle(t.Context(), ReadyClusterInputs{Login: broken})
			return err
		},
		"pivot": func() error {
			_, err := managementMoveKind{none}.settle(t.Context(), ManagementMoveInputs{Login: broken})
			return err
		},
		"move back": func() error {
			return managementMoveKind{none}.remove(t.Context(), ManagementMoveState{ManagementMoveInputs: ManagementMoveInputs{Login: broken}})
		},
		"seed": func() error { _, err := localSeedKind{none}.settle(t.Context(), LocalSeedInputs{"{"}); return err },
		"update": func() error {
			_, err := localSeedKind{none}.update(t.Context(), LocalSeedState{}, LocalSeedInputs{"{"})
			return err
		},
		"delete": func() error { return localSeedKind{none}.remove(t.Context(), LocalSeedState{LocalSeedInputs{"{"}}) },
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), "reading the settings of the local seed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAReleaseIsMadeAndKept: the Cluster of a release stays when it is settled again, is made again
// when somebody deleted it, and another credential in its values is noted on it.
func TestAReleaseIsMadeAndKept(t *testing.T) {
	t.Parallel()
	server := withKinds(t)
	config, err := Config(server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	on, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	in := ClusterInputs{Name: "demo", Namespace: "default", Chart: smallChart(t)}
	settle := func(id, noted string) string {
		t.Helper()
		if err := release(t.Context(), on, config, in, logsIn(id, nil)); err != nil {
			t.Fatal(err)
		}
		cluster := server.Get("clusters default/demo")
		if cluster == nil || cluster.GetAnnotations()[annotationHandOut] != noted {
			t.Fatalf("with credential %s: %v", id, cluster)
		}
		return string(cluster.GetUID())
	}
	first := settle("a", "")
	if settle("a", "") != first || settle("b", "b") != first {
		t.Error("a Cluster that was there was made anew")
	}
	ready := ReadyClusterInputs{Name: "demo", Namespace: "default", AdminKubeconfig: server.Kubeconfig()}
	at, err := reach(Direct{}, server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	give, err := handOutOf(t.Context(), Direct{}, at, ready)
	if err != nil || give.id != "b" || give.itself == nil {
		t.Fatalf("to be given: %+v, %v", give, err)
	}
	if err := give.end(t.Context()); err != nil || server.Get("clusters default/demo").GetAnnotations()[annotationHandOut] != "" {
		t.Errorf("at the end: %v", err)
	}
	if give, err := handOutOf(t.Context(), Direct{}, at, ready); err != nil || give.itself != nil {
		t.Errorf("after it, to be given: %+v, %v", give, err)
	}
	if err := on.Dynamic.Resource(clusterResource()).Namespace("default").Delete(t.Context(), "demo", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if give, err := handOutOf(t.Context(), Direct{}, at, ready); err != nil || give.itself != nil {
		t.Errorf("without a Cluster, to be given: %+v, %v", give, err)
	}
	if settle("b", "") == first {
		t.Error("a Cluster that was deleted is the same")
	}
}
