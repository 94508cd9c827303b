package kubernetes

import (
	"encoding/base64"
	"net/http"
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/addons/clusterctl/move"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube/apitest"
)

const demoCluster = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {namespace: default, name: demo}\n"

// recorded is what a pivot leaves on the seed.
func recorded(record, kubeconfig string) string {
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	return "apiVersion: v1\nkind: Secret\nmetadata: {namespace: default, name: slipway-move-demo}\ndata: {record: " + encode(record) + ", kubeconfig: " + encode(kubeconfig) + "}\n"
}

// TestWhereTheObjectsOfAClusterAre: where the record says, else where they are found. A cluster
// that nobody manages is not made a second time.
func TestWhereTheObjectsOfAClusterAre(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		record       string
		onSeed       bool
		itself       func(*testing.T) string
		refused      bool
		want, remedy string
		away         string
	}{
		"never made":                  {"", false, nil, false, "seed", "", "no"},
		"on the seed":                 {"", true, func(t *testing.T) string { return api(t, false) }, false, "seed", "", "no"},
		"pivoted":                     {`{"to":"management","phase":"rested"}`, false, func(t *testing.T) string { return api(t, true) }, false, "management", "", "yes"},
		"on the way there":            {`{"to":"management","phase":"copying"}`, true, func(t *testing.T) string { return api(t, false) }, false, "seed", "", "yes"},
		"on the way back":             {`{"to":"seed","phase":"copying"}`, false, func(t *testing.T) string { return api(t, true) }, false, "management", "", "yes"},
		"of another seed":             {"", false, func(t *testing.T) string { return api(t, true) }, false, "management", "", "yes"},
		"a seed without data":         {"", false, func(t *testing.T) string { return api(t, false) }, false, "error: neither the seed nor the cluster itself has its objects", "slipway recover", "no"},
		"a cluster that is gone":      {"", false, gone, false, "error: the cluster itself does not answer", "run slipway down, then slipway up", "no"},
		"a record that is broken":     {`{`, false, nil, false, "error: reading where the objects of default/demo are", "", "error: reading where"},
		"a seed that does not answer": {"", false, func(t *testing.T) string { return api(t, true) }, true, "error: reading Cluster demo", "", "error: reading Cluster demo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := withKinds(t)
			itself := ""
			if test.itself != nil {
				itself = test.itself(t)
			}
			if test.record != "" {
				seed.Put(recorded(test.record, itself))
			}
			if test.onSeed {
				seed.Put(demoCluster)
			}
			seed.Refuse = func(r *http.Request) (int, string) {
				if test.refused && strings.Contains(r.URL.Path, "/clusters/") {
					return http.StatusForbidden, "Forbidden"
				}
				return 0, ""
			}
			in := ClusterInputs{Kubeconfig: seed.Kubeconfig(), Name: "demo", Namespace: "default"}
			at, err := locate(t.Context(), Direct{}, nil, in, ClusterState{AdminKubeconfig: itself})
			if cause, fails := strings.CutPrefix(test.want, "error: "); fails {
				if err == nil || !strings.Contains(err.Error(), cause) || !strings.Contains(fault.Remedy(err), test.remedy) {
					t.Errorf("got %v (%s), want %q", err, fault.Remedy(err), cause)
				}
			} else if err != nil || string(at.place) != test.want || (at.Config.Host == seed.URL) != (at.place == move.Seed) {
				t.Errorf("at %q, %v; want %s", at.place, err, test.want)
			}
			if itself == "" && test.record == "" {
				itself = gone(t)
			}
			if itself == "" {
				itself = api(t, false)
			}
			checkAway(t, ManagementMoveInputs{Kubeconfig: in.Kubeconfig, ManagementKubeconfig: itself, Name: "demo", Namespace: "default"}, test.away)
		})
	}
}

// checkAway asks whether objects must be moved back: "yes", "no" or an error.
func checkAway(t *testing.T, moved ManagementMoveInputs, want string) {
	t.Helper()
	m, err := moved.move(t.Context(), Direct{})
	if err != nil {
		t.Fatal(err)
	}
	away, err := moved.away(t.Context(), m)
	if cause, fails := strings.CutPrefix(want, "error: "); fails != (err != nil) || fails && !strings.Contains(err.Error(), cause) || away != (want == "yes") {
		t.Errorf("away: %t, %v; want %s", away, err, want)
	}
	if want == "no" {
		if did, err := MoveBack(t.Context(), Direct{}, moved, func(string) {}); did || err != nil {
			t.Errorf("moved back: %t, %v", did, err)
		}
	}
}

// TestClustersWithoutAKubeconfigAreTold: neither side is reached then.
func TestClustersWithoutAKubeconfigAreTold(t *testing.T) {
	t.Parallel()
	seed := withKinds(t)
	const broken = "none: ["
	for what, try := range map[string]func() error{
		"locate, the seed's": func() error {
			_, err := locate(t.Context(), Direct{}, nil, ClusterInputs{Kubeconfig: broken}, ClusterState{})
			return err
		},
		"locate, its own": func() error {
			_, err := locate(t.Context(), Direct{}, nil, ClusterInputs{Kubeconfig: seed.Kubeconfig(), Name: "demo", Namespace: "default"}, ClusterState{AdminKubeconfig: broken})
			return err
		},
		"move back": func() error {
			_, err := MoveBack(t.Context(), Direct{}, ManagementMoveInputs{Kubeconfig: broken}, func(string) {})
			return err
		},
		"move back, its own": func() error {
			_, err := MoveBack(t.Context(), Direct{}, ManagementMoveInputs{Kubeconfig: seed.Kubeconfig(), ManagementKubeconfig: broken}, func(string) {})
			return err
		},
		"pivot": func() error {
			_, err := ManagementMoveInputs{Kubeconfig: broken}.pivot(t.Context(), Direct{}, ManagementMoveState{})
			return err
		},
		"Cluster API": func() error {
			return installClusterAPI(t.Context(), Direct{}, nil, ClusterAPIInputs{Settings: "{}", Kubeconfig: broken}, func(string) {})
		},
		"file": func() error {
			_, _, err := local(t.Context(), Direct{}, broken)
			return err
		},
		"itself": func() error {
			_, err := itselfHas(t.Context(), Direct{}, broken, "default", "demo")
			return err
		},
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), "reading the kubeconfig") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := installClusterAPI(t.Context(), Direct{}, nil, ClusterAPIInputs{Settings: "{"}, func(string) {}); err == nil || !strings.Contains(err.Error(), "reading the provider settings") {
		t.Errorf("broken settings: %v", err)
	}
	if _, err := (clusterKind{}).settle(t.Context(), ClusterInputs{Values: "{"}); err == nil || !strings.Contains(err.Error(), "reading the values") {
		t.Errorf("broken values: %v", err)
	}
}

// TestAFileForClusterctlLeadsThroughTheSeed, is for nobody else to read, and goes after its use.
func TestAFileForClusterctlLeadsThroughTheSeed(t *testing.T) {
	t.Parallel()
	server := apitest.Start(t)
	w := &seedWay{host: "192.0.2.5", far: "127.0.0.1:1234"}
	path, remove, err := local(t.Context(), w, server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil || config.Clusters["c"].Server != "https://127.0.0.1:1234" || config.Clusters["c"].TLSServerName != "127.0.0.1" || w.asked != strings.TrimPrefix(server.URL, "https://") {
		t.Errorf("it leads to %+v through %s, %v", config, w.asked, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	remove()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after its use: %v", err)
	}
}
