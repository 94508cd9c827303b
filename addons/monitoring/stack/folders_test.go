package stack

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/internal/kube"
)

// onSeed are settings for a cluster of one node without volumes.
func onSeed() Settings {
	return Settings{Images: Images{Prometheus: "p", Alertmanager: "a", NodeExporter: "n", KubeStateMetrics: "k", Loki: "l", LogCollector: "c"}, Retention: "15d", VolumeGiB: 20,
		AlertRetention: "120h", AlertVolumeGiB: 2, Logs: &Logs{Retention: "48h", VolumeGiB: 5}, Folders: &Folders{Node: "demo-seed", Path: "/data/monitoring"}}
}

// TestFoldersTakeThePlaceOfVolumes: each claim is bound to a folder of the node, and what
// Prometheus may fill is told to it all the same.
func TestFoldersTakeThePlaceOfVolumes(t *testing.T) {
	t.Parallel()
	s := onSeed()
	all, err := Objects(s)
	if err != nil {
		t.Fatal(err)
	}
	folders, claims := map[string]string{}, map[string]string{}
	for _, o := range all {
		spec, _, _ := unstructured.NestedMap(o.Object, "spec")
		size, _, _ := unstructured.NestedString(spec, "resources", "requests", "storage")
		switch o.GetKind() {
		case "PersistentVolume":
			path, _, _ := unstructured.NestedString(spec, "local", "path")
			claim, _, _ := unstructured.NestedString(spec, "claimRef", "name")
			size, _, _ = unstructured.NestedString(spec, "capacity", "storage")
			terms, err := json.Marshal(spec["nodeAffinity"])
			if err != nil || !strings.Contains(string(terms), `"values":["demo-seed"]`) || spec["persistentVolumeReclaimPolicy"] != "Retain" || size != "1Gi" {
				t.Errorf("%s: %v, %s (%v)", o.GetName(), spec, terms, err)
			}
			folders[o.GetName()] = claim + " " + path
		case "PersistentVolumeClaim":
			if class, given := spec["storageClassName"]; class != "" || !given || size != "1Gi" {
				t.Errorf("the claim %s: %v", o.GetName(), spec)
			}
			claims[o.GetName()], _ = spec["volumeName"].(string)
		case "Deployment":
			if text, err := json.Marshal(o.Object); err != nil || o.GetName() == Prometheus && !strings.Contains(string(text), "retention.size=17408MB") {
				t.Errorf("%s (%v)", text, err)
			}
		}
	}
	for _, name := range []string{Prometheus, Alertmanager, Loki} {
		if folders[claims[name]] != name+" /data/monitoring/"+name {
			t.Errorf("%s has the volume %q of %q", name, claims[name], folders)
		}
	}
	if paths := s.Paths(); !slices.Equal(paths, []string{"/data/monitoring/prometheus", "/data/monitoring/alertmanager", "/data/monitoring/loki"}) {
		t.Errorf("folders %q", paths)
	}
	s.Logs = nil
	if paths := s.Paths(); len(paths) != 2 {
		t.Errorf("folders without logs: %q", paths)
	}
}

// TestWithoutFoldersThereAreVolumes of the cloud, which only a storage class makes.
func TestWithoutFoldersThereAreVolumes(t *testing.T) {
	t.Parallel()
	s := onSeed()
	s.Folders = nil
	all, err := Objects(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		class, given, _ := unstructured.NestedString(o.Object, "spec", "storageClassName")
		if o.GetKind() == "PersistentVolume" || o.GetKind() == "PersistentVolumeClaim" && given {
			t.Errorf("%s %s, class %q", o.GetKind(), o.GetName(), class)
		}
	}
	if paths := s.Paths(); paths != nil {
		t.Errorf("folders %q", paths)
	}
}

// TestASeedHasNoAlertsOfManyNodes, but all others.
func TestASeedHasNoAlertsOfManyNodes(t *testing.T) {
	t.Parallel()
	alerts := func(s Settings) (names []string) {
		all, err := Objects(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range all {
			if o.GetKind() != "ConfigMap" || o.GetName() != Prometheus {
				continue
			}
			files, _, _ := unstructured.NestedStringMap(o.Object, "data")
			for line := range strings.Lines(files["slipway.rules.yaml"] + files["platform.rules.yaml"]) {
				if _, name, found := strings.Cut(line, "alert: "); found {
					names = append(names, strings.TrimSpace(name))
				}
			}
		}
		slices.Sort(names)
		return names
	}
	s := onSeed()
	left := alerts(s)
	s.Folders = nil
	want := slices.DeleteFunc(alerts(s), func(name string) bool { return slices.Contains(manyNodes(), name) })
	if !slices.Equal(left, want) || len(left) < 20 || slices.Contains(left, "EtcdQuorumAtRisk") || !slices.Contains(left, "NodeDiskFull") {
		t.Errorf("a seed has %q, want %q", left, want)
	}
}

// TestSettingsOfFoldersAreWhole: half of them would be a volume that is nowhere.
func TestSettingsOfFoldersAreWhole(t *testing.T) {
	t.Parallel()
	for path, whole := range map[string]bool{"/data": true, "": false} {
		s := onSeed()
		s.Folders.Path = path
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if read, err := ParseSettings(text); (err == nil) != whole || whole && read.Folders.Node != "demo-seed" {
			t.Errorf("path %q: %v", path, err)
		}
	}
}

// TestFoldersAreClaimedAgain after somebody deleted the claims, but not while one has them.
func TestFoldersAreClaimedAgain(t *testing.T) {
	t.Parallel()
	for phase, stays := range map[corev1.PersistentVolumePhase]bool{corev1.VolumeReleased: false, corev1.VolumeBound: true} {
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "slipway-monitoring-prometheus"}, Status: corev1.PersistentVolumeStatus{Phase: phase}}
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: Namespace, Name: Prometheus, UID: "a"}
		on := &kube.Cluster{Typed: fake.NewClientset(volume)}
		if err := giveBack(t.Context(), on, onSeed().Volumes()); err != nil {
			t.Fatal(err)
		}
		now, err := on.Typed.CoreV1().PersistentVolumes().Get(t.Context(), volume.Name, metav1.GetOptions{})
		if err != nil || (now.Spec.ClaimRef.UID == "a") != stays || now.Spec.ClaimRef.Name != Prometheus {
			t.Errorf("%s: claimed by %+v (%v)", phase, now.Spec.ClaimRef, err)
		}
	}
}
