package cloud

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

//go:embed conf
var confFiles embed.FS

//go:embed plugin
var pluginFiles embed.FS

// settings are what the files of configuration are filled with.
type settings struct {
	Address, Password string
	// Machines is Cloud.Machines.
	Machines bool
	// Clusters is Cloud.Clusters.
	Clusters bool
}

// configure writes what the packages need into a folder that will lie over the
// image.
func (c *Cloud) configure(folder string, s settings) error {
	parts := template.New("parts").Option("missingkey=error").Funcs(template.FuncMap{
		"password": func() string { return s.Password }, "address": func() string { return s.Address }, "words": strings.Fields})
	if _, err := parts.ParseFS(confFiles, "conf/parts.tmpl"); err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	err := fs.WalkDir(confFiles, "conf/etc", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return render(parts, name, filepath.Join(folder, strings.TrimPrefix(name, "conf")), s)
	})
	if err != nil {
		return err
	}
	if err := c.copyDefaults(folder); err != nil {
		return err
	}
	if err := c.writePlugins(folder); err != nil {
		return err
	}
	if err := c.standInForAmphora(folder); err != nil {
		return err
	}
	if err := c.writeTacker(folder); err != nil {
		return err
	}
	if err := c.writeComputeHosts(folder); err != nil {
		return err
	}
	if err := c.writeEmulator(folder); err != nil {
		return err
	}
	return writeFile(filepath.Join(folder, "etc/devcloud/supervisord.conf"), c.supervisor())
}

func render(parts *template.Template, from, to string, s settings) error {
	text, err := confFiles.ReadFile(from)
	if err != nil {
		return err
	}
	file, err := template.Must(parts.Clone()).New(from).Parse(string(text))
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	var out strings.Builder
	if err := file.Execute(&out, s); err != nil {
		return fmt.Errorf("filling %s: %w", from, err)
	}
	return writeFile(to, out.String())
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	// Readable for all users of the cloud; the folder of it all is only root's.
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// copyDefaults puts files that the packages bring where services look for them.
func (c *Cloud) copyDefaults(folder string) error {
	for from, to := range map[string]string{
		"usr/share/nova-common/api-paste.ini":                                 "etc/nova",
		"usr/share/neutron-common/api-paste.ini":                              "etc/neutron",
		"usr/share/cinder-common/api-paste.ini":                               "etc/cinder",
		"usr/share/glance-common/glance-api-paste.ini":                        "etc/glance",
		"usr/share/barbican-common/barbican-api-paste.ini":                    "etc/barbican",
		"usr/share/magnum-common/api-paste.ini":                               "etc/magnum",
		"usr/share/magnum-common/keystone_auth_default_policy.json":           "etc/magnum",
		"usr/lib/python3/dist-packages/oslo_messaging/_drivers/amqpdriver.py": "usr/lib/python3/dist-packages/oslo_messaging/_drivers",
	} {
		text, err := os.ReadFile(c.path("image", from))
		if err != nil {
			return fmt.Errorf("reading the packages' defaults: %w", err)
		}
		out := string(text)
		if path.Base(from) == "amqpdriver.py" {
			// It looks for the answer of a remote call each half second, which
			// would be most of the time that a server takes.
			if out = strings.ReplaceAll(out, "time.sleep(0.5)", "time.sleep(0.01)"); out == string(text) {
				return fmt.Errorf("%s no longer waits as the devcloud expects", from)
			}
		}
		if err := writeFile(filepath.Join(folder, to, path.Base(from)), out); err != nil {
			return err
		}
	}
	return nil
}

// ovnStandIn is the provider that other clouds have in the place of OVN's. With machines it is
// OVN's own, and Octavia refuses two of a name.
const ovnStandIn = "ovn = devcloud_octavia:Provider\n"

// writePlugins installs the drivers that do nothing, with a description by
// which the services find them.
func (c *Cloud) writePlugins(folder string) error {
	packages := filepath.Join(folder, "usr/lib/python3/dist-packages")
	entries, err := pluginFiles.ReadDir("plugin")
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := pluginFiles.ReadFile("plugin/" + e.Name())
		if err != nil {
			return err
		}
		to := filepath.Join(packages, e.Name())
		if !strings.HasSuffix(e.Name(), ".py") {
			to = filepath.Join(packages, "devcloud-1.0.dist-info", e.Name())
		}
		out := string(text)
		if c.Machines {
			out = strings.ReplaceAll(out, ovnStandIn, "")
		}
		if err := writeFile(to, out); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(packages, "devcloud-1.0.dist-info", "METADATA"), "Metadata-Version: 2.1\nName: devcloud\nVersion: 1.0\n")
}

// standInForAmphora gives Octavia's provider amphora to the driver that does nothing: clients
// decide by a provider's name what its load balancers can.
func (c *Cloud) standInForAmphora(folder string) error {
	if c.Machines {
		return nil
	}
	const pattern, real = "usr/lib/python3/dist-packages/octavia-*.egg-info/entry_points.txt", "amphora = octavia.api.drivers.amphora_driver.v2.driver:AmphoraProviderDriver\n"
	found, err := filepath.Glob(c.path("image", pattern))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("finding Octavia's providers: %d files like %s: %w", len(found), pattern, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		return fmt.Errorf("reading Octavia's providers: %w", err)
	}
	if !strings.Contains(string(text), real) {
		return fmt.Errorf("%s has no line %q", found[0], real)
	}
	at, err := filepath.Rel(c.path("image"), found[0])
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(folder, at), strings.Replace(string(text), real, "amphora = devcloud_octavia:Provider\n", 1))
}

// writeComputeHosts gives each hypervisor a name and a folder for its identity.
func (c *Cloud) writeComputeHosts(folder string) error {
	for _, host := range c.hosts() {
		text := fmt.Sprintf("[DEFAULT]\nhost = %s\nstate_path = /var/lib/nova/%s\n[oslo_concurrency]\nlock_path = /var/lib/devcloud-lock/%s\n", host, host, host)
		if err := writeFile(filepath.Join(folder, "etc/nova", host+".conf"), text); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(folder, "var/lib/nova", host, "instances"), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// supervisor is the configuration of supervisord; nothing starts by itself.
func (c *Cloud) supervisor() string {
	var text strings.Builder
	text.WriteString(`[unix_http_server]
file=/run/supervisor.sock
[supervisord]
nodaemon=true
user=root
logfile=/var/log/devcloud/supervisord.log
pidfile=/run/supervisord.pid
[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix:///run/supervisor.sock
`)
	for _, s := range slices.Concat(c.infrastructure(), []service{identity()}, c.apis()) {
		fmt.Fprintf(&text, `[program:%s]
command=%s
autostart=false
autorestart=false
startsecs=0
stopasgroup=true
killasgroup=true
stopwaitsecs=20
redirect_stderr=true
stdout_logfile=/var/log/devcloud/%s.log
stdout_logfile_maxbytes=0
`, s.name, fill(s.command, map[string]any{"address": c.Address()}), s.name)
		var environment []string
		for _, name := range slices.Sorted(maps.Keys(s.environment)) {
			environment = append(environment, fmt.Sprintf("%s=%q", name, s.environment[name]))
		}
		if len(environment) > 0 {
			fmt.Fprintf(&text, "environment=%s\n", strings.Join(environment, ","))
		}
	}
	return text.String()
}

// fill puts values where a text has their names in braces.
func fill(text string, values map[string]any) string {
	for name, value := range values {
		text = strings.ReplaceAll(text, "{"+name+"}", fmt.Sprint(value))
	}
	return text
}
