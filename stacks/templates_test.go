package stacks_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	glance "github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/images/template"
	"github.com/slipway-sh/slipway/internal/config"
	offers "github.com/slipway-sh/slipway/stacks/catalog"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// templateStore keeps templates as Magnum does; what the endpoint itself makes
// of them is tried in internal/cli/template.
type templateStore struct {
	mu   sync.Mutex
	list []map[string]any
	made int
}

func (s *templateStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	id, isOne := strings.CutPrefix(r.URL.Path, "/v1/clustertemplates/")
	n := slices.IndexFunc(s.list, func(t map[string]any) bool { return t["uuid"] == id })
	switch {
	case isOne && n < 0:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodPost:
		in := map[string]any{}
		_ = json.NewDecoder(r.Body).Decode(&in)
		s.made++
		in["uuid"] = fmt.Sprintf("%08d", s.made)
		s.list = append(s.list, in)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(in)
	case r.Method == http.MethodPatch:
		var changes []struct {
			Path  string
			Value any
		}
		_ = json.NewDecoder(r.Body).Decode(&changes)
		s.list[n][strings.TrimPrefix(changes[0].Path, "/")] = changes[0].Value
		_ = json.NewEncoder(w).Encode(s.list[n])
	case r.Method == http.MethodDelete:
		s.list = slices.Delete(s.list, n, n+1)
		w.WriteHeader(http.StatusNoContent)
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"clustertemplates": s.list})
	}
}

// names are "name image" of the templates, sorted.
func (s *templateStore) names() []string {
	var all []string
	for _, t := range s.list {
		all = append(all, fmt.Sprint(t["name"], " ", t["image_id"]))
	}
	slices.Sort(all)
	return all
}

func TestClusterTemplatesFollowFileAndImages(t *testing.T) {
	t.Parallel()
	w := imageWorld(t)
	store := &templateStore{}
	magnum := httptest.NewServer(store)
	t.Cleanup(magnum.Close)
	file := func(text string) *template.File {
		return must[*template.File](t)(template.Parse(config.Source{Name: "templates.yaml", Text: []byte("apiVersion: slipway.sh/v1alpha1\nkind: ClusterTemplates\nmetadata: {name: standard}\nspec:\n  templates:\n" + text)}))
	}
	templates := file("    - {kubernetesVersion: v1.34.2, image: node-a}\n    - {kubernetesVersion: v1.33.1, image: node-b}\n")
	program := func(ctx *pulumi.Context) error {
		ids := pulumi.StringMap{}
		for _, listed := range w.env.Images {
			in, err := offers.NewImageInputs("prod", listed.Manifest, listed.Digest, listed.Stamp)
			if err != nil {
				return err
			}
			image, err := offers.NewImage(ctx, "image-"+in.Name, in)
			if err != nil {
				return err
			}
			ids[in.Name] = image.ImageID
		}
		_, err := offers.NewClusterTemplates(ctx, "templates", offers.ClusterTemplatesRefs{Endpoint: pulumi.String(magnum.URL + "/v1"), File: templates, Images: ids})
		return err
	}
	up := func() engine.Report { t.Helper(); return must[engine.Report](t)(w.run(t).Up(t.Context(), program)) }
	project := must[string](t)(w.project())
	store.list = []map[string]any{}
	up()
	for _, made := range store.list { // Magnum would say whose they are
		made["project_id"] = project
	}
	current := w.image(t, "node-a").ID
	want := []string{"kubernetes-1.33.1 " + w.image(t, "node-b").ID, "kubernetes-1.34.2 " + current}
	if got := store.names(); !slices.Equal(got, want) {
		t.Fatalf("templates %v, want %v", got, want)
	}
	if report := up(); len(report.Changes) != 0 || store.made != 2 {
		t.Errorf("second up changed %v, made %d", report.Changes, store.made)
	}
	// As the one of a former bundle, of which machines are.
	glances, _ := w.clients.Image()
	must[*glance.Image](t)(glance.Create(t.Context(), glances, glance.CreateOpts{Name: "node-a", Properties: map[string]string{"kube_version": "v1.33.9"}}).Extract())
	templates = file("    - {kubernetesVersion: v1.34.2, image: node-a, settings: {flavor: m1.large}}\n")
	if report := up(); report.Changes["update"] != 1 || store.made != 3 || len(store.list) != 1 || store.list[0]["flavor_id"] != "m1.large" || store.list[0]["image_id"] != current {
		t.Errorf("another file changed %v: %v", report.Changes, store.list)
	}
	templates = file("    - {kubernetesVersion: v1.35.0, image: node-a}\n")
	if _, err := w.run(t).Up(t.Context(), program); err == nil || !strings.Contains(report(err), "kube_version: it is v1.34.2, expected v1.35.0") {
		t.Errorf("an image of another version: %v", err)
	}
}
