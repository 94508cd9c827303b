package driver

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
)

// input is a cluster as Magnum's clients make it, with its default groups.
func input() Input {
	c := &v1alpha1.Cluster{}
	c.Name, c.Namespace = "shop-prod-k3v9x2m4q7zd", v1alpha1.Namespace("p1")
	c.Spec.Name, c.Spec.ProjectID, c.Spec.Keypair = "shop_prod", "p1", "ops"
	c.Spec.MasterFlavorID, c.Spec.FlavorID = "m1.medium", "m1.large"
	c.Spec.Template = &v1alpha1.TemplateSnapshot{UUID: "t1", TemplateValues: v1alpha1.TemplateValues{
		COE: "kubernetes", ImageID: "ubuntu-kube", ExternalNetworkID: "public", DNSNameservers: []string{"192.0.2.53"},
		NetworkDriver: "calico", MasterLBEnabled: true, FloatingIPEnabled: true}}
	c.Spec.Resolved = &v1alpha1.ResolvedNames{ExternalNetworkID: "net-1", VolumeTypes: []string{"SSD_fast", "hdd"},
		Image: v1alpha1.ResolvedImage{ID: "image-1", OSDistro: "ubuntu", KubernetesVersion: "1.34.2"}}
	master, worker := group(c, v1alpha1.DefaultMaster, 3), group(c, v1alpha1.DefaultWorker, 2)
	master.Spec.Role = v1alpha1.RoleMaster
	master.Spec.IsDefault, worker.Spec.IsDefault = true, true
	return Input{Cluster: c, Groups: []*v1alpha1.NodeGroup{master, worker}, AuthURL: "https://keystone.example/v3"}
}

func group(c *v1alpha1.Cluster, name string, count int32) *v1alpha1.NodeGroup {
	g := &v1alpha1.NodeGroup{}
	g.Name, g.Namespace = v1alpha1.NodeGroupName(c, name), c.Namespace
	g.Spec.Name, g.Spec.ClusterName, g.Spec.Role, g.Spec.NodeCount = name, c.Name, v1alpha1.RoleWorker, count
	return g
}

// at is a value at a path, as JSON has it; "nodeGroups.0.name" reaches into lists.
func at(t *testing.T, values map[string]any, path string) any {
	t.Helper()
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	var found any
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Split(path, ".") {
		switch holder := found.(type) {
		case map[string]any:
			found = holder[key]
		case []any:
			found = holder[key[0]-'0']
		default:
			return nil
		}
	}
	return found
}

