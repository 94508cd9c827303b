package controllers_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/kube"
)

func consoleOptions() controllers.Options {
	return controllers.Options{Image: "registry.local/slipway:1", TrustBundle: "x", Environment: map[string]string{"HTTPS_PROXY": "http://proxy:3128"}, Console: &controllers.Console{
		Keystone: "https://cloud.example:5000", PublicEndpoint: "https://clusters.example", Magnum: "https://203.0.113.7:9511/v1", Region: "R", Interface: "internal", Domain: "users",
		WebSSO: []string{"Company login=openid"}, Address: "203.0.113.8", Hostnames: []string{"clusters.example"}, CloudCA: "an authority", Replicas: 2}}
}

// TestTheConsoleHasNoRights: nothing binds its account, and its pods have no token of it.
func TestTheConsoleHasNoRights(t *testing.T) {
	t.Parallel()
	all := objects(t, consoleOptions())
	for _, o := range all {
		if strings.HasPrefix(o.GetAPIVersion(), "rbac.") || o.GetKind() == "CustomResourceDefinition" || o.GetKind() != "Namespace" && o.GetNamespace() != controllers.ConsoleNamespace {
			t.Errorf("%s of %q", kube.Describe(o), o.GetNamespace())
		}
	}
	if a := find[corev1.ServiceAccount](t, all, "ServiceAccount")[controllers.ConsoleName]; a == nil || a.AutomountServiceAccountToken == nil || *a.AutomountServiceAccountToken {
		t.Errorf("account %+v", a)
	}
	if space := find[corev1.Namespace](t, all, "Namespace")[controllers.ConsoleNamespace]; space == nil || space.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("namespace %+v", space)
	}
	deployments := find[appsv1.Deployment](t, all, "Deployment")
	d := deployments[controllers.ConsoleName]
	if len(deployments) != 1 || d == nil || *d.Spec.Replicas != 2 {
		t.Fatalf("Deployments %v", deployments)
	}
	pod, c := d.Spec.Template.Spec, d.Spec.Template.Spec.Containers[0]
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken || pod.ServiceAccountName != controllers.ConsoleName || !*pod.SecurityContext.RunAsNonRoot ||
		!*c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation || !slices.Equal(c.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}) || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("pod %+v", pod)
	}
	var secrets []string
	for _, v := range pod.Volumes {
		if v.Secret != nil {
			secrets = append(secrets, v.Secret.SecretName)
		}
		if v.HostPath != nil || v.Projected != nil {
			t.Errorf("volume %+v", v)
		}
	}
	slices.Sort(secrets)
	if !slices.Equal(secrets, []string{"slipway-console-sessions", "slipway-console-tls"}) {
		t.Errorf("it has the Secrets %v", secrets)
	}
}

func TestTheConsoleIsServed(t *testing.T) {
	t.Parallel()
	all := objects(t, consoleOptions())
	c := find[appsv1.Deployment](t, all, "Deployment")[controllers.ConsoleName].Spec.Template.Spec.Containers[0]
	for _, want := range []string{"--keystone=https://cloud.example:5000", "--public-endpoint=https://clusters.example", "--magnum=https://203.0.113.7:9511/v1", "--region=R", "--interface=internal", "--domain=users",
		"--websso=Company login=openid", "--cloud-ca=/etc/slipway/cloud/ca.crt", "--session-key=/etc/slipway/sessions/tls.key", "--tls-cert=/etc/slipway/tls/tls.crt", "--tls-key=/etc/slipway/tls/tls.key"} {
		if !slices.Contains(c.Args, want) {
			t.Errorf("arguments %q have no %q", c.Args, want)
		}
	}
	if !slices.Equal(c.Args[:2], []string{"serve", "console"}) || !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "HTTPS_PROXY" }) {
		t.Errorf("arguments %q, variables %+v", c.Args, c.Env)
	}
	probe := c.ReadinessProbe.HTTPGet
	port := slices.IndexFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == "api" })
	if len(c.Ports) != 1 || port != 0 || c.Ports[0].ContainerPort != 8470 || probe == nil || probe.Path != "/healthcheck" || probe.Scheme != corev1.URISchemeHTTPS {
		t.Errorf("ports %+v, probe %+v", c.Ports, probe)
	}
	services := find[corev1.Service](t, all, "Service")
	s := services[controllers.ConsoleName]
	if len(services) != 1 || s == nil || s.Spec.Type != corev1.ServiceTypeLoadBalancer || s.Spec.LoadBalancerIP != "203.0.113.8" || s.Spec.Ports[0].Port != 443 ||
		s.Annotations["loadbalancer.openstack.org/keep-floatingip"] != "true" {
		t.Errorf("services %+v", services)
	}
	names := func(o controllers.Options) (list []string) {
		for _, object := range objects(t, o) {
			if object.GetKind() == "Certificate" {
				list = append(list, object.GetName())
			}
		}
		return list
	}
	if got := names(consoleOptions()); !slices.Equal(got, []string{"slipway-console-authority", "slipway-console", "slipway-console-sessions"}) {
		t.Errorf("certificates %v", got)
	}
	own := consoleOptions()
	own.Console.Certificate, own.Console.Key = "certificate", "key"
	if got := names(own); !slices.Equal(got, []string{"slipway-console-sessions"}) {
		t.Errorf("certificates %v beside the operator's", got)
	}
	if secret := find[corev1.Secret](t, objects(t, own), "Secret")["slipway-console-tls"]; secret == nil || string(secret.Data["tls.key"]) != "key" {
		t.Errorf("Secret %+v", secret)
	}
}

// TestTheConsoleOfLittle is what is left open: the chart decides.
func TestTheConsoleOfLittle(t *testing.T) {
	t.Parallel()
	all := objects(t, controllers.Options{Console: &controllers.Console{Keystone: "https://cloud.example", PublicEndpoint: "https://203.0.113.8", Address: "203.0.113.8", Replicas: 1}})
	d := find[appsv1.Deployment](t, all, "Deployment")[controllers.ConsoleName]
	for _, arg := range d.Spec.Template.Spec.Containers[0].Args {
		if flag, _, _ := strings.Cut(arg, "="); slices.Contains([]string{"--magnum", "--region", "--interface", "--domain", "--websso", "--cloud-ca"}, flag) {
			t.Errorf("argument %s", arg)
		}
	}
	if *d.Spec.Replicas != 1 || len(find[corev1.ConfigMap](t, all, "ConfigMap")) != 0 {
		t.Errorf("%d replicas", *d.Spec.Replicas)
	}
	at := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Certificate" && o.GetName() == controllers.ConsoleName
	})
	if addresses, _, err := unstructured.NestedStringSlice(all[at].Object, "spec", "ipAddresses"); err != nil || !slices.Equal(addresses, []string{"203.0.113.8"}) {
		t.Errorf("addresses %v, %v", addresses, err)
	}
}
