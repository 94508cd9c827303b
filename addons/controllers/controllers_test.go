package controllers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/addons/scheduledbackup"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

func objects(t *testing.T, o controllers.Options) []*unstructured.Unstructured {
	t.Helper()
	all, err := controllers.Objects(o)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// find returns the objects of a kind as their Go type.
func find[T any](t *testing.T, all []*unstructured.Unstructured, kind string) map[string]*T {
	t.Helper()
	found := map[string]*T{}
	for _, object := range all {
		if object.GetKind() == kind {
			typed := new(T)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
				t.Fatalf("%s: %v", kube.Describe(object), err)
			}
			found[object.GetName()] = typed
		}
	}
	return found
}

// proves: F23
func TestDeploymentsRunWithoutPrivileges(t *testing.T) {
	t.Parallel()
	all := objects(t, controllers.Options{TrustBundle: "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"})
	deployments := find[appsv1.Deployment](t, all, "Deployment")
	for _, name := range (controllers.Options{}).Deployments() {
		d := deployments[name.Name]
		if d == nil || d.Namespace != name.Namespace {
			t.Fatalf("no Deployment %s", name)
		}
		pod := d.Spec.Template.Spec
		c := pod.Containers[0]
		if !*pod.SecurityContext.RunAsNonRoot || !*c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation ||
			!slices.Contains(c.SecurityContext.Capabilities.Drop, "ALL") || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s: pod %+v, container %+v", name, pod.SecurityContext, c.SecurityContext)
		}
		if *d.Spec.Replicas != 2 || c.Image != "ghcr.io/slipway-sh/slipway:"+component.SlipwayVersion() || pod.ServiceAccountName != name.Name {
			t.Errorf("%s: %d replicas of %s as %s", name, *d.Spec.Replicas, c.Image, pod.ServiceAccountName)
		}
		if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "trust" }) {
			t.Errorf("%s: the trust bundle is not mounted", name)
		}
	}
}

// proves: F154
func TestTheJanitorMayOnlyGetAndDeleteSecrets(t *testing.T) {
	t.Parallel()
	roles := find[rbacv1.ClusterRole](t, objects(t, controllers.Options{}), "ClusterRole")
	role := roles[controllers.JanitorName]
	if role == nil {
		t.Fatal("no ClusterRole of the janitor")
	}
	var verbs []string
	for _, rule := range role.Rules {
		if slices.Contains(rule.Resources, "secrets") {
			verbs = append(verbs, rule.Verbs...)
		}
		if slices.Contains(rule.Resources, "*") || slices.Contains(rule.Verbs, "*") || slices.Contains(rule.APIGroups, "*") {
			t.Errorf("rule for everything: %+v", rule)
		}
	}
	slices.Sort(verbs)
	if got := strings.Join(slices.Compact(verbs), " "); got != "delete get" {
		t.Errorf("verbs on Secrets %q", got)
	}
}

func TestOptionsReachTheObjects(t *testing.T) {
	t.Parallel()
	all := objects(t, controllers.Options{Image: "registry.local/slipway@sha256:00", Replicas: 1, Values: map[string]any{
		"janitor":  map[string]any{"defaultVolumesPolicy": "keep", "args": []any{"--janitor-workers=3"}},
		"env":      map[string]any{"HTTPS_PROXY": "http://proxy:3128"},
		"logLevel": "debug",
	}})
	d := find[appsv1.Deployment](t, all, "Deployment")[controllers.JanitorName]
	c := d.Spec.Template.Spec.Containers[0]
	args := strings.Join(c.Args, " ")
	if *d.Spec.Replicas != 1 || c.Image != "registry.local/slipway@sha256:00" {
		t.Errorf("%d replicas of %s", *d.Spec.Replicas, c.Image)
	}
	for _, want := range []string{"serve controllers --only=janitor,template-pruner,causes --log-level=debug", "--janitor-default-volumes-policy=keep", "--janitor-workers=3"} {
		if !strings.Contains(args, want) {
			t.Errorf("arguments %q have no %q", args, want)
		}
	}
	if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "HTTPS_PROXY" && e.Value == "http://proxy:3128" }) {
		t.Errorf("variables %+v", c.Env)
	}
	without := objects(t, controllers.Options{Values: map[string]any{"addonProvider": map[string]any{"enabled": false}}})
	if deployments := find[appsv1.Deployment](t, without, "Deployment"); len(deployments) != 1 {
		t.Errorf("%d Deployments without the addon provider", len(deployments))
	}
}

