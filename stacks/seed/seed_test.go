package seed

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files anew")

func minimal() Settings {
	return Settings{Name: "prod-seed", Access: []string{"172.24.4.10"}, K3sDigest: strings.Repeat("ab", 32),
		HostKey:      HostKey{Private: "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n-----END OPENSSH PRIVATE KEY-----\n", Public: "ssh-ed25519 AAAA prod-seed"},
		DataVolumeID: "0d2e2a5c-93a5-4a9e-8c0e-3f5b2f1e9d11",
		PodCIDR:      netip.MustParsePrefix("10.42.0.0/16"), ServiceCIDR: netip.MustParsePrefix("10.43.0.0/16")}
}

func full() Settings {
	s := minimal()
	s.Access = append(s.Access, "192.168.100.7", "seed.example.org")
	s.AuthorizedKeys = []string{"ssh-ed25519 BBBB ops@example.org"}
	s.K3s = map[string]any{"kubelet-arg": []string{"max-pods=200"}, "secrets-encryption": false}
	s.Authorities = []string{"-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"}
	s.Proxy = &Proxy{HTTPS: "http://user:p%40ss@proxy.example.org:3128", Bypass: []string{"example.org"}}
	s.Registries = map[string]Registry{
		"registry.example.org:5000": {Authority: "-----BEGIN CERTIFICATE-----\nREG\n-----END CERTIFICATE-----\n", Username: "robot", Password: "pass"},
		"docker.io":                 {Mirrors: []string{"https://mirror.example.org"}, Rewrite: map[string]string{"^library/(.*)": "mirror/$1"}},
	}
	return s
}

func TestUserDataIsTheGoldenFile(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]Settings{"minimal": minimal(), "full": full()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := UserData(settings)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("user data differs from %s; read the difference, then go test -update ./stacks/seed\n%s", file, got)
			}
		})
	}
}

// cloudConfig is what cloud-init reads.
type cloudConfig struct {
	WriteFiles []struct{ Path, Permissions, Content string } `json:"write_files"`
	RunCmd     [][]string                                    `json:"runcmd"`
	CACerts    struct{ Trusted []string }                    `json:"ca_certs"`
}

func parse(t *testing.T, s Settings) (cloudConfig, map[string]string) {
	t.Helper()
	text, err := UserData(s)
	if err != nil {
		t.Fatal(err)
	}
	var c cloudConfig
	if err := yaml.Unmarshal([]byte(text), &c); err != nil || !strings.HasPrefix(text, "#cloud-config\n") {
		t.Fatalf("%v: %s", err, text)
	}
	files := map[string]string{}
	for _, f := range c.WriteFiles {
		files[f.Path] = f.Content
		if strings.Contains(f.Content, "pass") && !strings.Contains(f.Path, "sbin") && f.Permissions != secret && strings.Contains(f.Content, "robot") {
			t.Errorf("%s has mode %s and a password", f.Path, f.Permissions)
		}
	}
	return c, files
}

// proves: F19
func TestK3sStartsOnlyWithItsVolumeAndItsOwnProgram(t *testing.T) {
	t.Parallel()
	_, files := parse(t, minimal())
	unit := files["/etc/systemd/system/k3s.service.d/k3s-slipway.conf"]
	for _, want := range []string{"Requires=slipway-data.service", "ExecStartPre=/usr/bin/sha256sum --check --quiet /etc/slipway/k3s.sha256"} {
		if !strings.Contains(unit, want) {
			t.Errorf("no %q in:\n%s", want, unit)
		}
	}
	if got := files["/etc/slipway/k3s.sha256"]; got != strings.Repeat("ab", 32)+"  /usr/local/bin/k3s\n" {
		t.Errorf("digest file: %q", got)
	}
}

// TestASeedMayBeSlow: its API server has five minutes for a request, containerd 15 for a container,
// and its pods stay for a day on a node that is not Ready, unless the operator sets a time; other
// arguments stay.
func TestASeedMayBeSlow(t *testing.T) {
	t.Parallel()
	for key, ours := range map[string][]any{
		"kube-apiserver-arg": {"request-timeout=5m", "default-not-ready-toleration-seconds=86400", "default-unreachable-toleration-seconds=86400"},
		"kubelet-arg":        {"runtime-request-timeout=15m"},
	} {
		first := strings.Split(ours[0].(string), "=")[0] + "=90s"
		for name, c := range map[string]struct {
			given any
			want  []any
		}{
			"nothing given": {nil, ours},
			"others":        {[]any{"v=2"}, append([]any{"v=2"}, ours...)},
			"one":           {"v=2", append([]any{"v=2"}, ours...)},
			"texts":         {[]string{"v=2"}, append([]any{"v=2"}, ours...)},
			"a time":        {[]any{"v=2", first}, append([]any{"v=2", first}, ours[1:]...)},
			"with dashes":   {"--" + first, append([]any{"--" + first}, ours[1:]...)},
		} {
			s := full()
			s.K3s = map[string]any{}
			if c.given != nil {
				s.K3s[key] = c.given
			}
			_, files := parse(t, s)
			var got map[string]any
			if err := yaml.Unmarshal([]byte(files["/etc/rancher/k3s/config.yaml.d/10-slipway.yaml"]), &got); err != nil {
				t.Fatal(err)
			}
			list, single := got[key].([]any)
			if !single {
				list = []any{got[key]} // one that the operator gave stays as it was
			}
			if !reflect.DeepEqual(list, c.want) {
				t.Errorf("%s, %s: %v, want %v", key, name, got[key], c.want)
			}
		}
	}
}

