package lifecycle

import (
	"testing"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/request"
	"github.com/slipway-sh/slipway/addons/tacker/tackertest"
)

// onboarded is a package in Tacker, with the requests that `slipway tacker requests` writes.
type onboarded struct {
	*tackertest.Package
	*csar.Content
	csar.Settings
	bodies map[string]map[string]any
}

// onboard gives a package to Tacker. Its waits are shortened for the test.
func (w *world) onboard(t *testing.T, p *csar.Package, namespace string) onboarded {
	t.Helper()
	packed, err := p.Zip()
	if err != nil {
		t.Fatal(err)
	}
	o := onboarded{Package: w.take(t, p.ID, packed), bodies: map[string]map[string]any{}}
	if o.Content, err = csar.Verify(packed); err != nil {
		t.Fatal(err)
	}
	if o.Settings, err = o.Content.Settings(); err != nil {
		t.Fatal(err)
	}
	bodies, err := request.All(o.Content, request.Options{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bodies {
		o.bodies[b.Name] = b.Content
	}
	return o
}

// take onboards what is not there yet: another instance has the same package.
func (w *world) take(t *testing.T, id string, packed []byte) *tackertest.Package {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.packages[id] == nil {
		w.packages[id] = w.tacker.Onboard(t, packed)
		w.packages[id].Shorten(t, "Scripts/settings.json", map[string]any{"waitSeconds": 60, "pollSeconds": 0.2, "sendSeconds": 60})
	}
	return w.packages[id]
}

// with is a body with more additionalParams.
func (o onboarded) with(name string, more map[string]any) map[string]any {
	body, params := map[string]any{}, map[string]any{}
	for key, value := range o.bodies[name] {
		body[key] = value
	}
	given, _ := body["additionalParams"].(map[string]any)
	for _, from := range []map[string]any{given, more} {
		for key, value := range from {
			params[key] = value
		}
	}
	body["additionalParams"] = params
	return body
}

// runner is a VNF instance of a package in Tacker.
type runner struct {
	*tackertest.Instance
	w   *world
	pkg onboarded
}

// begin makes an instance of a package.
func (w *world) begin(t *testing.T, o onboarded, namespace string) *runner {
	t.Helper()
	i, err := w.tacker.Instance(t, o.Package)
	if err != nil {
		t.Fatal(err)
	}
	i.Namespace = namespace
	return &runner{Instance: i, w: w, pkg: o}
}

func (r *runner) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}
