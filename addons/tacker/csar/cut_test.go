package csar

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

// asker asks a server once, and prints what the scripts make of its answer.
const asker = `import sys
sys.path.insert(0, sys.argv[1])
import slipway_kube as kube
try:
    kube.call("GET", sys.argv[2], kube.context(sys.argv[3]), {})
except kube.ApiError as error:
    print("refused", error.status)
except kube.Unreachable:
    print("unreachable")
`

// TestACutAnswer: a server that ends in the middle of its answer is asked again, as one that
// does not answer; what it refused, it refused.
func TestACutAnswer(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hijacker, ok := w.(http.Hijacker)
		if !ok {
			t.Error("the connection cannot be cut")
			return
		}
		conn, _, err := hijacker.Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 %s Said\r\nContent-Length: 100\r\n\r\n{", strings.TrimPrefix(r.URL.Path, "/"))
	}))
	t.Cleanup(server.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	folder := unpacked(t)
	for version, python := range interpreters(t) {
		for status, want := range map[string]string{"200": "unreachable\n", "503": "refused 503\n"} {
			cmd := exec.CommandContext(t.Context(), python, "-I", "-S", "-B", "-c", asker, folder, server.URL+"/"+status, authority)
			if said, err := cmd.CombinedOutput(); err != nil || string(said) != want {
				t.Errorf("Python %s, %s: %v %s", version, status, err, said)
			}
		}
	}
}
