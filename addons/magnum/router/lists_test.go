package router

import (
	"net/http"
	"net/url"
	"slices"
	"testing"
)

// pages follows a list to its end, and returns the names and how many pages there were.
func (f *fleet) pages(token, path, list string) (names []string, pages int) {
	f.t.Helper()
	for path != "" {
		a := f.ask(token, http.MethodGet, path, nil).want(http.StatusOK)
		names, pages = append(names, a.names(list)...), pages+1
		if path, _ = a.body["next"].(string); pages > 50 {
			f.t.Fatal("the list does not end")
		}
	}
	return names, pages
}

// TestListsOfAllProjects have what all management clusters have, each once, on pages of any length.
func TestListsOfAllProjects(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one", "two", "three")
	// "three" has nothing, which is no end of the list.
	for i, at := range []string{"two", "one", "two", "one", "two"} {
		f.cluster(at, "shop", string(rune('e'-i))+"-"+at)
		f.template(at, "shop", string(rune('e'-i))+"-"+at, false)
	}
	inOrder, byName := []string{"d-one", "b-one", "e-two", "c-two", "a-two"}, []string{"a-two", "b-one", "c-two", "d-one", "e-two"}
	for _, list := range []string{"clusters", "clustertemplates"} {
		for _, path := range []string{"/v1/" + list, "/v1/" + list + "/detail"} {
			for query, want := range map[string][]string{"": inOrder, "sort_dir=desc": reversed(inOrder), "sort_key=id": inOrder, "sort_key=name": byName,
				"sort_key=name&sort_dir=desc": reversed(byName), "sort_key=project_id": inOrder} {
				for _, limit := range []string{"1", "2", "3", "5", "100", ""} {
					asked := path + "?" + query
					if limit != "" {
						asked += "&limit=" + limit
					}
					got, pages := f.pages("ops/admin", asked, list)
					if !slices.Equal(got, want) {
						t.Errorf("%s: %v, want %v", asked, got, want)
					}
					if limit == "2" && pages != 3 {
						t.Errorf("%s: %d pages", asked, pages)
					}
				}
			}
		}
	}
	if got := f.ask("shop/reader", http.MethodGet, "/v1/clusters", nil).want(http.StatusConflict); len(got.header["X-Openstack-Request-Id"]) != 1 {
		t.Errorf("headers %v", got.header)
	}
}

func reversed(names []string) []string {
	names = slices.Clone(names)
	slices.Reverse(names)
	return names
}

// TestListsHaveTheirForm: a sorted list of clusters has no more members than another one, and the
// links and headers are those of one management cluster.
func TestListsHaveTheirForm(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one", "two")
	f.cluster("two", "shop", "a")
	plain := f.ask("ops/admin", http.MethodGet, "/v1/clusters", nil).want(http.StatusOK)
	if sorted := f.ask("ops/admin", http.MethodGet, "/v1/clusters?sort_key=name", nil).want(http.StatusOK); sorted.text != plain.text {
		t.Errorf("%s\nand sorted\n%s", plain.text, sorted.text)
	}
	f.ask("ops/admin", http.MethodGet, "/v1/clusters/detail?sort_key=name", nil).want(http.StatusOK, "status_reason", f.front.URL+"/v1/clusters/")
	if plain.header.Get("OpenStack-API-Version") == "" || plain.header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", plain.header)
	}
}

// TestListsRefuseWhatOneRefuses, in its words.
func TestListsRefuseWhatOneRefuses(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one", "two")
	f.cluster("two", "shop", "a")
	for query, status := range map[string]int{"limit=0": http.StatusBadRequest, "limit=x": http.StatusBadRequest, "sort_key=x": http.StatusBadRequest, "sort_dir=up": http.StatusBadRequest,
		"sort_key=name&sort_dir=up": http.StatusBadRequest, "marker=x": http.StatusBadRequest, "color=red": http.StatusBadRequest, "sort_key=name&color=red": http.StatusBadRequest,
		"marker=5d12f6fd-a196-4bf0-ae4c-1f639a523a52": http.StatusNotFound, "sort_key=name&marker=5d12f6fd-a196-4bf0-ae4c-1f639a523a52": http.StatusNotFound} {
		all := f.ask("ops/admin", http.MethodGet, "/v1/clusters?"+query, nil).want(status)
		one := f.at(f.sites["two"].front, "ops/admin", http.MethodGet, "/v1/clusters?"+query, nil).want(status)
		if all.body["errors"].([]any)[0].(map[string]any)["detail"] != one.body["errors"].([]any)[0].(map[string]any)["detail"] {
			t.Errorf("%s: %s, one says %s", query, all.text, one.text)
		}
	}
}

