package e2e

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/support"
)

// plantedWord is the part that all planted secrets have.
const plantedWord = "PL4NTED-b71f0c"

// plants are secrets where users and addons put them: a registry's password in a Secret, a
// cloud.conf in a ConfigMap, a variable of a container, and a volume claim that shows
// that such are in the archive.
const plants = `
apiVersion: v1
kind: Namespace
metadata: {name: planted-system}
---
apiVersion: v1
kind: Secret
metadata: {name: registry, namespace: planted-system}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '{"auths":{"registry.example":{"username":"u","password":"` + plantedWord + `-registry"}}}'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cloud, namespace: planted-system}
data: {cloud.conf: "[Global]\napplication-credential-secret=` + plantedWord + `-conf\n"}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: planted, namespace: planted-system}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: planted, namespace: planted-system}
spec:
  containers:
    - name: pause
      image: registry.k8s.io/pause:3.10.1
      env: [{name: OS_APPLICATION_CREDENTIAL_SECRET, value: ` + plantedWord + `-env}]
`

// lost is a workload of the tenant's system whose registry does not exist.
const lost = "registry.invalid/lost:1"

// expectSupport has one archive of the living seed, the management cluster and the
// tenant's cluster, with a fault inside the latter: it has all parts, no secret, and
// answers offline as the cluster did.
//
// proves: F43
func (p *project) expectSupport() {
	p.t.Helper()
	for where, kubectl := range map[string]func(string, ...string) (string, error){"management": p.on, "tenant": p.shop} {
		if out, err := kubectl(plants, "apply", "-f", "-"); err != nil {
			p.t.Fatalf("planting on the %s cluster: %v\n%s", where, err, out)
		}
		defer kubectl("", "delete", "namespace", "planted-system", "--wait=false") //nolint:errcheck // the clusters go with the test
	}
	if out, err := p.shop("", "-n", "kube-system", "create", "deployment", "lost", "--image="+lost); err != nil {
		p.t.Fatalf("planting a lost image: %v\n%s", err, out)
	}
	defer p.shop("", "-n", "kube-system", "delete", "deployment", "lost") //nolint:errcheck // as above
	namespace, name := p.tenantCluster()
	told := func(text string) bool { return strings.Contains(text, "registry.invalid") }
	p.eventually("the cause inside the tenant's cluster", 3*time.Minute, func() (string, bool) {
		out, err := p.command("why", name, "-n", namespace).CombinedOutput()
		return string(out), err == nil && told(string(out))
	})
	archive := filepath.Join(p.folder, "s.tar.zst")
	var written support.Written
	if err := json.Unmarshal([]byte(p.do("support", "--cluster", namespace+"/"+name, "--out", archive, "-o", "json")), &written); err != nil {
		p.t.Fatal(err)
	}
	defer os.Remove(archive)
	files, err := support.Files(archive, "")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, m := range written.Missing {
		p.t.Logf("missing: %s/%s: %s", m.Part, m.What, m.Cause)
		if m.What == "" {
			p.t.Errorf("the part %s is missing: %s", m.Part, m.Cause)
		}
	}
	p.expectParts(files, "clusters/"+namespace+"."+name)
	p.expectNoSecretsIn(files)
	// Offline: no cloud, no environment file, no cluster.
	cmd := exec.Command(p.program, "why", name, "--from", archive)
	cmd.Dir, cmd.Env = p.t.TempDir(), []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "OS_CLIENT_CONFIG_FILE=/nonexistent"}
	if out, err := cmd.CombinedOutput(); err != nil || !told(string(out)) || !strings.Contains(files["why/why.txt"], "registry.invalid") {
		p.t.Errorf("why offline: %v\n%s\nand when it was written:\n%s", err, out, files["why/why.txt"])
	}
}

// tenantCluster is the tenant's cluster as Cluster API has it.
func (p *project) tenantCluster() (namespace, name string) {
	p.t.Helper()
	var list []struct{ Namespace, Name string }
	out := p.do("cluster", "list", "-o", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		p.t.Fatalf("%v in %s", err, out)
	}
	i := slices.IndexFunc(list, func(c struct{ Namespace, Name string }) bool { return strings.HasPrefix(c.Name, "shop-") })
	if i < 0 {
		p.t.Fatalf("no cluster of the tenant in %s", out)
	}
	return list[i].Namespace, list[i].Name
}

