package devstack

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

// variables are what devstack gives, in a folder of the test; more wins.
func variables(t *testing.T, more map[string]string) func(string) string {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{"SLIPWAY_BIN": "/opt/stack/bin/slipway", "SLIPWAY_DIR": filepath.Join(dir, "slipway"), "SLIPWAY_BUNDLE_DIR": filepath.Join(dir, "bundle"),
		"HOST_IP": "192.0.2.7", "SERVICE_HOST": "192.0.2.7", "REGION_NAME": "RegionOne", "KEYSTONE_SERVICE_URI": "http://192.0.2.7/identity", "SERVICE_PASSWORD": "secret",
		"FIXED_RANGE": "10.0.0.0/22"}
	maps.Copy(all, more)
	return func(name string) string { return all[name] }
}

func read(t *testing.T, more map[string]string) Settings {
	t.Helper()
	s, err := Read(variables(t, more))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	s := read(t, nil)
	if s.Mode != K3s || s.Endpoint() != "http://192.0.2.7:9511/v1" || s.Flavor != "ds2G20" || s.FloatingRange.String() != "172.24.4.0/24" || s.Kubeconfig != filepath.Join(s.Dir, "kubeconfig") || s.SmallMachine || s.Offline {
		t.Errorf("%+v", s)
	}
	s = read(t, map[string]string{"SLIPWAY_MODE": "external", "SLIPWAY_KUBECONFIG": "/etc/kubernetes/admin.conf", "OFFLINE": "True", "SLIPWAY_SMALL_MACHINE": "yes", "SLIPWAY_DNS_NAMESERVERS": "192.0.2.1, 192.0.2.2"})
	if s.Kubeconfig != "/etc/kubernetes/admin.conf" || !s.Offline || !s.SmallMachine || !slices.Equal(s.NameServers, []string{"192.0.2.1", "192.0.2.2"}) {
		t.Errorf("%+v", s)
	}
}

func TestAllMistakesAreToldAtOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		variables map[string]string
		want      []string
	}{
		"empty":    {map[string]string{"HOST_IP": "", "REGION_NAME": "", "SLIPWAY_DIR": ""}, []string{"HOST_IP: it is empty", "REGION_NAME: it is empty", "SLIPWAY_DIR: it is empty"}},
		"numbers":  {map[string]string{"SLIPWAY_API_PORT": "0", "SLIPWAY_K3S_PORT": "https", "SLIPWAY_POD_CIDR": "10.42.0.0", "HOST_IP": "here", "OFFLINE": "maybe"}, []string{"SLIPWAY_API_PORT", "SLIPWAY_K3S_PORT", "SLIPWAY_POD_CIDR", "HOST_IP", "OFFLINE"}},
		"mode":     {map[string]string{"SLIPWAY_MODE": "k8s"}, []string{`"k8s" is unknown`}},
		"external": {map[string]string{"SLIPWAY_MODE": "external"}, []string{"SLIPWAY_KUBECONFIG: it is empty"}},
		"https":    {map[string]string{"SERVICE_PROTOCOL": "https"}, []string{"there is no certificate"}},
		"protocol": {map[string]string{"SERVICE_PROTOCOL": "ftp"}, []string{`"ftp" is unknown`}},
		"image":    {map[string]string{"SLIPWAY_NODE_IMAGE_URL": "https://example.org/x"}, []string{"no digest or no version"}},
		"overlap": {map[string]string{"SLIPWAY_POD_CIDR": "172.24.0.0/16", "SLIPWAY_SERVICE_CIDR": "10.0.1.0/24"},
			[]string{"SLIPWAY_POD_CIDR: 172.24.0.0/16 overlaps FLOATING_RANGE", "SLIPWAY_SERVICE_CIDR: 10.0.1.0/24 overlaps FIXED_RANGE"}},
		"same": {map[string]string{"SLIPWAY_POD_CIDR": "10.43.0.0/17"}, []string{"overlaps SLIPWAY_SERVICE_CIDR"}},
		"ipv6": {map[string]string{"KEYSTONE_SERVICE_URI": "http://[2001:db8::7]/identity"}, []string{"KEYSTONE_SERVICE_URI: 2001:db8::7 is an IPv6 address"}},
		"own":  {map[string]string{"SLIPWAY_POD_CIDR": "192.0.2.0/24"}, []string{"overlaps HOST_IP"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Read(variables(t, test.variables))
			all := fault.All(err)
			if len(all) != len(test.want) || fault.ExitCode(err) != fault.ExitUsage {
				t.Errorf("%d mistakes: %v", len(all), err)
			}
			for _, want := range test.want {
				if !slices.ContainsFunc(all, func(one error) bool { return strings.Contains(one.Error(), want) && fault.Remedy(one) != "" }) {
					t.Errorf("no %q with a remedy in %v", want, err)
				}
			}
		})
	}
}

