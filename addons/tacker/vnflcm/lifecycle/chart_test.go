package lifecycle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/request"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// requests are the bodies that `slipway tacker requests` writes for a package, by name.
func (d *door) requests(p *csar.Package) map[string]object {
	d.t.Helper()
	text, err := p.Zip()
	if err != nil {
		d.t.Fatal(err)
	}
	content, err := csar.Verify(text)
	if err != nil {
		d.t.Fatal(err)
	}
	bodies, err := request.All(content, request.Options{Namespace: d.namespace, VimID: "here"})
	if err != nil {
		d.t.Fatal(err)
	}
	all := map[string]object{}
	for _, b := range bodies {
		all[b.Name] = b.Content
	}
	return all
}

// charts is the life of a cluster from a package with a chart, by the requests that Tacker
// gets for it. The cluster has the name of the release, and there is no release.
func charts(t *testing.T, w *world) {
	d := w.open(t, "cccccccc")
	old, next := w.onboard(t, buildAs(t, csar.Helm, "chart", "1.34.4")), w.onboard(t, buildAs(t, csar.Helm, "chart", "1.35.0"))
	ask, then := d.requests(old), d.requests(next)
	id := d.create(old.ID)
	name := v1alpha1.ReleaseName(id)
	wrong := d.instantiation(old.Deploy)
	wrong["additionalParams"] = ask["instantiate"]["additionalParams"]
	wrong["vimConnectionInfo"] = object{"vim1": object{"vimType": "ETSINFV.KUBERNETES.V_1"}}
	d.refused(id, wrong, "use ETSINFV.HELM.V_3")
	d.refused(id, d.instantiation(old.Deploy), old.Deploy[0])
	op := d.run(id, "instantiate", ask["instantiate"], v1alpha1.Completed)
	same(t, affected(op), map[string]int{"controlPlane ADDED": 3, "workers ADDED": 3, "gpu-large ADDED": 2})
	info := d.do("GET", "vnf_instances/"+id, nil).want(200, `"release_name":"`+name+`"`, old.Deploy[0]).document()["instantiatedVnfInfo"].(object)
	if meta := info["metadata"].(object); meta["lcm-kubernetes-def-files"] != nil || meta["helm_value_names"].(object)["workers"].(object)["replica"] != "tacker.workers" {
		t.Errorf("deployed %v", meta)
	}
	if pods, err := w.kube.Typed.CoreV1().Pods(d.namespace).List(t.Context(), metav1.ListOptions{}); err != nil || len(pods.Items) > 0 {
		t.Errorf("anchors %v, %v", pods, err)
	}
	d.scaling(id)
	d.do("POST", "vnf_instances/"+id+"/change_vnfpkg", object{"vnfdId": next.ID, "additionalParams": object{"upgrade_type": "RollingUpdate", "vdu_params": []any{}, "lcm-kubernetes-def-files": next.Deploy}}).want(400, "instance of a chart")
	d.run(id, "change_vnfpkg", then["change"], v1alpha1.Completed)
	n, version := d.replicas(planes, name+"-control-plane")
	workers, _ := d.replicas(deployments, name+"-workers")
	if n != 5 || version != "v1.35.0" || workers != 5 {
		t.Errorf("changed to %d control planes of %s and %d workers", n, version, workers)
	}
	d.run(id, "scale", ask["scale-in-workers"], v1alpha1.Completed)
	d.run(id, "heal", object{"additionalParams": object{"all": true}}, v1alpha1.Completed)
	d.run(id, "terminate", then["terminate"], v1alpha1.Completed)
	if left := d.templates(); left[0] != 0 || left[1] != 0 || left[2] != 0 {
		t.Errorf("terminated, and left %v", left)
	}
	chartsUndone(d, old, ask)
	chartsOfOthers(d, ask)
}

// refused instantiates in vain.
func (d *door) refused(id string, body object, says string) {
	d.t.Helper()
	op := d.run(id, "instantiate", body, v1alpha1.RolledBack)
	if e, _ := op["error"].(object); !strings.Contains(e["detail"].(string), says) {
		d.t.Errorf("%v does not say %q", e, says)
	}
}

