package openstackcluster

import (
	"encoding/base64"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestCloudConfig writes the file of the cloud provider. Roots of the system
// are trusted, unless a CA is given or verification is switched off on purpose.
func TestCloudConfig(t *testing.T) {
	t.Parallel()
	all := render(t, `addons: {openstack: {cloudConfig: {LoadBalancer: {lb-provider: ovn, lb-method: null}, Metadata: {search-order: "{{ x }}"}}}}`)
	ca := map[string]any{"cacert": "UEVN"}
	for name, c := range map[string]struct {
		clouds string
		more   map[string]any
		global string
	}{
		"no CA":        {someClouds, nil, ""},
		"CA":           {someClouds, ca, "ca-file=/etc/config/cacert\n"},
		"not verified": {strings.Replace(someClouds, "region_name", "verify: false, region_name", 1), nil, "tls-insecure=true\n"},
	} {
		object := applied(t, all, "cloud-config", known(c.clouds, c.more)).get(t, "Secret cloud-config")
		text, _ := at(object, "stringData", "cloud.conf").(string)
		lines := "[Global]\nuse-clouds=true\nclouds-file=/etc/config/clouds.yaml\ncloud=openstack\n" + c.global +
			"[Networking]\ninternal-network-name=net1\n[LoadBalancer]\nfloating-network-id=ext1\ncreate-monitor=true\nlb-provider=ovn\n" +
			"[BlockStorage]\nignore-volume-az=true\n[Metadata]\nsearch-order={{ x }}\n"
		if text != lines {
			t.Errorf("%s:\n%s\nwant\n%s", name, text, lines)
		}
		want(t, object, base64.StdEncoding.EncodeToString([]byte(c.clouds)), "data", "clouds.yaml")
		if _, there := object["data"].(map[string]any)["cacert"]; there != (c.more != nil) {
			t.Errorf("%s: cacert is there: %v", name, there)
		}
	}
	own := render(t, `addons: {openstack: {cloudConfig: {BlockStorage: {ignore-volume-az: null}, Networking: {internal-network-name: mine}, LoadBalancer: {floating-network-id: mine}}}}`)
	text, _ := at(applied(t, own, "cloud-config", known(someClouds, nil)).get(t, "Secret cloud-config"), "stringData", "cloud.conf").(string)
	if !strings.Contains(text, "internal-network-name=mine\n") || !strings.Contains(text, "floating-network-id=mine\n") || strings.Contains(text, "net1") || strings.Contains(text, "ignore-volume-az") {
		t.Errorf("cloud.conf is\n%s", text)
	}
}

// TestChangedSettingsRestartWhatReadsThem: each reader gets another template when settings of
// cloud.conf change, and only then.
func TestChangedSettingsRestartWhatReadsThem(t *testing.T) {
	t.Parallel()
	hooks := func(text string) any {
		return at(render(t, text).get(t, "Manifests cloud-config"), "spec", "lifecycleHooks", "postUpgrade")
	}
	usual := hooks(`{}`)
	all, _ := usual.([]any)
	var readers []string
	for _, hook := range all {
		readers = append(readers, at(hook, "kind").(string)+" "+at(hook, "name").(string))
		want(t, hook, `patch`, "action")
	}
	if want := []string{"Deployment openstack-cinder-csi-controllerplugin", "DaemonSet openstack-cinder-csi-nodeplugin", "DaemonSet openstack-cloud-controller-manager"}; !slices.Equal(readers, want) {
		t.Errorf("readers are %q, want %q", readers, want)
	}
	for _, same := range []string{`addons: {metricsServer: {enabled: false}}`, `nodeGroups: [{name: md-9, machineCount: 5}]`} {
		if !reflect.DeepEqual(hooks(same), usual) {
			t.Errorf("%s restarts what reads cloud.conf", same)
		}
	}
	for _, other := range []string{`addons: {openstack: {cloudConfig: {LoadBalancer: {lb-provider: ovn}}}}`, `apiServer: {loadBalancerProvider: ovn}`, `addons: {openstack: {cloudConfig: {BlockStorage: {ignore-volume-az: false}}}}`} {
		if reflect.DeepEqual(hooks(other), usual) {
			t.Errorf("%s restarts nothing", other)
		}
	}
}

// TestCloudProviderHasItsOwnCredential keeps Cluster API's away from the cluster.
func TestCloudProviderHasItsOwnCredential(t *testing.T) {
	t.Parallel()
	second := base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(someClouds, "application_credential_secret: s", "application_credential_secret: other")))
	object := applied(t, render(t), "cloud-config", known(someClouds, map[string]any{"cacert": "UEVN", "cloud-provider.yaml": second})).get(t, "Secret cloud-config")
	want(t, object, "{cacert: UEVN, clouds.yaml: "+second+"}", "data")
}

