// Package tacker runs packages as OpenStack Tacker does: its Kubernetes and Helm drivers
// and its management scripts, on a real API server.
package tacker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/strvals"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/internal/kube"
)

// onboarded is a package as Tacker keeps it.
type onboarded struct {
	*csar.Content
	csar.Settings
	dir string
}

// runner is Tacker with one VNF instance: its state is what Tacker keeps of it.
type runner struct {
	*testing.T
	w      *world
	pkg    onboarded
	id, ns string
	level  map[string]int
	meta   map[string]any
	vnfd   string
}

// failed is how an operation of Tacker ends that does not complete.
type failed struct {
	status int
	detail string
}

func (f failed) Error() string { return fmt.Sprintf("%d %s", f.status, f.detail) }

// onboard verifies a package and unpacks it, as Tacker does for a script. Its waits are
// shortened for the test.
func (w *world) onboard(t *testing.T, p *csar.Package) onboarded {
	t.Helper()
	packed, err := p.Zip()
	if err != nil {
		t.Fatal(err)
	}
	o := onboarded{dir: t.TempDir()}
	if o.Content, err = csar.Verify(packed); err != nil {
		t.Fatal(err)
	}
	if o.Settings, err = o.Content.Settings(); err != nil {
		t.Fatal(err)
	}
	short := o.Settings
	short.Wait, short.Poll, short.Send = 60, 0.2, 60
	text, err := json.Marshal(short)
	if err != nil {
		t.Fatal(err)
	}
	o.Files["Scripts/settings.json"] = text
	for name, content := range o.Files {
		path := filepath.Join(o.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func (r *runner) release() string { return "vnf" + strings.ReplaceAll(r.id, "-", "") }

// instance is vnf_instance of a script.
func (r *runner) instance() map[string]any {
	status := []any{}
	for aspect, level := range r.level {
		status = append(status, map[string]any{"aspectId": aspect, "scaleLevel": level})
	}
	v := map[string]any{"id": r.id, "vnfdId": r.vnfd, "instantiationState": "INSTANTIATED",
		"vimConnectionInfo": map[string]any{"vim1": map[string]any{"vimType": "ETSINFV.HELM.V_3",
			// Users may have blanks for newlines.
			"interfaceInfo": map[string]any{"endpoint": r.w.server.Config.Host, "ssl_ca_cert": strings.ReplaceAll(string(r.w.server.Config.CAData), "\n", " ")},
			"accessInfo":    map[string]any{"bearer_token": r.w.token}}}}
	if r.meta != nil {
		v["instantiatedVnfInfo"] = map[string]any{"scaleStatus": status, "metadata": r.meta}
	}
	return v
}

// toPickle turns JSON into the pickled dict that Tacker's conductor gives a script.
const toPickle = "import json, pickle, sys; sys.stdout.buffer.write(pickle.dumps(json.load(sys.stdin)))"

// script runs the script of an operation if the package has one for it.
func (r *runner) script(operation string, pkg onboarded, request map[string]any) error {
	r.Helper()
	if !slices.Contains(pkg.Operations, operation) {
		return nil
	}
	text, err := json.Marshal(map[string]any{"operation": operation, "request": request, "vnf_instance": r.instance(), "grant_request": nil, "grant_response": nil,
		"tmp_csar_dir": pkg.dir, "user_script_err_handling_data": map[string]any{}})
	if err != nil {
		r.Fatal(err)
	}
	pickle := exec.CommandContext(r.Context(), "python3", "-c", toPickle)
	pickle.Stdin = bytes.NewReader(text)
	input, err := pickle.Output()
	if err != nil {
		r.Fatal(err)
	}
	cmd := exec.CommandContext(r.Context(), "python3", "-I", "-c", "import runpy, sys; sys.path.insert(0, sys.argv[2]); runpy.run_path(sys.argv[1], run_name='__main__')",
		filepath.Join(pkg.dir, "Definitions", "../Scripts/slipway_vnf.py"), filepath.Join(pkg.dir, "Scripts"))
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &errs
	err = cmd.Run()
	if out.Len() > 0 {
		r.Errorf("%s: the script wrote %q, which Tacker would read as a pickle", operation, out.String())
	}
	for _, secret := range r.w.secrets() {
		if strings.Contains(errs.String(), secret) {
			r.Errorf("%s: the script shows a secret:\n%s", operation, errs.String())
		}
	}
	if err != nil {
		return failed{422, "Mgmt driver execution failed: " + errs.String()}
	}
	return nil
}

func (r *runner) helm() *action.Configuration {
	r.Helper()
	settings := cli.New()
	settings.KubeConfig = r.w.kubeconfig
	settings.SetNamespace(r.ns)
	var c action.Configuration
	if err := c.Init(settings.RESTClientGetter(), r.ns, "secret", r.Logf); err != nil {
		r.Fatal(err)
	}
	return &c
}

// sets are --set for the number of a unit, as helm_value_names says.
func sets(unit string, number int) map[string]any {
	values := map[string]any{}
	_ = strvals.ParseInto(fmt.Sprintf("tacker.%s=%d", unit, number), values)
	return values
}

// instantiate is INSTANTIATE.
func (r *runner) instantiate(request map[string]any) error {
	r.Helper()
	r.level = map[string]int{}
	for _, u := range r.pkg.Settings.Units {
		if u.Aspect != "" {
			r.level[u.Aspect] = u.Level
		}
	}
	if r.pkg.Variant == csar.Helm {
		loaded, err := loader.LoadArchive(bytes.NewReader(r.pkg.Files[r.pkg.Deploy[0]]))
		if err != nil {
			r.Fatal(err)
		}
		install := action.NewInstall(r.helm())
		install.ReleaseName, install.Namespace, install.CreateNamespace, install.Timeout = r.release(), r.ns, true, 120*time.Second
		values := map[string]any{}
		for _, u := range r.pkg.Settings.Units {
			for key, value := range sets(u.ID, u.Initial+u.Level*u.Step)["tacker"].(map[string]any) {
				nested, _ := values["tacker"].(map[string]any)
				if nested == nil {
					nested = map[string]any{}
				}
				nested[key] = value
				values["tacker"] = nested
			}
		}
		if _, err := install.Run(loaded, values); err != nil {
			return failed{422, err.Error()}
		}
		r.meta = map[string]any{"namespace": r.ns, "release_name": r.release()}
	} else {
		r.create()
		r.meta = map[string]any{"namespace": r.ns}
	}
	r.pods()
	if err := r.script("instantiate_end", r.pkg, request); err != nil {
		return err
	}
	r.vnfd = r.pkg.ID
	return nil
}

// known are the kinds of Tacker's v2 driver that a package has; it skips all others.
func known() []string { return []string{"Secret", "ConfigMap", "Pod", "Namespace"} }

// create makes the objects of known kinds, as the driver for plain manifests does.
func (r *runner) create() {
	r.Helper()
	for _, file := range r.pkg.Deploy {
		objects, err := kube.Decode(bytes.NewReader(r.pkg.Files[file]))
		if err != nil {
			r.Fatal(err)
		}
		for _, o := range objects {
			if !slices.Contains(known(), o.GetKind()) {
				continue
			}
			labels := o.GetLabels()
			if labels == nil {
				labels = map[string]string{}
			}
			labels["tacker_vnf_instance_id"] = r.id
			o.SetLabels(labels)
			text, err := o.MarshalJSON()
			if err == nil {
				err = r.w.kube.Apply(r.Context(), text)
			}
			if err != nil {
				r.Fatal(err)
			}
		}
	}
}

// resource is properties.name of a unit.
func (r *runner) resource(unit string) string {
	name := "group-" + unit
	switch {
	case unit == csar.ControlPlane:
		name = "control-plane"
	case r.pkg.Kind == "management":
		name = unit
	}
	if r.pkg.Variant == csar.Raw {
		return r.pkg.Cluster + "-" + name
	}
	return name
}

// pods are the running Pods of the units, by unit: Tacker's vnfcResourceInfo. Of a chart
// a Pod's name up to the last dash is the unit's, of manifests the whole name.
func (r *runner) pods() map[string]string {
	r.Helper()
	found := map[string]string{}
	list, err := r.w.typed.CoreV1().Pods(r.ns).List(r.Context(), metav1.ListOptions{})
	if err != nil {
		r.Fatal(err)
	}
	for _, pod := range list.Items {
		name := pod.Name
		if r.pkg.Variant == csar.Helm {
			name = name[:strings.LastIndex(name, "-")]
		}
		for _, u := range r.pkg.Settings.Units {
			if name == r.resource(u.ID) {
				found[u.ID] = pod.Name
			}
		}
	}
	return found
}

// scale is SCALE: first what the API checks, then grant, driver and script.
func (r *runner) scale(kind, unit string, steps int) error {
	r.Helper()
	i := slices.IndexFunc(r.pkg.Settings.Units, func(u csar.UnitSettings) bool { return u.ID == unit })
	u := r.pkg.Settings.Units[i]
	level := r.level[u.Aspect] + steps
	if kind == "SCALE_IN" {
		level = r.level[u.Aspect] - steps
	}
	if level < 0 || level > r.w.max(r, u.Aspect) {
		return failed{400, fmt.Sprintf("scale level %d is out of range", level)}
	}
	if r.pods()[unit] == "" {
		return failed{500, "Cannot load 'addResources' in the base class"}
	}
	if r.pkg.Variant == csar.Helm {
		if err := r.upgrade(r.pkg, sets(unit, 1)); err != nil {
			return err
		}
	}
	request := map[string]any{"type": kind, "aspectId": u.Aspect, "numberOfSteps": steps}
	for range 2 { // a retry does the same again
		if err := r.script("scale_end", r.pkg, request); err != nil {
			return err
		}
	}
	r.level[u.Aspect] = level
	return nil
}

// upgrade is helm upgrade --reuse-values.
func (r *runner) upgrade(pkg onboarded, values map[string]any) error {
	r.Helper()
	loaded, err := loader.LoadArchive(bytes.NewReader(pkg.Files[pkg.Deploy[0]]))
	if err != nil {
		r.Fatal(err)
	}
	upgrade := action.NewUpgrade(r.helm())
	upgrade.Namespace, upgrade.ReuseValues, upgrade.Timeout = r.ns, true, 120*time.Second
	if _, err := upgrade.Run(r.release(), loaded, values); err != nil {
		return failed{422, err.Error()}
	}
	return nil
}

// change is CHANGE_VNFPKG to another package: of vdu_params at least one needs a Pod.
func (r *runner) change(to onboarded) error {
	r.Helper()
	if len(r.pods()) == 0 {
		return failed{500, "Cannot load 'addResources' in the base class"}
	}
	if r.pkg.Variant == csar.Helm {
		if err := r.upgrade(to, map[string]any{}); err != nil {
			return err
		}
	}
	if err := r.script("change_current_package_end", to, map[string]any{"vnfdId": to.ID}); err != nil {
		return err
	}
	r.pkg, r.vnfd = to, to.ID
	return nil
}

// terminate is TERMINATE.
func (r *runner) terminate(request map[string]any) error {
	r.Helper()
	if err := r.script("terminate_start", r.pkg, request); err != nil {
		return err
	}
	if r.pkg.Variant == csar.Helm {
		if _, err := action.NewUninstall(r.helm()).Run(r.release()); err != nil {
			return failed{422, err.Error()}
		}
	} else {
		for _, pod := range r.pods() {
			if err := r.w.typed.CoreV1().Pods(r.ns).Delete(r.Context(), pod, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				r.Fatal(err)
			}
		}
	}
	return nil
}

// account is a service account's token, by which Tacker logs in to the VIM.
func account(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "tacker", Annotations: map[string]string{"kubernetes.io/service-account.name": "tacker"}}, Type: corev1.SecretTypeServiceAccountToken}
	_, err := client.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "tacker"}}, metav1.CreateOptions{})
	if err == nil {
		_, err = client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{})
	}
	for end := time.Now().Add(30 * time.Second); err == nil && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if secret, err = client.CoreV1().Secrets("default").Get(t.Context(), "tacker", metav1.GetOptions{}); err == nil && len(secret.Data["token"]) > 0 {
			return string(secret.Data["token"])
		}
	}
	t.Fatalf("no token: %v", err)
	return ""
}