// TestValuesOfMagnumCAPIHelm is the mapping as a whole.
func TestValuesOfMagnumCAPIHelm(t *testing.T) {
	t.Parallel()
	out, err := Values(input())
	if err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(out.Values)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
	if len(out.Warnings) > 0 {
		t.Errorf("warnings: %v", out.Warnings)
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	const api = "controlPlane.kubeadmConfigSpec.clusterConfiguration.apiServer."
	const balancer = "addons.openstack.cloudConfig.LoadBalancer."
	const class = "addons.openstack.csiCinder.defaultStorageClass."
	tests := []struct {
		label, value, path string
		want               any
	}{
		{"auto_healing_enabled", "False", "controlPlane.healthCheck.enabled", false},
		{"auto_healing_enabled", "no", "nodeGroupDefaults.healthCheck.enabled", false},
		{"auto_healing_enabled", "perhaps", "nodeGroupDefaults.healthCheck.enabled", true},
		{"boot_volume_size", "40", "controlPlane.machineRootVolume.diskSize", 40.0},
		{"boot_volume_size", "40", "nodeGroupDefaults.machineRootVolume.diskSize", 40.0},
		{"boot_volume_size", "0", "nodeGroupDefaults.machineRootVolume.diskSize", nil},
		{"boot_volume_size", "-3", "nodeGroupDefaults.machineRootVolume.diskSize", nil},
		{"boot_volume_type", "ssd", "controlPlane.machineRootVolume.volumeType", "ssd"},
		{"boot_volume_availability_zone", "az1", "nodeGroupDefaults.machineRootVolume.availabilityZone", "az1"},
		{"etcd_blockdevice_size", "10", "etcd.blockDevice.size", 10.0},
		{"etcd_volume_size", "10", "etcd.blockDevice.type", "Volume"},
		{"monitoring_enabled", "true", "addons.monitoring.enabled", true},
		{"kube_dashboard_enabled", "true", "addons.headlamp.enabled", true},
		{"kube_dashboard_enabled", "false", "addons.kubernetesDashboard.enabled", false},
		{"keystone_auth_enabled", "true", "authWebhook", "k8s-keystone-auth"},
		{"keystone_auth_enabled", "true", "addons.openstack.k8sKeystoneAuth.values.openstackAuthUrl", "https://keystone.example/v3"},
		{"keystone_auth_enabled", "true", "addons.openstack.k8sKeystoneAuth.values.projectId", "p1"},
		{"keystone_auth_enabled", "false", "authWebhook", nil},
		{"csi_snapshots_enabled", "true", "addons.openstack.csiCinder.snapshots.enabled", true},
		{"csi_snapshots_enabled", "false", "addons.openstack.csiCinder.snapshots.enabled", false},
		{"csi_snapshotter_tag", "v1", "addons.openstack.csiCinder.snapshots.enabled", nil},
		{"kubelet_serving_certificates", "true", "kubeletServingCertificates.enabled", true},
		{"kubelet_serving_certificates", "perhaps", "kubeletServingCertificates.enabled", false},
		{"octavia_provider", "ovn", "apiServer.loadBalancerProvider", "ovn"},
		{"octavia_provider", "ovn", balancer + "lb-provider", "ovn"},
		{"octavia_provider", "ovn", balancer + "lb-method", "SOURCE_IP_PORT"},
		{"octavia_provider", "amphorav2", balancer + "lb-method", "ROUND_ROBIN"},
		{"octavia_lb_algorithm", "LEAST_CONNECTIONS", balancer + "lb-method", "LEAST_CONNECTIONS"},
		{"octavia_lb_healthcheck", "false", balancer + "create-monitor", false},
		{"master_lb_floating_ip_enabled", "false", "apiServer.associateFloatingIP", false},
		{"api_master_lb_allowed_cidrs", "10.0.0.0/8,2001:db8::/32", "apiServer.allowedCidrs", []any{"10.0.0.0/8", "2001:db8::/32"}},
		{"api_master_lb_allowed_cidrs", "10.0.0.0/8", "apiServer.allowedCIDRs", []any{"10.0.0.0/8"}},
		{"fixed_subnet_cidr", "10.9.0.0/24", "clusterNetworking.internalNetwork.nodeCidr", "10.9.0.0/24"},
		{"extra_network_names", "a b", "nodeGroupDefaults.machineNetworking.ports.2.network.name", "b"},
		{"extra_network_name", "a", "nodeGroupDefaults.machineNetworking.ports.0", map[string]any{}},
		{"csi_cinder_availability_zone", "az2", class + "availabilityZone", "az2"},
		{"csi_cinder_reclaim_policy", "Delete", class + "reclaimPolicy", "Delete"},
		{"csi_cinder_volume_binding_mode", "Immediate", class + "volumeBindingMode", "Immediate"},
		{"csi_cinder_fstype", "xfs", class + "fstype", "xfs"},
		{"csi_cinder_allow_volume_expansion", "false", "addons.openstack.csiCinder.additionalStorageClasses.0.allowVolumeExpansion", false},
		{"calico_ipv4pool", "10.100.0.0/16", "kubeNetwork.pods.cidrBlocks", []any{"10.100.0.0/16"}},
		{"service_cluster_ip_range", "10.254.0.0/16", "kubeNetwork.services.cidrBlocks", []any{"10.254.0.0/16"}},
		{"dns_cluster_domain", "k8s.local", "kubeNetwork.serviceDomain", "k8s.local"},
		{"audit_log_enabled", "true", api + "extraArgs.audit-log-maxage", "30"},
		{"audit_log_enabled", "true", "controlPlane.kubeadmConfigSpec.files.0.path", "/etc/kubernetes/audit/policy.yaml"},
		{"cinder_csi_enabled", "false", "addons.openstack.csiCinder.enabled", false},
		{"manila_csi_enabled", "true", "addons.openstack.csiManila.enabled", true},
		{"api_server_cert_sans", "a.example,b.example", api + "certSANs", []any{"a.example", "b.example"}},
		{"api_server_tls_cipher_suites", "TLS_A,TLS_B", api + "extraArgs.tls-cipher-suites", "TLS_A,TLS_B"},
		{"kubelet_tls_cipher_suites", "TLS_A", "nodeGroupDefaults.kubeadmConfigSpec.joinConfiguration.nodeRegistration.kubeletExtraArgs.tls-cipher-suites", "TLS_A"},
		{"admission_control_list", "AlwaysPullImages", api + "extraArgs.enable-admission-plugins", "NodeRestriction,AlwaysPullImages"},
		{"container_infra_prefix", "registry:5000/k8s/", "controlPlane.kubeadmConfigSpec.clusterConfiguration.imageRepository", "registry:5000/k8s"},
		{"api_server_floating_ip", "203.0.113.9", "apiServer.floatingIP", "203.0.113.9"},
		{"api_server_lb_flavor", "big", "apiServer.loadBalancer.flavor", "big"},
		{"api_server_lb_availability_zone", "az1", "apiServer.loadBalancer.availabilityZone", "az1"},
		{"availability_zone", "az1", "nodeGroupDefaults.failureDomain", "az1"},
		{"control_plane_availability_zones", "az1,az2", "controlPlane.failureDomains", []any{"az1", "az2"}},
		{"control_plane_availability_zones", "az1", "controlPlane.omitFailureDomain", false},
		{"server_group_policies", "soft-anti-affinity", "controlPlane.serverGroup.policy", "soft-anti-affinity"},
		{"server_group_policies", "anti-affinity", "nodeGroupDefaults.serverGroup.policy", "anti-affinity"},
		{"server_group_policies", "soft-anti-affinity,anti-affinity", "nodeGroupDefaults.serverGroup.policy", "soft-anti-affinity"},
		{"server_group_policies", "['soft-anti-affinity', 'anti-affinity']", "controlPlane.serverGroup.policy", "soft-anti-affinity"},
		{"server_group_policies", "[]", "controlPlane.serverGroup", nil},
		{"csi_cinder_fstype", "e;xt4", class + "fstype", "ext4"},
	}
	for _, test := range tests {
		t.Run(test.label+"="+test.value+" "+test.path, func(t *testing.T) {
			t.Parallel()
			in := input()
			in.Cluster.Spec.Labels = map[string]string{test.label: test.value}
			out, err := Values(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, at(t, out.Values, test.path)); diff != "" {
				t.Error(diff)
			}
			for _, warning := range out.Warnings {
				if strings.Contains(warning.Message, "unknown") {
					t.Errorf("unknown: %s", warning)
				}
			}
		})
	}
}

func TestOperatorsDefaults(t *testing.T) {
	t.Parallel()
	in := input()
	in.Defaults.Labels = map[string]string{"boot_volume_size": "20", "octavia_provider": "ovn"}
	in.Cluster.Spec.Labels = map[string]string{"boot_volume_size": "30"}
	out, err := Values(in)
	if err != nil {
		t.Fatal(err)
	}
	if size := at(t, out.Values, "controlPlane.machineRootVolume.diskSize"); size != 30.0 {
		t.Errorf("size %v: the cluster's label does not win", size)
	}
	if provider := at(t, out.Values, "apiServer.loadBalancerProvider"); provider != "ovn" {
		t.Errorf("provider %v: the operator's label is not used", provider)
	}
}

// TestOperatorsValues: they are under what comes of the cluster, and stay as they
// are.
func TestOperatorsValues(t *testing.T) {
	t.Parallel()
	mirror := func(url string) map[string]any { return map[string]any{"mirrors": []any{map[string]any{"url": url}}} }
	site := func() map[string]any {
		return map[string]any{"kubernetesVersion": "1.2.3", "oidc": nil, "nodeGroups": []any{map[string]any{"name": "site"}}, "addons": "none",
			"controlPlane":    map[string]any{"machineFlavor": "site", "nodeLabels": map[string]any{"site": "yes", "none": nil}},
			"registryMirrors": map[string]any{"mirrored": mirror("https://mirror"), "registry:5000": mirror("https://mirror")}}
	}
	given := site()
	in := input()
	in.Defaults.Values, in.Cluster.Spec.Template.InsecureRegistry = given, "registry:5000"
	in.Groups[0].Spec.NodeLabels = map[string]string{"own": "yes"}
	out, err := Values(in)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"kubernetesVersion": "1.34.2", "oidc": nil, "nodeGroups.0.name": "default-worker", "addons.cni.type": "calico",
		"controlPlane.machineFlavor": "m1.medium", "controlPlane.nodeLabels": map[string]any{"own": "yes", "site": "yes"},
		"registryMirrors.mirrored.mirrors.0.url": "https://mirror", "registryMirrors.registry:5000.mirrors.0.url": "http://registry:5000",
	} {
		if diff := cmp.Diff(want, at(t, out.Values, path)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	out.Values["registryMirrors"].(map[string]any)["mirrored"].(map[string]any)["mirrors"].([]any)[0].(map[string]any)["url"] = "changed"
	if diff := cmp.Diff(site(), given); diff != "" {
		t.Errorf("the operator's values changed: %s", diff)
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	no := false
	tests := map[string]struct {
		change func(*Input)
		path   string
		want   any
	}{
		"floating IP off on the cluster":  {func(in *Input) { in.Cluster.Spec.FloatingIPEnabled = &no }, "apiServer.associateFloatingIP", false},
		"floating IP off on the template": {func(in *Input) { in.Cluster.Spec.Template.FloatingIPEnabled = false }, "apiServer.associateFloatingIP", false},
		"the label wins": {func(in *Input) {
			in.Cluster.Spec.FloatingIPEnabled, in.Cluster.Spec.Labels = &no, map[string]string{"master_lb_floating_ip_enabled": "true"}
		}, "apiServer.associateFloatingIP", true},
		"no load balancer": {func(in *Input) {
			in.Cluster.Spec.MasterLBEnabled, in.Groups[0].Spec.NodeCount = &no, 1
		}, "apiServer.enableLoadBalancer", false},
		"neither balancer nor floating IP": {func(in *Input) {
			in.Cluster.Spec.MasterLBEnabled, in.Cluster.Spec.FloatingIPEnabled, in.Groups[0].Spec.NodeCount = &no, &no, 1
		}, "apiServer.enableLoadBalancer", true},
		"proxy":    {func(in *Input) { in.Cluster.Spec.Template.HTTPSProxy = "http://proxy:3128" }, "proxy.httpsProxy", "http://proxy:3128"},
		"no proxy": {func(in *Input) { in.Cluster.Spec.Template.NoProxy = "a, b" }, "proxy", nil},
		"direct": {func(in *Input) {
			v := &in.Cluster.Spec.Template.TemplateValues
			v.HTTPProxy, v.NoProxy = "http://p", "a, b"
		}, "proxy.noProxy", []any{"a", "b"}},
		"insecure registry": {func(in *Input) { in.Cluster.Spec.Template.InsecureRegistry = "registry:5000" }, "registryMirrors.registry:5000.upstream", "http://registry:5000"},
		"port":              {func(in *Input) { in.Cluster.Spec.Template.APIServerPort = 8443 }, "apiServer.port", 8443.0},
		"volume of containers": {func(in *Input) {
			in.Cluster.Spec.DockerVolumeSize, in.Cluster.Spec.Labels = 50, map[string]string{"docker_volume_type": "ssd"}
		}, "controlPlane.additionalBlockDevices.containers", map[string]any{"size": 50.0, "type": "Volume", "volumeType": "ssd"}},
		"volume of a group": {func(in *Input) { in.Groups[1].Spec.DockerVolumeSize = 60 }, "nodeGroups.0.kubeadmConfigSpec.mounts.0.1", "/var/lib/containerd"},
		"fixed network":     {func(in *Input) { in.Cluster.Spec.Resolved.FixedNetworkID = "n" }, "clusterNetworking.internalNetwork.networkFilter.id", "n"},
		"MTU":               {func(in *Input) { in.Cluster.Spec.Resolved.FixedNetworkMTU = 1442 }, "clusterNetworking.internalNetwork.mtu", 1442.0},
		"fixed subnet":      {func(in *Input) { in.Cluster.Spec.Resolved.FixedSubnetID = "s" }, "clusterNetworking.internalNetwork.subnetFilter.id", "s"},
		"batches":           {func(in *Input) { in.Cluster.Spec.Upgrade = &v1alpha1.UpgradeOptions{MaxBatchSize: 3} }, "nodeGroupDefaults.rolloutStrategy.rollingUpdate.maxUnavailable", 3.0},
		"flannel":           {func(in *Input) { in.Cluster.Spec.Template.NetworkDriver = "flannel" }, "addons.cni.type", "flannel"},
		"no network driver": {func(in *Input) { in.Cluster.Spec.Template.NetworkDriver = "" }, "addons.cni.type", "calico"},
		"cilium":            {func(in *Input) { in.Cluster.Spec.Template.NetworkDriver = "cilium" }, "addons.cni.type", "cilium"},
		"cilium's pool": {func(in *Input) {
			in.Cluster.Spec.Template.NetworkDriver, in.Cluster.Spec.Labels = "cilium", map[string]string{"cilium_ipv4pool": "10.1.0.0/16"}
		}, "kubeNetwork.pods.cidrBlocks.0", "10.1.0.0/16"},
		"pods after a rotation": {func(in *Input) { in.Credential = "cred-2" }, "addons.openstack.ccm.values.podAnnotations",
			map[string]any{"magnum.slipway.sh/credential": "cred-2"}},
		"pods of volumes": {func(in *Input) { in.Credential = "cred-2" }, "addons.openstack.csiCinder.values.csi.plugin.nodePlugin.podAnnotations",
			map[string]any{"magnum.slipway.sh/credential": "cred-2"}},
		"old distribution": {func(in *Input) { in.Cluster.Spec.Resolved.Image.OSDistro = "capi-kubeadm-cloudinit" }, "osDistro", "ubuntu"},
		"version in a label": {func(in *Input) {
			in.Cluster.Spec.Resolved.Image.KubernetesVersion, in.Cluster.Spec.Labels = "", map[string]string{"kube_tag": "v1.33.1"}
		}, "kubernetesVersion", "1.33.1"},
		"another Secret":      {func(in *Input) { in.Cluster.Spec.Credential.SecretName = "mine" }, "cloudCredentialsSecretName", "mine"},
		"no types of volumes": {func(in *Input) { in.Cluster.Spec.Resolved.VolumeTypes = nil }, "addons.openstack.csiCinder.defaultStorageClass.volumeType", nil},
		"local disk of etcd": {func(in *Input) {
			in.Cluster.Spec.Labels = map[string]string{"etcd_blockdevice_size": "10", "etcd_blockdevice_type": "local", "etcd_blockdevice_volume_type": "x", "etcd_blockdevice_volume_az": "z"}
		}, "etcd.blockDevice", map[string]any{"size": 10.0, "type": "Local", "volumeType": "x", "availabilityZone": "z"}},
		"oidc": {func(in *Input) {
			in.Cluster.Spec.Labels = map[string]string{"oidc_issuer_url": "https://i.example/r?x=1", "oidc_client_id": "k8s", "oidc_groups_claim": "groups"}
		}, "oidc", map[string]any{"issuerUrl": "https://i.example/r?x=1", "clientId": "k8s", "usernameClaim": "sub", "usernamePrefix": "-", "groupsClaim": "groups", "groupsPrefix": ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input()
			test.change(&in)
			out, err := Values(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, at(t, out.Values, test.path)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNamesOfVolumeTypes: no name of a volume type keeps a cluster from being made.
func TestNamesOfVolumeTypes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		types    []string
		standard any
		more     []any
		warnings int
	}{
		"one for each":            {[]string{"SSD_fast", "hdd"}, "ssd-fast", []any{"hdd"}, 0},
		"the same but for a dash": {[]string{"ssd", "SSD", "fast_ssd", "fast-ssd"}, "ssd", []any{"fast-ssd"}, 2},
		"none in ASCII":           {[]string{"ssd", "高速"}, "ssd", nil, 1},
		"the default in another":  {[]string{"高速", "ssd", "csi-cinder"}, nil, []any{"ssd"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input()
			in.Cluster.Spec.Resolved.VolumeTypes = test.types
			out, err := Values(in)
			if err != nil {
				t.Fatal(err)
			}
			const csi = "addons.openstack.csiCinder."
			if got := at(t, out.Values, csi+"defaultStorageClass.name"); got != test.standard {
				t.Errorf("the default class is %v", got)
			}
			if got := at(t, out.Values, csi+"defaultStorageClass.volumeType"); got != test.types[0] {
				t.Errorf("the default type is %v", got)
			}
			var more []any
			list, _ := at(t, out.Values, csi+"additionalStorageClasses").([]any)
			for _, class := range list {
				more = append(more, class.(map[string]any)["name"])
			}
			if diff := cmp.Diff(test.more, more); diff != "" {
				t.Error(diff)
			}
			if len(out.Warnings) != test.warnings {
				t.Errorf("warnings: %v", out.Warnings)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	no := false
	tests := map[string]struct {
		change func(*Input)
		want   string
	}{
		"no version":            {func(in *Input) { in.Cluster.Spec.Resolved.Image.KubernetesVersion = "" }, "kube_version"},
		"no image":              {func(in *Input) { in.Cluster.Spec.Resolved.Image.ID = "" }, "not found"},
		"no template":           {func(in *Input) { in.Cluster.Spec.Template = nil }, "template"},
		"three without balance": {func(in *Input) { in.Cluster.Spec.MasterLBEnabled = &no }, "need a load balancer"},
		"no flavor":             {func(in *Input) { in.Cluster.Spec.FlavorID = "" }, "no flavor"},
		"no master flavor":      {func(in *Input) { in.Cluster.Spec.MasterFlavorID = "" }, "no flavor"},
		"short name":            {func(in *Input) { in.Groups = append(in.Groups, group(in.Cluster, "g1", 1)) }, "g1"},
		"oidc without client":   {func(in *Input) { in.Cluster.Spec.Labels = map[string]string{"oidc_issuer_url": "https://i"} }, "oidc_client_id"},
		"nodes too new": {func(in *Input) {
			in.Groups = append(in.Groups, group(in.Cluster, "newer", 1))
			in.Groups[2].Spec.ImageID = "newer"
			in.Groups[2].Spec.Image = &v1alpha1.ResolvedImage{ID: "image-2", KubernetesVersion: "1.35.0"}
		}, "do not fit"},
		"bounds the wrong way round": {func(in *Input) {
			in.Cluster.Spec.Labels = map[string]string{"auto_scaling_enabled": "true", "min_node_count": "5", "max_node_count": "2"}
		}, "minimum size 5"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input()
			test.change(&in)
			_, err := Values(in)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			var f *fault.Fault
			if !errors.As(err, &f) || f.Remedy == "" {
				t.Errorf("no remedy: %v", err)
			}
		})
	}
}

// TestNodeGroups shows what the drivers ignore: image, labels, taints, bounds.
func TestNodeGroups(t *testing.T) {
	t.Parallel()
	five := int32(5)
	in := input()
	in.Cluster.Spec.Labels = map[string]string{"boot_volume_size": "20"}
	gpu := group(in.Cluster, "gpu_1", 2)
	gpu.Spec.FlavorID, gpu.Spec.ImageID = "g1.large", "ubuntu-gpu"
	gpu.Spec.Image = &v1alpha1.ResolvedImage{ID: "image-2", KubernetesVersion: "1.33.4"}
	gpu.Spec.NodeLabels = map[string]string{"example.org/pool": "gpu"}
	gpu.Spec.NodeTaints = []v1alpha1.Taint{{Key: "gpu", Value: "true"}, {Key: "x", Effect: "NoExecute"}}
	gpu.Spec.MergeLabels = true
	gpu.Spec.Labels = map[string]string{"boot_volume_size": "100", "auto_healing_enabled": "false", "auto_scaling_enabled": "true", "availability_zone": "az2"}
	gpu.Spec.MaxNodeCount = &five
	in.Groups = append(in.Groups, gpu)
	out, err := Values(in)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "gpu-1", "machineFlavor": "g1.large", "machineImageId": "image-2", "kubernetesVersion": "1.33.4",
		"autoscale": true, "machineCountMin": 0.0, "machineCountMax": 5.0,
		"nodeLabels":  map[string]any{"example.org/pool": "gpu"},
		"nodeTaints":  []any{map[string]any{"key": "gpu", "value": "true", "effect": "NoSchedule"}, map[string]any{"key": "x", "effect": "NoExecute"}},
		"healthCheck": map[string]any{"enabled": false}, "machineRootVolume": map[string]any{"diskSize": 100.0}, "failureDomain": "az2"}
	if diff := cmp.Diff(want, at(t, out.Values, "nodeGroups.1")); diff != "" {
		t.Error(diff)
	}
	if first := at(t, out.Values, "nodeGroups.0.name"); first != "default-worker" {
		t.Errorf("first group %v", first)
	}
}

// TestPoliciesOfANodeGroup: what is no policy is none, and ends nothing.
func TestPoliciesOfANodeGroup(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]any{"anti-affinity": "anti-affinity", "affinity, anti-affinity": "affinity", "[]": nil, ",": nil, "": nil} {
		in := input()
		in.Cluster.Spec.Labels = map[string]string{"server_group_policies": "soft-anti-affinity"}
		in.Groups[1].Spec.Labels = map[string]string{"server_group_policies": given}
		out, err := Values(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := at(t, out.Values, "nodeGroups.0.serverGroup.policy"); got != want {
			t.Errorf("%q: %v, want %v", given, got, want)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	five := int32(5)
	tests := map[string]struct {
		labels      map[string]string
		change      func(*v1alpha1.NodeGroup)
		least, most any
	}{
		"off":                {map[string]string{"min_node_count": "1", "max_node_count": "4"}, nil, nil, nil},
		"labels":             {map[string]string{"auto_scaling_enabled": "true", "min_node_count": "1", "max_node_count": "4"}, nil, 1.0, 4.0},
		"greatest only":      {map[string]string{"auto_scaling_enabled": "true", "max_node_count": "4"}, nil, 1.0, 4.0},
		"no bounds":          {map[string]string{"auto_scaling_enabled": "true"}, nil, nil, nil},
		"the group's":        {map[string]string{"auto_scaling_enabled": "true"}, func(g *v1alpha1.NodeGroup) { g.Spec.MinNodeCount, g.Spec.MaxNodeCount = 2, &five }, 2.0, 5.0},
		"never without node": {map[string]string{"auto_scaling_enabled": "true"}, func(g *v1alpha1.NodeGroup) { g.Spec.MaxNodeCount = &five }, 1.0, 5.0},
		"labels win":         {map[string]string{"auto_scaling_enabled": "true", "max_node_count": "9"}, func(g *v1alpha1.NodeGroup) { g.Spec.MaxNodeCount = &five }, 1.0, 9.0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input()
			in.Cluster.Spec.Labels = test.labels
			if test.change != nil {
				test.change(in.Groups[1])
			}
			out, err := Values(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := at(t, out.Values, "nodeGroups.0.machineCountMin"); got != test.least {
				t.Errorf("least %v, want %v", got, test.least)
			}
			if got := at(t, out.Values, "nodeGroups.0.machineCountMax"); got != test.most {
				t.Errorf("most %v, want %v", got, test.most)
			}
			if scaled := Autoscaled(in.Cluster, in.Groups[1], Defaults{}); scaled != (test.least != nil) {
				t.Errorf("autoscaled %v", scaled)
			}
		})
	}
}

// TestHeld keeps workers as they are while the control plane is upgraded.
func TestHeld(t *testing.T) {
	t.Parallel()
	in := input()
	in.Held = map[string]Software{in.Groups[1].Name: {ImageID: "image-0", KubernetesVersion: "1.33.5"}}
	out, err := Values(in)
	if err != nil {
		t.Fatal(err)
	}
	if version := at(t, out.Values, "nodeGroups.0.kubernetesVersion"); version != "1.33.5" {
		t.Errorf("version %v", version)
	}
	if version := at(t, out.Values, "kubernetesVersion"); version != "1.34.2" {
		t.Errorf("control plane's version %v", version)
	}
}

// TestWarnings: what has no effect is told, none is lost.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		"calico_tag=v3": "versions come with the chart", "my_own=1": "unknown", "kube_tag=v1.25.3": "kube_version",
		"csi_attacher_tag=v1": "versions come with the chart", "auto_healing_enabled=maybe": "neither true nor false",
		"boot_volume_size=big": "is not a number", "csi_cinder_fstype=ext4;rm": "invalid characters were removed", "audit_log_maxage=3": "audit_log_max_age",
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			in := input()
			name, value, _ := strings.Cut(label, "=")
			in.Cluster.Spec.Labels = map[string]string{name: value}
			out, err := Values(in)
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Warnings) != 1 || out.Warnings[0].Setting != "label "+name || !strings.Contains(out.Warnings[0].Message, want) {
				t.Errorf("warnings %v, want one with %q", out.Warnings, want)
			}
		})
	}
}

// TestSame: the order of what comes in does not change what comes out.
func TestSame(t *testing.T) {
	t.Parallel()
	in := input()
	in.Groups = append(in.Groups, group(in.Cluster, "bbb", 1), group(in.Cluster, "aaa", 1))
	one, err := Values(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Groups[0], in.Groups[3], in.Groups[1], in.Groups[2] = in.Groups[3], in.Groups[0], in.Groups[2], in.Groups[1]
	two, err := Values(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one.Values, two.Values); diff != "" {
		t.Error(diff)
	}
}

// TestFollowers: groups without an image of their own go with the template.
func TestFollowers(t *testing.T) {
	t.Parallel()
	image := &v1alpha1.ResolvedImage{ID: "image-2"}
	for name, test := range map[string]struct {
		change func(*v1alpha1.NodeGroup)
		own    bool
	}{
		"none":                       {func(*v1alpha1.NodeGroup) {}, false},
		"the template's":             {func(g *v1alpha1.NodeGroup) { g.Spec.ImageID = "ubuntu-kube" }, false},
		"the former template's":      {func(g *v1alpha1.NodeGroup) { g.Spec.ImageID, g.Status.ImageID = "old", "image-0" }, false},
		"another, not looked up yet": {func(g *v1alpha1.NodeGroup) { g.Spec.ImageID = "other" }, true},
		"another": {func(g *v1alpha1.NodeGroup) {
			g.Spec.ImageID, g.Spec.Image, g.Status.ImageID = "other", image, "image-2"
		}, true},
		"of a default group": {func(g *v1alpha1.NodeGroup) { g.Spec.IsDefault, g.Spec.ImageID, g.Spec.Image = true, "other", image }, false},
	} {
		in := input()
		g := group(in.Cluster, "gpu", 1)
		test.change(g)
		if own := OwnImage(in.Cluster, g); own != test.own {
			t.Errorf("%s: own %t", name, own)
		}
	}
}
