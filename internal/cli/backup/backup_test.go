package backup_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	store "github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/cli/backup"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/ui"
)

// environment is a folder with an environment file and a key pair.
type environment struct {
	dir, file, identity string
	recipient           *age.X25519Identity
}

func newEnvironment(t *testing.T) environment {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	e := environment{dir: dir, file: filepath.Join(dir, "slipway.yaml"), identity: filepath.Join(dir, "key.txt"), recipient: identity}
	e.write(t, e.file, "apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: prod}\nspec:\n  cloud: none\n  backup: {target: file://./backups, recipients: ["+identity.Recipient().String()+"], keep: {last: 1, daily: 0, weekly: 0, monthly: 0}}\n")
	e.write(t, e.identity, identity.String()+"\n")
	return e
}

func (e environment) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (e environment) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out := &bytes.Buffer{}
	cmd := backup.New(ui.Streams{Out: out, Err: &bytes.Buffer{}, In: strings.NewReader("")})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(out)
	cmd.SetErr(out)
	cmd.SetArgs(append(args, "-f", e.file))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func (e environment) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := e.run(t, args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// TestRefusals: what the commands lack is named, with what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t)
	bare := newEnvironment(t)
	bare.write(t, bare.file, "apiVersion: slipway.sh/v1alpha1\nkind: Environment\nmetadata: {name: prod}\n")
	for name, test := range map[string]struct {
		e             environment
		args          []string
		cause, remedy string
	}{
		"no target":           {bare, []string{"list"}, "no target", "spec.backup"},
		"no recipients":       {bare, []string{"create", "--target", "file:///nowhere"}, "nobody could read", "age-keygen"},
		"a wrong target":      {e, []string{"list", "--target", "ftp://x"}, "ftp://x", "s3://"},
		"no backups":          {e, []string{"show"}, "no backups", "slipway backup create"},
		"no such backup":      {e, []string{"show", "2020"}, "no such backup", "slipway backup list"},
		"no identity":         {e, []string{"verify", "--identity", e.file}, "no file with an age identity", "age-keygen"},
		"all and one":         {e, []string{"verify", "--all", "2020"}, "named too", "one of the two"},
		"a drill without key": {e, []string{"drill"}, "no private age key", "spec.backup.recipients"},
		"no bundle":           {e, []string{"drill", "--identity", e.identity}, "no such file", "spec.bundle"},
		"no such kubeconfig":  {e, []string{"create", "--kubeconfig", "/nowhere"}, "/nowhere", "kubectl"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := test.e.run(t, test.args...)
			if err == nil || !strings.Contains(err.Error(), test.cause) || !strings.Contains(fault.Remedy(err), test.remedy) {
				t.Errorf("%v (%s)\n%s", err, fault.Remedy(err), out)
			}
		})
	}
}

// TestBackupOfARealCluster: create, list, show, verify and prune on a real API
// server; what comes back has the objects with their status, from one revision.
func TestBackupOfARealCluster(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	server.Define(t)
	client, err := dynamic.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	populate(t, client)
	e := newEnvironment(t)
	kubeconfig := filepath.Join(e.dir, "kubeconfig")
	e.write(t, kubeconfig, string(server.Kubeconfig))
	refusesHalf(t, e, client, kubeconfig)
	var first, second store.Backup
	decode(t, e.must(t, "create", "--kubeconfig", kubeconfig, "-o", "json"), &first)
	decode(t, e.must(t, "create", "--kubeconfig", kubeconfig, "-o", "json"), &second)
	if first.Objects < 50 || second.Written*20 > first.Written {
		t.Errorf("%d objects, %d bytes, then %d", first.Objects, first.Written, second.Written)
	}
	if list := e.must(t, "list"); strings.Count(list, " ok\n") != 2 {
		t.Errorf("listed\n%s", list)
	}
	if show := e.must(t, "show"); !strings.Contains(show, second.ID) || !strings.Contains(show, e.recipient.Recipient().String()) {
		t.Errorf("shown\n%s", show)
	}
	if verified := e.must(t, "verify", "--identity", e.identity); !strings.Contains(verified, "yes") || !strings.Contains(verified, "whole") {
		t.Errorf("verified\n%s", verified)
	}
	checkRestored(t, e, second)
	if pruned := e.must(t, "prune"); !strings.Contains(pruned, first.ID) || !strings.Contains(pruned, "removed") {
		t.Errorf("pruned\n%s", pruned)
	}
	drill(t, e, second)
	damage(t, e)
	if out, err := e.run(t, "drill", "--identity", e.identity, "--record=false"); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("a drill of a forged byte: %v\n%s", err, out)
	}
	if out, err := e.run(t, "verify"); err == nil || !strings.Contains(out, "digest") {
		t.Errorf("a forged byte: %v\n%s", err, out)
	}
}

