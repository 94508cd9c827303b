package tenant_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/test/tenanttest"
)

type verdict struct {
	Wrong map[string]string
	Cost  []string
	Over  bool
}

// typing asks what is wrong as the page does while somebody types.
func (b *browser) typing(p page, action string, fields ...string) verdict {
	b.t.Helper()
	form := p.form(action)
	form.Set("do", "check")
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r, _ := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.base+action, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	answer := b.read(b.Do(r)).want(200)
	var v verdict
	if err := json.Unmarshal([]byte(answer.text), &v); err != nil {
		b.t.Fatalf("%v:\n%s", err, answer.text)
	}
	return v
}

// TestMistakesAreToldWhileTyping, and nothing is changed.
func TestMistakesAreToldWhileTyping(t *testing.T) {
	t.Parallel()
	w := tenanttest.Start(t)
	template := w.Template("k8s", "ubuntu-1.34")
	b := open(t, w).enter(tenanttest.Member, "shop")
	const path = "/clusters/new"
	p := b.get(path).want(200, "/assets/check.js", "data-check")
	b.get("/assets/check.js").want(200)
	good := []string{"name", "shop-prod", "cluster_template_id", template}
	if v := b.typing(p, path, good...); len(v.Wrong) != 0 || v.Over || len(v.Cost) != 2 || !strings.HasPrefix(v.Cost[0], "This takes 2 machines with ") {
		t.Errorf("nothing is wrong: %+v", v)
	}
	for name, test := range map[string]struct {
		fields      []string
		field, says string
	}{
		"a name":             {[]string{"name", "9x"}, "name", "begins with a letter"},
		"an even number":     {[]string{"master_count", "2"}, "master_count", "odd"},
		"no number":          {[]string{"node_count", "many"}, "node_count", "not a whole number"},
		"a flavor":           {[]string{"flavor_id", "m1.gone"}, "flavor_id", `no flavor "m1.gone"`},
		"a flavor of master": {[]string{"master_flavor_id", "m1.gone"}, "master_flavor_id", `no flavor "m1.gone"`},
		"a key pair":         {[]string{"keypair", "nobody's"}, "keypair", `no key pair "nobody's"`},
		"a network":          {[]string{"fixed_network", "nowhere"}, "fixed_network", `no network "nowhere"`},
		"a template":         {[]string{"cluster_template_id", "gone"}, "cluster_template_id", `no cluster template "gone"`},
		"labels":             {[]string{"labels", "oops"}, "labels", "not key=value"},
		"the quota":          {[]string{"node_count", "100000"}, "node_count", "Your quota has no room for so many"},
		"a huge number":      {[]string{"node_count", "9223372036854775807"}, "", ""},
		"a hidden direction": {[]string{"keypair", "a\u202Eb"}, "keypair", "no key pair"},
	} {
		v := b.typing(p, path, append(slices.Clone(good), test.fields...)...)
		if test.field == "" && len(v.Wrong) == 0 {
			continue
		}
		if len(v.Wrong) != 1 || !strings.Contains(v.Wrong[test.field], test.says) || strings.Contains(v.Wrong[test.field], "\u202E") {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if v := b.typing(p, path, append(slices.Clone(good), "node_count", "100000")...); !v.Over || !strings.Contains(v.Cost[1], "vCPUs") || !strings.Contains(v.Cost[1], "are missing") {
		t.Errorf("the quota: %+v", v)
	}
	small, large := b.typing(p, path, append(slices.Clone(good), "flavor_id", "m1.medium")...), b.typing(p, path, append(slices.Clone(good), "flavor_id", "m1.xlarge")...)
	if small.Cost[0] == large.Cost[0] {
		t.Errorf("flavors cost the same: %q", small.Cost)
	}
	// Without JavaScript a button does the same, and the page has what it costs.
	b.send(p, path, append(slices.Clone(good), "do", "check", "master_count", "2")...).want(200, "This takes 3 machines").wrong("master_count", "odd")
	b.get("/clusters").want(200, "There are no clusters")
	b.send(p, path, "csrf", "guess", "do", "check").want(403)
	// Others are asked for by their own fields.
	id := w.Cluster("shop-prod", template)
	at := "/clusters/" + id
	b.until("/clusters", "shop-prod")
	resize := at + "/groups/" + w.View(id).Default(false).UUID() + "/resize"
	if v := b.typing(b.get(resize).want(200), resize, "node_count", "100000"); !strings.Contains(v.Wrong["node_count"], "no room") {
		t.Errorf("resizing: %+v", v)
	}
	if v := b.typing(b.get(resize), resize, "node_count", "3"); len(v.Wrong) != 0 || !strings.HasPrefix(v.Cost[0], "This takes 1 machine with ") {
		t.Errorf("one more: %+v", v)
	}
	group := at + "/groups/new"
	if v := b.typing(b.get(group).want(200), group, "name", "default-worker", "min_node_count", "2"); v.Wrong["name"] == "" || !strings.Contains(v.Wrong["node_count"], "less than the least") {
		t.Errorf("a group: %+v", v)
	}
	if v := b.typing(b.get(at+"/delete").want(200), at+"/delete", "confirm", "shop"); v.Wrong["confirm"] == "" {
		t.Errorf("deleting: %+v", v)
	}
	w.Revoke(tenanttest.Member)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, b.base+path, strings.NewReader(p.form(path).Encode()+"&do=check"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if answer := b.read(b.Do(r)); answer.status != http.StatusUnauthorized && answer.status != http.StatusOK {
		t.Errorf("without a session: %d", answer.status)
	}
}