// chartsUndone: two instances of one package are two clusters, and one is undone.
func chartsUndone(d *door, p *csar.Package, ask map[string]object) {
	stays, goes := d.create(p.ID), d.create(p.ID)
	d.run(stays, "instantiate", ask["instantiate"], v1alpha1.Completed)
	d.w.set(d.w.held, d.namespace, true)
	op := d.start(goes, "instantiate", ask["instantiate"])
	d.reach(op, v1alpha1.Processing)
	d.expire(op)
	d.w.set(d.w.held, d.namespace, false)
	d.do("POST", "vnf_lcm_op_occs/"+op+"/rollback", nil).want(202)
	d.reach(op, v1alpha1.RolledBack)
	if left := d.templates(); left[1] != 1 {
		d.t.Errorf("%d clusters are left", left[1])
	}
	d.run(stays, "terminate", ask["terminate"], v1alpha1.Completed)
}

// chartsOfOthers are charts that Slipway did not make so: values of the caller reach them,
// namespaces of their own are judged, and hooks are an error, never left out.
func chartsOfOthers(d *door, ask map[string]object) {
	const cm = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra-{{ .Release.Name }}"
	for name, test := range map[string]struct{ template, says string }{
		"a hook":               {cm + ", annotations: {helm.sh/hook: pre-install}}\n", "has hooks, and the endpoint runs none"},
		"another namespace":    {cm + ", namespace: kube-system}\n", "namespace kube-system is not the project's"},
		"an unknown kind":      {"apiVersion: example.com/v1\nkind: Nothing\nmetadata: {name: x}\n", "no kind Nothing"},
		"a template's error":   {"{{ fail \"no way\" }}\n", "no way"},
		"a test is left out":   {cm + ", annotations: {helm.sh/hook: test}}\n", ""},
		"values of the caller": {cm + ", labels: {colour: {{ .Values.paint.colour }}}}\n", ""},
	} {
		p := buildAs(d.t, csar.Helm, "other", "1.34.4")
		text, err := p.Zip()
		if err != nil {
			d.t.Fatal(err)
		}
		chart := withTemplate(d.t, text, p.Deploy[0], test.template)
		d.w.offer(d.t, p, chart)
		body := d.requests(p)["instantiate"]
		body["additionalParams"].(object)["helm_parameters"] = object{"paint.colour": "blue"}
		id := d.create(p.ID)
		if test.says != "" {
			d.refused(id, body, test.says)
			continue
		}
		d.run(id, "instantiate", body, v1alpha1.Completed)
		list, err := d.w.kube.Typed.CoreV1().ConfigMaps(d.namespace).List(d.t.Context(), metav1.ListOptions{LabelSelector: "colour=blue"})
		if err != nil || (len(list.Items) == 1) != (name == "values of the caller") {
			d.t.Errorf("%s: %d objects, %v", name, len(list.Items), err)
		}
		d.run(id, "terminate", ask["terminate"], v1alpha1.Completed)
	}
}

// withTemplate adds a template to the chart in a package, and returns the package.
func withTemplate(t *testing.T, packed []byte, chart, template string) []byte {
	t.Helper()
	return rewrite(t, packed, chart, func(old []byte) []byte {
		zipped, err := gzip.NewReader(bytes.NewReader(old))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		packing := gzip.NewWriter(&b)
		in, out := tar.NewReader(zipped), tar.NewWriter(packing)
		folder := ""
		for {
			h, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				folder, _, _ = strings.Cut(h.Name, "/")
				if err = out.WriteHeader(h); err == nil {
					_, err = io.Copy(out, in)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		err = out.WriteHeader(&tar.Header{Name: folder + "/templates/zz-more.yaml", Mode: 0o644, Size: int64(len(template))})
		if err == nil {
			_, err = io.WriteString(out, template)
		}
		if err := errors.Join(err, out.Close(), packing.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	})
}