// proves: D-22
func TestASmallMachineIsTold(t *testing.T) {
	t.Parallel()
	if err := (Machine{Memory: 16 << 30 * 95 / 100, Disk: NeedDisk, KVM: true}).Judge(); err != nil {
		t.Errorf("a machine of 16 GiB, less what the kernel takes: %v", err)
	}
	all := fault.All(Machine{Memory: 8 << 30, Disk: 20 * gigabyte}.Judge())
	if len(all) != 3 {
		t.Fatalf("%v", all)
	}
	for i, want := range []string{"memory: the host has 8 GB; devstack with one cluster needs 16 GB", "disk: 20 GB are free; devstack with one cluster needs 60 GB", "/dev/kvm: the host has no KVM"} {
		if !strings.Contains(all[i].Error(), want) || !strings.Contains(fault.Remedy(all[i]), "SLIPWAY_SMALL_MACHINE=True") || fault.ExitCode(all[i]) != fault.ExitPreflight {
			t.Errorf("%v (%s)", all[i], fault.Remedy(all[i]))
		}
	}
	for text, want := range map[string]uint64{"MemTotal:       16384256 kB\nMemFree: 1 kB\n": 16384256 << 10, "MemFree: 1 kB\n": 0, "MemTotal: many kB\n": 0} {
		if got, err := ReadMemory(strings.NewReader(text)); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

// TestProxies looks at all that goes out: k3s with its containers, the services, the
// controllers and the machines of clusters.
//
// proves: D-23
func TestProxies(t *testing.T) {
	t.Parallel()
	s := read(t, map[string]string{"http_proxy": "http://proxy:3128", "https_proxy": "http://proxy:3129", "no_proxy": "example.org,10.9.0.0/16"})
	direct := []string{"example.org", "10.9.0.0/16", "192.0.2.7", "172.24.4.0/24", "10.42.0.0/16", "10.43.0.0/16", "10.0.0.0/22", ".svc", "169.254.169.254"}
	places := map[string]string{}
	for _, service := range Services() {
		c, err := s.Command(service)
		if err != nil {
			t.Fatal(err)
		}
		places[service] = c.Environment
	}
	places["controllers"] = strings.Join(slices.Sorted(maps.Values(s.ProxyVariables())), " ")
	if err := s.Configure(); err != nil {
		t.Fatal(err)
	}
	values, err := os.ReadFile(filepath.Join(s.Dir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for place, text := range places {
		for _, want := range append([]string{"http://proxy:3128", "http://proxy:3129"}, direct...) {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s: %s", place, want, text)
			}
		}
	}
	for _, want := range append([]string{"httpProxy: http://proxy:3128", "httpsProxy: http://proxy:3129"}, direct[:7]...) { // the chart adds its own
		if !strings.Contains(string(values), want) {
			t.Errorf("nodes have no %s:\n%s", want, values)
		}
	}
	none := read(t, nil)
	if c, err := none.Command(ServiceK3s); err != nil || c.Environment != "" || none.ProxyVariables() != nil {
		t.Errorf("without a proxy: %+v, %v", c, err)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	tls := read(t, map[string]string{"SERVICE_PROTOCOL": "https", "SLIPWAY_CA": "/opt/ca.pem", "SLIPWAY_CERTIFICATE": "/opt/cert.pem", "OFFLINE": "True"})
	api, err := tls.Command(ServiceAPI)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/opt/stack/bin/slipway serve magnum ", "--cloud-ca /opt/ca.pem", "--tls-cert /opt/cert.pem --tls-key /opt/cert.pem", "--public-endpoint https://192.0.2.7:9511/v1", "--listen 192.0.2.7:9511"} {
		if !strings.Contains(api.Line, want) {
			t.Errorf("no %q in %s", want, api.Line)
		}
	}
	if want := "OS_CLIENT_CONFIG_FILE=" + tls.CloudsFile(); !strings.Contains(api.Environment, want) || strings.Contains(api.Line+api.Environment, "secret") {
		t.Errorf("environment %s", api.Environment)
	}
	if err := tls.Configure(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(tls.CloudsFile()); err != nil || strings.Count(string(text), "cacert: /opt/ca.pem") != 2 {
		t.Errorf("service users do not trust the cloud: %v\n%s", err, text)
	}
	controllers, err := tls.Command(ServiceControllers)
	if err != nil || !strings.HasSuffix(controllers.Line, "--addon-offline") {
		t.Errorf("%s (%v)", controllers.Line, err)
	}
	plain := read(t, nil)
	for _, service := range Services() {
		c, err := plain.Command(service)
		if err != nil || !strings.HasPrefix(c.Line, "/") || strings.Contains(c.Line, "tls") || strings.Contains(c.Line, "-ca ") || strings.Contains(c.Line, "offline") {
			t.Errorf("%s: %s (%v)", service, c.Line, err)
		}
	}
	if _, err := plain.Command("slipway"); err == nil {
		t.Error("an unknown service has a command")
	}
	if got := listenAt("2001:db8::1"); got != "[2001:db8::1]" {
		t.Error(got)
	}
}

// TestTheAPIListensWhereItsEndpointLeads also where that is not the host's address.
func TestTheAPIListensWhereItsEndpointLeads(t *testing.T) {
	t.Parallel()
	external := map[string]string{"SLIPWAY_MODE": "external", "SLIPWAY_KUBECONFIG": "x"}
	for host, want := range map[string]string{"192.0.2.7": " --listen 192.0.2.7:9511 ", "198.51.100.7": " --listen :9511 ", "[2001:db8::7]": " --listen :9511 ", "stack.example.org": " --listen :9511 "} {
		more := maps.Clone(external)
		more["SERVICE_HOST"], more["KEYSTONE_SERVICE_URI"] = host, "http://"+host+"/identity"
		s := read(t, more)
		if c, err := s.Command(ServiceAPI); err != nil || !strings.Contains(c.Line, want) || !strings.Contains(c.Line, "--public-endpoint http://"+host+":9511/v1") {
			t.Errorf("%s: %s (%v)", host, c.Line, err)
		}
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	s := read(t, nil)
	if err := s.Mark(); err != nil {
		t.Fatal(err)
	}
	if err := s.Configure(); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"": 0o700 | os.ModeDir, "k3s.yaml": 0o600, "clouds.yaml": 0o600, "values.yaml": 0o600} {
		if info, err := os.Stat(filepath.Join(s.Dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v (%v)", name, info, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(s.Dir, "k3s.yaml"))
	for _, want := range []string{"- traefik", "- servicelb", "cluster-cidr: 10.42.0.0/16", "node-ip: 192.0.2.7", `write-kubeconfig-mode: "0600"`, "pause-image: registry.k8s.io/pause:", "secrets-encryption: true"} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("k3s has no %q: %v\n%s", want, err, text)
		}
	}
	before, _ := os.Stat(filepath.Join(s.Dir, "clouds.yaml"))
	if err := s.Configure(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(filepath.Join(s.Dir, "clouds.yaml")); err != nil || !os.SameFile(before, after) {
		t.Errorf("equal files are written again (%v)", err)
	}
	if err := read(t, map[string]string{"SERVICE_PASSWORD": ""}).Configure(); err == nil || !strings.Contains(err.Error(), "SERVICE_PASSWORD") {
		t.Errorf("without a password: %v", err)
	}
}