// TestBalancersOfServices are OVN's where the API server's is, with the one
// algorithm that it has; a user's own settings win.
//
// proves: F31, S-47
func TestBalancersOfServices(t *testing.T) {
	t.Parallel()
	const none = ""
	for name, c := range map[string]struct{ values, lines string }{
		"amphora":          {`{}`, none},
		"named amphora":    {`{apiServer: {loadBalancerProvider: amphora}}`, none},
		"OVN":              {`{apiServer: {loadBalancerProvider: ovn}}`, "create-monitor=true\nlb-method=SOURCE_IP_PORT\nlb-provider=ovn\n"},
		"OVN, no monitor":  {`{apiServer: {loadBalancerProvider: ovn}, addons: {openstack: {cloudConfig: {LoadBalancer: {create-monitor: false, max-shared-lb: 1}}}}}`, "create-monitor=false\nlb-method=SOURCE_IP_PORT\nlb-provider=ovn\nmax-shared-lb=1\n"},
		"amphora, and OVN": {`addons: {openstack: {cloudConfig: {LoadBalancer: {lb-provider: ovn}}}}`, "create-monitor=true\nlb-method=SOURCE_IP_PORT\nlb-provider=ovn\n"},
		"OVN, and amphora": {`{apiServer: {loadBalancerProvider: ovn}, addons: {openstack: {cloudConfig: {LoadBalancer: {lb-provider: amphora}}}}}`, "lb-provider=amphora\n"},
	} {
		object := applied(t, render(t, c.values), "cloud-config", known(someClouds, nil)).get(t, "Secret cloud-config")
		text, _ := at(object, "stringData", "cloud.conf").(string)
		_, text, _ = strings.Cut(text, "floating-network-id=ext1\n")
		if got, _, _ := strings.Cut(text, "["); got != c.lines {
			t.Errorf("%s: %q, want %q", name, got, c.lines)
		}
	}
}

// TestCloudProvider knows the cluster's name, by which its resources are found again.
func TestCloudProvider(t *testing.T) {
	t.Parallel()
	all := render(t)
	ccm := chartValues(t, all, "ccm-openstack")
	want(t, ccm, `{name: c1}`, "cluster")
	want(t, ccm, `{enabled: true, create: false, name: cloud-config}`, "secret")
	csi := chartValues(t, all, "csi-cinder")
	want(t, csi, `c1`, "clusterID")
	want(t, csi, `{enabled: false}`, "storageClass")
	class := applied(t, all, "csi-cinder-storageclass", known(someClouds, nil)).get(t, "StorageClass csi-cinder")
	want(t, class, `"true"`, "metadata", "annotations", "storageclass.kubernetes.io/is-default-class")
	want(t, class, `cinder.csi.openstack.org`, "provisioner")
	want(t, class, `{availability: nova}`, "parameters")
	want(t, class, `WaitForFirstConsumer`, "volumeBindingMode")
}

// TestWithoutCSI is the same cluster but for the driver and its classes, to which
// nothing else refers.
func TestWithoutCSI(t *testing.T) {
	t.Parallel()
	with, without := render(t), render(t, `addons: {openstack: {csiCinder: {enabled: false}}}`)
	var gone []string
	for name, object := range with {
		if without[name] == nil {
			gone = append(gone, name)
			continue
		}
		if !reflect.DeepEqual(object.Object, without[name].Object) {
			t.Errorf("%s differs", name)
		}
		if text, _ := yaml.Marshal(without[name].Object); strings.Contains(string(text), "csi-cinder") {
			t.Errorf("%s refers to it", name)
		}
	}
	slices.Sort(gone)
	if want := []string{"HelmRelease csi-cinder", "Manifests csi-cinder-storageclass", "Secret csi-cinder-config"}; !slices.Equal(gone, want) || len(without) != len(with)-len(want) {
		t.Errorf("gone are %q, want %q", gone, want)
	}
}

