package stacks

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// managed is an environment with the given spec as YAML in flow style.
func managed(t *testing.T, spec string) Environment {
	t.Helper()
	text := "apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: prod}\nspec: {" + spec + "}\n"
	loaded, err := config.Parse(config.Source{Name: "slipway.yaml", Text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{}
	for _, g := range loaded.Environment.Spec.ManagementCluster.NodeGroups {
		groups[g.Name] = "worker"
	}
	return Environment{Config: loaded.Environment,
		Choices: preflight.Choices{ExternalNetworkID: "ext", LoadBalancerProvider: "amphora",
			Management: &preflight.ManagementChoices{ControlPlaneFlavor: "medium", NodeGroupFlavors: groups}},
		Equipment: Equipment{Versions: component.Versions{Kubernetes: "v1.34.4"}, Cloud: Cloud{AuthURL: "https://c/v3", Region: "R", Interface: "public", ProjectID: "p"}}}
}

func made() Made {
	return Made{ImageID: "image", KeyPair: "pair", NetworkID: "net", SubnetID: "sub", CredentialID: "id", CredentialSecret: "secret", SeedAddress: "203.0.113.7", RouterAddress: "203.0.113.9", NetworkMTU: 1442}
}

// lookUp is the value at a path of the values, as one line of YAML.
func lookUp(t *testing.T, values map[string]any, path string) string {
	t.Helper()
	var at any = values
	for _, key := range strings.Split(path, ".") {
		switch tree := at.(type) {
		case map[string]any:
			at = tree[key]
		case []any:
			if len(tree) == 0 {
				return "[]"
			}
			at = tree[0].(map[string]any)[key]
		default:
			at = nil
		}
	}
	text, err := yaml.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// proves: S-50, S-58
func TestValuesOfTheManagementCluster(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec   string
		change func(*Environment)
		want   map[string]string
	}{
		"defaults": {"managementCluster: {}", nil, map[string]string{
			"kubernetesVersion": "1.34.4", "machineImageId": "image", "machineSSHKeyName": "pair", "controlPlane.machineCount": "3", "controlPlane.machineFlavor": "medium",
			"controlPlane.nodeTaints": "[]", "nodeGroups": "[]", "clusterNetworking.internalNetwork.networkFilter.id": "net", "clusterNetworking.internalNetwork.subnetFilter.id": "sub",
			"clusterNetworking.internalNetwork.mtu": "1442", "clusterNetworking.externalNetworkId": "ext", "apiServer.associateFloatingIP": "true", "apiServer.loadBalancerProvider": "null", "addons.cni.type": "flannel",
			"clouds.openstack.auth.application_credential_id": "id", "clouds.openstack.auth.project_id": "p", "clouds.openstack.region_name": "R", "clouds.openstack.verify": "null", "etcd": "null"}},
		"workers": {"managementCluster: {nodeGroups: [{name: md-0, count: 2, labels: {a: b}, availabilityZone: z1}]}", nil, map[string]string{
			"controlPlane.nodeTaints": "null", "nodeGroups.machineCount": "2", "nodeGroups.machineFlavor": "worker", "nodeGroups.nodeLabels.a": "b", "nodeGroups.failureDomain": "z1"}},
		"groups of none run nothing": {"managementCluster: {nodeGroups: [{name: md-0, count: 0}]}", nil, map[string]string{"controlPlane.nodeTaints": "[]", "nodeGroups.machineCount": "0"}},
		"volumes": {"managementCluster: {controlPlane: {rootVolume: {sizeGiB: 50, type: ssd}, etcdVolume: {sizeGiB: 20}}}", nil, map[string]string{
			"controlPlane.machineRootVolume.diskSize": "50", "controlPlane.machineRootVolume.volumeType": "ssd", "etcd.blockDevice.size": "20"}},
		"config drives": {"managementCluster: {nodeGroups: [{name: md-0}]}, configDrive: true", nil, map[string]string{
			"controlPlane.machineConfigDrive": "true", "nodeGroupDefaults.machineConfigDrive": "true", "nodeGroupDefaults.rolloutStrategy.rollingUpdate.maxSurge": "1"}},
		"config drives of the workers": {"managementCluster: {values: {controlPlane: {machineConfigDrive: false}}}, configDrive: true", nil, map[string]string{
			"controlPlane.machineConfigDrive": "false", "nodeGroupDefaults.machineConfigDrive": "true"}},
		"no config drives": {"managementCluster: {}", nil, map[string]string{"controlPlane.machineConfigDrive": "null", "nodeGroupDefaults.machineConfigDrive": "null"}},
		"zones":            {"managementCluster: {controlPlane: {availabilityZones: [a, b]}}", nil, map[string]string{"controlPlane.omitFailureDomain": "false", "controlPlane.failureDomains": "- a\n- b"}},
		"no floating IP":   {"managementCluster: {apiServer: {floatingIP: false}}", nil, map[string]string{"apiServer.associateFloatingIP": "false", "apiServer.enableLoadBalancer": "true"}},
		"OVN":              {"managementCluster: {}", func(e *Environment) { e.Choices.LoadBalancerProvider = "ovn" }, map[string]string{"apiServer.loadBalancerProvider": "ovn"}},
		"allowed":          {"managementCluster: {apiServer: {allowedCIDRs: [198.51.100.0/24]}}", nil, map[string]string{"apiServer.allowedCIDRs": "- 198.51.100.0/24\n- 192.168.100.0/24\n- 203.0.113.7/32\n- 203.0.113.9/32"}},
		"values win":       {"managementCluster: {values: {controlPlane: {machineCount: 5}, addons: {cni: {type: cilium}}}}", nil, map[string]string{"controlPlane.machineCount": "5", "controlPlane.machineFlavor": "medium", "addons.cni.type": "cilium"}},
		"etcd by the image of the nodes": {"managementCluster: {}", func(e *Environment) { e.Equipment.ControllersImage = "corp:5000/slipway:v1.2" }, map[string]string{
			"addons.etcdDefrag.image.repository": "corp:5000/slipway", "addons.etcdDefrag.image.tag": "v1.2", "addons.cni.type": "flannel"}},
		"own version":   {"managementCluster: {kubernetesVersion: v1.33.1}", nil, map[string]string{"kubernetesVersion": "1.33.1"}},
		"private cloud": {"managementCluster: {}", func(e *Environment) { e.Equipment.Cloud.Authority, e.Equipment.Authorities = "PEM", []string{"PEM"} }, map[string]string{"cloudCACert": "PEM", "trustedCAs.slipway-0": "PEM"}},
		"unverified":    {"managementCluster: {}", func(e *Environment) { e.Equipment.Cloud.Insecure = true }, map[string]string{"clouds.openstack.verify": "false"}},
		"proxy":         {"managementCluster: {}, proxy: {httpProxy: 'http://p:1', noProxy: [.c]}", nil, map[string]string{"proxy.httpProxy": "http://p:1", "proxy.noProxy": "- .c\n- 192.168.100.0/24"}},
		"registry": {"managementCluster: {}", func(e *Environment) {
			e.Equipment.Registries = map[string]seed.Registry{"docker.io": {Mirrors: []string{"https://m"}, Username: "u", Password: "w"}}
		}, map[string]string{"registryAuth": "docker.io:\n  password: w\n  username: u", "registryMirrors": "docker.io:\n  mirrors:\n  - overridePath: false\n    url: https://m"}},
		"registry of an own authority": {"managementCluster: {}", func(e *Environment) {
			e.Equipment.Registries = map[string]seed.Registry{"docker.io": {Mirrors: []string{"https://corp:5000/v2/hub"}}, "corp:5000": {Authority: "PEM"}}
		}, map[string]string{"registryMirrors": "corp:5000:\n  ca: PEM\n  mirrors: []\ndocker.io:\n  mirrors:\n  - ca: PEM\n    overridePath: true\n    url: https://corp:5000/v2/hub"}},
	} {
		e := managed(t, test.spec)
		if test.change != nil {
			test.change(&e)
		}
		values := e.Values(made())
		for path, want := range test.want {
			if got := lookUp(t, values, path); got != want {
				t.Errorf("%s: %s is %q, want %q", name, path, got, want)
			}
		}
		// Every key is one that the chart knows, and the chart makes objects of it.
		if err := openstackcluster.Check(values); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := openstackcluster.Render(openstackcluster.Release{Name: "prod", Values: values}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValuesLeaveTheEnvironmentAlone(t *testing.T) {
	t.Parallel()
	e := managed(t, "managementCluster: {values: {controlPlane: {machineMetadata: {a: b}}}}")
	e.Values(made())
	if got := len(e.Config.Spec.ManagementCluster.Values["controlPlane"].(map[string]any)); got != 1 {
		t.Errorf("the environment's own values have %d keys now", got)
	}
}

func TestMisspeltValuesAreToldWithTheirPaths(t *testing.T) {
	t.Parallel()
	e := managed(t, "managementCluster: {values: {controlPlane: {machineCuont: 5}}}")
	e.Equipment.Chart = "own"
	err := e.CheckValues()
	if err == nil || !strings.Contains(err.Error(), "spec.managementCluster.values.controlPlane.machineCuont") {
		t.Errorf("told %v", err)
	}
}

// The seed logs in to nodes, and nobody else does; without a seed server nobody does.
func TestNodesLetTheSeedIn(t *testing.T) {
	t.Parallel()
	e := managed(t, "managementCluster: {}")
	none := e.Values(made())
	if got := lookUp(t, none, "clusterNetworking.allNodesSecurityGroupRules"); got != "null" {
		t.Errorf("without a seed: %s", got)
	}
	with := made()
	with.SeedGroupID = "group"
	for key, want := range map[string]string{"remoteGroupID": "group", "portRangeMin": "22", "portRangeMax": "22", "direction": "ingress", "remoteIPPrefix": "null"} {
		if got := lookUp(t, e.Values(with), "clusterNetworking.allNodesSecurityGroupRules."+key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

// Rules of the operator are beside the seed's, which a list of values would replace.
func TestRulesOfTheOperatorKeepTheSeedsRule(t *testing.T) {
	t.Parallel()
	e := managed(t, "managementCluster: {values: {clusterNetworking: {allNodesSecurityGroupRules: [{name: bgp, direction: ingress, protocol: tcp, portRangeMin: 179, portRangeMax: 179}]}}}")
	with := made()
	with.SeedGroupID = "group"
	for range 2 { // the environment's own values stay as they are
		rules := e.Values(with)["clusterNetworking"].(map[string]any)["allNodesSecurityGroupRules"].([]any)
		if len(rules) != 2 || rules[0].(map[string]any)["name"] != "bgp" || rules[1].(map[string]any)["remoteGroupID"] != "group" {
			t.Errorf("rules: %v", rules)
		}
	}
}
