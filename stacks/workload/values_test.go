package workload

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
)

// environment are values as an environment has them for clusters.
const environment = `
kubernetesVersion: 1.34.4
machineImageId: 5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1
machineSSHKeyName: prod-key-pair
clusterNetworking: {externalNetworkId: 0a8c2f0e-4b7e-4d65-9d0b-6d6f3f2f8a11, dnsNameservers: [192.0.2.53]}
controlPlane: {machineFlavor: m1.medium}
nodeGroupDefaults: {machineFlavor: m1.large}
addons: {cni: {type: flannel}}
`

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

func wanted(t *testing.T, name, user string) Wanted {
	t.Helper()
	return Wanted{Name: name, Values: parse(t, user), Defaults: parse(t, environment), Wait: WaitNone}
}

// proves: S-27
func TestValuesOfTheUserAreOverThoseOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		user string
		want map[string]string
		own  bool
	}{
		"nothing": {"", map[string]string{"kubernetesVersion": "1.34.4", "controlPlane": "machineFlavor: m1.medium", "cloudCredentialsSecretName": "c1-application-credential"}, true},
		"another flavor": {"controlPlane: {machineFlavor: big, machineCount: 1}", map[string]string{"controlPlane": "machineCount: 1\nmachineFlavor: big",
			"clusterNetworking": "dnsNameservers:\n- 192.0.2.53\nexternalNetworkId: 0a8c2f0e-4b7e-4d65-9d0b-6d6f3f2f8a11"}, true},
		"null takes away":  {"machineSSHKeyName: null", map[string]string{"machineSSHKeyName": "null"}, true},
		"an image by name": {"machineImage: mine\nkubernetesVersion: v1.33.1", map[string]string{"machineImage": "mine", "machineImageId": "null", "kubernetesVersion": "v1.33.1"}, true},
		"the same version": {"kubernetesVersion: v1.34.4", map[string]string{"machineImageId": "5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1"}, true},
		"a Secret":         {"cloudCredentialsSecretName: mine", map[string]string{"cloudCredentialsSecretName": "mine"}, false},
		"a clouds.yaml":    {"clouds: {openstack: {auth: {auth_url: 'https://c'}}}", map[string]string{"cloudCredentialsSecretName": "null"}, false},
	} {
		w := wanted(t, "c1", test.user)
		values, own, err := w.values(Key{Namespace: "c1", Name: "c1"})
		if err != nil || own != test.own {
			t.Errorf("%s: own credential %t, %v", name, own, err)
		}
		for key, want := range test.want {
			text, err := yaml.Marshal(values[key])
			if got := strings.TrimSpace(string(text)); err != nil || got != want {
				t.Errorf("%s: %s is %q, want %q", name, key, got, want)
			}
		}
		if text, _ := yaml.Marshal(w.Defaults); string(text) != remarshalled(t, environment) {
			t.Errorf("%s: the environment's values were changed:\n%s", name, text)
		}
	}
}

func remarshalled(t *testing.T, text string) string {
	t.Helper()
	out, err := yaml.Marshal(parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestMistakesInValuesAreToldAllAtOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		user    string
		objects []string
		told    string
	}{
		"keys and types":      {"controlPlane: {machineCuont: 3}\nnodeGroups: [{name: md-0, machineCount: many}]\nfoo: 1", []string{"controlPlane.machineCuont", "foo", "nodeGroups[0].machineCount"}, "unknown key"},
		"what the chart says": {"nodeGroups: [{name: md-0, machineCount: 1}, {name: md-0, machineCount: 1}]", []string{"values of cluster c1/c1"}, `nodeGroups: "md-0" is there twice`},
		"no flavor":           {"controlPlane: {machineFlavor: null}", []string{"values of cluster c1/c1"}, "controlPlane.machineFlavor is required"},
		"versions of groups": {"controlPlane: {kubernetesVersion: 1.34.1}\nnodeGroups: [{name: new, machineCount: 1, kubernetesVersion: v1.35.0}, {name: like, machineCount: 1}, {name: former, machineCount: 1, kubernetesVersion: 1.31.9}, {name: old, machineCount: 1, kubernetesVersion: 1.30.9}]",
			[]string{"nodeGroups[0].kubernetesVersion", "nodeGroups[3].kubernetesVersion"}, "nodes of version 1.35.0 do not fit a control plane of version 1.34.1"},
		"another version": {"kubernetesVersion: 1.33.1", []string{"kubernetesVersion"}, "it is 1.33.1, but the environment's node image has 1.34.4"},
	} {
		_, _, err := wanted(t, "c1", test.user).values(Key{Namespace: "c1", Name: "c1"})
		var objects []string
		for _, one := range fault.All(err) {
			var f *fault.Fault
			if !errors.As(one, &f) || f.Remedy == "" {
				t.Errorf("%s: %v has no remedy", name, one)
				continue
			}
			objects = append(objects, f.Object)
		}
		if strings.Join(objects, ", ") != strings.Join(test.objects, ", ") || !strings.Contains(err.Error(), test.told) || fault.ExitCode(err) != fault.ExitUsage {
			t.Errorf("%s: told of %q: %v (exit code %d)", name, objects, err, fault.ExitCode(err))
		}
		if err != nil && strings.Contains(err.Error(), "openstack-cluster/templates") {
			t.Errorf("%s: Helm's own words: %v", name, err)
		}
	}
}