func TestWhatTheOperatorSetsReachesTheMachine(t *testing.T) {
	t.Parallel()
	c, files := parse(t, full())
	var k3s map[string]any
	if err := yaml.Unmarshal([]byte(files["/etc/rancher/k3s/config.yaml.d/10-slipway.yaml"]), &k3s); err != nil {
		t.Fatal(err)
	}
	if k3s["secrets-encryption"] != false || k3s["protect-kernel-defaults"] != true || len(k3s["tls-san"].([]any)) != 3 {
		t.Errorf("k3s: %v", k3s)
	}
	if len(c.CACerts.Trusted) != 1 {
		t.Errorf("authorities: %v", c.CACerts)
	}
	proxy := files["/etc/systemd/system/k3s.service.d/proxy.conf"]
	// systemd reads % as a specifier.
	if !strings.Contains(proxy, `"HTTPS_PROXY=http://user:p%%40ss@proxy.example.org:3128"`) || strings.Contains(proxy, `"HTTP_PROXY=`) ||
		!strings.Contains(proxy, "example.org,localhost,127.0.0.0/8,169.254.169.254,169.254.169.254/32,fd00:ec2::254/128,.svc,.svc.cluster,.svc.cluster.local,.cluster.local,10.42.0.0/16,10.43.0.0/16") {
		t.Errorf("proxy:\n%s", proxy)
	}
	registries := files["/etc/rancher/k3s/registries.yaml"]
	for _, want := range []string{"https://mirror.example.org", "ca_file: /etc/rancher/k3s/registries.d/registry.example.org:5000.crt", "username: robot", "^library/(.*): mirror/$1"} {
		if !strings.Contains(registries, want) {
			t.Errorf("no %q in:\n%s", want, registries)
		}
	}
}

func TestDecidedSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for _, key := range decided() {
		s := minimal()
		s.K3s = map[string]any{key: "x"}
		if _, err := UserData(s); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestSeedHasTheThreeWatchLimits(t *testing.T) {
	t.Parallel()
	c, files := parse(t, minimal())
	limits := files["/etc/sysctl.d/90-slipway-seed.conf"]
	for _, want := range []string{"fs.inotify.max_queued_events = 131072", "fs.inotify.max_user_instances = ", "fs.inotify.max_user_watches = 1308496"} {
		if !strings.Contains(limits, want) {
			t.Errorf("no %q in:\n%s", want, limits)
		}
	}
	for _, command := range c.RunCmd {
		if command[0] == "sysctl" && command[len(command)-1] == "/etc/sysctl.d/90-slipway-seed.conf" {
			return
		}
	}
	t.Errorf("the first boot does not load them: %v", c.RunCmd)
}

// TestTheImageTakesNoLimitBack: at each boot the last file that sets a limit wins, by name.
func TestTheImageTakesNoLimitBack(t *testing.T) {
	t.Parallel()
	_, files := parse(t, minimal())
	ours := settings(files["/etc/sysctl.d/90-slipway-seed.conf"])
	images, err := filepath.Glob("../../internal/bundle/source/machines/*/etc/sysctl.d/*.conf")
	if err != nil || len(images) == 0 || len(ours) == 0 {
		t.Fatalf("files of the image: %q (%v); of the seed: %v", images, err, ours)
	}
	for _, image := range images {
		text, err := os.ReadFile(image)
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range settings(string(text)) {
			if want, both := ours[key]; both && want != value && filepath.Base(image) > "90-slipway-seed.conf" {
				t.Errorf("%s sets %s to %s after the seed's own file sets it to %s", image, key, value, want)
			}
		}
	}
}

// settings are the lines of a file for sysctl.
func settings(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			found[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return found
}

// kubectl is the server's own program, so that their versions never differ.
//
// proves: F25
func TestKubectlIsOfTheServersVersion(t *testing.T) {
	t.Parallel()
	files, err := Files(minimal())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Path != "/usr/local/bin/kubectl" {
			continue
		}
		if runs := strings.Count(f.Content, "exec "); f.Mode != program || runs == 0 || strings.Count(f.Content, "/usr/local/bin/k3s kubectl \"$@\"") != runs {
			t.Errorf("mode %s:\n%s", f.Mode, f.Content)
		}
		return
	}
	t.Error("there is no kubectl")
}