// expectParts looks for each part by a file's beginning and end, and by a word in it.
func (p *project) expectParts(files map[string]string, tenant string) {
	p.t.Helper()
	for _, want := range [][3]string{
		{"seed/logs/capi-system/", ".log", ""}, {"seed/logs/capo-system/", ".log", ""}, {"management/logs/capi-system/", ".log", ""}, {"management/logs/capo-system/", ".log", ""},
		{"management/logs/slipway-system/", ".log", ""}, {tenant + "/logs/kube-system/", ".log", ""},
		{"seed/machine/journal.log", "", "systemd"}, {"seed/machine/k3s.log", "", "k3s"}, {"cloud/servers/", ".console.log", ""},
		{"cloud/load-balancers/", ".json", "provisioning_status"}, {tenant + "/cloud/load-balancers/", ".json", "provisioning_status"}, {"cloud/ports.json", "", "vifType"}, {"cloud/project.json", "", `"quotas"`},
		{"seed/objects/pods.json", "", "capi-system"}, {"management/objects/pods.json", "", "capi-system"}, {tenant + "/objects/pods.json", "", "kube-system"},
		{"management/objects/persistentvolumeclaims.json", "", "planted"}, {"management/objects/cluster.x-k8s.io/machines.json", "", "shop-"}, {"seed/objects/cluster.x-k8s.io/machines.json", "", "demo"},
		{"management/objects/events.json", "", ""}, {"plan/plan.json", "", ""}, {"state/state.json", "", "seed"}, {"versions/versions.json", "", "kubernetes of management"},
		{"runs/", ".events.jsonl", `"step"`}, {"why/why.txt", "", ""}, {"why/snapshot.json", "", `"inside":{`},
	} {
		there := false
		for name, text := range files {
			there = there || strings.HasPrefix(name, want[0]) && strings.HasSuffix(name, want[1]) && text != "" && strings.Contains(strings.ReplaceAll(text, `"inside": {`, `"inside":{`), want[2])
		}
		if !there {
			p.t.Errorf("no file %s…%s with %q", want[0], want[1], want[2])
		}
	}
	if p.t.Failed() {
		names := make([]string, 0, len(files))
		for name := range files {
			names = append(names, name)
		}
		slices.Sort(names)
		p.t.Logf("the archive has:\n%s", strings.Join(names, "\n"))
	}
}

// expectNoSecretsIn looks for what was planted, and for the environment's own secrets, as
// they are and in base64.
func (p *project) expectNoSecretsIn(files map[string]string) {
	p.t.Helper()
	secrets := map[string]string{"planted": plantedWord, "operator's password": p.entry()["password"]}
	keys, err := filepath.Glob(filepath.Join(p.folder, ".slipway", "keys", "*.pem"))
	if err != nil || len(keys) == 0 {
		p.t.Errorf("keys: %v, %v", keys, err)
	}
	for _, file := range keys {
		secrets[filepath.Base(file)] = strings.Split(read(p, file), "\n")[2]
	}
	for _, file := range []string{".slipway/seed.kubeconfig", ".slipway/management.kubeconfig", "shop/config"} {
		for line := range strings.Lines(read(p, filepath.Join(p.folder, file))) {
			if _, key, ok := strings.Cut(line, "client-key-data: "); ok {
				secrets["key of "+file] = strings.TrimSpace(key)
				text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(key))
				if err != nil {
					p.t.Fatal(err)
				}
				secrets["decoded key of "+file] = strings.Split(string(text), "\n")[1]
			}
		}
		if file != "shop/config" && secrets["key of "+file] == "" {
			p.t.Errorf("%s has no key", file)
		}
	}
	out, err := p.on("", "get", "secrets", "-A", "-o", "jsonpath={range .items[*]}{.data.clouds\\.yaml}{\"\\n\"}{end}")
	credentials := 0
	for _, line := range strings.Fields(out) {
		text, _ := base64.StdEncoding.DecodeString(line)
		if _, after, ok := strings.Cut(string(text), "application_credential_secret:"); ok {
			credentials++
			secrets["application credential "+line[:8]+line[len(line)-8:]] = strings.Trim(strings.Fields(after)[0], `"'},`)
		}
	}
	if err != nil || credentials == 0 {
		p.t.Errorf("%d application credentials were found: %v", credentials, err)
	}
	for what, secret := range secrets {
		if len(secret) < 8 {
			p.t.Errorf("%s is %q", what, secret)
			continue
		}
		// A part of the encoded form, from where it does not depend on what comes before.
		encoded := base64.RawStdEncoding.EncodeToString([]byte(secret))
		encoded = encoded[:len(encoded)-2]
		for name, text := range files {
			if strings.Contains(text, secret) || strings.Contains(text, encoded) {
				p.t.Errorf("%s has the %s", name, what)
			}
		}
	}
}
