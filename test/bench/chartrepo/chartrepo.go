// Package chartrepo gives benches a repository of small Helm charts on loopback.
package chartrepo

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/repo"
)

// Version is that of all charts.
const Version = "1.0.0"

// Name is that of the i-th chart.
func Name(i int) string { return fmt.Sprintf("demo-%d", i) }

// Repository is a chart repository that counts what is asked of it.
type Repository struct {
	*httptest.Server
	// Asked is how often it was asked for anything.
	Asked atomic.Int64
}

// Serve serves so many charts of a few resources each, until the test ends.
func Serve(t testing.TB, count int) *Repository {
	t.Helper()
	dir, r := t.TempDir(), &Repository{}
	files := http.FileServer(http.Dir(dir))
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.Asked.Add(1)
		files.ServeHTTP(w, request)
	}))
	t.Cleanup(r.Close)
	for n := range count {
		ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: Name(n), Version: Version}}
		for i := range 5 {
			text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}-%d'}\ndata: {values: {{ toJson .Values | quote }}}\n", i)
			ch.Templates = append(ch.Templates, &chart.File{Name: fmt.Sprintf("templates/%d.yaml", i), Data: []byte(text)})
		}
		if _, err := chartutil.Save(ch, dir); err != nil {
			t.Fatal(err)
		}
	}
	index, err := repo.IndexDirectory(dir, r.URL)
	if err == nil {
		err = index.WriteFile(filepath.Join(dir, "index.yaml"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}
