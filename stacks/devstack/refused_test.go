package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/internal/fault"
)

// keystone has one application credential of the plugin, and answers 500 or whatever else it is
// told to requests of some methods.
type keystone struct {
	answers map[string]int
	id      string
	asked   []string
}

func (k *keystone) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.asked = append(k.asked, r.Method)
	w.Header().Set("Content-Type", "application/json")
	if status := k.answers[r.Method]; status != 0 {
		w.WriteHeader(status)
		return
	}
	switch r.Method {
	case http.MethodGet:
		fmt.Fprintf(w, `{"application_credentials": [{"id": %q, "name": "slipway-devstack-RegionOne"}]}`, k.id)
	case http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"application_credential": {"id": "new", "name": "slipway-devstack-RegionOne", "secret": "hush"}}`) //nolint:errcheck // a test's client
	case http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	}
}

// client is a client of it.
func (k *keystone) client(t *testing.T) *gophercloud.ServiceClient {
	server := httptest.NewServer(k)
	t.Cleanup(server.Close)
	return &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{TokenID: "t", HTTPClient: *server.Client()}, Endpoint: server.URL + "/v3/"}
}

// TestACredentialThatKeystoneRefuses is told with what was asked for. None is left whose secret
// nobody has, and what cannot be revoked keeps its file.
func TestACredentialThatKeystoneRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers map[string]int
		spoil   bool
		want    string
		asked   string
	}{
		"list":          {map[string]int{"GET": 500}, false, "listing application credentials", "GET"},
		"revocation":    {map[string]int{"DELETE": 500}, false, "revoking application credential old", "GET DELETE"},
		"creation":      {map[string]int{"POST": 500}, false, "creating application credential slipway-devstack-RegionOne", "GET DELETE POST"},
		"file":          {nil, true, "clouds.yaml", "GET DELETE POST DELETE"},
		"it went first": {map[string]int{"DELETE": 404}, false, "", "GET DELETE POST"},
		"all is well":   {nil, false, "", "GET DELETE POST"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, k := read(t, nil), &keystone{answers: test.answers, id: "old"}
			if test.spoil { // where the file is to go is a folder with something in it
				must(t, os.MkdirAll(filepath.Join(s.CredentialFile(), "x"), 0o700))
			}
			made, err := s.EnsureCredential(t.Context(), k.client(t), "me")
			if made != (test.want == "") || (err == nil) != made || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("made: %t (%v)", made, err)
			}
			if got := strings.Join(k.asked, " "); got != test.asked {
				t.Errorf("Keystone was asked for %s, not %s", got, test.asked)
			}
		})
	}
	for name, test := range map[string]struct {
		answers map[string]int
		want    string
	}{
		"list":          {map[string]int{"GET": 500}, "listing application credentials"},
		"revocation":    {map[string]int{"DELETE": 500}, "revoking application credential old"},
		"it went first": {map[string]int{"DELETE": 404}, ""},
	} {
		t.Run("end: "+name, func(t *testing.T) {
			t.Parallel()
			s, k := read(t, nil), &keystone{answers: test.answers, id: "old"}
			must(t, s.Write("credential/clouds.yaml", "{}"))
			err := s.RevokeCredential(t.Context(), k.client(t), "me")
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Error(err)
			}
			if _, there := os.Stat(s.CredentialFile()); (there == nil) != (err != nil) {
				t.Errorf("the file: %v", there)
			}
		})
	}
}

// TestFlavorsForControlPlanes have two processors and two gigabytes; less of either is refused.
func TestFlavorsForControlPlanes(t *testing.T) {
	t.Parallel()
	for size, good := range map[string]bool{"2 2048": true, "1 2048": false, "2 2047": false, "4 8192": true} {
		var processors, memory int
		_, err := fmt.Sscan(size, &processors, &memory)
		must(t, err)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			flavor := fmt.Sprintf(`{"id": "7", "name": "own", "vcpus": %d, "ram": %d}`, processors, memory)
			if r.URL.Query().Get("marker") != "" {
				flavor = ""
			}
			fmt.Fprintf(w, `{"flavors": [%s]}`, flavor)
		}))
		t.Cleanup(server.Close)
		compute := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{TokenID: "t"}, Endpoint: server.URL + "/"}
		id, err := read(t, map[string]string{"SLIPWAY_FLAVOR": "own"}).EnsureFlavor(t.Context(), compute)
		if good != (err == nil) || good != (id == "7") || !good && fault.ExitCode(err) != fault.ExitUsage {
			t.Errorf("%s: %q (%v)", size, id, err)
		}
	}
}

// TestProxiesOfOneKind are used too.
func TestProxiesOfOneKind(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{"http_proxy": "httpProxy: http://proxy:3128", "https_proxy": "httpsProxy: http://proxy:3128", "no_proxy": "{}"} {
		s := read(t, map[string]string{variable: "http://proxy:3128"})
		values, err := s.clusterValues()
		if err != nil || !strings.Contains(values, want) || strings.Contains(values, "proxy:") != (variable != "no_proxy") {
			t.Errorf("%s: %v\n%s", variable, err, values)
		}
		if of := s.ProxyVariables(); (of == nil) != (variable == "no_proxy") {
			t.Errorf("%s: variables %v", variable, of)
		}
	}
}

// TestSettingsAtTheirLimits.
func TestSettingsAtTheirLimits(t *testing.T) {
	t.Parallel()
	for port, good := range map[string]bool{"0": false, "1": true, "65535": true, "65536": false} {
		if _, err := Read(variables(t, map[string]string{"SLIPWAY_API_PORT": port})); (err == nil) != good {
			t.Errorf("port %s: %v", port, err)
		}
	}
	both := map[string]string{"SERVICE_PROTOCOL": "https", "SLIPWAY_CA": "/ca.pem", "SLIPWAY_CERTIFICATE": "/c.pem",
		"SLIPWAY_NODE_IMAGE_URL": "https://example.org/x", "SLIPWAY_NODE_IMAGE_SHA256": "0", "SLIPWAY_NODE_IMAGE_KUBERNETES_VERSION": "1.34.4"}
	for _, lost := range []string{"", "SLIPWAY_CA", "SLIPWAY_CERTIFICATE", "SLIPWAY_NODE_IMAGE_SHA256", "SLIPWAY_NODE_IMAGE_KUBERNETES_VERSION"} {
		given := map[string]string{}
		for name, value := range both {
			if name != lost {
				given[name] = value
			}
		}
		if _, err := Read(variables(t, given)); (err == nil) != (lost == "") || len(fault.All(err)) > 1 {
			t.Errorf("without %q: %v", lost, err)
		}
	}
	s := read(t, map[string]string{"no_proxy": "a.example,b.example c.example"})
	if !slices.Equal(s.Proxy.Bypass[:3], []string{"a.example", "b.example", "c.example"}) {
		t.Errorf("%q", s.Proxy.Bypass)
	}
	if lacks := fault.All(Machine{Memory: NeedMemory, Disk: NeedDisk}.Judge()); len(lacks) != 1 {
		t.Errorf("a machine that is just large enough lacks %v", lacks)
	}
}

// TestRulesOfOthersThatLookAlikeStay: the tag is that of a comment, not a chain, and a comment has
// a text.
func TestRulesOfOthersThatLookAlikeStay(t *testing.T) {
	t.Parallel()
	theirs := []string{"-A INPUT -m comment --comment other -j slipway-devstack", "-A INPUT --comment", "-N slipway-devstack", "-A"}
	f := &firewall{rules: map[string][]string{"filter": slices.Clone(theirs)}}
	if err := Shut(t.Context(), f.run); err != nil || !slices.Equal(f.rules["filter"], theirs) {
		t.Errorf("%v: %q", err, f.rules["filter"])
	}
}

// proc makes a /proc with one process of a k3s in a folder, which cannot be ended.
func proc(t *testing.T, s Settings) string {
	t.Helper()
	dir := t.TempDir()
	own := filepath.Join(dir, "self", "ns")
	id := filepath.Join(dir, "9999999", "ns") // above the largest that a kernel gives
	must(t, errors.Join(s.Mark(), os.MkdirAll(s.K3sDir(), 0o700), os.MkdirAll(own, 0o755), os.MkdirAll(id, 0o755), os.MkdirAll(filepath.Join(dir, "12"), 0o755)))
	must(t, errors.Join(os.Symlink("mnt:[1]", filepath.Join(own, "mnt")), os.Symlink("mnt:[1]", filepath.Join(id, "mnt"))))
	must(t, errors.Join(os.Symlink(filepath.Join(s.K3sDir(), "bin/k3s"), filepath.Join(dir, "9999999", "exe")),
		os.WriteFile(filepath.Join(dir, "9999999", "stat"), []byte("9999999 (k3s) S 1"), 0o600), os.WriteFile(filepath.Join(dir, "12", "stat"), []byte("12 (x) S"), 0o600)))
	return dir
}

// TestASweepThatCannotEndSaysWhatIsLeft, and keeps all that k3s wrote; it ends with its caller.
func TestASweepThatCannotEndSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	s, f := read(t, nil), &firewall{rules: map[string][]string{}}
	processes := proc(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if err := Clean(ctx, f.run, s.Dir, processes); err == nil || !strings.Contains(err.Error(), "9999999") || time.Since(begun) > killTime/2 {
		t.Errorf("after %s: %v", time.Since(begun), err)
	}
	if _, err := os.Stat(s.K3sDir()); err != nil || len(f.removed) > 0 {
		t.Errorf("removed: %q (%v)", f.removed, err)
	}
	if err := Sweep(t.Context(), f.run, s.Dir, filepath.Join(processes, "nothing")); err == nil {
		t.Error("a /proc that cannot be read has no processes")
	}
}