// refusesHalf makes no backup while the record says that a rebuild is half done.
func refusesHalf(t *testing.T, e environment, client dynamic.Interface, kubeconfig string) {
	t.Helper()
	records := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(restore.RecordNamespace)
	half := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": restore.RecordName}, "data": map[string]any{"generation": "2"}}}
	if _, err := records.Create(t.Context(), half, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if out, err := e.run(t, "create", "--kubeconfig", kubeconfig); !errors.Is(err, restore.ErrIncomplete) || !strings.Contains(fault.Remedy(err), "slipway recover") {
		t.Errorf("in the middle of a rebuild: %v (%s)\n%s", err, fault.Remedy(err), out)
	}
	if list := e.must(t, "list"); strings.Contains(list, " ok\n") {
		t.Errorf("listed\n%s", list)
	}
	if err := records.Delete(t.Context(), restore.RecordName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// drill restores the backup into another API server.
func drill(t *testing.T, e environment, b store.Backup) {
	t.Helper()
	bundle, err := filepath.Abs(os.Getenv("SLIPWAY_BUNDLE"))
	if err == nil {
		err = os.Symlink(bundle, filepath.Join(e.dir, "bundle"))
	}
	if err != nil {
		t.Fatal(err)
	}
	out, failed := e.run(t, "drill", "--identity", e.identity, "--record=false", "-o", "json")
	var result struct {
		Backup     string
		Passed     bool
		Clusters   []string
		Checks     []struct{ ID, State string }
		Parts      []struct{ Name string }
		RTOSeconds float64 `json:"rtoSeconds"`
	}
	decode(t, out, &result)
	if result.Backup != b.ID || strings.Join(result.Clusters, " ") != "default/c" || len(result.Checks) != 7 || len(result.Parts) != 6 || result.RTOSeconds <= 0 || result.Passed != (failed == nil) {
		t.Errorf("drill: %v\n%s", failed, out)
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

func populate(t *testing.T, client dynamic.Interface) {
	t.Helper()
	secrets := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace("default")
	for _, name := range []string{"c-ca", "c-kubeconfig"} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name}, "stringData": map[string]any{"value": "secret of " + name}}}
		if _, err := secrets.Create(t.Context(), o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	clusters := client.Resource(schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}).Namespace("default")
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": map[string]any{"name": "c"},
		"spec": map[string]any{"paused": true, "controlPlaneEndpoint": map[string]any{"host": "192.0.2.1", "port": int64(6443)}}}}
	made, err := clusters.Create(t.Context(), o, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Object["status"] = map[string]any{"phase": "Provisioned"}
	if _, err := clusters.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func checkRestored(t *testing.T, e environment, b store.Backup) {
	t.Helper()
	at, err := location.Parse("file://" + filepath.Join(e.dir, "backups"))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := target.Open(at, target.Access{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Open(t.Context(), opened, store.Options{Environment: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Read(t.Context(), b.ID, e.recipient)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*unstructured.Unstructured{}
	for _, o := range s.Objects {
		found[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = o
	}
	cluster := found["Cluster default/c"]
	if cluster == nil || cluster.GetUID() == "" {
		t.Fatalf("no cluster among %d objects", len(found))
	}
	if phase, _, _ := unstructured.NestedString(cluster.Object, "status", "phase"); phase != "Provisioned" {
		t.Errorf("its status is %q", phase)
	}
	for _, name := range []string{"Secret default/c-ca", "Secret default/c-kubeconfig", "Namespace /default", "CustomResourceDefinition /machines.cluster.x-k8s.io"} {
		if found[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
	if s.Revision == "" || s.Kubernetes == "" || !bytes.Contains(s.File, []byte("spec:")) || len(s.Cloud.Missing) != 1 {
		t.Errorf("%+v", s.Cloud)
	}
}

// damage changes a byte in the middle of a pack.
func damage(t *testing.T, e environment) {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(e.dir, "backups", "packs", "*"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("%v, %v", packs, err)
	}
	for _, path := range packs {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		whole[len(whole)/2] ^= 1
		e.write(t, path, string(whole))
	}
}
