// Package lifecycle runs packages as OpenStack Tacker does: its Kubernetes and Helm drivers
// and its management scripts, on a real API server.
package lifecycle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/strvals"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
