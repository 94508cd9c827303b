package cloud

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/internal/fault"
)

// entryText is a clouds.yaml with one cloud.
func entryText(name, user string) string {
	return "clouds:\n  " + name + ":\n    auth: {auth_url: 'https://keystone.example.org/v3', username: " + user + ", password: s3cret, project_name: p, user_domain_id: d1, project_domain_name: D2}\n"
}

// files writes files below a folder and returns an Env in which they are all
// that there is.
func files(t *testing.T, texts map[string]string) Env {
	t.Helper()
	root := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Env{WorkDir: filepath.Join(root, "work"), Home: filepath.Join(root, "home"), SiteDirs: []string{filepath.Join(root, "xdg"), filepath.Join(root, "etc")}}
}

// proves: S-08
func TestCloudsAreFoundAsOpenStackSDKFindsThem(t *testing.T) {
	t.Parallel()
	const home, etc = "home/.config/openstack/", "etc/"
	all := map[string]string{"work/clouds.yaml": entryText("c", "work"), home + "clouds.yaml": entryText("c", "home"), etc + "clouds.yaml": entryText("c", "etc")}
	for name, test := range map[string]struct {
		files map[string]string
		env   func(*Env)
		user  string
	}{
		"working directory first": {files: all, user: "work"},
		"then home":               {files: map[string]string{home + "clouds.yaml": all[home+"clouds.yaml"], etc + "clouds.yaml": all[etc+"clouds.yaml"]}, user: "home"},
		"then the machine":        {files: map[string]string{etc + "clouds.yaml": all[etc+"clouds.yaml"]}, user: "etc"},
		"XDG before ~/.config": {files: map[string]string{home + "clouds.yaml": all[home+"clouds.yaml"], "cfg/openstack/clouds.yaml": entryText("c", "xdg")},
			env: func(e *Env) { e.ConfigHome = filepath.Join(filepath.Dir(e.WorkDir), "cfg") }, user: "xdg"},
		"yml":  {files: map[string]string{"work/clouds.yml": entryText("c", "yml"), home + "clouds.yaml": all[home+"clouds.yaml"]}, user: "yml"},
		"json": {files: map[string]string{"work/clouds.json": `{"clouds": {"c": {"auth": {"auth_url": "https://k/v3", "username": "json"}}}}`}, user: "json"},
		"OS_CLIENT_CONFIG_FILE": {files: map[string]string{"work/clouds.yaml": all["work/clouds.yaml"], "other/my.yaml": entryText("c", "override")},
			env: func(e *Env) { e.ConfigFile = filepath.Join(filepath.Dir(e.WorkDir), "other/my.yaml") }, user: "override"},
		"OS_CLIENT_CONFIG_FILE with ~": {files: map[string]string{"home/my.yaml": entryText("c", "tilde")}, env: func(e *Env) { e.ConfigFile = "~/my.yaml" }, user: "tilde"},
		"OS_CLIENT_CONFIG_FILE that is not there falls through": {files: map[string]string{"work/clouds.yaml": all["work/clouds.yaml"]},
			env: func(e *Env) { e.ConfigFile = "/nonexistent/clouds.yaml" }, user: "work"},
		"secure.yaml beside":             {files: map[string]string{"work/clouds.yaml": entryText("c", "x"), "work/secure.yaml": "clouds: {c: {auth: {username: secure}}}\n"}, user: "secure"},
		"secure.yaml at another place":   {files: map[string]string{"work/clouds.yaml": entryText("c", "x"), home + "secure.yaml": "clouds: {c: {auth: {username: secure}}}\n"}, user: "secure"},
		"secure.yaml of another cloud":   {files: map[string]string{"work/clouds.yaml": entryText("c", "x"), "work/secure.yaml": "clouds: {d: {auth: {username: secure}}}\n"}, env: func(e *Env) { e.Cloud = "c" }, user: "x"},
		"OS_CLIENT_SECURE_FILE":          {files: map[string]string{"work/clouds.yaml": entryText("c", "x"), "work/secure.yaml": "clouds: {c: {auth: {username: a}}}\n", "s.yaml": "clouds: {c: {auth: {username: b}}}\n"}, env: func(e *Env) { e.SecureFile = filepath.Join(filepath.Dir(e.WorkDir), "s.yaml") }, user: "b"},
		"OS_CLOUD":                       {files: map[string]string{"work/clouds.yaml": entryText("c", "x") + strings.TrimPrefix(entryText("d", "z"), "clouds:\n")}, env: func(e *Env) { e.Cloud = "d" }, user: "z"},
		"profile from clouds-public":     {files: map[string]string{"work/clouds.yaml": "clouds: {c: {profile: v, auth: {username: x}}}\n", etc + "clouds-public.yaml": "public-clouds: {v: {auth: {auth_url: 'https://v/v3', username: v}}}\n"}, user: "x"},
		"profile that need not be known": {files: map[string]string{"work/clouds.yaml": strings.Replace(entryText("c", "x"), "  c:\n", "  c:\n    profile: vexxhost\n", 1)}, user: "x"},
	} {
		env := files(t, test.files)
		if test.env != nil {
			test.env(&env)
		}
		login, err := Find(Options{Env: env})
		if err != nil || login.auth.Username != test.user {
			t.Errorf("%s: %+v (%v), want user %s", name, login, err, test.user)
		}
	}
}