// TestNoLeaseWhereNobodyStandsBy: on a seed each set of controllers is one process without a
// lease, also while it is replaced. APIs have no lease to lose.
func TestNoLeaseWhereNobodyStandsBy(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		options controllers.Options
		without int
	}{
		"seed":               {controllers.Options{Alone: true, Backup: &scheduledbackup.Settings{}}, 3},
		"management cluster": {controllers.Options{Backup: &scheduledbackup.Settings{}}, 0},
		"tenants' console":   {controllers.Options{Alone: true, Console: consoleOptions().Console}, 0},
	} {
		without := 0
		for name, d := range find[appsv1.Deployment](t, objects(t, one.options), "Deployment") {
			if !slices.Contains(d.Spec.Template.Spec.Containers[0].Args, "--leader-election=false") {
				continue
			}
			without++
			if update := d.Spec.Strategy.RollingUpdate; *d.Spec.Replicas != 1 || update == nil || update.MaxSurge.IntValue() != 0 || update.MaxUnavailable.IntValue() != 1 {
				t.Errorf("%s has %d replicas, and while it is replaced %+v", name, *d.Spec.Replicas, update)
			}
		}
		if without != one.without {
			t.Errorf("%s: %d Deployments hold no lease, want %d", name, without, one.without)
		}
	}
}

// TestASlowStartIsNoFailure: the kubelet waits ten minutes for the kinds that a slow API server
// tells, and no probe ends after one second, its default.
func TestASlowStartIsNoFailure(t *testing.T) {
	t.Parallel()
	for name, d := range find[appsv1.Deployment](t, objects(t, controllers.Options{}), "Deployment") {
		c := d.Spec.Template.Spec.Containers[0]
		if p := c.StartupProbe; p == nil || p.PeriodSeconds*p.FailureThreshold < 600 {
			t.Errorf("%s may start for %+v", name, p)
		}
		for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
			if p.TimeoutSeconds < 10 {
				t.Errorf("a probe of %s has %d s", name, p.TimeoutSeconds)
			}
		}
	}
}

// proves: S-57
func TestTheProxyReachesAllControllers(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": ".svc,10.0.0.0/8"}
	magnum := magnumOptions()
	magnum.Environment = variables
	for _, o := range []controllers.Options{{Environment: variables, Values: map[string]any{"env": map[string]any{"OWN": "x"}}}, magnum} {
		deployments := find[appsv1.Deployment](t, objects(t, o), "Deployment")
		if len(deployments) != 2 {
			t.Fatalf("%d Deployments", len(deployments))
		}
		for name, d := range deployments {
			got := map[string]string{}
			for _, e := range d.Spec.Template.Spec.Containers[0].Env {
				got[e.Name] = e.Value
			}
			if got["HTTPS_PROXY"] != variables["HTTPS_PROXY"] || got["NO_PROXY"] != variables["NO_PROXY"] || (o.Magnum == nil) != (got["OWN"] == "x") {
				t.Errorf("%s: variables %v", name, got)
			}
		}
	}
}

