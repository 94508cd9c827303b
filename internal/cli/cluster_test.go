package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/ui"
)

func TestWrongUseOfClusterIsToldBeforeAnythingIsOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "slipway.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: prod}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken.yaml")
	if err := os.WriteFile(broken, []byte("a: [\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"a name":              {[]string{"create", "Shop_1"}, []string{"error: cluster Shop_1: this is not a valid name", "fix: use at most 53"}},
		"an environment file": {[]string{"create", "shop", "-f", file}, []string{"this is an environment file", "fix: give it with --file"}},
		"no YAML":             {[]string{"create", "shop", "-f", broken}, []string{"broken.yaml", "fix: check the paths"}},
		"no file":             {[]string{"create", "shop", "-f", filepath.Join(dir, "none.yaml")}, []string{"none.yaml"}},
		"--set":               {[]string{"create", "shop", "--set", "a.b"}, []string{"--set"}},
		"--wait":              {[]string{"create", "shop", "--wait", "long"}, []string{`"long" is not one of none, control-plane, ready`}},
		"--volumes":           {[]string{"delete", "shop", "--volumes", "some"}, []string{`"some" is not one of delete, keep`}},
		"--timeout":           {[]string{"create", "shop", "--timeout", "-1s"}, []string{"--timeout"}},
		"no name":             {[]string{"delete"}, []string{"slipway cluster delete --help"}},
		"no command":          {[]string{"creat", "shop"}, []string{"did you mean create?"}},
	} {
		code, _, said := run(t.Context(), append([]string{"cluster"}, test.args...)...)
		if code != fault.ExitUsage {
			t.Errorf("%s: exit code %d", name, code)
		}
		for _, want := range test.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: told %q, without %q", name, said, want)
			}
		}
	}
}

// managementValues are as a management cluster has them.
const managementValues = `{"kubernetesVersion": "1.34.4", "machineImageId": "5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1", "machineSSHKeyName": "prod-key-pair",
  "clusterNetworking": {"externalNetworkId": "0a8c2f0e-4b7e-4d65-9d0b-6d6f3f2f8a11"}, "controlPlane": {"machineFlavor": "m1.medium", "machineCount": 3}, "addons": {"cni": {"type": "flannel"}}}`

// withManagement writes a management cluster into the state of an environment
// that came up to its seed.
func withManagement(t *testing.T, file string, kubeconfig []byte) {
	t.Helper()
	withStep(t, file, "management-cluster", "default/prod", map[string]any{"adminKubeconfig": string(kubeconfig), "values": managementValues})
}

// withStep writes a step into the state of an environment that came up to its seed.
func withStep(t *testing.T, file, step, id string, outputs map[string]any) {
	t.Helper()
	state := data[map[string]any](t, "state", "export", "-f", file)
	deployment := state["deployment"].(map[string]any)
	resources := deployment["resources"].([]any)
	i := slices.IndexFunc(resources, func(r any) bool { return strings.HasSuffix(r.(map[string]any)["urn"].(string), "::network") })
	if i < 0 {
		t.Fatal("the state has no network")
	}
	text, err := json.Marshal(resources[i])
	if err != nil {
		t.Fatal(err)
	}
	var made map[string]any
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	urn := made["urn"].(string)
	made["urn"] = strings.TrimSuffix(urn, "::network") + "::" + step
	made["id"], made["inputs"], made["outputs"] = id, map[string]any{}, outputs
	deployment["resources"] = append(resources, made)
	if text, err = json.Marshal(state); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, said := run(t.Context(), "state", "import", path, "-f", file); code != fault.ExitOK {
		t.Fatalf("importing: %s", said)
	}
}

func TestClustersNeedAManagementCluster(t *testing.T) {
	t.Parallel()
	_, file := project(t)
	upToTheSeed(t, file)
	for _, args := range [][]string{{"list", "-f", file}, {"create", "shop", "--file", file}, {"delete", "shop", "-f", file}, {"kubeconfig", "shop", "-f", file}} {
		code, _, said := run(t.Context(), append([]string{"cluster"}, args...)...)
		if code != fault.ExitFailure || !strings.Contains(said, "management cluster of prod: it is not ready yet, or the environment has none") {
			t.Errorf("%v: exit code %d\n%s", args, code, said)
		}
	}
}

type clusterData struct {
	Name, Namespace, Change, Kubeconfig, MadeBy, Cause string
	Deleted                                            bool
}

