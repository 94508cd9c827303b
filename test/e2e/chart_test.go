package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/component"
)

// TestChart has Helm's own command make clusters of the chart on a seed, with
// real machines: one of the least values, one of as many as go together, and one
// without addons, workers and floating IP. It takes a quarter of an hour, so it
// runs only where SLIPWAY_PROOFS is set. What each cluster proves is said where it
// is made.
func TestChart(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("SLIPWAY_PROOFS is not set")
	}
	if !isolate(t) {
		return
	}
	p := newProject(t)
	p.timed("up", func() { p.up() })
	p.openstack("image", "create", "--disk-format", "raw", "--container-format", "bare", "--file", filepath.Join(bundleDir(t), "machines", "node.raw"), "node")
	p.openstack("--os-cloud", "sandbox-admin", "quota", "set", "--cores", "60", "--instances", "20", "--ram", "204800", "demo")

	minimal := p.minimalCluster()
	defer minimal.tell()
	p.timed("a minimal cluster", func() { minimal.ready(15 * time.Minute) })
	minimal.expectWhole()
	// They are made while nothing but time is waited for.
	full, bare := p.fullCluster(), p.bareCluster()
	defer full.tell()
	defer bare.tell()
	p.timed("health checks", minimal.unhealthy)
	p.timed("uninstalling", minimal.uninstall)

	p.timed("the full cluster", func() { full.ready(15 * time.Minute) })
	full.expectSettings()
	p.timed("the bare cluster", bare.finish)
	p.timed("certificates that end soon", bare.renew)
	p.timed("changes that replace machines", full.change)
	full.expectRanges()
}

// release is a cluster that Helm's own command makes of the chart of this
// checkout, in a namespace of its own on the seed.
type release struct {
	*project
	name string
	// files are its values, the last of which win.
	files []string
}

// chartArchive is the chart with the version that Slipway would give it.
func (p *project) chartArchive() string {
	p.t.Helper()
	dir := p.t.TempDir()
	run(p.t, filepath.Join(bundleDir(p.t), "bin", "helm"), "package", "../../addons/openstackcluster/chart", "--app-version", component.SlipwayVersion(), "--destination", dir)
	return paths(p.t, filepath.Join(dir, "*.tgz"))[0]
}

// release makes a cluster of values on top of what every cluster has.
func (p *project) release(name, values string) *release {
	p.t.Helper()
	r := &release{project: p, name: name}
	common := "kubernetesVersion: " + strings.TrimPrefix(component.KubernetesVersion, "v") + "\nmachineImage: node\naddons: {cni: {type: flannel}}\n" + p.clouds(name)
	r.files = []string{r.file("common", common), r.file("own", values)}
	r.upgrade("")
	return r
}