func TestEqualOptionsGiveEqualObjects(t *testing.T) {
	t.Parallel()
	text := func() string {
		out, err := yaml.Marshal(objects(t, controllers.Options{Replicas: 1}))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if text() != text() {
		t.Error("two renderings differ")
	}
}

// The chart can be installed by Helm as well.
func TestHelmInstallsTheChart(t *testing.T) {
	t.Parallel()
	loaded, err := controllers.Chart()
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(&action.Configuration{})
	install.KubeVersion = &chartutil.KubeVersion{Version: component.KubernetesVersion, Major: "1", Minor: "34"}
	install.DryRun, install.ClientOnly, install.ReleaseName, install.Namespace = true, true, "controllers", "capi-addon-system"
	release, err := install.RunWithContext(t.Context(), loaded, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.CRDObjects()) != 11 || !strings.Contains(release.Manifest, controllers.AddonProviderName) {
		t.Errorf("%d definitions", len(loaded.CRDObjects()))
	}
}

// A real API server takes every object, the second time without a change.
func TestObjectsAreAcceptedByAnAPIServer(t *testing.T) {
	t.Parallel()
	cluster, err := kube.New(kubetest.Start(t).Config)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		all := append(objects(t, controllers.Options{TrustBundle: "x", Fence: &controllers.Fence{Environment: "demo", Clouds: "x"}}), withoutCertificates(append(append(objects(t, magnumOptions()), objects(t, consoleOptions())...), objects(t, vnflcmOptions())...))...)
		if err := cluster.ApplyObjects(t.Context(), all); err != nil {
			t.Fatal(err)
		}
	}
}

func magnumOptions() controllers.Options {
	return controllers.Options{Image: "registry.local/slipway:1", TrustBundle: "x", Magnum: &controllers.Magnum{Clouds: "secret-of-the-user", Administrator: "secret-of-the-administrator",
		Address: "203.0.113.7", Hostnames: []string{"magnum.cloud.example"}, CloudCA: "an authority", DefaultQuota: 20, CredentialOverlap: "5m0s", Replicas: 2, ControllerReplicas: 1,
		NetworkDriver: "flannel", NetworkDrivers: []string{"calico", "flannel"}, Labels: map[string]string{"boot_volume_size": "20"},
		ClusterValues: map[string]any{"registryMirrors": map[string]any{"docker.io": []any{"https://mirror"}}}}}
}

func TestTheMagnumAPIHasNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	all := objects(t, magnumOptions())
	deployments := find[appsv1.Deployment](t, all, "Deployment")
	if len(deployments) != 2 {
		t.Fatalf("%d Deployments", len(deployments))
	}
	for name, d := range deployments {
		text, err := yaml.Marshal(d)
		if err != nil || strings.Contains(string(text), "secret-of") {
			t.Errorf("%s shows a secret, or %v", name, err)
		}
	}
	mounts := func(name string) (list []string) {
		for _, v := range deployments[name].Spec.Template.Spec.Volumes {
			if v.Secret != nil {
				list = append(list, v.Secret.SecretName)
			}
		}
		return list
	}
	if got := mounts(controllers.MagnumName); !slices.Equal(got, []string{"slipway-magnum-cloud", "slipway-magnum-tls"}) {
		t.Errorf("the API, which tenants reach, has %v", got)
	}
	if got := mounts(controllers.MagnumControllersName); !slices.Equal(got, []string{"slipway-magnum-administrator"}) {
		t.Errorf("the controllers have %v", got)
	}
	for _, rule := range find[rbacv1.ClusterRole](t, all, "ClusterRole")[controllers.MagnumName].Rules {
		if slices.Contains(rule.Resources, "secrets") && (slices.Contains(rule.Verbs, "list") || slices.Contains(rule.Verbs, "watch")) {
			t.Errorf("the API may read all Secrets: %+v", rule)
		}
	}
	if *deployments[controllers.MagnumName].Spec.Replicas != 2 || *deployments[controllers.MagnumControllersName].Spec.Replicas != 1 {
		t.Error("the replicas are not those of the options")
	}
	if args := strings.Join(deployments[controllers.MagnumControllersName].Spec.Template.Spec.Containers[0].Args, " "); !strings.Contains(args, "--only=magnum") || !strings.Contains(args, "--magnum-label=boot_volume_size=20") ||
		!strings.Contains(args, "--magnum-credential-overlap=5m0s") {
		t.Errorf("arguments %s", args)
	}
	service := find[corev1.Service](t, all, "Service")[controllers.MagnumName]
	if service == nil || service.Spec.LoadBalancerIP != "203.0.113.7" || service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		t.Errorf("service %+v", service)
	}
}

