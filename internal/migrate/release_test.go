package migrate

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/config"
)

// released are values as azimuth-ops gives them to a management cluster.
const released = `
kubernetesVersion: 1.31.4
machineImageId: 5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1
machineSSHKeyName: capi-mgmt-prod-seed-deploy
clouds: {openstack: {auth: {application_credential_secret: hush}}}
clusterNetworking:
  externalNetworkId: aa0a1f3c-7b64-4a3c-8e60-0a6a3d6c1c11
  internalNetwork: {networkFilter: {id: bb0a1f3c-7b64-4a3c-8e60-0a6a3d6c1c22}}
  workerNodesSecurityGroupRules: [{name: a}]
kubeNetwork: {pods: {cidrBlocks: [172.16.0.0/13]}, services: {cidrBlocks: [172.24.0.0/13]}}
apiServer: {enableLoadBalancer: true, associateFloatingIP: false, loadBalancerProvider: ovn}
controlPlane: {machineCount: 3, machineFlavor: m1.medium, omitFailureDomain: true, machineRootVolume: {diskSize: 60, volumeType: fast}}
etcd: {blockDevice: {size: 20, volumeType: fast}}
nodeGroupDefaults: {machineFlavor: m1.large, failureDomain: null}
nodeGroups: [{name: md-0, machineCount: 3}, {name: big, machineCount: 1, machineFlavor: m1.huge, autoscale: false}]
trustedCAs: {corp: "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"}
addons: {cni: {type: calico}, monitoring: {enabled: true}, custom: {}}
registryAuth: {registry.example: {username: u, password: pass}}
`

// TestRelease: what the file has settings for becomes those, the rest stays a value of the
// chart, and secrets stay where they are.
func TestRelease(t *testing.T) {
	t.Parallel()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(released), &values); err != nil {
		t.Fatal(err)
	}
	r, err := Release("capi-mgmt-prod", values)
	if err != nil {
		t.Fatal(err)
	}
	text := r.Files[config.DefaultFile]
	var file struct {
		Metadata struct{ Name string }
		Spec     map[string]any
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil || file.Metadata.Name != "capi-mgmt-prod" {
		t.Fatalf("%s %v", text, err)
	}
	for path, want := range map[string]any{
		"externalNetwork": "aa0a1f3c-7b64-4a3c-8e60-0a6a3d6c1c11", "seed.network.existing": "bb0a1f3c-7b64-4a3c-8e60-0a6a3d6c1c22", "seed.ssh.keyPair": "capi-mgmt-prod-seed-deploy",
		"managementCluster.kubernetesVersion": "v1.31.4", "managementCluster.image": "5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1",
		"managementCluster.podCIDR": "172.16.0.0/13", "managementCluster.serviceCIDR": "172.24.0.0/13", "managementCluster.cni": "calico",
		"managementCluster.apiServer.floatingIP": false, "managementCluster.apiServer.loadBalancerProvider": "ovn", "managementCluster.values.apiServer.enableLoadBalancer": true,
		"managementCluster.controlPlane.count": 3.0, "managementCluster.controlPlane.flavor": "m1.medium", "managementCluster.controlPlane.rootVolume.sizeGiB": 60.0,
		"managementCluster.controlPlane.etcdVolume.sizeGiB": 20.0, "managementCluster.values.controlPlane.omitFailureDomain": true,
		"managementCluster.values.addons.monitoring.enabled": true, "caBundle": "trust.pem",
	} {
		if got, _ := cut(clone(file.Spec), path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	groups, _ := cut(clone(file.Spec), "managementCluster.nodeGroups")
	if list, _ := groups.([]any); len(list) != 2 || list[0].(map[string]any)["flavor"] != "m1.large" || list[1].(map[string]any)["flavor"] != "m1.huge" || list[0].(map[string]any)["count"] != 3.0 {
		t.Errorf("groups %v", groups)
	}
	for _, secret := range []string{"hush", "pass", "registryAuth", "clouds"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q in %s", secret, text)
		}
	}
	for setting, level := range map[string]Level{"clouds": Secret, "registryAuth": Secret, "nodeGroups[1].autoscale": Changed, "clusterNetworking": Changed, "kubernetesVersion": Converted} {
		if !slices.ContainsFunc(r.Notes, func(n Note) bool { return n.Setting == setting && n.Level == level }) {
			t.Errorf("%s is not told as %s: %+v", setting, level, r.Notes)
		}
	}
	if !strings.Contains(r.Files["trust.pem"], "BEGIN CERTIFICATE") {
		t.Error("no authorities")
	}
	if _, err := Release("a-name-that-is-longer-than-thirty-characters", values); err == nil || !strings.Contains(err.Error(), "longer than the 30 characters") {
		t.Error(err)
	}
}
