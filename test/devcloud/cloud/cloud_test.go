package cloud

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"text/template"
)

func TestUpstreamVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"2:27.0.0-3+deb13u6": "27.0.0", "13.0.0-1": "13.0.0", "1:11.8.6-0+deb13u1": "11.8.6", "2.0.28+8+0.0.2+b1": "2.0.28+8+0.0.2+b1"} {
		if got := upstream(version); got != want {
			t.Errorf("%s is upstream %s, want %s", version, got, want)
		}
	}
}

func TestEveryFolderHasANetworkOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, dir := range []string{"/a/devcloud", "/b/devcloud", "/srv/slipway/devcloud"} {
		c, err := New(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !c.network().Contains(c.HostAddress()) || !c.network().Contains(c.Address()) || c.network().Masked() != c.network() {
			t.Errorf("%s: %s holds not both %s and %s", dir, c.network(), c.HostAddress(), c.Address())
		}
		if len(c.link()) > 15 {
			t.Errorf("%s: link %s has a name that is too long for the kernel", dir, c.link())
		}
		if other := seen[c.link()]; other != "" {
			t.Errorf("%s and %s share %s", dir, other, c.link())
		}
		seen[c.link()] = dir
	}
}

func TestConfigurationIsFilled(t *testing.T) {
	t.Parallel()
	// What each kind of cloud says, and the other must not.
	says := map[string][2]string{
		"nova/nova-compute.conf": {"fake.FakeDriverWithoutFakeNodes", "libvirt.LibvirtDriver"},
		"neutron/neutron.conf":   {"mechanism_drivers = devcloud", "mechanism_drivers = ovn"},
		"cinder/cinder.conf":     {"devcloud_cinder.Driver", "devcloud_files.Driver"},
		"octavia/octavia.conf":   {"default_provider_driver = amphora", "default_provider_driver = ovn"},
	}
	for kind, machines := range []bool{false, true} {
		folder := filled(t, settings{Address: "198.18.0.2", Password: "secret-word", Machines: machines})
		for file, words := range says {
			text, err := os.ReadFile(filepath.Join(folder, "conf/etc", file))
			if err != nil || !strings.Contains(string(text), words[kind]) || strings.Contains(string(text), words[1-kind]) {
				t.Errorf("machines %v: %s does not say only %s (%v)", machines, file, words[kind], err)
			}
		}
		compute, err := os.ReadFile(filepath.Join(folder, "conf/etc/nova/nova-compute.conf"))
		if err != nil || strings.Contains(string(compute), "mysql") {
			t.Errorf("compute hosts know of databases: %v", err)
		}
	}
}

// TestMagnumKnowsItsDriverWhereItMakesClusters: and nowhere else.
func TestMagnumKnowsItsDriverWhereItMakesClusters(t *testing.T) {
	t.Parallel()
	for _, clusters := range []bool{false, true} {
		folder := filled(t, settings{Address: "198.18.0.2", Password: "secret-word", Clusters: clusters})
		text, err := os.ReadFile(filepath.Join(folder, "conf/etc/magnum/magnum.conf"))
		if err != nil || strings.Contains(string(text), "\n[capi_helm]\n") != clusters || !strings.Contains(string(text), "\n[cinder]\n") {
			t.Errorf("clusters %v: %v\n%s", clusters, err, text)
		}
		c := &Cloud{Clusters: clusters}
		if strings.Contains(c.lists(), "clusters.txt") != clusters {
			t.Errorf("clusters %v: the image has %s", clusters, c.lists())
		}
	}
}

// TestOneProviderOfOVN: Debian's is there if the cloud has machines, and Octavia does not start
// with two.
func TestOneProviderOfOVN(t *testing.T) {
	t.Parallel()
	for _, machines := range []bool{false, true} {
		c, folder := &Cloud{Machines: machines}, t.TempDir()
		if err := c.writePlugins(folder); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(folder, "usr/lib/python3/dist-packages/devcloud-1.0.dist-info/entry_points.txt"))
		if err != nil || strings.Contains(string(text), ovnStandIn) == machines || !strings.Contains(string(text), "[octavia.api.drivers]\n") {
			t.Errorf("machines %v: %v\n%s", machines, err, text)
		}
	}
}

// filled is a folder with all files of configuration.
func filled(t *testing.T, s settings) string {
	t.Helper()
	folder := t.TempDir()
	parts := template.New("parts").Option("missingkey=error").Funcs(template.FuncMap{
		"password": func() string { return s.Password }, "address": func() string { return s.Address }, "words": strings.Fields})
	if _, err := parts.ParseFS(confFiles, "conf/parts.tmpl"); err != nil {
		t.Fatal(err)
	}
	err := fs.WalkDir(confFiles, "conf/etc", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		to := filepath.Join(folder, name)
		if err := render(parts, name, to, s); err != nil {
			return err
		}
		text, err := os.ReadFile(to)
		if strings.Contains(string(text), "{{") || strings.Contains(string(text), "<no value>") {
			t.Errorf("%s is not filled: %s", name, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestEveryServiceHasAProgram(t *testing.T) {
	t.Parallel()
	c, err := New("/a/devcloud")
	if err != nil {
		t.Fatal(err)
	}
	c.Machines, c.Horizon, c.Tacker = true, true, "/b/tacker" // it has all services that the others have
	text, ports := c.supervisor(), map[int]string{}
	for _, s := range append(append(c.infrastructure(), identity()), c.apis()...) {
		if !strings.Contains(text, "[program:"+s.name+"]") {
			t.Errorf("%s is no program", s.name)
		}
		if other := ports[s.port]; s.port != 0 && other != "" {
			t.Errorf("%s and %s listen on %d", s.name, other, s.port)
		}
		ports[s.port] = s.name
	}
	if strings.ContainsAny(text, "{}") {
		t.Errorf("the configuration of supervisord is not filled:\n%s", text)
	}
}

func TestARunIsKnownByItsProcess(t *testing.T) {
	t.Parallel()
	c, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command("sleep", "60")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	started := startOf(process.Process.Pid)
	note := func(text string) {
		if err := os.WriteFile(c.processFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	note(strings.Join([]string{strconv.Itoa(process.Process.Pid), started}, " "))
	if _, runs := c.running(); !runs {
		t.Error("a running cloud is not found")
	}
	note(strconv.Itoa(process.Process.Pid) + " 1")
	if _, runs := c.running(); runs {
		t.Error("another process of the same id is taken for the cloud")
	}
	note(strings.Join([]string{strconv.Itoa(process.Process.Pid), started}, " "))
	inside, _ := c.running()
	go process.Wait() //nolint:errcheck // it is killed
	if err := inside.kill(); err != nil {
		t.Error(err)
	}
	if _, runs := c.running(); runs {
		t.Error("an ended cloud is said to run")
	}
}

func TestAFolderIsMadeAgainWhenItsSourceChanges(t *testing.T) {
	t.Parallel()
	c, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, digest := range []string{"a", "a", "b"} {
		err := c.remake("image", digest, func(folder string) error {
			made++
			return os.WriteFile(filepath.Join(folder, strconv.Itoa(made)), nil, 0o600)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(c.path("image"))
	if err != nil || made != 2 || len(entries) != 1 || entries[0].Name() != "2" {
		t.Errorf("made %d times, left %v, %v", made, entries, err)
	}
	if err := c.remake("image", "c", func(string) error { return os.ErrInvalid }); err == nil || c.current("image", "c") || c.current("image", "b") {
		t.Error("a folder that failed is taken for made")
	}
}