// Values of clusters are for the controllers alone, which read them as they start.
func TestValuesOfClustersReachTheirControllers(t *testing.T) {
	t.Parallel()
	other, none := magnumOptions(), magnumOptions()
	other.Magnum.ClusterValues = map[string]any{"registryMirrors": map[string]any{"docker.io": []any{"https://other"}}}
	none.Magnum.ClusterValues = nil
	const name = "slipway-magnum-values"
	marks := map[string][]string{}
	for i, o := range []controllers.Options{magnumOptions(), other, none} {
		all := objects(t, o)
		values, config := map[string]any{}, find[corev1.ConfigMap](t, all, "ConfigMap")[name]
		if config != nil {
			if err := yaml.Unmarshal([]byte(config.Data["values.yaml"]), &values); err != nil || config.Namespace != controllers.MagnumNamespace {
				t.Errorf("%d: values in %s, %v", i, config.Namespace, err)
			}
		}
		if given := o.Magnum.ClusterValues; !cmp.Equal(given, values, cmpopts.EquateEmpty()) || (config == nil) != (given == nil) {
			t.Errorf("%d: values %v, want %v", i, values, given)
		}
		for deployment, d := range find[appsv1.Deployment](t, all, "Deployment") {
			pod, wanted := d.Spec.Template.Spec, config != nil && deployment == controllers.MagnumControllersName
			volume := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil && v.ConfigMap.Name == name })
			mount := slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == name && m.MountPath == "/etc/slipway/values" })
			if flag := slices.Contains(pod.Containers[0].Args, "--magnum-values=/etc/slipway/values/values.yaml"); volume != wanted || mount != wanted || flag != wanted {
				t.Errorf("%d: %s: volume %t, mount %t, flag %t", i, deployment, volume, mount, flag)
			}
			marks[deployment] = append(marks[deployment], d.Spec.Template.Annotations["slipway.sh/settings"])
		}
	}
	if own, api := marks[controllers.MagnumControllersName], marks[controllers.MagnumName]; own[0] == own[1] || own[1] == own[2] || api[0] != api[1] || api[1] != api[2] {
		t.Errorf("marks of the controllers %v, of the API %v", own, api)
	}
}

// The controllers give clusters the CA certificates by which the API trusts the cloud.
func TestTheCloudsCAReachesTheControllers(t *testing.T) {
	t.Parallel()
	without := magnumOptions()
	without.Magnum.CloudCA = ""
	for want, o := range map[string]controllers.Options{"an authority": magnumOptions(), "": without} {
		all := objects(t, o)
		args := find[appsv1.Deployment](t, all, "Deployment")[controllers.MagnumControllersName].Spec.Template.Spec.Containers[0].Args
		if slices.Contains(args, "--magnum-cloud-ca=/etc/slipway/cloud/ca.crt") != (want != "") {
			t.Errorf("with %q: %v", want, args)
		}
		if got := string(find[corev1.Secret](t, all, "Secret")["slipway-magnum-administrator"].Data["ca.crt"]); got != want {
			t.Errorf("certificates %q, want %q", got, want)
		}
	}
}

// Other management clusters are known to the API alone, with the certificates that it trusts them by.
func TestOtherManagementClustersReachTheAPI(t *testing.T) {
	t.Parallel()
	o := magnumOptions()
	o.Magnum.Members, o.Magnum.Name = []controllers.Member{{Name: "west", URL: "https://west:9511/v1"}, {Name: "north", URL: "https://north:9511"}}, "east"
	o.Magnum.Closed, o.Magnum.MembersCA = []string{"east", "north"}, "PEM of west"
	all := objects(t, o)
	wanted := []string{"--member=west=https://west:9511/v1", "--member=north=https://north:9511", "--member-name=east", "--closed=east,north", "--member-ca=/etc/slipway/cloud/members.crt"}
	for name, d := range find[appsv1.Deployment](t, all, "Deployment") {
		args := d.Spec.Template.Spec.Containers[0].Args
		for _, arg := range wanted {
			if slices.Contains(args, arg) != (name == controllers.MagnumName) {
				t.Errorf("%s: %s in %v", name, arg, args)
			}
		}
	}
	if got := string(find[corev1.Secret](t, all, "Secret")["slipway-magnum-cloud"].Data["members.crt"]); got != "PEM of west" {
		t.Errorf("certificates %q", got)
	}
	for _, arg := range find[appsv1.Deployment](t, objects(t, magnumOptions()), "Deployment")[controllers.MagnumName].Spec.Template.Spec.Containers[0].Args {
		if strings.HasPrefix(arg, "--member") || strings.HasPrefix(arg, "--closed") {
			t.Errorf("without others it has %s", arg)
		}
	}
}

