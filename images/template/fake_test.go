package template

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// magnum is the few calls of Magnum that templates take, with the reference's
// rules for templates in use (magnum-api 2.2.4, 2.2.5).
type magnum struct {
	mu        sync.Mutex
	list      []map[string]any
	used      map[string]bool
	project   string
	publisher bool
	made      int
	calls     []string
	// refuses are statuses that the next calls of a method are refused with; 0 is not.
	refuses map[string][]int
}

func (m *magnum) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, r.Method)
	if next := m.refuses[r.Method]; len(next) > 0 {
		m.refuses[r.Method] = next[1:]
		if next[0] != 0 {
			refuse(w, next[0], "refused")
			return
		}
	}
	id := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/v1/clustertemplates"), "/")
	n := slices.IndexFunc(m.list, func(t map[string]any) bool { return t["uuid"] == id })
	switch {
	case r.Header.Get("X-Auth-Token") == "":
		refuse(w, 401, "no token")
	case id != "" && n < 0:
		refuse(w, 404, "ClusterTemplate could not be found")
	case r.Method == http.MethodGet:
		reply(w, 200, map[string]any{"clustertemplates": m.list})
	case r.Method == http.MethodPost:
		m.create(w, r)
	case r.Method == http.MethodPatch:
		m.patch(w, r, m.list[n])
	case m.used[id]:
		refuse(w, 400, "ClusterTemplate is referenced by one or multiple clusters")
	default:
		m.list = slices.Delete(m.list, n, n+1)
		w.WriteHeader(204)
	}
}

func (m *magnum) create(w http.ResponseWriter, r *http.Request) {
	var in map[string]any
	_ = json.NewDecoder(r.Body).Decode(&in)
	if in["coe"] != "kubernetes" || in["image_id"] == nil {
		refuse(w, 400, "coe and image_id are mandatory")
		return
	}
	if in["public"] == true && !m.publisher {
		refuse(w, 403, "Policy doesn't allow clustertemplate:publish to be performed.")
		return
	}
	if in["flavor_id"] == "absent" {
		refuse(w, 400, "Unable to find flavor absent.")
		return
	}
	m.made++
	out := map[string]any{"public": false, "hidden": false, "network_driver": "flannel", "labels": map[string]any{}, "tags": nil, "keypair_id": nil, "links": []any{}, "created_at": "2026-01-01T00:00:00+00:00"}
	for key, value := range in {
		out[key] = value
	}
	out["uuid"], out["project_id"] = fmt.Sprintf("%08d-0000-0000-0000-000000000000", m.made), m.project
	m.list = append(m.list, out)
	reply(w, 201, out)
}

func (m *magnum) patch(w http.ResponseWriter, r *http.Request, t map[string]any) {
	var operations []struct {
		Op, Path string
		Value    any
	}
	_ = json.NewDecoder(r.Body).Decode(&operations)
	for _, o := range operations {
		name := strings.TrimPrefix(o.Path, "/")
		switch {
		case m.used[t["uuid"].(string)] && (len(operations) > 1 || !slices.Contains([]string{"name", "public", "hidden", "tags"}, name)):
			refuse(w, 400, "ClusterTemplate is referenced by one or multiple clusters")
			return
		case (name == "public" || name == "hidden") && !m.publisher:
			refuse(w, 403, "Policy doesn't allow clustertemplate:publish to be performed.")
			return
		}
		t[name] = o.Value
	}
	reply(w, 200, t)
}

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

func refuse(w http.ResponseWriter, status int, detail string) {
	reply(w, status, map[string]any{"errors": []any{map[string]any{"status": status, "detail": detail, "title": detail}}})
}

// fixture is a sandbox whose catalogue has the fake, with a syncer.
type fixture struct {
	*Syncer
	magnum  *magnum
	sandbox *sandboxtest.Cloud
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	sandbox := sandboxtest.Start(t)
	m := &magnum{used: map[string]bool{}, publisher: true}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	identity := sandbox.Admin.Identity(t)
	service, err := services.Create(t.Context(), identity, services.CreateOpts{Type: "container-infra", Extra: map[string]any{"name": "magnum"}}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	_, err = endpoints.Create(t.Context(), identity, endpoints.CreateOpts{Availability: gophercloud.AvailabilityPublic, Region: "RegionOne", URL: server.URL + "/v1", ServiceID: service.ID}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(sandbox.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	c, err := cloud.Open(t.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: text})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(c, &event.Recorder{})
	if err != nil {
		t.Fatal(err)
	}
	m.project = s.Project()
	return &fixture{s, m, sandbox}
}

// image uploads a node image.
func (f *fixture) image(t *testing.T, name, version string) string {
	t.Helper()
	client, err := f.cloud.Image()
	if err != nil {
		t.Fatal(err)
	}
	i, err := images.Create(t.Context(), client, images.CreateOpts{Name: name, ContainerFormat: "bare", DiskFormat: "raw", Properties: map[string]string{"os_distro": "ubuntu", "kube_version": version}}).Extract()
	if err == nil {
		err = imagedata.Upload(t.Context(), client, i.ID, strings.NewReader(name)).ExtractErr()
	}
	if err != nil {
		t.Fatal(err)
	}
	return i.ID
}
