package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// FuzzJSONPatch: a patch is applied or refused, and what comes out has only
// members and types of the schema.
func FuzzJSONPatch(f *testing.F) {
	for _, text := range []string{`[{"op":"replace","path":"/node_count","value":3}]`, `[{"op":"add","path":"/labels/a","value":"b"},{"op":"remove","path":"/labels/a"}]`,
		`[{"op":"replace","path":"/labels","value":"{'a': True}"}]`, `[{"op":"replace","path":"/health_status_reason","value":{"a":1}}]`, `{}`, `[1]`, `[{"op":"remove","path":"/name"}]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		operations, err := parsePatch(body)
		if err != nil {
			return
		}
		for _, p := range []patchable{clusterPatch(), templatePatch(), groupPatch()} {
			before := document{"name": "x", "labels": map[string]string{"a": "b"}, "flavor_id": "m1"}
			after, err := p.apply(before, operations)
			if err != nil {
				continue
			}
			for name, value := range after {
				if find(p.attributes, name) == nil {
					t.Errorf("%s came from nowhere", name)
				}
				switch value.(type) {
				case nil, string, int64, bool, map[string]string, []string, []any:
				default:
					t.Errorf("%s is a %T", name, value)
				}
			}
			if before.labels("labels")["a"] != "b" || len(before.labels("labels")) != 1 {
				t.Error("the document before was changed")
			}
		}
	})
}

// FuzzBody: a body is read by its schema or refused, never something else.
func FuzzBody(f *testing.F) {
	for _, text := range []string{`{"cluster_template_id":"k8s","labels":{"a":true}}`, `{"name":"a","node_count":"3"}`, `{"labels":"{'a': 1}"}`, `{"labels":{"a":null}}`, `{"node_count":1e3}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, attributes := range [][]attribute{clusterAttributes(), templateAttributes(), groupAttributes(), quotaAttributes(), signAttributes()} {
			d, err := decodeDocument(body, attributes)
			if err != nil {
				if asHTTP(err).status != http.StatusBadRequest {
					t.Errorf("%v", err)
				}
				continue
			}
			if _, err := json.Marshal(d); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzRequest: no path, query or version ends in a 5xx.
func FuzzRequest(f *testing.F) {
	s, _ := stocked(f, 3)
	f.Add("/v1/clusters", "limit=1&marker=x", "container-infra 1.9")
	f.Add("/clusters/c-1/nodegroups/%2e%2e", "sort_key=id&sort_dir=desc", "latest")
	f.Add("/v1/quotas/p/Cluster", "", "")
	f.Add("//v1/./stats", "type=cluster", "x latest")
	f.Fuzz(func(t *testing.T, path, query, version string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		plain, err := url.PathUnescape(path)
		if err != nil {
			return
		}
		r.URL = &url.URL{Path: plain, RawPath: path, RawQuery: query}
		r.Header.Set("X-Auth-Token", "t")
		r.Header.Set("OpenStack-API-Version", version)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%d: %s", w.Code, w.Body.String())
		}
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("no JSON: %s", w.Body.String())
		}
	})
}