// file writes a file of values, or whatever else.
func (r *release) file(name, text string) string {
	r.t.Helper()
	file := filepath.Join(r.folder, r.name+"-"+name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return file
}

// upgrade installs the release, or changes it by values over those before.
func (r *release) upgrade(values string) {
	r.t.Helper()
	if values != "" {
		r.files = append(r.files, r.file("change-"+strconv.Itoa(len(r.files)), values))
	}
	args := []string{"upgrade", "--install", r.name, r.chartArchive(), "--create-namespace"}
	for _, file := range r.files {
		args = append(args, "--values", file)
	}
	r.helm(args...)
}

func (r *release) helm(args ...string) {
	r.t.Helper()
	run(r.t, filepath.Join(bundleDir(r.t), "bin", "helm"), append(args, "--namespace", r.name, "--kubeconfig", filepath.Join(r.folder, ".slipway", "seed.kubeconfig"))...)
}

// clouds is a clouds.yaml with an application credential, as Horizon gives it.
func (p *project) clouds(name string) string {
	p.t.Helper()
	var made struct{ ID, Secret string }
	if err := json.Unmarshal([]byte(p.openstack("application", "credential", "create", "--unrestricted", name, "-f", "json")), &made); err != nil {
		p.t.Fatal(err)
	}
	text, err := yaml.Marshal(map[string]any{"clouds": map[string]any{"openstack": map[string]any{
		"auth_type": "v3applicationcredential", "region_name": "RegionOne",
		"auth": map[string]any{"auth_url": p.authURL().String(), "application_credential_id": made.ID, "application_credential_secret": made.Secret}}}})
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// authURL is that of the cloud, on the host's address in the external network:
// the nodes reach it, and what else listens there.
func (p *project) authURL() *url.URL {
	p.t.Helper()
	var file struct {
		Clouds map[string]struct {
			Auth struct {
				AuthURL string `json:"auth_url"`
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(p.dir, "clouds.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	address, err := url.Parse(file.Clouds["sandbox"].Auth.AuthURL)
	if err != nil {
		p.t.Fatal(err)
	}
	return address
}

// seedConfig is the way to the seed's API.
func (p *project) seedConfig() *rest.Config {
	p.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(p.folder, ".slipway", "seed.kubeconfig"))
	if err != nil {
		p.t.Fatal(err)
	}
	return config
}

// seedAddress is the seed's floating IP.
func (p *project) seedAddress() string {
	p.t.Helper()
	address, err := url.Parse(p.seedConfig().Host)
	if err != nil {
		p.t.Fatal(err)
	}
	return address.Hostname()
}

// onSeed runs kubectl on the seed, in the release's namespace.
func (r *release) onSeed(args ...string) string {
	r.t.Helper()
	out, err := r.by("seed.kubeconfig", "", append([]string{"--namespace", r.name}, args...)...)
	if err != nil {
		r.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// ready waits until everything of the cluster is, as the commands do, and writes
// its kubeconfig.
func (r *release) ready(within time.Duration) {
	r.t.Helper()
	client, err := dynamic.NewForConfig(r.seedConfig())
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), within)
	defer cancel()
	if _, err := clusterapi.Await(ctx, client, r.name, r.name, clusterapi.Report.Ready, func(clusterapi.Report) {}); err != nil {
		r.t.Fatalf("cluster %s: %v", r.name, err)
	}
	r.writeKubeconfig()
}

func (r *release) writeKubeconfig() {
	r.t.Helper()
	text, err := base64.StdEncoding.DecodeString(r.onSeed("get", "secret", r.name+"-kubeconfig", "-o", "jsonpath={.data.value}"))
	if err == nil {
		err = os.WriteFile(filepath.Join(r.folder, ".slipway", r.name+".kubeconfig"), text, 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// try runs kubectl on the cluster.
func (r *release) try(stdin string, args ...string) (string, error) {
	return r.by(r.name+".kubeconfig", stdin, args...)
}

// kubectl is try that must succeed.
func (r *release) kubectl(args ...string) string {
	r.t.Helper()
	out, err := r.try("", args...)
	if err != nil {
		r.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// apply creates objects on the cluster.
func (r *release) apply(objects string) {
	r.t.Helper()
	if out, err := r.try(objects, "apply", "-f", "-"); err != nil {
		r.t.Fatalf("applying: %v\n%s", err, out)
	}
}

// controlPlanes and workers select nodes by their roles.
const (
	controlPlanes = "node-role.kubernetes.io/control-plane"
	workers       = "!" + controlPlanes
)

// nodes are the ids of the servers of a role's nodes, by the names of the nodes.
func (r *release) nodes(role string) map[string]string {
	r.t.Helper()
	ids := map[string]string{}
	for _, pair := range strings.Fields(r.kubectl("get", "nodes", "-l", role, "-o", "jsonpath={range .items[*]}{.metadata.name}={.spec.providerID} {end}")) {
		name, id, _ := strings.Cut(pair, "=")
		ids[name] = path.Base(id)
	}
	return ids
}

// inside runs a script on a machine, which is a container of this host: also
// where no SSH leads, and no kubelet runs.
func (p *project) inside(server, script string) (string, error) {
	p.t.Helper()
	// The record of runc; the number of the process is that of this namespace.
	records := paths(p.t, filepath.Join("/run/slipway/*/runc", server, "state.json"))
	if len(records) != 1 {
		p.t.Fatalf("server %s has the records %q", server, records)
	}
	var state struct {
		PID int `json:"init_process_pid"`
	}
	text, err := os.ReadFile(records[0])
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := exec.CommandContext(p.t.Context(), "nsenter", "--target", strconv.Itoa(state.PID), "--mount", "--uts", "--ipc", "--net", "--pid", "--", "sh", "-ec", script).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// shell is inside that must succeed.
func (r *release) shell(server, script string) string {
	r.t.Helper()
	out, err := r.inside(server, script)
	if err != nil {
		r.t.Fatalf("on server %s of %s: %v\n%s", server, r.name, err, out)
	}
	return out
}

// tell shows, when the test failed, what the seed says of the cluster.
func (r *release) tell() {
	if !r.t.Failed() {
		return
	}
	for _, question := range [][]string{
		{"get", "cluster,openstackcluster,kubeadmcontrolplane,machinedeployment,machine,machinehealthcheck,helmreleases.addons.stackhpc.com,manifests.addons.stackhpc.com"},
		{"get", "machines,kubeadmcontrolplanes,machinehealthchecks", "-o", "jsonpath={range .items[*]}{.kind} {.metadata.name}{range .status.conditions[?(@.status!=\"True\")]} {.type}={.status} {.reason} {.message};{end}{\"\\n\"}{end}"},
		{"get", "events", "--field-selector", "type=Warning", "--sort-by", ".lastTimestamp"},
	} {
		out, err := r.by("seed.kubeconfig", "", append([]string{"--namespace", r.name, "--request-timeout=20s"}, question...)...)
		r.t.Logf("%s: kubectl %s: %v\n%s", r.name, strings.Join(question, " "), err, out[max(0, len(out)-8000):])
	}
}