// TestClustersOfAnEnvironment makes two clusters at the same time, on a
// management cluster that is reached past a seed that lets nobody in.
//
// proves: S-27, S-37
func TestClustersOfAnEnvironment(t *testing.T) {
	server := kubetest.Start(t)
	var definitions [][]byte
	for _, text := range addons.Definitions() {
		definitions = append(definitions, text)
	}
	server.Define(t, definitions...)
	client, err := kubernetes.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, file := project(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	upToTheSeed(t, file)
	withManagement(t, file, server.Kubeconfig)

	create := func(name string, more ...string) clusterData {
		return data[clusterData](t, append([]string{"cluster", "create", name, "--file", file, "--wait", "none", "-o", "json"}, more...)...)
	}
	both := func(want string) (made [2]clusterData) {
		t.Helper()
		var group sync.WaitGroup
		for i, name := range []string{"one", "two"} {
			group.Go(func() { made[i] = create(name) })
		}
		group.Wait()
		for _, c := range made {
			if c.Change != want {
				t.Errorf("%s: %s, want %s", c.Name, c.Change, want)
			}
		}
		return made
	}
	both("created")
	for _, name := range []string{"one", "two"} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name + "-kubeconfig"}, StringData: map[string]string{"value": "kubeconfig of " + name}}
		if _, err := client.CoreV1().Secrets(name).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range both("no changes") {
		path := filepath.Join(filepath.Dir(file), ".slipway", "clusters", c.Name+".kubeconfig")
		text, err := os.ReadFile(path)
		info, _ := os.Stat(path)
		if err != nil || c.Kubeconfig != path || string(text) != "kubeconfig of "+c.Name || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %q in %q, %v", c.Name, text, c.Kubeconfig, err)
		}
	}
	if entries, err := os.ReadDir(home); err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == ".kube" }) {
		t.Errorf("in the home folder are %v, %v", entries, err)
	}

	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte("controlPlane: {machineCuont: 1}\nfoo: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, said := run(t.Context(), "cluster", "create", "one", "--file", file, "-f", values)
	if code != fault.ExitUsage || !strings.Contains(said, "error: controlPlane.machineCuont: unknown key") || !strings.Contains(said, "error: foo: unknown key") {
		t.Errorf("wrong values: exit code %d\n%s", code, said)
	}
	if c := create("one", "--set", "controlPlane.machineCount=1"); c.Change != "changed" {
		t.Errorf("with another count: %+v", c)
	}
	code, _, said = run(t.Context(), "cluster", "create", "one", "--file", file, "--set", "controlPlane.machineCount=1", "--timeout", "12s", "--progress", "plain")
	if code != fault.ExitDeadline || !strings.Contains(said, "not done after 12s") || !strings.Contains(said, "OpenStackCluster one: ") {
		t.Errorf("waiting for nobody: exit code %d\n%s", code, said)
	}

	list := data[[]clusterData](t, "cluster", "list", "-f", file, "-o", "json")
	if len(list) != 2 || list[0].Name != "one" || list[1].MadeBy != "slipway" || list[0].Cause == "" {
		t.Errorf("listed %+v", list)
	}
	if _, shown, said := run(t.Context(), "cluster", "describe", "two", "-f", file); !strings.Contains(shown, "MachineDeployment    two-md-0 ") || !strings.Contains(shown, "namespace two, made by slipway") {
		t.Errorf("described as %s%s", shown, said)
	}
	if _, text, said := run(t.Context(), "cluster", "kubeconfig", "two", "-f", file); text != "kubeconfig of two\n" {
		t.Errorf("kubeconfig %q%s", text, said)
	}
	if code, _, said := run(t.Context(), "cluster", "kubeconfig", "three", "-f", file); code != fault.ExitUsage || !strings.Contains(said, "cluster three/three: it does not exist") {
		t.Errorf("kubeconfig of none: exit code %d\n%s", code, said)
	}

	if code, _, said := run(t.Context(), "cluster", "delete", "one", "-f", file); code != fault.ExitUsage || !strings.Contains(said, "delete cluster one/one with everything that runs on it (volumes of workloads: delete)?") {
		t.Errorf("unasked: exit code %d\n%s", code, said)
	}
	for _, want := range []bool{true, false} {
		// The kubeconfig is nobody's here; Cluster API's belongs to the Cluster.
		_ = client.CoreV1().Secrets("one").Delete(t.Context(), "one-kubeconfig", metav1.DeleteOptions{})
		if d := data[clusterData](t, "cluster", "delete", "one", "-f", file, "--yes", "-o", "json"); d.Deleted != want {
			t.Errorf("deleted %+v", d)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), ".slipway", "clusters", "one.kubeconfig")); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig of what is gone: %v", err)
	}
	if _, shown, _ := run(t.Context(), "cluster", "delete", "one", "-f", file, "--yes"); !strings.Contains(shown, "cluster one: there is nothing to delete") {
		t.Errorf("told %s", shown)
	}
	// An interrupted one is told as such.
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(fault.ErrInterrupted)
	streams := ui.Streams{In: strings.NewReader(""), Out: &stream{}, Err: &stream{}}
	if code := Report(streams, Run(ctx, streams, []string{"cluster", "list", "-f", file})); code != fault.ExitInterrupted {
		t.Errorf("interrupted: exit code %d", code)
	}
}
