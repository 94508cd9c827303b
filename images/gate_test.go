package images

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

func TestGateNamesTheProperty(t *testing.T) {
	t.Parallel()
	good := func(change func(*Record)) Record {
		r := Record{ID: "id", Name: "node", Status: "active", DiskFormat: "qcow2", MinDisk: 20, MinRAM: 1024,
			Properties: map[string]string{"os_distro": "ubuntu", "kube_version": "v1.34.2", "kubernetes_version": "1.34.2"}}
		change(&r)
		return r
	}
	want := Wanted{KubernetesVersion: "1.34.2", Distro: "ubuntu", Format: "qcow2", RootDisk: 20, RAM: 2048}
	for name, test := range map[string]struct {
		change func(*Record)
		want   []string
	}{
		"good":               {func(*Record) {}, nil},
		"suffix":             {func(r *Record) { r.Properties["kube_version"] = "v1.34.2" }, nil},
		"queued":             {func(r *Record) { r.Status = "queued" }, []string{"status"}},
		"no distro":          {func(r *Record) { delete(r.Properties, "os_distro") }, []string{"os_distro"}},
		"other distro":       {func(r *Record) { r.Properties["os_distro"] = "flatcar" }, []string{"os_distro"}},
		"no version":         {func(r *Record) { delete(r.Properties, "kube_version") }, []string{"kube_version"}},
		"other version":      {func(r *Record) { r.Properties["kube_version"] = "1.33.1" }, []string{"kube_version", "kubernetes_version"}},
		"versions disagree":  {func(r *Record) { r.Properties["kubernetes_version"] = "1.33.1" }, []string{"kubernetes_version"}},
		"format":             {func(r *Record) { r.DiskFormat = "raw" }, []string{"disk_format"}},
		"disk too small":     {func(r *Record) { r.MinDisk = 30 }, []string{"min_disk"}},
		"memory too small":   {func(r *Record) { r.MinRAM = 4096 }, []string{"min_ram"}},
		"everything at once": {func(r *Record) { r.Status, r.Properties = "killed", nil }, []string{"status", "os_distro", "kube_version"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := fault.All(Gate(good(test.change), want))
			if len(faults) != len(test.want) {
				t.Fatalf("faults %v", faults)
			}
			for n, property := range test.want {
				if !strings.Contains(faults[n].Error(), "node (id): "+property+": ") || fault.Remedy(faults[n]) == "" {
					t.Errorf("fault %q, remedy %q", faults[n], fault.Remedy(faults[n]))
				}
			}
		})
	}
}

func TestKubernetesVersionAsTheDriverReadsIt(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"v1.34.2": "1.34.2", "1.34.2": "1.34.2", "v1.34.2 ": "1.34.2", "": ""} {
		if got := KubernetesVersion(Record{Properties: map[string]string{"kube_version": value}}); got != want {
			t.Errorf("%q is read as %q", value, got)
		}
	}
}

// proves: S-32
func TestRootVolume(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ flavorDisk, ramGiB, minDisk, want int }{
		{0, 4, 20, 20}, {0, 8, 20, 25}, {0, 8, 0, 25}, {0, 512, 20, 125}, {0, 4, 130, 130}, {0, 1, 23, 25}, {0, 2, 22, 25}, {0, 2, 24, 25}, {0, 1, 4, 5}, {20, 4, 20, 0}, {100, 4, 20, 0},
	} {
		if got, err := RootVolume("f", test.flavorDisk, test.ramGiB*1024, test.minDisk); err != nil || got != test.want {
			t.Errorf("%+v: %d GiB (%v)", test, got, err)
		}
	}
	if _, err := RootVolume("small", 10, 4096, 20); err == nil || fault.Remedy(err) == "" {
		t.Errorf("a flavor that is too small: %v", err)
	}
	if _, err := RootVolume("odd", 0, 0, 20); err == nil {
		t.Error("a flavor without memory")
	}
}
