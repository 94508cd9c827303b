package controllers_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/controllers"
)

func vnflcmOptions() controllers.Options {
	return controllers.Options{TrustBundle: "x", Values: map[string]any{"vnflcm": map[string]any{"enabled": true, "clouds": "secret-of-the-user", "publicEndpoint": "https://nfv.example:9890",
		"address": "203.0.113.9", "hostnames": []any{"nfv.example"}, "callbackAllow": []any{"nfvo.example", "10.0.0.0/8"},
		"rules": []any{map[string]any{"apiGroups": []any{"example.com"}, "resources": []any{"things"}, "verbs": []any{"get"}}}}}}
}

// The endpoint is not there unless it is asked for, and neither are its kinds.
func TestTheVNFEndpointIsOffByDefault(t *testing.T) {
	t.Parallel()
	for _, o := range []controllers.Options{{}, magnumOptions()} {
		for _, object := range objects(t, o) {
			if strings.Contains(object.GetName(), "vnf") {
				t.Errorf("%s %s", object.GetKind(), object.GetName())
			}
		}
	}
	kinds := 0
	for _, object := range objects(t, vnflcmOptions()) {
		if object.GetKind() == "CustomResourceDefinition" && strings.HasSuffix(object.GetName(), ".vnflcm.slipway.sh") {
			kinds++
		}
	}
	if kinds != 4 {
		t.Errorf("%d kinds", kinds)
	}
	if _, err := controllers.Objects(controllers.Options{Values: map[string]any{"vnflcm": map[string]any{"enabled": true}}}); err == nil || !strings.Contains(err.Error(), "vnflcm.publicEndpoint is missing") {
		t.Errorf("without an endpoint: %v", err)
	}
}

// It runs without privileges, shows no secret, and is reached under its names. Its rights
// name what they are for; that they suffice is shown with the endpoint's life cycle.
func TestTheVNFEndpointHasNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	all := objects(t, vnflcmOptions())
	d := find[appsv1.Deployment](t, all, "Deployment")[controllers.VNFLCMName]
	if d == nil || d.Namespace != controllers.VNFLCMNamespace {
		t.Fatal("no Deployment")
	}
	text, err := yaml.Marshal(d)
	if err != nil || strings.Contains(string(text), "secret-of") {
		t.Errorf("it shows a secret, or %v", err)
	}
	pod, c := d.Spec.Template.Spec, d.Spec.Template.Spec.Containers[0]
	if !*pod.SecurityContext.RunAsNonRoot || !*c.SecurityContext.ReadOnlyRootFilesystem || !slices.Contains(c.SecurityContext.Capabilities.Drop, "ALL") || pod.ServiceAccountName != controllers.VNFLCMName {
		t.Errorf("pod %+v, container %+v", pod.SecurityContext, c.SecurityContext)
	}
	args := strings.Join(c.Args, " ")
	for _, want := range []string{"serve vnflcm --log-level=info", "--public-endpoint=https://nfv.example:9890", "--callback-allow=10.0.0.0/8", "--leader-election-namespace=slipway-system"} {
		if !strings.Contains(args, want) {
			t.Errorf("arguments %q have no %q", args, want)
		}
	}
	if !slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == "api" && p.ContainerPort == 9890 }) || c.ReadinessProbe.HTTPGet.Path != "/healthcheck" {
		t.Errorf("ports %+v, probe %+v", c.Ports, c.ReadinessProbe)
	}
	service := find[corev1.Service](t, all, "Service")[controllers.VNFLCMName]
	if service == nil || service.Spec.LoadBalancerIP != "203.0.113.9" || service.Spec.Ports[0].Port != 9890 {
		t.Errorf("service %+v", service)
	}
	role := find[rbacv1.ClusterRole](t, all, "ClusterRole")[controllers.VNFLCMName]
	for _, rule := range role.Rules {
		wide := slices.Contains(rule.Resources, "*") || slices.Contains(rule.Verbs, "*") || slices.Contains(rule.APIGroups, "*")
		secrets := slices.Contains(rule.Resources, "secrets") && (slices.Contains(rule.Verbs, "list") || slices.Contains(rule.Verbs, "watch"))
		packages := slices.Contains(rule.Resources, "vnfpackages") && !slices.Equal(rule.Verbs, []string{"get"})
		if wide || secrets || packages {
			t.Errorf("too wide: %+v", rule)
		}
	}
	if last := role.Rules[len(role.Rules)-1]; !slices.Equal(last.Resources, []string{"things"}) {
		t.Errorf("the operator's rule is not there: %+v", last)
	}
}

// Beside the Magnum API or backups in the same namespace, that is made once.
func TestTheVNFEndpointSharesItsNamespace(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]controllers.Options{"alone": vnflcmOptions(), "backup": vnflcmOptions(), "magnum": vnflcmOptions()} {
		if name != "alone" {
			o.Values[name] = map[string]any{"enabled": true, "settings": "{}"}
		}
		made := 0
		for _, object := range objects(t, o) {
			if object.GetKind() == "Namespace" && object.GetName() == controllers.VNFLCMNamespace {
				made++
			}
		}
		if made != 1 {
			t.Errorf("%s: it is made %d times", name, made)
		}
	}
}

// By itself it brings what is its own, and no other set. Mistakes are told all at once.
func TestTheVNFEndpointAlone(t *testing.T) {
	t.Parallel()
	all, err := controllers.VNFLCM(map[string]any{"image": "registry.local/slipway:1", "vnflcm": map[string]any{"publicEndpoint": "https://nfv.example:9890", "clouds": "c"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if !strings.HasPrefix(o.GetName(), "slipway-vnflcm") && o.GetName() != controllers.VNFLCMNamespace && !strings.HasSuffix(o.GetName(), ".vnflcm.slipway.sh") {
			t.Errorf("%s %s", o.GetKind(), o.GetName())
		}
	}
	if d := find[appsv1.Deployment](t, all, "Deployment"); len(d) != 1 || d[controllers.VNFLCMName].Spec.Template.Spec.Containers[0].Image != "registry.local/slipway:1" {
		t.Errorf("Deployments %v", d)
	}
	_, err = controllers.VNFLCM(map[string]any{"janitor": map[string]any{}, "vnflcm": map[string]any{"endpoint": "x"}})
	for _, want := range []string{"janitor", "vnflcm.endpoint", "vnflcm.publicEndpoint", "vnflcm.clouds"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %s: %v", want, err)
		}
	}
}
