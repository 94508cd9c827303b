package tackertest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/storage/driver"
	"helm.sh/helm/v3/pkg/strvals"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/kube"
)

// helmTime is Tacker's --timeout; there is no --wait.
const helmTime = 120 * time.Second

// waitTime is kubernetes_vim_rsc_wait_timeout, shortened: here nothing takes long.
const waitTime = 60 * time.Second

// deploy is the driver's part of an instantiation.
func (i *Instance) deploy(level string, more map[string]any) error {
	i.Helper()
	if chart, ok := more["helm_chart_path"].(string); ok {
		return i.install(level, chart, more)
	}
	i.vim, i.files = KubernetesVIM, texts(more["lcm-kubernetes-def-files"])
	if len(i.files) == 0 {
		return fail(400, "lcm-kubernetes-def-files must be specified")
	}
	i.meta = map[string]any{"namespace": i.Namespace, "lcm-kubernetes-def-files": i.files}
	objects, err := i.manifests(i.pkg, i.files)
	if err != nil {
		return err
	}
	for _, o := range objects {
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["tacker_vnf_instance_id"] = i.ID
		o.SetLabels(labels)
		if err := i.k.kube.ApplyObjects(i.Context(), []*unstructured.Unstructured{o}); err != nil {
			return fail(422, "%v", err)
		}
	}
	return i.running()
}

// known are kinds of the v2 driver; it skips all others, and says so in its log only.
func known() []string {
	return []string{"ConfigMap", "Namespace", "Pod", "Secret", "Service", "ServiceAccount", "Deployment", "DaemonSet", "StatefulSet", "Job", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
}

// clusterwide are those among them that have no namespace.
func clusterwide() []string { return []string{"Namespace", "ClusterRole", "ClusterRoleBinding"} }

// manifests are the objects of known kinds, forced into the instance's namespace.
func (i *Instance) manifests(p *Package, files []string) (all []*unstructured.Unstructured, err error) {
	for _, file := range files {
		if !p.listed[file] {
			return nil, fail(400, "%s is not in TOSCA.meta", file)
		}
		objects, err := kube.Decode(bytes.NewReader(p.files[file]))
		if err != nil {
			return nil, fail(400, "%s: %v", file, err)
		}
		for _, o := range objects {
			if !slices.Contains(known(), o.GetKind()) {
				i.Logf("Not support kind %s ignored.", o.GetKind())
				continue
			}
			if !slices.Contains(clusterwide(), o.GetKind()) {
				o.SetNamespace(i.Namespace)
			}
			all = append(all, o)
		}
	}
	return all, nil
}

// install is helm install with the numbers of the level.
func (i *Instance) install(level, chart string, more map[string]any) error {
	i.vim, i.chart, i.values = HelmVIM, chart, map[string]string{}
	names, _ := more["helm_value_names"].(map[string]any)
	if len(names) == 0 {
		return fail(400, "helm_value_names must be specified")
	}
	for unit, of := range names {
		value, _ := of.(map[string]any)["replica"].(string)
		i.values[unit] = value
	}
	loaded, err := i.load(i.pkg, chart)
	if err != nil {
		return err
	}
	values := map[string]any{}
	for unit, path := range i.values {
		if err := strvals.ParseInto(fmt.Sprintf("%s=%d", path, i.pkg.VNFD.counts[unit][level]), values); err != nil {
			return fail(400, "%v", err)
		}
	}
	given, _ := more["helm_parameters"].(map[string]any)
	for path, value := range given {
		if err := strvals.ParseInto(fmt.Sprintf("%s=%v", path, value), values); err != nil {
			return fail(400, "%v", err)
		}
	}
	install := action.NewInstall(i.helm())
	install.ReleaseName, install.Namespace, install.CreateNamespace, install.Timeout = i.Release(), i.Namespace, true, helmTime
	if _, err := install.RunWithContext(i.Context(), loaded, values); err != nil {
		return fail(422, "%v", err)
	}
	i.meta = map[string]any{"namespace": i.Namespace, "release_name": i.Release(), "helm_chart_path": chart, "revision": "1"}
	return i.running()
}

func (i *Instance) load(p *Package, path string) (*chart.Chart, error) {
	if !p.listed[path] {
		return nil, fail(400, "%s is not in TOSCA.meta", path)
	}
	loaded, err := loader.LoadArchive(bytes.NewReader(p.files[path]))
	if err != nil {
		return nil, fail(422, "%v", err)
	}
	return loaded, nil
}

func (i *Instance) helm() *action.Configuration {
	i.Helper()
	settings := cli.New()
	settings.KubeConfig = i.k.kubeconfig
	settings.SetNamespace(i.Namespace)
	var c action.Configuration
	if err := c.Init(settings.RESTClientGetter(), i.Namespace, "secret", func(string, ...any) {}); err != nil {
		i.Fatal(err)
	}
	return &c
}

// upgrade is helm upgrade --reuse-values.
func (i *Instance) upgrade(p *Package, path string, values map[string]any) error {
	loaded, err := i.load(p, path)
	if err != nil {
		return err
	}
	upgrade := action.NewUpgrade(i.helm())
	upgrade.Namespace, upgrade.ReuseValues, upgrade.Timeout = i.Namespace, true, helmTime
	if _, err := upgrade.RunWithContext(i.Context(), i.Release(), loaded, values); err != nil {
		return fail(422, "%v", err)
	}
	return i.running()
}

// UpgradeByHand is what an operator does without Tacker: helm upgrade --reuse-values, with
// the chart of the package that is there.
func (i *Instance) UpgradeByHand() error { return i.upgrade(i.pkg, i.chart, map[string]any{}) }

// resize is the driver's part of scaling: Helm gets another number, of which the driver
// for manifests knows that it cannot scale a Pod.
func (i *Instance) resize(aspect string, steps int) error {
	if i.vim != HelmVIM {
		return nil
	}
	values := map[string]any{}
	for unit, delta := range i.pkg.VNFD.deltas[aspect] {
		path, ok := i.values[unit]
		if !ok {
			return fail(400, "helm_value_names has no %s", unit)
		}
		if err := strvals.ParseInto(fmt.Sprintf("%s=%d", path, 1+steps*delta), values); err != nil { // it counts Pods: one
			return fail(400, "%v", err)
		}
	}
	return i.upgrade(i.pkg, i.chart, values)
}

// update is the driver's part of a change of the package. The driver for manifests only
// patches the VDUs' own resources, and Pods have nothing to patch.
func (i *Instance) update(to *Package, more map[string]any) error {
	if i.vim == HelmVIM {
		if path, ok := more["helm_chart_path"].(string); ok {
			i.chart = path
		}
		return i.upgrade(to, i.chart, map[string]any{})
	}
	files := texts(more["lcm-kubernetes-def-files"])
	if len(files) == 0 {
		return fail(400, "lcm-kubernetes-def-files must be specified")
	}
	_, err := i.manifests(to, files)
	i.files = files
	return err
}

// undeploy is helm uninstall, or deletion in reverse order and waiting.
func (i *Instance) undeploy() error {
	i.Helper()
	if i.vim == HelmVIM {
		_, err := action.NewUninstall(i.helm()).Run(i.Release())
		if err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
			return fail(422, "%v", err)
		}
		return nil
	}
	objects, err := i.manifests(i.pkg, i.files)
	if err != nil {
		return err
	}
	slices.Reverse(objects)
	foreground := metav1.DeletePropagationForeground
	for _, o := range objects {
		client, err := i.k.kube.Resource(o)
		if err == nil {
			err = client.Delete(i.Context(), o.GetName(), metav1.DeleteOptions{PropagationPolicy: &foreground})
		}
		for end := time.Now().Add(waitTime); err == nil && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			_, err = client.Get(i.Context(), o.GetName(), metav1.GetOptions{})
		}
		if err == nil || !apierrors.IsNotFound(err) {
			return fail(422, "%s is not gone: %v", kube.Describe(o), err)
		}
	}
	return nil
}

