package openstackcluster

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/component"
)

const (
	keystoneAuth = `{authWebhook: k8s-keystone-auth, addons: {openstack: {k8sKeystoneAuth: {enabled: true}}}}`
	keystoneFile = "/etc/kubernetes/webhook/keystone.yaml"
)

// keystoneKubeconfig is how the API server reaches the webhook.
func keystoneKubeconfig(t *testing.T, all objects) string {
	t.Helper()
	content, _ := at(file(t, all.kubeadm(t), keystoneFile), "content").(string)
	return content
}

// TestKeystoneAuth asks the webhook beside the API server who somebody is, whom it knows by
// the authority of the cluster, and Kubernetes' own roles what they may.
func TestKeystoneAuth(t *testing.T) {
	t.Parallel()
	all := render(t, keystoneAuth)
	got := apiServerArguments(t, all.kubeadm(t))
	for _, argument := range []string{"authentication-token-webhook-config-file=" + keystoneFile, "authentication-token-webhook-version=v1"} {
		if !slices.Contains(got, argument) {
			t.Errorf("no %s in %q", argument, got)
		}
	}
	if strings.Contains(strings.Join(got, " "), "authorization-") {
		t.Errorf("it is asked what somebody may do: %q", got)
	}
	var kubeconfig any
	if err := yaml.Unmarshal([]byte(keystoneKubeconfig(t, all)), &kubeconfig); err != nil {
		t.Fatal(err)
	}
	want(t, kubeconfig, `{server: "https://127.0.0.1:8443/webhook", certificate-authority: /etc/kubernetes/pki/ca.crt, tls-server-name: kubernetes}`, "clusters", 0, "cluster")
	refuse(t, `authWebhook: other`, "authWebhook")
	if addon := render(t, `authWebhook: k8s-keystone-auth`)["Manifests keystone-auth"]; addon != nil {
		t.Error("the addon is there unasked")
	}
}

// TestKeystoneWebhook runs on control planes, with nothing but the certificate of the API server.
func TestKeystoneWebhook(t *testing.T) {
	t.Parallel()
	pod := func(text string, more map[string]any) any {
		all := applied(t, render(t, keystoneAuth, text), "keystone-auth", known(someClouds, more))
		return at(all.get(t, "DaemonSet keystone-auth"), "spec", "template", "spec")
	}
	image, _ := component.Find("k8s-keystone-auth")
	const first = `"--listen=127.0.0.1:8443", "--tls-cert-file=/etc/kubernetes/pki/apiserver.crt", "--tls-private-key-file=/etc/kubernetes/pki/apiserver.key"`
	plain := pod(`{}`, nil)
	want(t, plain, image.Ref, "containers", 0, "image")
	want(t, plain, `[`+first+`, "--keystone-url=https://k/v3", "--project-id=p"]`, "containers", 0, "args")
	want(t, plain, `{node-role.kubernetes.io/control-plane: ""}`, "nodeSelector")
	want(t, plain, `[{name: certificate, hostPath: {path: /etc/kubernetes/pki/apiserver.crt, type: File}}, {name: key, hostPath: {path: /etc/kubernetes/pki/apiserver.key, type: File}}]`, "volumes")
	private := pod(`addons: {openstack: {k8sKeystoneAuth: {values: {openstackAuthUrl: "https://keystone.example/{{ x }}", projectId: q}, image: {repository: "corp:5000/auth", tag: v1}}}}`, map[string]any{"cacert": "UEVN"})
	want(t, private, `corp:5000/auth:v1`, "containers", 0, "image")
	want(t, private, `[`+first+`, "--keystone-url=https://keystone.example/{{ x }}", "--project-id=q", "--keystone-ca-file=/etc/keystone/cacert"]`, "containers", 0, "args")
	want(t, private, `{name: keystone, configMap: {name: keystone-auth}}`, "volumes", 2)
	want(t, private, `{name: keystone, mountPath: /etc/keystone, readOnly: true}`, "containers", 0, "volumeMounts", 2)
	all := applied(t, render(t, keystoneAuth), "keystone-auth", known(someClouds, map[string]any{"cacert": "UEVN"}))
	want(t, all.get(t, "ConfigMap keystone-auth"), `{cacert: UEVN}`, "binaryData")
}

// TestKeystoneRoles are bindings, which a cluster's values change.
func TestKeystoneRoles(t *testing.T) {
	t.Parallel()
	bindings := func(text string) (names []string) {
		for name, object := range applied(t, render(t, keystoneAuth, text), "keystone-auth", known(someClouds, nil)) {
			if object.GetKind() == "ClusterRoleBinding" {
				names = append(names, strings.TrimPrefix(name, "ClusterRoleBinding "))
				want(t, object.Object, `Group`, "subjects", 0, "kind")
			}
		}
		slices.Sort(names)
		return names
	}
	if got := bindings(`{}`); !slices.Equal(got, []string{"keystone:admin:cluster-admin", "keystone:member:edit", "keystone:reader:view"}) {
		t.Errorf("by default %q", got)
	}
	if got := bindings(`addons: {openstack: {k8sKeystoneAuth: {roles: {member: null, reader: null, k8s_developer: developer}}}}`); !slices.Equal(got, []string{"keystone:admin:cluster-admin", "keystone:k8s_developer:developer"}) {
		t.Errorf("changed %q", got)
	}
}

// TestKeystoneAuthByAChart is as in capi-helm-charts: the chart's webhook decides too who may
// do what.
func TestKeystoneAuthByAChart(t *testing.T) {
	t.Parallel()
	all := render(t, keystoneAuth, `addons: {openstack: {k8sKeystoneAuth: {chart: {repo: "https://catalyst-cloud.github.io/capi-plugin-helm-charts", name: k8s-keystone-auth, version: 1.5.1}, values: {projectId: q}}}}`)
	if got := apiServerArguments(t, all.kubeadm(t)); !slices.Contains(got, "authorization-mode=Node,RBAC,Webhook") || !slices.Contains(got, "authorization-webhook-config-file="+keystoneFile) {
		t.Errorf("arguments %q", got)
	}
	if text := keystoneKubeconfig(t, all); !strings.Contains(text, "insecure-skip-tls-verify: true") {
		t.Errorf("the webhook is reached by\n%s", text)
	}
	want(t, chartOf(t, all, "k8s-keystone-auth"), `{repo: "https://catalyst-cloud.github.io/capi-plugin-helm-charts", name: k8s-keystone-auth, version: 1.5.1}`)
	want(t, chartValues(t, all, "k8s-keystone-auth"), `{openstackAuthUrl: "https://k/v3", projectId: q}`)
	if all["Manifests keystone-auth"] != nil {
		t.Error("Slipway's is there too")
	}
}
