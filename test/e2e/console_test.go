package e2e

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// tags are what a page has beside its text.
var tags = regexp.MustCompile(`<[^>]*>`)

// visitOwnConsole serves the operator's console, as on a laptop, and looks at each page while a
// tenant has a cluster: everything is read, and nothing would change.
func (p *project) visitOwnConsole() {
	p.t.Helper()
	cmd := p.command("console", "serve")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			p.t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			p.t.Errorf("the console ended with %v", err)
		}
	}()
	link, err := bufio.NewReader(out).ReadString('\n')
	base, _, found := strings.Cut(link, "/enter")
	if err != nil || !found {
		p.t.Fatalf("the link is %q (%v)", link, err)
	}
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar, Timeout: time.Minute}
	get := func(url string) (int, string) {
		response, err := browser.Get(url)
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(text)
	}
	if code, page := get(strings.TrimSpace(link)); code != http.StatusOK {
		p.t.Fatalf("entering: %d\n%s", code, page)
	}
	namespace, name := p.tenantCluster()
	for _, one := range []struct{ path, want string }{
		{"/", "ready</small>"}, {"/up", "steps have ended"}, {"/environment", "demo-seed"}, {"/clusters", name}, {"/clusters/" + namespace + "/" + name, "Kubernetes <strong>v"}, {"/causes", "Read at"},
		{"/backups", "Stored</h2>"}, {"/plan", "Nothing would change"}, {"/capacity", "Room for more machines"}, {"/certificates", "last for more than 21 days"}, {"/log", "slipway up"},
	} {
		p.eventually("page "+one.path+" of the operator's console", 5*time.Minute, func() (string, bool) {
			code, page := get(base + one.path)
			_, main, _ := strings.Cut(page, "<main")
			seen := strings.Join(strings.Fields(tags.ReplaceAllString(main, " ")), " ")
			return seen[:min(len(seen), 3000)], code == http.StatusOK && strings.Contains(main, one.want) && !strings.Contains(main, "Could not read") && !strings.Contains(main, "Asking for the first time")
		})
	}
}

// csrfField is the token of the form that signs in.
var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// visitConsole signs in at the tenants' console by its public address, with an application
// credential, and lists the clusters; then again while one of its pods is away.
func (p *project) visitConsole() {
	p.t.Helper()
	var status struct{ Console string }
	if err := json.Unmarshal([]byte(p.do("status", "--output", "json")), &status); err != nil || !strings.HasPrefix(status.Console, "https://") {
		p.t.Fatalf("status has the console %q (%v)", status.Console, err)
	}
	authority, err := os.ReadFile(filepath.Join(p.folder, ".slipway", "console-ca.pem"))
	if err != nil {
		p.t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar, Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}}}
	var credential struct{ ID, Secret string }
	if err := json.Unmarshal([]byte(p.openstack("application", "credential", "create", "console-visit", "-f", "json")), &credential); err != nil {
		p.t.Fatal(err)
	}
	defer p.openstack("application", "credential", "delete", credential.ID)
	read := func(response *http.Response, err error) (int, string) {
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(text)
	}
	_, page := read(browser.Get(status.Console + "/enter"))
	csrf := csrfField.FindStringSubmatch(page)
	if csrf == nil {
		p.t.Fatalf("the page of signing in is\n%s", page)
	}
	form := url.Values{"csrf": {csrf[1]}, "how": {"credential"}, "credential": {credential.ID}, "secret": {credential.Secret}, "back": {"/clusters"}}
	if code, page := read(browser.PostForm(status.Console+"/enter", form)); code != http.StatusOK || !strings.Contains(page, "clusters") {
		p.t.Fatalf("signing in: %d\n%s", code, page)
	}
	lists := func() (string, bool) {
		code, page := read(browser.Get(status.Console + "/clusters"))
		return page, code == http.StatusOK && !strings.Contains(page, "Could not read") && !strings.Contains(page, "Asking for the first time")
	}
	p.eventually("the list of clusters", time.Minute, lists)
	if out, err := p.on("", "delete", "pods", "--namespace=slipway-console", "--all", "--wait=false"); err != nil {
		p.t.Fatalf("deleting the console's pods: %v\n%s", err, out)
	}
	p.eventually("the same session on other pods", 3*time.Minute, lists)
}
