package orphan_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/objects"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/stacks/openstack"
	"github.com/slipway-sh/slipway/stacks/orphan"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// container makes the container of an object store of a cluster, with an object if full says so.
func (w *world) container(environment, namespace, cluster, name string, full bool) {
	w.Helper()
	store := openstack.ObjectStore{Clients: w.survey.Inventory.Clients, Container: name,
		Ownership: openstack.Ownership{Environment: environment, Step: workload.Step(types.NamespacedName{Namespace: namespace, Name: cluster})}}
	if _, err := store.Ensure(w.Context()); err != nil {
		w.Fatal(err)
	}
	if !full {
		return
	}
	if err := objects.Create(w.Context(), w.box.Member.ObjectStorage(w.T), name, "backup", objects.CreateOpts{Content: strings.NewReader("data")}).Err; err != nil {
		w.Fatal(err)
	}
}

// containers are those that were found.
func containersIn(found []orphan.Orphan) (list []orphan.Orphan) {
	for _, o := range found {
		if o.Type == openstack.TypeContainer {
			list = append(list, o)
		}
	}
	return list
}

// TestContainersOfClustersThatAreGone go, those with objects only if that is asked for. Those of
// living clusters stay, and of clusters of which no credential is left: slipway cluster delete keeps
// them with --object-stores keep.
//
// proves: S-77
func TestContainersOfClustersThatAreGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.credential("prod", "team", "shop")
	w.credential("prod", "web", "web")
	w.credential("other", "team", "books")
	w.alive.Clusters = []types.NamespacedName{{Namespace: "web", Name: "web"}}
	w.container("prod", "team", "shop", "shop-empty", false)
	w.container("prod", "team", "shop", "shop-full", true)
	w.container("prod", "web", "web", "web-store", false)
	w.container("prod", "kept", "kept", "kept-store", true)
	w.container("other", "team", "books", "books-store", false)
	if err := containers.Create(t.Context(), w.box.Member.ObjectStorage(t), "shop-lookalike", containers.CreateOpts{Metadata: map[string]string{"Slipway-Owner": "shop"}}).Err; err != nil {
		t.Fatal(err)
	}
	found := containersIn(w.find())
	w.same("what is found", found, "container shop-empty", "container shop-full stays")
	for _, o := range found {
		if o.Cluster != "shop" || !strings.Contains(o.Proof, "ownership tag of prod") || o.Name == "shop-full" && !strings.Contains(o.Kept, "objects (1)") {
			t.Errorf("%+v", o)
		}
	}
	remove := func() (deleted, left []orphan.Orphan) {
		t.Helper()
		deleted, left, err := w.survey.Remove(t.Context(), orphan.Chosen(w.find(), nil), nil, event.Discard{})
		if err != nil {
			t.Fatal(err)
		}
		return containersIn(deleted), left
	}
	deleted, left := remove()
	w.same("deleted", deleted, "container shop-empty")
	w.same("left", containersIn(left), "container shop-full stays")
	if last := left[len(left)-1]; last.Type != openstack.TypeCredential || last.Kept == "" {
		t.Errorf("the proof goes before the container: %v", told(left))
	}
	w.survey.Content = true
	if deleted, left = remove(); len(left) > 0 {
		t.Errorf("left with content: %v", told(left))
	}
	w.same("deleted with content", deleted, "container shop-full")
	pages, err := containers.List(w.box.Member.ObjectStorage(t), nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if names, err := containers.ExtractNames(pages); err != nil || strings.Join(names, " ") != "books-store kept-store shop-lookalike web-store" {
		t.Errorf("the project has %q (%v)", names, err)
	}
}

// TestContainersThatCannotBeRead are an error, because the credential of their cluster would go. A
// login that may not list them has none.
func TestContainersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule faultinject.Rule
		want string
	}{
		"one":      {faultinject.Rule{Service: "object-store", Method: http.MethodHead, Path: "/v1/*/shop-store", Status: 403}, "listing containers"},
		"the list": {faultinject.Rule{Service: "object-store", Method: http.MethodGet, Status: 400}, "listing containers"},
		"none":     {faultinject.Rule{Service: "object-store", Method: http.MethodGet, Status: 403}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.credential("prod", "team", "shop")
			w.container("prod", "team", "shop", "shop-store", false)
			w.fail(test.rule)
			found, err := w.survey.Find(t.Context())
			if test.want == "" && (err != nil || len(found) != 1) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v: %v", told(found), err)
			}
		})
	}
}

// TestContainersAreNotReadWhileNothingIsGone: each takes a request. A cluster that comes back while
// they are read is not gone.
func TestContainersAreNotReadWhileNothingIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.credential("prod", "team", "shop")
	w.container("prod", "team", "shop", "shop-store", false)
	living := orphan.Alive{Clusters: []types.NamespacedName{{Namespace: "team", Name: "shop"}}}
	looks := 0
	w.survey.Look = func(context.Context) (orphan.Alive, error) {
		if looks++; looks == 1 {
			return orphan.Alive{}, nil
		}
		return living, nil
	}
	if found := w.find(); len(found) > 0 || looks != 2 {
		t.Errorf("a cluster that came back, after %d looks: %v", looks, told(found))
	}
	w.fail(faultinject.Rule{Service: "object-store", Method: http.MethodGet, Status: 400})
	if found := w.find(); len(found) > 0 || looks != 3 {
		t.Errorf("a cluster that lives, after %d looks: %v", looks, told(found))
	}
}