// Other settings start the pods anew: nothing else would tell them.
func TestOtherSettingsRollTheMagnumAPI(t *testing.T) {
	t.Parallel()
	mark := func(o controllers.Options) string {
		return find[appsv1.Deployment](t, objects(t, o), "Deployment")[controllers.MagnumName].Spec.Template.Annotations["slipway.sh/settings"]
	}
	other := magnumOptions()
	other.Magnum.Policy = "'cluster:create': 'role:admin'"
	scaled := magnumOptions()
	scaled.Magnum.Replicas = 3
	if mark(magnumOptions()) == mark(other) || mark(magnumOptions()) != mark(scaled) {
		t.Error("the pods' annotation does not follow the settings")
	}
}

// withoutCertificates leaves out what cert-manager defines.
func withoutCertificates(all []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool {
		return strings.HasPrefix(o.GetAPIVersion(), "cert-manager.io/")
	})
}

// What is left open is the chart's to decide.
func TestTheMagnumAPIWithoutNames(t *testing.T) {
	t.Parallel()
	all := objects(t, controllers.Options{Magnum: &controllers.Magnum{Clouds: "c", Address: "203.0.113.7", Replicas: 1, ControllerReplicas: 1, DefaultQuota: 20, NetworkDriver: "flannel"}})
	at := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Certificate" && o.GetName() == controllers.MagnumName
	})
	if at < 0 {
		t.Fatal("no certificate")
	}
	if names, _, err := unstructured.NestedStringSlice(all[at].Object, "spec", "dnsNames"); err != nil || !slices.Equal(names, []string{"slipway-magnum.slipway-system.svc"}) {
		t.Errorf("names %v, %v", names, err)
	}
	args := find[appsv1.Deployment](t, all, "Deployment")[controllers.MagnumName].Spec.Template.Spec.Containers[0].Args
	if !slices.Contains(args, "--network-drivers=calico,cilium") || !slices.Contains(args, "--default-quota=20") {
		t.Errorf("arguments %v", args)
	}
}

// The backups of a seed see its machine as root, with the right to enter it and no right in
// Kubernetes but to their record; nothing else on the seed does, nor looks at the fence.
func TestTheSeedsBackupsSeeItsMachine(t *testing.T) {
	t.Parallel()
	settings := &scheduledbackup.Settings{Environment: "demo", Machine: "/host"}
	fence := &controllers.Fence{Environment: "demo", Clouds: "login", Only: controllers.SetBackup}
	all := objects(t, controllers.Options{Backup: settings, Fence: fence})
	for name, d := range find[appsv1.Deployment](t, all, "Deployment") {
		pod, c := d.Spec.Template.Spec, d.Spec.Template.Spec.Containers[0]
		open := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil && v.HostPath.Path == "/" }) &&
			slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "machine" && m.MountPath == "/host" && !m.ReadOnly })
		rights := c.SecurityContext.Capabilities
		if wanted := name == controllers.BackupName; open != wanted || (*pod.SecurityContext.RunAsUser == 0) != wanted || slices.Equal(rights.Add, []corev1.Capability{"SYS_CHROOT"}) != wanted ||
			strings.Contains(strings.Join(c.Args, " "), "--fence-environment=demo") != wanted || !slices.Equal(rights.Drop, []corev1.Capability{"ALL"}) || *c.SecurityContext.AllowPrivilegeEscalation || !*c.SecurityContext.ReadOnlyRootFilesystem {
			t.Errorf("%s: pod %+v, container %+v, arguments %v", name, pod.SecurityContext, c.SecurityContext, c.Args)
		}
	}
	if role := find[rbacv1.ClusterRole](t, all, "ClusterRole")[controllers.BackupName]; role == nil || len(role.Rules) != 0 {
		t.Errorf("rights %+v", role)
	}
	for name, space := range find[corev1.Namespace](t, all, "Namespace") {
		if level := space.Labels["pod-security.kubernetes.io/enforce"]; (level == "privileged") != (name == controllers.BackupNamespace) {
			t.Errorf("namespace %s admits %s", name, level)
		}
	}
	settings.Machine = ""
	for name, d := range find[appsv1.Deployment](t, objects(t, controllers.Options{Backup: settings}), "Deployment") {
		if pod := d.Spec.Template.Spec; slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil }) || !*pod.SecurityContext.RunAsNonRoot {
			t.Errorf("%s on the management cluster sees its node", name)
		}
	}
}