// running waits until every Pod of the instance runs, as the driver does for known kinds.
func (i *Instance) running() error {
	for end := time.Now().Add(waitTime); ; time.Sleep(100 * time.Millisecond) {
		missing := i.look()
		if len(missing) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fail(422, "no running Pods: %s", strings.Join(missing, ", "))
		}
	}
}

// look finds the running Pods of VDUs. Of a chart a Pod's name up to the last dash is the
// VDU's properties.name, of manifests the whole name. It returns VDUs without one.
func (i *Instance) look() (missing []string) {
	i.Helper()
	list, err := i.k.typed.CoreV1().Pods(i.Namespace).List(i.Context(), metav1.ListOptions{})
	if err != nil {
		i.Fatal(err)
	}
	i.resources = map[string]string{}
	for _, pod := range list.Items {
		name := pod.Name
		if cut := strings.LastIndexByte(name, '-'); i.vim == HelmVIM && cut > 0 {
			if name = name[:cut]; !strings.HasSuffix(pod.Name, i.Release()) {
				continue
			}
		}
		for unit, resource := range i.pkg.VNFD.names {
			if name == resource && pod.Status.Phase == "Running" && pod.DeletionTimestamp == nil {
				i.resources[unit] = pod.Name
			}
		}
	}
	for _, unit := range i.pkg.VNFD.Units() {
		if i.resources[unit] == "" {
			missing = append(missing, unit)
		}
	}
	return missing
}
