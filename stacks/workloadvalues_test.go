package stacks

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
)

// TestValuesOfClusters are what the environment knows of cloud and site, and
// nothing of what the management cluster is itself.
//
// proves: S-27
func TestValuesOfClusters(t *testing.T) {
	t.Parallel()
	nothing := map[string]string{"clouds": "null", "machineMetadata": "null", "kubeNetwork": "null", "nodeGroups": "null", "etcd": "null",
		"controlPlane.machineCount": "null", "controlPlane.nodeTaints": "null", "clusterNetworking.internalNetwork": "null", "apiServer.allowedCIDRs": "null", "tags": "null"}
	for name, test := range map[string]struct {
		spec   string
		change func(*Environment)
		want   map[string]string
	}{
		"defaults": {"managementCluster: {}", nil, map[string]string{
			"kubernetesVersion": "1.34.4", "machineImageId": "image", "machineSSHKeyName": "pair", "osDistro": "debian", "controlPlane.machineFlavor": "medium",
			"nodeGroupDefaults.machineFlavor": "medium", "clusterNetworking.externalNetworkId": "ext", "clusterNetworking.dnsNameservers": "null",
			"apiServer.associateFloatingIP": "true", "addons.cni.type": "flannel", "proxy": "null"}},
		"workers like workers": {"managementCluster: {controlPlane: {rootVolume: {sizeGiB: 50}}, nodeGroups: [{name: md-0, rootVolume: {sizeGiB: 60, type: ssd}}, {name: md-1}]}", nil, map[string]string{
			"controlPlane.machineRootVolume.diskSize": "50", "nodeGroupDefaults.machineFlavor": "worker", "nodeGroupDefaults.machineRootVolume": "diskSize: 60\nvolumeType: ssd"}},
		"config drives": {"managementCluster: {}, configDrive: true", nil, map[string]string{"controlPlane.machineConfigDrive": "true", "nodeGroupDefaults.machineConfigDrive": "true"}},
		"name servers and tags": {"managementCluster: {}, tags: [team-a], seed: {network: {dnsNameservers: [192.0.2.1, 192.0.2.2]}}", nil, map[string]string{
			"clusterNetworking.dnsNameservers": "- 192.0.2.1\n- 192.0.2.2", "tags": "- team-a"}},
		"inside, with OVN": {"managementCluster: {apiServer: {floatingIP: false, allowedCIDRs: [198.51.100.0/24]}}", func(e *Environment) { e.Choices.LoadBalancerProvider = "ovn" },
			map[string]string{"apiServer.associateFloatingIP": "false", "apiServer.loadBalancerProvider": "ovn"}},
		"values of the management cluster": {"managementCluster: {values: {machineImage: mine, controlPlane: {machineCount: 5}, addons: {cni: {type: cilium}}, kubeletServingCertificates: {enabled: true}}}", nil, map[string]string{
			"machineImage": "mine", "addons.cni.type": "cilium", "kubeletServingCertificates.enabled": "true"}},
		"site": {"managementCluster: {}, proxy: {httpProxy: 'http://p:1'}", func(e *Environment) {
			e.Equipment.Cloud.Authority, e.Equipment.Authorities, e.Equipment.ControllersImage = "PEM", []string{"PEM"}, "corp:5000/slipway:v1.2"
		}, map[string]string{"cloudCACert": "PEM", "trustedCAs.slipway-0": "PEM", "proxy.httpProxy": "http://p:1", "addons.etcdDefrag.image.tag": "v1.2"}},
	} {
		e := managed(t, test.spec)
		if test.change != nil {
			test.change(&e)
		}
		var management map[string]any // as the state has them
		text, err := json.Marshal(e.Values(made()))
		if err == nil {
			err = json.Unmarshal(text, &management)
		}
		if err != nil {
			t.Fatal(err)
		}
		values := WorkloadValues(e.Config, management)
		wanted := maps.Clone(nothing)
		maps.Copy(wanted, test.want)
		for path, want := range wanted {
			if got := lookUp(t, values, path); got != want {
				t.Errorf("%s: %s is %q, want %q", name, path, got, want)
			}
		}
		values["cloudCredentialsSecretName"] = "secret"
		if err := openstackcluster.Check(values); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := openstackcluster.Render(openstackcluster.Release{Name: "c1", Values: values}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
