package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// rotate has the credential of the tenant's cluster replaced, by the API (no
// client of Debian has a command for it), and waits until the former one is
// revoked: what is done with the cluster from then on, on either side, is done
// with the new one.
//
// proves: M-X19
func (p *project) rotate() {
	p.t.Helper()
	former := p.clusterCredentials()
	p.magnum(http.MethodPatch, "/credentials/shop", http.StatusAccepted)
	p.eventually("another credential instead of "+strings.Join(former, " "), 8*time.Minute, func() (string, bool) {
		time.Sleep(clientPause)
		now := p.clusterCredentials()
		return strings.Join(now, " "), len(now) == 1 && !slices.Contains(former, now[0])
	})
}

// clusterCredentials are the names of the application credentials of clusters.
func (p *project) clusterCredentials() []string {
	p.t.Helper()
	names := strings.Fields(p.openstack("application", "credential", "list", "-f", "value", "-c", "Name"))
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, "magnum-") })
}

// magnum asks the Magnum API for what no client has a command for.
func (p *project) magnum(method, path string, want int) {
	p.t.Helper()
	authority, err := os.ReadFile(filepath.Join(p.folder, ".slipway", "magnum-ca.pem"))
	if err != nil {
		p.t.Fatal(err)
	}
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(authority)
	var entry struct {
		Endpoints []struct{ Interface, URL string }
	}
	text := p.openstack("catalog", "show", "container-infra", "-f", "json")
	if err := json.Unmarshal([]byte(text), &entry); err != nil || len(entry.Endpoints) == 0 {
		p.t.Fatalf("the catalog has %s (%v)", text, err)
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, entry.Endpoints[0].URL+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("X-Auth-Token", p.openstack("token", "issue", "-f", "value", "-c", "id"))
	req.Header.Set("OpenStack-API-Version", "container-infra 1.12")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, _ := io.ReadAll(resp.Body); resp.StatusCode != want {
		p.t.Fatalf("%s %s: %s %s", method, path, resp.Status, answer)
	}
}
