package addonprovider

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

const chartVersion = "1.0.0"

func chartName(i int) string { return fmt.Sprintf("demo-%d", i) }

// repository is a chart repository that counts what is asked of it.
type repository struct {
	*httptest.Server
	asked atomic.Int64
}

// serveCharts serves so many charts of a few resources each.
func serveCharts(t *testing.T, count int) *repository {
	t.Helper()
	dir, r := t.TempDir(), &repository{}
	files := http.FileServer(http.Dir(dir))
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.asked.Add(1)
		files.ServeHTTP(w, request)
	}))
	t.Cleanup(r.Close)
	for n := range count {
		ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: chartName(n), Version: chartVersion}}
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
