package sandbox_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func TestZZMeasure(t *testing.T) {
	cloud := sandboxtest.Start(t)
	id := ""
	begin := time.Now()
	for i := range 12000 {
		_ = cloud.Env.Store.Update(func(tx *store.Tx) error {
			id = model.NewKeyID()
			cloud.Env.Model.Identity.Projects.Put(tx, model.Project{ID: id, Name: fmt.Sprint("p", i), DomainID: "default", ParentID: "default", Description: strings.Repeat("x", 800)})
			return nil
		})
	}
	fmt.Println("12000 puts of 1 kB", time.Since(begin))
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	status, _ := os.ReadFile("/proc/self/status")
	for _, l := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(l, "VmRSS") || strings.HasPrefix(l, "RssFile") {
			fmt.Println(l)
		}
	}
	fmt.Println("heap MiB", m.HeapAlloc>>20)
	token := cloud.Admin.Provider.Token()
	do := func(method, path, body string) time.Duration {
		r, _ := http.NewRequest(method, cloud.URL()+path, strings.NewReader(body))
		r.Header.Set("X-Auth-Token", token)
		b := time.Now()
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return time.Since(b)
	}
	for _, c := range [][3]string{{"GET", "/identity/v3/projects/" + id, ""}, {"POST", "/identity/v3/regions", `{"region":{}}`}, {"GET", "/identity/v3/projects?limit=100", ""}, {"GET", "/identity/v3/projects?name=p77", ""}} {
		var all []time.Duration
		for range 300 {
			all = append(all, do(c[0], c[1], c[2]))
		}
		slices.Sort(all)
		fmt.Println(c[0], c[1], "median", all[150], "p95", all[285])
	}
}