// proves: F99
func TestStorageClasses(t *testing.T) {
	t.Parallel()
	all := render(t, `
addons:
  openstack:
    csiCinder:
      defaultStorageClass: {name: standard, isClusterDefault: false, allowVolumeExpansion: false, fstype: ext4, availabilityZone: null}
      additionalStorageClasses:
        - {name: fast, volumeType: ssd, reclaimPolicy: Retain}
        - {name: now, volumeBindingMode: Immediate, allowedTopologies: [{matchLabelExpressions: []}], isClusterDefault: true}
`)
	got := applied(t, all, "csi-cinder-storageclass", known(someClouds, nil))
	want(t, got.get(t, "StorageClass standard"), `{csi.storage.k8s.io/fstype: ext4}`, "parameters")
	want(t, got.get(t, "StorageClass standard"), `false`, "allowVolumeExpansion")
	want(t, got.get(t, "StorageClass fast"), `Retain`, "reclaimPolicy")
	want(t, got.get(t, "StorageClass fast"), `false`, "allowVolumeExpansion")
	want(t, got.get(t, "StorageClass fast"), `{type: ssd}`, "parameters")
	want(t, got.get(t, "StorageClass now"), `Immediate`, "volumeBindingMode")
	want(t, got.get(t, "StorageClass now"), `"false"`, "metadata", "annotations", "storageclass.kubernetes.io/is-default-class")
	if none := render(t, `addons: {openstack: {csiCinder: {defaultStorageClass: {enabled: false}}}}`); none["Manifests csi-cinder-storageclass"] != nil {
		t.Error("classes are there without any")
	}
}

func TestManila(t *testing.T) {
	t.Parallel()
	all := render(t, `addons: {csi: {cephfs: {enabled: true}}, openstack: {csiManila: {enabled: true, additionalStorageClasses: [{name: other, provisioner: nfs.manila.csi.openstack.org, parameters: {type: nfs}}]}}}`)
	got := applied(t, all, "csi-manila-storageclass", known(someClouds, nil))
	want(t, got.get(t, "Secret csi-manila-credentials"), `{os-authURL: "https://k/v3", os-region: one, os-applicationCredentialID: i, os-applicationCredentialSecret: s}`, "stringData")
	if _, there := got.get(t, "Secret csi-manila-credentials")["data"]; there {
		t.Error("a CA is there without any")
	}
	want(t, got.get(t, "StorageClass csi-manila"), `cephfs.manila.csi.openstack.org`, "provisioner")
	want(t, got.get(t, "StorageClass csi-manila"), `cephfs`, "parameters", "type")
	want(t, got.get(t, "StorageClass csi-manila"), `csi-manila-credentials`, "parameters", "csi.storage.k8s.io/node-stage-secret-name")
	want(t, got.get(t, "StorageClass other"), `nfs.manila.csi.openstack.org`, "provisioner")
	all.get(t, "HelmRelease csi-cephfs")
	refuse(t, `addons: {openstack: {csiManila: {enabled: true}}}`, "csiManila", "cephfs")
}

// TestManilaHasTheCloudProvidersCredential, not Cluster API's, and trusts the cloud's CA.
func TestManilaHasTheCloudProvidersCredential(t *testing.T) {
	t.Parallel()
	second := base64.StdEncoding.EncodeToString([]byte(strings.NewReplacer("application_credential_id: i", "application_credential_id: j",
		"application_credential_secret: s", "application_credential_secret: other").Replace(someClouds)))
	all := render(t, `addons: {csi: {cephfs: {enabled: true}}, openstack: {csiManila: {enabled: true}}}`)
	got := applied(t, all, "csi-manila-storageclass", known(someClouds, map[string]any{"cacert": "UEVN", "cloud-provider.yaml": second})).get(t, "Secret csi-manila-credentials")
	want(t, got, `{os-authURL: "https://k/v3", os-region: one, os-applicationCredentialID: j, os-applicationCredentialSecret: other}`, "stringData")
	want(t, got, `{os-certAuthority: UEVN}`, "data")
}
