package serve

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/monitoring"
	"github.com/slipway-sh/slipway/addons/scheduledbackup"
	"github.com/slipway-sh/slipway/internal/backup"
)

// TestAlertsAskForMetricsThatControllersServe: an alert on a metric that was renamed never
// fires, and nobody notices. All sets are made as in a management cluster, by an API server
// that names kinds and has nothing else, which is nothing to metrics. Those of others are
// recognised by their prefix.
func TestAlertsAskForMetricsThatControllersServe(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(discovery))
	t.Cleanup(api.Close)
	dir := t.TempDir()
	write := func(name string, content any) string {
		text, err := json.Marshal(content)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	all, flags := allSets(), pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, s := range all {
		s.flags(flags)
	}
	settings := scheduledbackup.Settings{Environment: "e", Target: "s3://b", Recipients: []string{"r"}, Every: "1h", DrillEvery: "24h", Key: make([]byte, backup.KeySize)}
	if err := flags.Parse([]string{"--backup-settings=" + write("settings.json", settings)}); err != nil {
		t.Fatal(err)
	}
	o := options{metricsAddress: noServer, healthAddress: noServer, sameNames: true,
		fence: fenceOptions{environment: "e", clouds: write("clouds.yaml", map[string]any{}), entry: "openstack"}}
	config := &rest.Config{Host: api.URL}
	log, err := newLogger(io.Discard, "error", "text")
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := o.choose(all)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := o.fence.open(config, log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.managers(config, chosen, log, guard); err != nil {
		t.Fatal(err)
	}
	for name := range asked(t, monitoring.Rules(), monitoring.PlatformRules()) {
		if !foreign.MatchString(name) && !served(name) {
			t.Errorf("an alert asks for %s, which nothing registers", name)
		}
	}
	if served("slipway_fence_ajar") {
		t.Error("a metric that is not there is found")
	}
}

// discovery answers with the kinds that controllers ask for when they are made.
func discovery(w http.ResponseWriter, r *http.Request) {
	kinds := map[string][]string{"v1": {"ConfigMap", "Secret"},
		"addons.stackhpc.com/v1alpha1":             {"HelmRelease", "Manifests"},
		"cluster.x-k8s.io/v1beta2":                 {"Cluster", "Machine", "MachineDeployment", "MachineHealthCheck"},
		"controlplane.cluster.x-k8s.io/v1beta2":    {"KubeadmControlPlane"},
		"infrastructure.cluster.x-k8s.io/v1alpha1": {"OpenStackServer"},
		"infrastructure.cluster.x-k8s.io/v1beta1":  {"OpenStackCluster", "OpenStackMachine"},
		"magnum.slipway.sh/v1alpha1":               {"Cluster", "ClusterTemplate", "NodeGroup"},
		"openstack.k-orc.cloud/v1alpha1":           {"ServerGroup"},
	}
	at := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/"), "/apis/")
	var answer any
	switch {
	case at == "/api":
		answer = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case at == "/apis":
		groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for version := range kinds {
			if group, name, ok := strings.Cut(version, "/"); ok {
				groups.Groups = append(groups.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: version, Version: name}}})
			}
		}
		answer = groups
	case kinds[at] != nil:
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: at}
		for _, kind := range kinds[at] {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: strings.ToLower(kind) + "s", Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"get"}})
		}
		answer = list
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

var (
	// foreign are the metrics of other programs: Alertmanager, cert-manager, etcd,
	// kube-state-metrics, kubelets and node-exporter.
	foreign = regexp.MustCompile(`^(alertmanager|certmanager|etcd|kube|kubelet|node|otelcol)_`)
	// aside is what is no metric in an expression: texts, matchers, and labels.
	aside = regexp.MustCompile(`\{[^}]*\}|\b(by|on) \([^)]*\)`)
	named = regexp.MustCompile(`[a-z]+(?:_[a-z0-9]+)+\b(\()?`)
)

// asked are the names of metrics in files of rules.
func asked(t *testing.T, files ...[]byte) sets.Set[string] {
	t.Helper()
	names := sets.New[string]()
	for _, text := range files {
		var file struct {
			Groups []struct{ Rules []struct{ Expr string } }
		}
		if err := yaml.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		for _, group := range file.Groups {
			for _, rule := range group.Rules {
				for _, name := range named.FindAllString(aside.ReplaceAllString(rule.Expr, ""), -1) {
					if !strings.HasSuffix(name, "(") { // a function of PromQL
						names.Insert(name)
					}
				}
			}
		}
	}
	for _, known := range []string{"slipway_fence_open", "capi_janitor_waiting_clusters", "slipway_quota_limit", "slipway_credential_expiry_timestamp_seconds", "workqueue_depth", "etcd_server_has_leader"} {
		if !names.Has(known) {
			t.Errorf("%s is not found in the rules", known)
		}
	}
	return names
}

// served says that the process' registry has a metric, also one that has no value yet: it
// refuses another one of the name.
func served(name string) bool {
	probe := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: "A test asks for it."})
	if metrics.Registry.Register(probe) != nil {
		return true
	}
	metrics.Registry.Unregister(probe)
	return false
}