// Each controller that writes has the fence, and a right to no more than its record; the
// API, which tenants reach, has no login of the environment.
func TestTheFenceReachesTheControllers(t *testing.T) {
	t.Parallel()
	const login = "secret-of-the-environment"
	withFence := func(clouds string) []*unstructured.Unstructured {
		magnum := magnumOptions()
		magnum.Fence = &controllers.Fence{Environment: "demo", Clouds: clouds}
		return append(objects(t, controllers.Options{Fence: magnum.Fence}), objects(t, magnum)...)
	}
	all := withFence(login)
	roles, secrets, bindings := find[rbacv1.Role](t, all, "Role"), find[corev1.Secret](t, all, "Secret"), find[rbacv1.RoleBinding](t, all, "RoleBinding")
	other := find[appsv1.Deployment](t, withFence("another"), "Deployment")
	for name, d := range find[appsv1.Deployment](t, all, "Deployment") {
		pod := d.Spec.Template.Spec
		args := strings.Join(pod.Containers[0].Args, " ")
		mounted := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == name+"-fence" }) &&
			slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/slipway/fence" })
		has := strings.Contains(args, "--fence-environment=demo --fence-clouds=/etc/slipway/fence/clouds.yaml")
		if wanted := name != controllers.MagnumName; mounted != wanted || has != wanted {
			t.Errorf("%s: mounted %t, arguments %s", name, mounted, args)
		}
		if name == controllers.MagnumName {
			continue
		}
		if role := roles[name+"-fence"]; role == nil || len(role.Rules) != 1 || role.Namespace != "kube-system" || !slices.Equal(role.Rules[0].ResourceNames, []string{"slipway-recovery"}) {
			t.Errorf("%s: role %+v", name, role)
		}
		if b := bindings[name+"-fence"]; b == nil || b.Subjects[0].Name != name || b.Subjects[0].Namespace != d.Namespace {
			t.Errorf("%s: binding %+v", name, b)
		}
		if s := secrets[name+"-fence"]; s == nil || s.Namespace != d.Namespace || string(s.Data["clouds.yaml"]) != login {
			t.Errorf("%s: Secret %+v", name, s)
		}
		if strings.Contains(args, login) || d.Spec.Template.Annotations["slipway.sh/fence"] == other[name].Spec.Template.Annotations["slipway.sh/fence"] {
			t.Errorf("%s: another login does not start it anew, or it is shown", name)
		}
	}
	if record := find[corev1.ConfigMap](t, all, "ConfigMap")["slipway-recovery"]; record == nil || record.Namespace != "kube-system" || len(record.Data) != 0 {
		t.Errorf("record %+v: what is in it belongs to recovery", record)
	}
	for _, o := range objects(t, controllers.Options{}) {
		if strings.Contains(o.GetName(), "fence") || o.GetNamespace() == "kube-system" {
			t.Errorf("without a fence: %s", kube.Describe(o))
		}
	}
}