// proves: S-08
func TestSettingsOfAnEntry(t *testing.T) {
	t.Parallel()
	const auth = "auth: {auth_url: 'https://k/v3', username: u, password: p, project_name: p}"
	for name, test := range map[string]struct {
		entry string
		env   Env
		check func(*Login) bool
	}{
		"region":              {auth + ", region_name: R", Env{}, func(l *Login) bool { return l.endpoint.Region == "R" }},
		"first of regions":    {auth + ", regions: [A, B]", Env{}, func(l *Login) bool { return l.endpoint.Region == "A" }},
		"region with values":  {auth + ", regions: [{name: A, values: {interface: internal}}]", Env{}, func(l *Login) bool { return l.endpoint.Availability == gophercloud.AvailabilityInternal }},
		"OS_REGION_NAME":      {auth + ", region_name: R", Env{Region: "S"}, func(l *Login) bool { return l.endpoint.Region == "S" }},
		"interface":           {auth + ", interface: internal", Env{}, func(l *Login) bool { return l.endpoint.Availability == gophercloud.AvailabilityInternal }},
		"OS_INTERFACE":        {auth, Env{Interface: "admin"}, func(l *Login) bool { return l.endpoint.Availability == gophercloud.AvailabilityAdmin }},
		"public by default":   {auth, Env{}, func(l *Login) bool { return l.endpoint.Availability == gophercloud.AvailabilityPublic }},
		"verified by default": {auth, Env{}, func(l *Login) bool { return !l.Insecure && !l.tls.InsecureSkipVerify }},
		"verify: false":       {auth + ", verify: false", Env{}, func(l *Login) bool { return l.Insecure && l.tls.InsecureSkipVerify }},
		"insecure: true":      {auth + ", insecure: true", Env{}, func(l *Login) bool { return l.Insecure }},
		"verify wins":         {auth + ", insecure: true, verify: true", Env{}, func(l *Login) bool { return !l.Insecure }},
		"domains that differ": {"auth: {auth_url: 'https://k/v3', username: u, password: p, project_name: p, user_domain_id: d1, project_domain_name: D2}", Env{}, func(l *Login) bool {
			return l.auth.DomainID == "d1" && l.auth.DomainName == "" && l.auth.Scope.DomainName == "D2" && l.auth.Scope.DomainID == "" && l.auth.Scope.ProjectName == "p"
		}},
		"user id": {"auth: {auth_url: 'https://k/v3', user_id: u, password: p, project_id: p, user_domain_id: d1}", Env{}, func(l *Login) bool {
			return l.auth.DomainID == "" && l.auth.UserID == "u" && l.auth.Scope.ProjectID == "p"
		}},
		"application credential": {"auth_type: v3applicationcredential, auth: {auth_url: 'https://k/v3', application_credential_id: i, application_credential_secret: s, project_id: p, username: u}", Env{}, func(l *Login) bool {
			return l.auth.ApplicationCredentialID == "i" && l.auth.Scope == nil && l.auth.TenantID == "" && l.auth.Username == ""
		}},
		"password of digits": {"auth: {auth_url: 'https://k/v3', username: u, password: 0123, project_name: p}", Env{}, func(l *Login) bool { return l.auth.Password == "0123" }},
		"verify: no":         {auth + ", verify: no", Env{}, func(l *Login) bool { return l.Insecure }},
		"logs in again":      {auth, Env{}, func(l *Login) bool { return l.auth.AllowReauth }},
	} {
		env := files(t, map[string]string{"work/clouds.yaml": "clouds: {c: {" + test.entry + "}}\n"})
		env.Region, env.Interface = test.env.Region, test.env.Interface
		login, err := Find(Options{Env: env})
		if err != nil || !test.check(login) {
			t.Errorf("%s: %+v (%v)", name, login, err)
		}
	}
}

func TestCloudsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	two := entryText("c", "x") + strings.TrimPrefix(entryText("d", "z"), "clouds:\n")
	for name, test := range map[string]struct {
		files map[string]string
		cloud string
		want  string
	}{
		"no file":         {nil, "", "there is none in "},
		"no choice":       {map[string]string{"work/clouds.yaml": two}, "", "no cloud is chosen | choose one in spec.cloud or OS_CLOUD: c, d"},
		"unknown":         {map[string]string{"work/clouds.yaml": two}, "e", `there is no cloud "e"`},
		"unknown profile": {map[string]string{"work/clouds.yaml": "clouds: {c: {profile: vexxhost, auth: {username: x}}}\n"}, "", `profile "vexxhost" is not in clouds-public.yaml`},
		"no address":      {map[string]string{"work/clouds.yaml": "clouds: {c: {auth: {username: x}}}\n"}, "", "the entry has no auth.auth_url"},
		"no YAML":         {map[string]string{"work/clouds.yaml": "clouds: {c: {auth: {password: s3cret\n\tx"}, "", "this is not YAML"},
		"absent CA":       {map[string]string{"work/clouds.yaml": strings.Replace(entryText("c", "x"), "    auth", "    cacert: /nonexistent.pem\n    auth", 1)}, "", "/nonexistent.pem"},
	} {
		_, err := Find(Options{Env: files(t, test.files), Cloud: test.cloud})
		if err == nil || fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error()+" | "+fault.Remedy(err), test.want) {
			t.Errorf("%s: %v | %s, want %q", name, err, fault.Remedy(err), test.want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error tells the password: %v", name, err)
		}
	}
}

func TestEntryIsPassedOnWhole(t *testing.T) {
	t.Parallel()
	env := files(t, map[string]string{"work/clouds.yaml": entryText("c", "x"), "work/secure.yaml": "clouds: {c: {auth: {password: other}}}\n"})
	first, err := Find(Options{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	second, err := Find(Options{CloudsYAML: first.CloudsYAML})
	if err != nil || second.Name != "c" || second.auth.Password != "other" || second.auth.Scope.DomainName != "D2" {
		t.Errorf("passed on as %+v (%v)", second, err)
	}
}

func TestCertificatesOfPrivateAuthorities(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	env := files(t, map[string]string{"ca.pem": string(authority)})
	ca := filepath.Join(filepath.Dir(env.WorkDir), "ca.pem")
	entry := func(extra string) []byte {
		return []byte("clouds: {c: {auth: {auth_url: '" + server.URL + "/v3', username: u, password: s3cret, project_name: p, user_domain_id: d}" + extra + "}}\n")
	}
	for name, test := range map[string]struct {
		options Options
		trusted bool
	}{
		"unknown authority": {Options{CloudsYAML: entry("")}, false},
		"cacert":            {Options{CloudsYAML: entry(", cacert: " + ca)}, true},
		"CA bundle":         {Options{CloudsYAML: entry(""), CABundle: authority}, true},
		"not verified":      {Options{CloudsYAML: entry(", verify: false")}, true},
	} {
		_, err := Open(t.Context(), test.options) // trusted or not, nobody answers as Keystone
		if refused := err != nil && strings.Contains(err.Error(), "x509"); err == nil || refused == test.trusted {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error tells the password: %v", name, err)
		}
	}
}
