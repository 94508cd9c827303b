package stack

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/monitoring"
)

// TestTheRulesKnowTheMetricsOfObjects: what rules ask of Machines is what kube-state-metrics
// is told to make of them.
func TestTheRulesKnowTheMetricsOfObjects(t *testing.T) {
	t.Parallel()
	var config struct {
		Spec struct {
			Resources []struct{ Metrics []struct{ Name string } }
		}
	}
	if err := yaml.Unmarshal([]byte(resources), &config); err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for _, kind := range config.Spec.Resources {
		for _, metric := range kind.Metrics {
			made["kube_customresource_"+metric.Name] = true
		}
	}
	asked := regexp.MustCompile(`kube_customresource_\w+`).FindAllString(string(monitoring.Rules())+string(monitoring.PlatformRules()), -1)
	for _, name := range asked {
		if !made[name] {
			t.Errorf("an alert asks for %s, which kube-state-metrics does not make", name)
		}
	}
	if len(asked) == 0 || len(made) == 0 {
		t.Errorf("%d names in the rules, %d metrics", len(asked), len(made))
	}
}

// TestHowLongIsKept is told to Prometheus by time and by size, which leaves room on the volume
// for what is not compacted, and to Alertmanager.
func TestHowLongIsKept(t *testing.T) {
	t.Parallel()
	all, err := Objects(Settings{Retention: "15d", VolumeGiB: 20, AlertRetention: "120h", AlertVolumeGiB: 2, Logs: &Logs{Retention: "48h", VolumeGiB: 5}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{Prometheus: {"--storage.tsdb.path=/prometheus", "--storage.tsdb.retention.time=15d", "--storage.tsdb.retention.size=17408MB"},
		Alertmanager: {"--storage.path=/alertmanager", "--data.retention=120h"}, Loki: {"-config.file=/etc/loki/loki.yaml"}}
	sizes := map[string]string{Prometheus: "20Gi", Alertmanager: "2Gi", Loki: "5Gi"}
	for _, o := range all {
		switch o.GetKind() {
		case "Deployment":
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
			for _, arg := range want[o.GetName()] {
				if !slices.Contains(args, arg) {
					t.Errorf("%s has no %s: %q", o.GetName(), arg, args)
				}
			}
			delete(want, o.GetName())
		case "ConfigMap":
			if text, _, _ := unstructured.NestedString(o.Object, "data", "loki.yaml"); o.GetName() == Loki && !strings.Contains(text, "retention_period: 48h\n") {
				t.Errorf("Loki is told %s", text)
			}
		case "PersistentVolumeClaim":
			if size, _, _ := unstructured.NestedString(o.Object, "spec", "resources", "requests", "storage"); size != sizes[o.GetName()] {
				t.Errorf("the volume of %s has %s", o.GetName(), size)
			}
			delete(sizes, o.GetName())
		}
	}
	if len(want)+len(sizes) > 0 {
		t.Errorf("not looked at: %v, %v", want, sizes)
	}
}

// TestDisksOfNodesAreNotVolumesOfPods: the kubelet mounts a volume twice, and tells of it itself.
func TestDisksOfNodesAreNotVolumesOfPods(t *testing.T) {
	t.Parallel()
	all, err := Objects(Settings{Retention: "15d", VolumeGiB: 20, AlertRetention: "120h", AlertVolumeGiB: 2})
	if err != nil {
		t.Fatal(err)
	}
	var left *regexp.Regexp
	for _, o := range all {
		if o.GetKind() != "DaemonSet" {
			continue
		}
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
		for _, arg := range args {
			if pattern, ok := strings.CutPrefix(arg, "--collector.filesystem.mount-points-exclude="); ok {
				left = regexp.MustCompile(pattern)
			}
		}
	}
	if left == nil {
		t.Fatal("nothing is left out")
	}
	for path, want := range map[string]bool{
		"/": false, "/var": false, "/var/lib/etcd": false, "/var/lib/kubelet": false, "/var/lib/rancher/k3s": false, "/var/lib/kubelet/plugins-of-mine": false,
		"/var/lib/kubelet/pods/6f1c/volumes/kubernetes.io~csi/pvc-1/mount":                     true,
		"/var/lib/kubelet/plugins/kubernetes.io/csi/cinder.csi.openstack.org/4c1d/globalmount": true,
		"/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/publish/pvc-2/6f1c":          true,
		"/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs":            true, "/run/containerd": true,
	} {
		if left.MatchString(path) != want {
			t.Errorf("%s is left out: %t", path, !want)
		}
	}
}

// TestEachProgramIsClosed: every Deployment has the labels that the NetworkPolicy selects, and only
// Prometheus is let in; Loki's collector is by the port on which Loki listens.
func TestEachProgramIsClosed(t *testing.T) {
	t.Parallel()
	all, err := Objects(Settings{Logs: &Logs{Retention: "48h", VolumeGiB: 5}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]any{}
	for _, o := range all {
		spec, _, _ := unstructured.NestedMap(o.Object, "spec")
		switch o.GetKind() {
		case "NetworkPolicy":
			got[o.GetName()] = spec
		case "Deployment":
			if label, _, _ := unstructured.NestedString(spec, "template", "metadata", "labels", "app.kubernetes.io/part-of"); label != "slipway-monitoring" {
				t.Errorf("%s is no part of monitoring, but of %q", o.GetName(), label)
			}
		}
	}
	const want = `
slipway-logs:
  podSelector: {matchLabels: {app.kubernetes.io/name: loki, app.kubernetes.io/part-of: slipway-monitoring}}
  policyTypes: [Ingress]
  ingress:
    - from:
        - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring-nodes}}
          podSelector: {matchLabels: {app.kubernetes.io/name: log-collector}}
      ports: [{port: http}]
slipway-monitoring:
  podSelector: {matchLabels: {app.kubernetes.io/part-of: slipway-monitoring}}
  policyTypes: [Ingress]
  ingress: [{from: [{podSelector: {matchLabels: {app.kubernetes.io/name: prometheus, app.kubernetes.io/part-of: slipway-monitoring}}}]}]
`
	var policies map[string]map[string]any
	if err := yaml.Unmarshal([]byte(want), &policies); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, policies) {
		t.Errorf("policies %v, want %v", got, policies)
	}
}
