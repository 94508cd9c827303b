package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

// TestMovingInThroughTheAPI: whoever logs in at Keystone is read at the endpoint of
// Magnum with its token; what keeps the API from being read is told.
func TestMovingInThroughTheAPI(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../addons/magnum/moving/rest/testdata/magnum-api.json")
	check(t, err)
	said := map[string]json.RawMessage{}
	check(t, json.Unmarshal(text, &said))
	project(t)
	login := cloudName(t)
	var answered atomic.Int32
	serve := func(status map[string]int) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Auth-Token") == "" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			if code := status[r.URL.Path]; code != 0 {
				w.WriteHeader(code)
				return
			}
			answered.Add(1)
			_, _ = w.Write(said[r.URL.RequestURI()])
		}))
		t.Cleanup(server.Close)
		return server.URL + "/v1"
	}
	empty := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(empty.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	check(t, os.WriteFile(kubeconfig, []byte(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "`+empty.URL+
		`"}}], users: [{name: c, user: {}}], contexts: [{name: c, context: {cluster: c, user: c}}]}`), 0o600))
	for name, test := range map[string]struct {
		api  string
		exit fault.Exit
		want string
		read int32
	}{
		"not in the catalog": {"--from-api", fault.ExitFailure, "container-infra", 0},
		"no URL":             {"--from-api=magnum.example", fault.ExitUsage, "is no URL of an endpoint", 0},
		"no administrator":   {"--from-api=" + serve(map[string]int{"/v1/quotas": http.StatusForbidden}), fault.ExitFailure, "not an administrator of Magnum", 1},
		"broken":             {"--from-api=" + serve(map[string]int{"/v1/clusters/detail": http.StatusForbidden}), fault.ExitFailure, "answered 403", 0},
		"read to its end":    {"--from-api=" + serve(nil), fault.ExitFailure, "reading what was moved in", 20},
	} {
		t.Run(name, func(t *testing.T) {
			before := answered.Load()
			code, out, errs := run(t.Context(), "magnum", "plan", test.api, "--cloud", login, "--kubeconfig", kubeconfig)
			if code != test.exit || !strings.Contains(errs, test.want) || test.read < 20 && !strings.Contains(errs, "fix: ") || out != "" {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
			if read := answered.Load() - before; read < test.read {
				t.Errorf("%d answers were read", read)
			}
		})
	}
}
