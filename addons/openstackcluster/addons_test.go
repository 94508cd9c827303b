package openstackcluster

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/addonprovider/template"
	jinja "github.com/slipway-sh/slipway/addons/addonprovider/values"
	"github.com/slipway-sh/slipway/internal/component"
)

// known is what the addon provider knows of a cluster when it renders.
func known(clouds string, more map[string]any) map[string]any {
	data := map[string]any{"clouds.yaml": base64.StdEncoding.EncodeToString([]byte(clouds))}
	maps.Copy(data, more)
	return map[string]any{
		"cluster": jinja.Of(map[string]any{"metadata": map[string]any{"name": "c1"},
			"spec": map[string]any{"controlPlaneEndpoint": map[string]any{"host": "192.0.2.7", "port": int64(6443)}}}),
		"infra_cluster": jinja.Of(map[string]any{"status": map[string]any{
			"network": map[string]any{"name": "net1"}, "externalNetwork": map[string]any{"id": "ext1"}}}),
		"cloud_identity": jinja.Of(map[string]any{"data": data}),
	}
}

const someClouds = "clouds: {openstack: {auth: {auth_url: 'https://k/v3', project_id: p, application_credential_id: i, application_credential_secret: s}, region_name: one}}"

// through renders as the addon provider does.
func through(t *testing.T, text string, variables map[string]any) string {
	t.Helper()
	out, err := template.Render(context.Background(), text, variables)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// applied are the objects of a Manifests with a template, as they reach the cluster.
func applied(t *testing.T, all objects, name string, variables map[string]any) objects {
	t.Helper()
	text, _ := at(all.get(t, "Manifests "+name), "spec", "manifestSources", 0, "template").(string)
	got := objects{}
	for _, object := range decode(t, through(t, text, variables)) {
		got[object.GetKind()+" "+object.GetName()] = object
	}
	return got
}

// chartValues are the values of a HelmRelease, merged as the addon provider does.
func chartValues(t *testing.T, all objects, name string) map[string]any {
	t.Helper()
	merged := map[string]any{}
	sources, _ := at(all.get(t, "HelmRelease "+name), "spec", "valuesSources").([]any)
	for _, source := range sources {
		key := at(source, "secret", "key").(string)
		text := through(t, secret(t, all, name+"-config", key), known(someClouds, nil))
		mergeInto(merged, values(t, text))
	}
	return merged
}

func TestCalico(t *testing.T) {
	t.Parallel()
	all := render(t, `kubeNetwork: {pods: {cidrBlocks: [10.1.0.0/16, "fd00::/48"]}}`)
	installation := chartValues(t, all, "cni-calico")["installation"]
	want(t, installation, `
- {cidr: 10.1.0.0/16, encapsulation: VXLAN, natOutgoing: Enabled, blockSize: 26, nodeSelector: all()}
- {cidr: "fd00::/48", encapsulation: VXLAN, natOutgoing: Enabled, blockSize: 122, nodeSelector: all()}
`, "calicoNetwork", "ipPools")
	want(t, installation, `Disabled`, "calicoNetwork", "bgp")
	policies := applied(t, all, "cni-calico-globalnetpolicy", known(someClouds, nil))
	deny, allow := policies.get(t, "GlobalNetworkPolicy deny-metadata-service"), policies.get(t, "GlobalNetworkPolicy allow-egress")
	want(t, deny, `[{action: Deny, destination: {nets: [169.254.169.254/32]}}, {action: Deny, destination: {nets: ["fe80::a9fe:a9fe/128"]}}]`, "spec", "egress")
	want(t, deny, `kubernetes.io/metadata.name != 'openstack-system'`, "spec", "namespaceSelector")
	want(t, deny, `10`, "spec", "order")
	want(t, allow, `20`, "spec", "order")
	want(t, allow, `[{action: Allow, destination: {nets: [0.0.0.0/0]}}, {action: Allow, destination: {nets: ["::/0"]}}]`, "spec", "egress")
	if none := render(t, `addons: {cni: {calico: {globalNetworkPolicy: null}}}`); none["Manifests cni-calico-globalnetpolicy"] != nil {
		t.Error("policies are there without any")
	}
}

// TestCilium takes kube-proxy's place, unless told not to.
func TestCilium(t *testing.T) {
	t.Parallel()
	all := render(t, `addons: {cni: {type: cilium}}`)
	got := chartValues(t, all, "cni-cilium")
	want(t, got, `{ipam: {mode: kubernetes}, kubeProxyReplacement: true, k8sServiceHost: 192.0.2.7, k8sServicePort: 6443}`)
	want(t, all.kubeadm(t), `[addon/kube-proxy]`, "initConfiguration", "skipPhases")
	if file(t, all.kubeadm(t), "/etc/kube-proxy-configuration.yaml") != nil || all["HelmRelease cni-calico"] != nil {
		t.Error("something of the other way is there")
	}
	beside := render(t, `addons: {cni: {type: cilium, cilium: {release: {values: {kubeProxyReplacement: false}}}}}`)
	want(t, beside.kubeadm(t), `null`, "initConfiguration", "skipPhases")
	want(t, chartValues(t, beside, "cni-cilium"), `{ipam: {mode: kubernetes}, kubeProxyReplacement: false}`)
	policy := applied(t, all, "cni-cilium-policy", known(someClouds, nil)).get(t, "CiliumClusterwideNetworkPolicy deny-metadata-service")
	want(t, policy, `[{toCIDR: [169.254.169.254/32, "fe80::a9fe:a9fe/128"]}]`, "spec", "egressDeny")
	want(t, policy, `[{key: io.kubernetes.pod.namespace, operator: NotIn, values: [openstack-system]}]`, "spec", "endpointSelector", "matchExpressions")
	if none := render(t, `addons: {cni: {type: cilium, cilium: {denyEgressCidrs: null}}}`); none["Manifests cni-cilium-policy"] != nil {
		t.Error("a policy is there without any address")
	}
	refuse(t, `addons: {cni: {type: weave}}`, "addons/cni/type", "flannel")
}

// TestMTU gives pods what VXLAN leaves of the network's MTU: Calico is told the
// pods' own, Cilium and flannel the network's, of which they take the envelope.
//
// proves: S-60
func TestMTU(t *testing.T) {
	t.Parallel()
	for network, pods := range map[string]string{"1500": "1450", "1442": "1392", "8950": "8900", "null": "null"} {
		given := `{clusterNetworking: {internalNetwork: {mtu: ` + network + `}}, addons: {cni: {type: %s}}}`
		of := func(cni string) objects { return render(t, fmt.Sprintf(given, cni)) }
		calico := of("calico")
		want(t, chartValues(t, calico, "cni-calico"), pods, "installation", "calicoNetwork", "mtu")
		want(t, calico.get(t, "OpenStackCluster"), network, "spec", "networkMTU")
		want(t, chartValues(t, of("cilium"), "cni-cilium"), network, "MTU")
		flannel := applied(t, of("flannel"), "cni-flannel", known(someClouds, nil))
		config, _ := at(flannel.get(t, "ConfigMap kube-flannel-cfg"), "data", "net-conf.json").(string)
		want(t, values(t, config), network, "Backend", "MTU")
	}
	const dual = `{clusterNetworking: {internalNetwork: {mtu: 1442, networkFilter: {id: n}}}, kubeNetwork: {pods: {cidrBlocks: [10.1.0.0/16, "fd00::/48"]}}}`
	want(t, chartValues(t, render(t, dual), "cni-calico"), `1372`, "installation", "calicoNetwork", "mtu")
	want(t, render(t, dual).get(t, "OpenStackCluster"), `null`, "spec", "networkMTU")
	own := render(t, dual, `addons: {cni: {calico: {release: {values: {installation: {calicoNetwork: {mtu: 1300}}}}}}}`)
	want(t, chartValues(t, own, "cni-calico"), `1300`, "installation", "calicoNetwork", "mtu")
	refuse(t, `clusterNetworking: {internalNetwork: {mtu: 1000}}`, "mtu")
}

// TestFlannel is the bundle's, with the cluster's pod network.
func TestFlannel(t *testing.T) {
	t.Parallel()
	all := render(t, `{kubeNetwork: {pods: {cidrBlocks: [10.1.0.0/16]}}, addons: {cni: {type: flannel, flannel: {backend: {Type: host-gw}}}}}`)
	got := applied(t, all, "cni-flannel", known(someClouds, nil))
	config, _ := at(got.get(t, "ConfigMap kube-flannel-cfg"), "data", "net-conf.json").(string)
	want(t, values(t, config), `{EnableIPv4: true, EnableNFTables: false, Network: 10.1.0.0/16, Backend: {Type: host-gw}}`)
	cni, _ := at(got.get(t, "ConfigMap kube-flannel-cfg"), "data", "cni-conf.json").(string)
	want(t, values(t, cni), `flannel`, "plugins", 0, "type")
	daemon := at(got.get(t, "DaemonSet kube-flannel-ds"), "spec", "template", "spec")
	for name, path := range map[string][]any{"flannel": {"containers", 0, "image"}, "flannel-cni-plugin": {"initContainers", 0, "image"}} {
		image, _ := component.Find(name)
		want(t, daemon, image.Ref, path...)
	}
	want(t, got.get(t, "Namespace kube-flannel"), `privileged`, "metadata", "labels", "pod-security.kubernetes.io/enforce")
}

// TestPoliciesOfFlannel come by a program beside it, which knows the networks of Services.
func TestPoliciesOfFlannel(t *testing.T) {
	t.Parallel()
	container := func(text string) any {
		got := applied(t, render(t, `addons: {cni: {type: flannel}}`, text), "cni-flannel", known(someClouds, nil))
		if got["DaemonSet network-policies"] == nil {
			return nil
		}
		return at(got.get(t, "DaemonSet network-policies"), "spec", "template", "spec", "containers", 0)
	}
	usual := container(`kubeNetwork: {services: {cidrBlocks: [10.2.0.0/16]}}`)
	image, _ := component.Find("network-policies")
	want(t, usual, image.Ref, "image")
	want(t, usual, `["--ipv4=true", "--ipv6=false", "--services=10.2.0.0/16", "--deny=169.254.169.254/32"]`, "args")
	want(t, usual, `{drop: [ALL], add: [NET_ADMIN, NET_RAW]}`, "securityContext", "capabilities")
	dual := container(`{kubeNetwork: {pods: {cidrBlocks: [10.1.0.0/16, "fd00::/48"]}, services: {cidrBlocks: [10.2.0.0/16, "fd01::/112"]}}, addons: {cni: {flannel: {networkPolicies: {denyEgressCidrs: null}}}}}`)
	want(t, dual, `["--ipv4=true", "--ipv6=true", "--services=10.2.0.0/16,fd01::/112"]`, "args")
	if off := container(`addons: {cni: {flannel: {networkPolicies: {enabled: false}}}}`); off != nil {
		t.Errorf("switched off there is %v", off)
	}
	refuse(t, `addons: {cni: {flannel: {networkPolicies: {enable: true}}}}`, "enable")
}

// TestCustom keeps every character of what users bring.
//
// proves: F104
func TestCustom(t *testing.T) {
	t.Parallel()
	const text = "a: '{{ $labels.pod }}'\nb: '{% raw %}x{% endraw %}{# no #}'\n"
	all := renderRelease(t, Release{Name: "c1", Values: map[string]any{
		"kubernetesVersion": "1.34.4", "machineImage": "node", "cloudCredentialsSecretName": "creds",
		"controlPlane": map[string]any{"machineFlavor": "m"}, "nodeGroupDefaults": map[string]any{"machineFlavor": "m"},
		"addons": map[string]any{"custom": map[string]any{
			"mine":  map[string]any{"kind": "Manifests", "spec": map[string]any{"namespace": "ns", "manifests": map[string]any{"a.yaml": text, "b.yaml": "plain: true\n"}}},
			"chart": map[string]any{"kind": "HelmRelease", "spec": map[string]any{"namespace": "ns", "chart": map[string]any{"repo": "https://r", "name": "podinfo", "version": "1.0.0"}, "values": map[string]any{"text": text}}},
			"gone":  nil,
		}},
	}})
	if got := through(t, secret(t, all, "mine-config", "a.yaml"), known(someClouds, nil)); got != text {
		t.Errorf("%q became %q", text, got)
	}
	if got := secret(t, all, "mine-config", "b.yaml"); got != "plain: true\n" {
		t.Errorf("text without templates became %q", got)
	}
	want(t, all.get(t, "Manifests mine"), `[{secret: {name: c1-mine-config}}]`, "spec", "manifestSources")
	want(t, all.get(t, "Manifests mine"), `mine`, "spec", "releaseName")
	got := chartValues(t, all, "chart")
	if got["text"] != text {
		t.Errorf("values became %v", got)
	}
	want(t, all.get(t, "HelmRelease chart"), `{repo: "https://r", name: podinfo, version: 1.0.0}`, "spec", "chart")
	refuse(t, `addons: {custom: {x: {kind: Helm, spec: {namespace: a}}}}`, "kind")
}

// TestOverrides of built-in addons are no templates by accident, but are where
// they were written as such.
func TestOverrides(t *testing.T) {
	t.Parallel()
	const annotated = `addons: {metricsServer: {release: {values: {note: "{{ 1 + 1 }}"}}}%s}`
	for more, note := range map[string]string{"": "{{ 1 + 1 }}", ", templateOverrides: true": "2"} {
		got := chartValues(t, render(t, strings.Replace(annotated, "%s", more, 1)), "metrics-server")
		if got["note"] != note {
			t.Errorf("with %q: %v", more, got["note"])
		}
		want(t, got, `[--kubelet-insecure-tls]`, "args")
	}
	raw := render(t, `addons: {metricsServer: {release: {values: {note: "{% raw %}{{ $labels }}{% endraw %}"}}}}`)
	if got := chartValues(t, raw, "metrics-server")["note"]; got != "{{ $labels }}" {
		t.Errorf("written for capi-helm-charts: %v", got)
	}
}

// TestToggles turns on one addon at a time: it adds exactly its own objects.
//
// proves: F101
func TestToggles(t *testing.T) {
	t.Parallel()
	before := addonNames(render(t, `addons: {metricsServer: {enabled: false}}`))
	if len(before) > 8 { // calico and its policies, cloud-config, CCM, CSI and its classes, etcd
		t.Errorf("too many by default: %v", before)
	}
	for text, added := range map[string][]string{
		`metricsServer: {enabled: true}`:           {"HelmRelease metrics-server"},
		`nodeFeatureDiscovery: {enabled: true}`:    {"HelmRelease node-feature-discovery"},
		`nodeProblemDetector: {enabled: true}`:     {"HelmRelease node-problem-detector"},
		`certManager: {enabled: true}`:             {"HelmRelease cert-manager"},
		`headlamp: {enabled: true}`:                {"HelmRelease headlamp"},
		`reloader: {enabled: true}`:                {"HelmRelease reloader"},
		`nvidiaGPUOperator: {enabled: true}`:       {"HelmRelease node-feature-discovery", "HelmRelease nvidia-gpu-operator"},
		`mellanoxNetworkOperator: {enabled: true}`: {"HelmRelease mellanox-network-operator", "HelmRelease node-feature-discovery"},
		`amdGPUOperator: {enabled: true}`:          {"HelmRelease amd-gpu-operator", "HelmRelease cert-manager", "HelmRelease node-feature-discovery"},
		`intelDevicePlugin: {enabled: true}`: {"HelmRelease cert-manager", "HelmRelease intel-device-plugin-gpu", "HelmRelease intel-device-plugin-operator",
			"HelmRelease node-feature-discovery"},
		`monitoring: {enabled: true}`:          {"HelmRelease blackbox-exporter", "HelmRelease kube-prometheus-stack", "HelmRelease loki-stack", "Manifests cni-calico-monitoring"},
		`kubernetesDashboard: {enabled: true}`: nil,
	} {
		off := `metricsServer: {enabled: false}, `
		if strings.HasPrefix(text, "metricsServer") {
			off = ""
		}
		var got []string
		for _, name := range addonNames(render(t, `addons: {`+off+text+`}`)) {
			if !slices.Contains(before, name) {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, added) {
			t.Errorf("%s adds %v, want %v", text, got, added)
		}
	}
	for text, gone := range map[string]string{`openstack: {ccm: {enabled: false}}`: "ccm-openstack", `openstack: {csiCinder: {enabled: false}}`: "csi-cinder",
		`etcdDefrag: {enabled: false}`: "etcd-defrag", `cni: {enabled: false}`: "cni-calico", `openstack: {enabled: false}`: "cloud-config"} {
		for _, name := range addonNames(render(t, `addons: {`+text+`}`)) {
			if strings.Contains(name, gone) {
				t.Errorf("%s leaves %s", text, name)
			}
		}
	}
	if got := addonNames(render(t, `addons: {enabled: false}`)); len(got) > 0 {
		t.Errorf("no addons are %v", got)
	}
}

func addonNames(all objects) []string {
	var names []string
	for name, object := range all {
		if kind := object.GetKind(); kind == "HelmRelease" || kind == "Manifests" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestMonitoring resizes volumes before StatefulSets, and stops before they are full.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	all := render(t, `
addons:
  monitoring:
    enabled: true
    kubePrometheusStack: {release: {values: {prometheus: {prometheusSpec: {storageSpec: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 100Gi}}}}}}}}}}
`)
	stack := all.get(t, "HelmRelease kube-prometheus-stack")
	want(t, stack, `{apiVersion: v1, kind: PersistentVolumeClaim, action: patch, selector: {alertmanager: kube-prometheus-stack-alertmanager},
  options: {type: strategic, data: {spec: {resources: {requests: {storage: 10Gi}}}}}}`, "spec", "lifecycleHooks", "preUpgrade", 0)
	want(t, stack, `100Gi`, "spec", "lifecycleHooks", "preUpgrade", 1, "options", "data", "spec", "resources", "requests", "storage")
	want(t, stack, `delete`, "spec", "lifecycleHooks", "postDelete", 1, "action")
	got := chartValues(t, all, "kube-prometheus-stack")
	want(t, got, `87040MB`, "prometheus", "prometheusSpec", "retentionSize")
	want(t, got, `90d`, "prometheus", "prometheusSpec", "retention")
	loki := all.get(t, "HelmRelease loki-stack")
	want(t, loki, `{apiVersion: apps/v1, kind: StatefulSet, action: delete, name: loki-stack, options: {propagationPolicy: Orphan}}`, "spec", "lifecycleHooks", "preUpgrade", 0)
	want(t, loki, `{app: loki, release: loki-stack}`, "spec", "lifecycleHooks", "preUpgrade", 1, "selector")
	blackbox := chartValues(t, all, "blackbox-exporter")
	want(t, blackbox, `[{name: openstack-openstack, url: "https://k/v3"}]`, "serviceMonitor", "targets")
}

// TestNoLatest wants every image and chart at a version.
func TestNoLatest(t *testing.T) {
	t.Parallel()
	text, err := Render(Release{Name: "c1", Values: values(t, read(t, "full.yaml"))})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(plain(text), "\n") {
		if strings.Contains(line, ":latest") || strings.Contains(line, "busybox") || strings.Contains(line, "bitnami") {
			t.Error(line)
		}
	}
	for name, object := range renderRelease(t, Release{Name: "c1", Values: values(t, read(t, "full.yaml"))}) {
		if object.GetKind() == "HelmRelease" {
			if version, _ := at(object.Object, "spec", "chart", "version").(string); len(strings.Split(version, ".")) < 3 {
				t.Errorf("%s: version %q", name, version)
			}
			want(t, object.Object, `true`, "spec", "bootstrap")
			want(t, object.Object, `c1`, "spec", "clusterName")
		}
	}
}

// TestRendersThrough has the addon provider's templates render everything that
// the chart gives them into YAML.
func TestRendersThrough(t *testing.T) {
	t.Parallel()
	for _, name := range configurations {
		all := renderRelease(t, Release{Name: "c1", Values: values(t, read(t, name+".yaml"))})
		for key, object := range all {
			switch object.GetKind() {
			case "HelmRelease":
				chartValues(t, all, strings.TrimPrefix(key, "HelmRelease "))
			case "Manifests":
				text, given := at(object.Object, "spec", "manifestSources", 0, "template").(string)
				if !given {
					continue
				}
				for _, made := range decode(t, through(t, text, known(someClouds, nil))) {
					if made.GetKind() == "" || made.GetName() == "" {
						out, _ := yaml.Marshal(made.Object)
						t.Errorf("%s: %s makes\n%s", name, key, out)
					}
				}
			}
		}
	}
}
