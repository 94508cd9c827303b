package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/internal/fault"
)

// magnum answers what the real API said (test/magnumdb records it), page by page.
type magnum struct {
	said map[string]json.RawMessage
	// instead answers paths otherwise.
	instead map[string]http.HandlerFunc
}

func (m *magnum) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if other := m.instead[r.URL.Path]; other != nil {
		other(w, r)
		return
	}
	answer, known := m.said[r.URL.RequestURI()]
	if !known || r.Header.Get("Openstack-Api-Version") != "container-infra latest" {
		http.Error(w, "nobody asked Magnum for this", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}

func start(t *testing.T) (*magnum, *gophercloud.ServiceClient) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "magnum-api.json"))
	if err != nil {
		t.Fatal(err)
	}
	m := &magnum{instead: map[string]http.HandlerFunc{}}
	if err := json.Unmarshal(text, &m.said); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return m, &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/v1/", Type: "container-infra"}
}

// TestRead: the rows are those of the database, in its order, with ids that rise.
func TestRead(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	shown, err := Read(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if !shown.Partial || shown.Releases != "API 1.14" {
		t.Errorf("partial: %v, of %s", shown.Partial, shown.Releases)
	}
	for i, c := range shown.Clusters {
		if c.ID <= 0 || c.ID >= 1<<40 || i > 0 && c.ID <= shown.Clusters[i-1].ID {
			t.Errorf("id of cluster %s: %d", c.Name, c.ID)
		}
	}
	file := filepath.Join("..", "database", "testdata", "mariadb-b3e1cf4a2d5e.sql")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := database.Parse(file, string(text))
	if err != nil {
		t.Fatal(err)
	}
	want.Templates = slices.DeleteFunc(want.Templates, func(t database.Template) bool { return t.COE == "swarm" })
	for i := range want.Templates {
		want.Templates[i].ID = shown.Templates[i].ID
	}
	for i := range want.Clusters {
		c := &want.Clusters[i]
		c.ID, c.CARef, c.MagnumRef, c.EtcdRef, c.FrontProxyRef, c.TrustID, c.TrusteeID = shown.Clusters[i].ID, "", "", "", "", "", ""
	}
	want.Revision, want.Releases, want.Partial, want.KeyPairs = shown.Revision, shown.Releases, true, shown.KeyPairs
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("the database (-) and the API (+) differ:\n%s", diff)
	}
}

func TestBadAnswers(t *testing.T) {
	t.Parallel()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	say := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	for name, test := range map[string]struct {
		path         string
		answer       http.HandlerFunc
		want, remedy string
	}{
		"Slipway's own API":       {"/", say(`{"description":"Kubernetes clusters for projects, made by Slipway.","versions":[{"max_version":"1.14"}]}`), "Slipway's own API", "--from-api=URL"},
		"another service":         {"/", say(`{"versions":[]}`), "is not Magnum's API", "--from-api=URL"},
		"an old Magnum":           {"/", say(`{"versions":[{"max_version":"1.9"}]}`), `"1.9"; 1.10 or later`, "upgrade Magnum"},
		"no administrator":        {"/v1/quotas", status(http.StatusForbidden), "not an administrator of Magnum", "--cloud"},
		"a template of swarm":     {"/v1/clustertemplates/detail", status(http.StatusInternalServerError), "does not know any more, such as swarm", "--from-database"},
		"no list":                 {"/v1/clusters/detail", say(`{"clusters":3}`), "its answer to clusters/detail cannot be read", "--from-database"},
		"pages without an end":    {"/v1/clusters/detail", say(`{"clusters":[{"uuid":"a"}],"next":"http://magnum/v1/clusters/detail?marker=a"}`), "its pages do not end", "--from-database"},
		"no versions":             {"/", status(http.StatusForbidden), "403", ""},
		"quotas that fail":        {"/v1/quotas", status(http.StatusConflict), "409", ""},
		"templates that fail":     {"/v1/clustertemplates/detail", status(http.StatusForbidden), "403", ""},
		"clusters that fail":      {"/v1/clusters/detail", status(http.StatusForbidden), "403", ""},
		"groups that fail":        {"/v1/clusters/6c9f3a52-5c0e-4b9f-9a5c-000000000002/nodegroups", status(http.StatusForbidden), "403", ""},
		"a row without a project": {"/v1/quotas", say(`{"quotas":[{"id":3,"resource":"Cluster","hard_limit":3}]}`), "row 3, column project_id: it is empty", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, client := start(t)
			m.instead[test.path] = test.answer
			_, err := Read(t.Context(), client)
			if !strings.Contains(fmt.Sprint(err), test.want) || !strings.Contains(fault.Remedy(err), test.remedy) {
				t.Errorf("%v; fix: %s", err, fault.Remedy(err))
			}
		})
	}
}

// TestAClusterThatGoes: a cluster deleted while its node groups are read is left out.
func TestAClusterThatGoes(t *testing.T) {
	t.Parallel()
	m, client := start(t)
	const gone = "6c9f3a52-5c0e-4b9f-9a5c-000000000002"
	m.instead["/v1/clusters/"+gone+"/nodegroups"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }
	d, err := Read(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Clusters) != 6 || slices.ContainsFunc(d.Groups, func(g database.NodeGroup) bool { return g.ClusterID == gone }) {
		t.Errorf("%d clusters", len(d.Clusters))
	}
}

// TestAGroupThatGoes: a group deleted while the groups are read is left out, and nothing else; one that
// cannot be read is an error.
func TestAGroupThatGoes(t *testing.T) {
	t.Parallel()
	const cluster = "6c9f3a52-5c0e-4b9f-9a5c-000000000002"
	m, client := start(t)
	whole, err := Read(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(whole.Groups, func(g database.NodeGroup) bool { return g.ClusterID == cluster })
	path := "/v1/clusters/" + cluster + "/nodegroups/" + whole.Groups[i].UUID
	m.instead[path] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }
	d, err := Read(t.Context(), client)
	if err != nil || len(d.Clusters) != len(whole.Clusters) || len(d.Groups) != len(whole.Groups)-1 || slices.ContainsFunc(d.Groups, func(g database.NodeGroup) bool { return g.UUID == whole.Groups[i].UUID }) {
		t.Errorf("%v", err)
	}
	m.instead[path] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }
	if d, err := Read(t.Context(), client); err == nil {
		t.Errorf("a group that is refused: %d groups", len(d.Groups))
	}
}

// TestTheOldestMagnumThatIsRead is that of the version that is needed.
func TestTheOldestMagnumThatIsRead(t *testing.T) {
	t.Parallel()
	m, client := start(t)
	m.instead["/"] = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"versions":[{"max_version":"1.%d"}]}`, minMinor)
	}
	if d, err := Read(t.Context(), client); err != nil || d.Releases != fmt.Sprintf("API 1.%d", minMinor) {
		t.Errorf("%v", err)
	}
}

// TestNumbersRise with the second of creation, also where two are of one second or nobody knows it.
func TestNumbersRise(t *testing.T) {
	t.Parallel()
	created := func(at string) database.Document {
		return database.Document{"created_at": json.RawMessage(`"` + at + `"`)}
	}
	all := []database.Document{created("unknown"), created("2026-01-02T03:04:05Z"), created("2026-01-02T03:04:05Z"), {}, created("2026-01-02T04:04:05Z")}
	number(all)
	var got []string
	for _, d := range all {
		got = append(got, string(d["id"]))
	}
	if want := []string{"1", "1767323045", "1767323046", "1767323047", "1767326645"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