// TestAnAdministratorFindsObjectsAnywhere, by UUID or by a name that only one has.
func TestAnAdministratorFindsObjectsAnywhere(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one", "two", "three")
	f.ask("ops/admin", http.MethodGet, "/v1/clusters/none", nil).want(http.StatusNotFound, "none could not be found")
	if at := f.placed("ops"); at != "one" {
		t.Fatalf("the administrators are on %q", at)
	}
	mine, theirs := f.cluster("one", "shop", "mine"), f.cluster("two", "bank", "theirs")
	f.cluster("two", "bank", "twin")
	f.cluster("three", "mill", "twin")
	f.cluster("one", "shop", "near")
	f.cluster("two", "bank", "near")
	template := f.template("three", "mill", "t", false)
	for path, want := range map[string]string{"clusters/" + string(mine.UID): "mine", "clusters/" + string(theirs.UID): "theirs", "clusters/theirs": "theirs", "clusters/near": "near",
		"clustertemplates/" + string(template.UID): `"t"`, "clusters/" + string(theirs.UID) + "/nodegroups": "nodegroups"} {
		f.ask("ops/admin", http.MethodGet, "/v1/"+path, nil).want(http.StatusOK, want)
	}
	if got := f.ask("ops/admin", http.MethodGet, "/v1/clusters/near", nil).body["project_id"]; got != "shop" {
		t.Errorf("of two clusters of a name, that of %v is shown, not the one of the own management cluster", got)
	}
	f.ask("ops/admin", http.MethodGet, "/v1/clusters/twin", nil).want(http.StatusConflict, "Several management clusters")
	f.ask("ops/admin", http.MethodPost, "/v1/certificates", map[string]any{"cluster_uuid": "theirs", "csr": "x"}).want(http.StatusConflict, "no certificate authority yet")
	if last := f.sites["two"].last.Load(); last.Method != http.MethodPost {
		t.Errorf("the certificate was asked of another: the last request is %s %s", last.Method, last.URL)
	}
	f.ask("ops/admin", http.MethodGet, "/v1/certificates/"+string(theirs.UID), nil).want(http.StatusConflict, "no certificate authority yet")
	f.ask("ops/admin", http.MethodPatch, "/v1/clustertemplates/t", []map[string]any{{"op": "replace", "path": "/name", "value": "renamed"}}).want(http.StatusOK, "renamed")
	f.ask("ops/admin", http.MethodDelete, "/v1/clusters/"+string(theirs.UID), nil).want(http.StatusNoContent)
	f.ask("ops/admin", http.MethodDelete, "/v1/clustertemplates/renamed", nil).want(http.StatusNoContent)
	f.ask("ops/admin", http.MethodGet, "/v1/clustertemplates/renamed", nil).want(http.StatusNotFound)
}

// TestQuotasAreWhereTheirProjectIs, and numbers and services are of all.
func TestQuotasAreWhereTheirProjectIs(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one", "two")
	f.cluster("two", "bank", "a")
	f.cluster("one", "shop", "b")
	f.cluster("one", "shop", "c")
	for project, limit := range map[string]int{"bank": 3, "shop": 4} {
		f.ask("ops/admin", http.MethodPost, "/v1/quotas", map[string]any{"project_id": project, "resource": "Cluster", "hard_limit": limit}).want(http.StatusCreated)
	}
	f.ask("bank/reader", http.MethodGet, "/v1/quotas/bank/Cluster", nil).want(http.StatusOK, `"hard_limit":3`)
	f.ask("ops/admin", http.MethodGet, "/v1/quotas/shop/Cluster", nil).want(http.StatusOK, `"hard_limit":4`)
	f.ask("ops/admin", http.MethodPatch, "/v1/quotas/bank/Cluster", map[string]any{"project_id": "bank", "resource": "Cluster", "hard_limit": 5}).want(http.StatusAccepted)
	if all := f.ask("ops/admin", http.MethodGet, "/v1/quotas?all_tenants=yes", nil).want(http.StatusOK); len(all.body["quotas"].([]any)) != 2 {
		t.Errorf("quotas of all: %s", all.text)
	}
	paged := f.ask("ops/admin", http.MethodGet, "/v1/quotas?all_tenants=true&limit=1", nil).want(http.StatusOK, `"hard_limit":4`, `"next"`)
	f.ask("ops/admin", http.MethodGet, paged.body["next"].(string), nil).want(http.StatusOK, `"hard_limit":5`)
	f.ask("ops/admin", http.MethodGet, "/v1/quotas?all_tenants=true&sort_key=hard_limit&sort_dir=desc&limit=1", nil).want(http.StatusOK, `"hard_limit":5`)
	f.ask("ops/admin", http.MethodGet, "/v1/stats", nil).want(http.StatusOK, `"clusters":3`)
	f.ask("ops/admin", http.MethodGet, "/v1/stats?project_id=bank", nil).want(http.StatusOK, `"clusters":1`)
	f.ask("shop/reader", http.MethodGet, "/v1/stats", nil).want(http.StatusOK, `"clusters":2`)
	f.ask("ops/admin", http.MethodGet, "/v1/stats?type=pod", nil).want(http.StatusBadRequest)
	services := f.ask("ops/admin", http.MethodGet, "/v1/mservices", nil).want(http.StatusOK).body["mservices"].([]any)
	if len(services) != 2 || services[1].(map[string]any)["id"] != 2.0 {
		t.Errorf("services %v", services)
	}
	f.ask("ops/admin", http.MethodDelete, "/v1/quotas/bank/Cluster", map[string]any{"project_id": "bank", "resource": "Cluster"}).want(http.StatusNoContent)
	f.ask("ops/admin", http.MethodGet, "/v1/quotas/"+url.PathEscape("a/b")+"/Cluster", nil).want(http.StatusOK)
}