func TestARunningClusterGoesToTheNextMinorVersionOnly(t *testing.T) {
	t.Parallel()
	for to, allowed := range map[string]bool{"1.34.4": true, "v1.34.9": true, "1.35.0": true, "1.36.0": false, "1.33.9": false} {
		err := checkUpgrade(clusterapi.Report{Version: "v1.34.2"}, map[string]any{"kubernetesVersion": to})
		if (err == nil) != allowed {
			t.Errorf("to %s: %v", to, err)
		}
	}
	if err := checkUpgrade(clusterapi.Report{}, map[string]any{"kubernetesVersion": "1.34.4"}); err != nil {
		t.Errorf("of one that is not up yet: %v", err)
	}
}

// proves: S-40
func TestARunningClusterKeepsItsNetworkPlugin(t *testing.T) {
	t.Parallel()
	const off, calico = "addons: {cni: {enabled: false}}", "addons: {cni: {type: calico}}"
	for name, c := range map[string]struct{ running, values, object string }{
		"the same":            {calico, calico, ""},
		"the default's name":  {"", calico, ""},
		"another":             {calico, "addons: {cni: {type: cilium}}", "addons.cni.type"},
		"another than before": {"", "addons: {cni: {type: flannel}}", "addons.cni.type"},
		"none":                {calico, off, "addons.cni.enabled"},
		"no addons at all":    {calico, "addons: {enabled: false}", "addons.cni.enabled"},
		"one after all":       {off, calico, ""},
		"another addon gone":  {"addons: {ingress: {enabled: true}}", "addons: {ingress: {enabled: false}}", ""},
	} {
		err := checkNetworkPlugin(parse(t, c.running), parse(t, c.values))
		var f *fault.Fault
		switch {
		case c.object == "" && err != nil, c.object != "" && err == nil:
			t.Errorf("%s: %v", name, err)
		case err != nil && (!errors.As(err, &f) || f.Object != c.object || f.Remedy == ""):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARunningClusterKeepsThePoliciesOfItsServerGroups(t *testing.T) {
	t.Parallel()
	kind := schema.GroupVersionResource{Group: "openstack.k-orc.cloud", Version: "v1alpha1", Resource: "servergroups"}
	there := &unstructured.Unstructured{Object: parse(t, "{apiVersion: openstack.k-orc.cloud/v1alpha1, kind: ServerGroup, metadata: {namespace: shops, name: c1-control-plane, labels: {cluster.x-k8s.io/cluster-name: c1}}, "+
		"spec: {resource: {name: k8s-shops-c1-control-plane, policy: anti-affinity}}}")}
	m := &Management{Kube: &kube.Cluster{Dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{kind: "ServerGroupList"}, there)}}
	for policy, refused := range map[string]bool{"anti-affinity": false, "soft-anti-affinity": true, "null": false} {
		err := m.checkServerGroups(t.Context(), Key{Namespace: "shops", Name: "c1"}, parse(t, "controlPlane: {serverGroup: {policy: "+policy+"}}"))
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "controlPlane.serverGroup.policy: server group k8s-shops-c1-control-plane has") {
			t.Errorf("%s: %v", policy, err)
		}
	}
}

func TestNamesOfClusters(t *testing.T) {
	t.Parallel()
	for name, allowed := range map[string]bool{"shop": true, "a-1": true, "": false, "1a": false, "Shop": false, "a.b": false, "a-": false, strings.Repeat("a", 53): true, strings.Repeat("a", 54): false} {
		if err := CheckName(name); (err == nil) != allowed {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The management cluster is refused by its name, wherever its objects are.
func TestTheManagementClusterIsNotDeleted(t *testing.T) {
	t.Parallel()
	m := &Management{Environment: "prod"}
	for _, namespace := range []string{"default", "prod"} {
		if _, err := m.MayDelete(t.Context(), Key{Namespace: namespace, Name: "prod"}); fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), "management cluster itself") {
			t.Errorf("in namespace %s: %v", namespace, err)
		}
	}
}
