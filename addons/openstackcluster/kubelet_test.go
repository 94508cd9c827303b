package openstackcluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

const servingCertificates = `kubeletServingCertificates: {enabled: true}`

// kubeletPatch is the patch in a folder of a kubeadm configuration; empty if there is none.
func kubeletPatch(t *testing.T, spec any, folder string) string {
	t.Helper()
	text, _ := at(file(t, spec, folder+"/kubeletconfiguration0+strategic.yaml"), "content").(string)
	return text
}

// TestKubeletServingCertificates: all kubelets ask for a certificate, metrics-server verifies
// it, and the approver is told by a label. Without the value nothing is as much as mentioned:
// machines of clusters that are there stay.
//
// proves: S-71
func TestKubeletServingCertificates(t *testing.T) {
	t.Parallel()
	const label = "slipway.sh/kubelet-serving-certificates"
	all := render(t, servingCertificates)
	for _, spec := range []any{all.kubeadm(t), all.worker(t, "md-0")} {
		want(t, values(t, kubeletPatch(t, spec, "/etc/kubernetes/patches")), `{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, serverTLSBootstrap: true}`)
		want(t, spec, "/etc/kubernetes/patches", "joinConfiguration", "patches", "directory")
	}
	want(t, all.kubeadm(t), "/etc/kubernetes/patches", "initConfiguration", "patches", "directory")
	want(t, all.worker(t, "md-0"), "null", "initConfiguration")
	want(t, chartValues(t, all, "metrics-server"), "null", "args")
	want(t, all.get(t, "Cluster"), `"true"`, "metadata", "labels", label)

	without := render(t)
	for _, spec := range []any{without.kubeadm(t), without.worker(t, "md-0")} {
		if kubeletPatch(t, spec, "/etc/kubernetes/patches") != "" {
			t.Error("a patch that nobody asked for")
		}
		want(t, spec, "null", "joinConfiguration", "patches")
	}
	want(t, chartValues(t, without, "metrics-server"), `[--kubelet-insecure-tls]`, "args")
	want(t, without.get(t, "Cluster"), "null", "metadata", "labels", label)
	refuse(t, `kubeletServingCertificates: {enabled: "yes"}`, "kubeletServingCertificates")
	refuse(t, `kubeletServingCertificates: {enable: true}`, "kubeletServingCertificates")
}

// TestPatchesGoWhereTheSpecSays, with those of the API server.
func TestPatchesGoWhereTheSpecSays(t *testing.T) {
	t.Parallel()
	all := render(t, servingCertificates, `apiServer: {resources: {limits: {memory: 6Gi}}}`,
		`controlPlane: {kubeadmConfigSpec: {initConfiguration: {patches: {directory: /first}}, joinConfiguration: {patches: {directory: /next}}}}`,
		`nodeGroupDefaults: {kubeadmConfigSpec: {joinConfiguration: {patches: {directory: /worker}}}}`)
	for _, folder := range []string{"/first", "/next"} {
		if kubeletPatch(t, all.kubeadm(t), folder) == "" || file(t, all.kubeadm(t), folder+"/kube-apiserver0+strategic.yaml") == nil {
			t.Errorf("nothing in %s", folder)
		}
	}
	want(t, all.kubeadm(t), "/next", "joinConfiguration", "patches", "directory")
	if kubeletPatch(t, all.worker(t, "md-0"), "/worker") == "" {
		t.Error("nothing of the worker's")
	}
	want(t, all.worker(t, "md-0"), "/worker", "joinConfiguration", "patches", "directory")
}

// TestKubeadmPatchesTheKubelet has the bundle's kubeadm make the kubelet's configuration with
// the patch, without touching this machine.
func TestKubeadmPatchesTheKubelet(t *testing.T) {
	t.Parallel()
	bundle := os.Getenv("SLIPWAY_BUNDLE")
	if bundle == "" {
		t.Skip("SLIPWAY_BUNDLE names no bundle: run make e2e")
	}
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"patches/kubeletconfiguration0+strategic.yaml": kubeletPatch(t, render(t, servingCertificates).kubeadm(t), "/etc/kubernetes/patches"),
		"kubeadm.yaml": `apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: 192.0.2.1}
nodeRegistration: {name: w1, criSocket: "unix:///nonexistent.sock"}
patches: {directory: ` + filepath.Join(dir, "patches") + `}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.34.4
`, "out/.keep": ""})
	kubeadm := exec.Command(filepath.Join(bundle, "bin", "kubeadm"), "init", "phase", "kubelet-start", "--dry-run", "--config", filepath.Join(dir, "kubeadm.yaml"))
	kubeadm.Env = append(os.Environ(), "KUBEADM_INIT_DRYRUN_DIR="+filepath.Join(dir, "out"))
	if out, err := kubeadm.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var configuration any
	if err := yaml.Unmarshal([]byte(get(t, dir, "out/config.yaml")), &configuration); err != nil {
		t.Fatal(err)
	}
	want(t, configuration, "true", "serverTLSBootstrap")
	want(t, configuration, "true", "authentication", "webhook", "enabled") // what kubeadm itself says stays
}
