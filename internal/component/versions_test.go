package component

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
)

func TestVersionsThatDoNotGoTogetherAreRefused(t *testing.T) {
	t.Parallel()
	// proves: S-23
	tests := map[string]struct {
		set  map[string]string
		want []string // one for each error; none means accepted
	}{
		"the defaults":                 {nil, nil},
		"patch releases":               {map[string]string{"capo": "v0.14.3", "cluster-api": "v1.12.9", "kubernetes": "v1.34.9"}, nil},
		"CAPO without its ORC":         {map[string]string{"orc": "v1.0.0"}, []string{"capo v0.14.2 with orc v1.0.0"}},
		"an older contract":            {map[string]string{"cluster-api": "v1.10.4"}, []string{"capo v0.14.2 with cluster-api v1.10.4", "cluster-api v1.10.4 with kubernetes v1.34.4", "k3s v1.34.1+k3s1 with cluster-api v1.10.4"}},
		"an old CAPO with a new core":  {map[string]string{"capo": "v0.12.5"}, []string{"capo v0.12.5 with cluster-api v1.12.3"}},
		"a provider of another minor":  {map[string]string{"cloud-provider-openstack": "v1.33.1"}, []string{"cloud-provider-openstack v1.33.1 with kubernetes v1.34.4"}},
		"etcd that kubeadm cannot run": {map[string]string{"etcd": "v3.5.21"}, []string{"etcd v3.5.21 with kubernetes v1.34.4"}},
		"all mistakes at once":         {map[string]string{"capi": "v1.12.3", "capo": "latest", "orc": "v1.0.0"}, []string{"part capi: unknown", `"latest" is no version`, "orc v1.0.0"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := DefaultVersions().With(test.set)
			got := fault.All(err)
			if len(got) != len(test.want) {
				t.Fatalf("errors %v, want %v", got, test.want)
			}
			for i, want := range test.want {
				if !strings.Contains(got[i].Error(), want) || fault.Remedy(got[i]) == "" || fault.ExitCode(got[i]) != fault.ExitUsage {
					t.Errorf("error %q with fix %q, want %q", got[i], fault.Remedy(got[i]), want)
				}
			}
		})
	}
}

func TestVersionsReachEveryComponent(t *testing.T) {
	t.Parallel()
	// proves: S-23
	set := map[string]string{"kubernetes": "v1.34.7", "cloud-provider-openstack": "v1.34.9", "capo": "v0.14.5", "etcd": "v3.6.6"}
	versions, err := DefaultVersions().With(set)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"kubelet": "v1.34.7", "kube-proxy": "registry.k8s.io/kube-proxy:v1.34.7", "etcd": "registry.k8s.io/etcd:3.6.6-0", "cinder-csi-plugin": "v1.34.9",
		"capi-openstack-controller": "v0.14.5", "infrastructure-openstack-components": "providers/infrastructure-openstack/v0.14.5/infrastructure-components.yaml",
		"cluster-api-controller": ClusterAPIVersion,
	}
	for _, c := range AllOf(versions) {
		if text, ok := want[c.Name]; ok && !strings.Contains(c.Version+" "+c.Ref+" "+c.Path, text) {
			t.Errorf("%+v, want %s", c, text)
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("no such components: %v", want)
	}
}

func TestVersionsInABundle(t *testing.T) {
	t.Parallel()
	bill := bundle.NewBill("linux/amd64")
	bill.Set(bundle.Item{Name: "infrastructure-openstack-components", Version: "v0.14.9"})
	if got := VersionsIn(bill); got.CAPO != "v0.14.9" || got.ClusterAPI != ClusterAPIVersion {
		t.Errorf("CAPO %s, Cluster API %s", got.CAPO, got.ClusterAPI)
	}
}
