package gather

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/redact"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/support"
)

// planted is in every place where a secret may be; none of it may be in an archive.
const planted = "PL4NTED-secret"

// api is a Kubernetes API with one namespace of controllers and one of a tenant.
func api(t *testing.T) *kube.Cluster {
	t.Helper()
	secret := base64.StdEncoding.EncodeToString([]byte(planted))
	pod := func(namespace, name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q},"spec":{"containers":[{"name":"main","env":[{"name":"OS_PASSWORD","value":"%s-env"}]}]},
			"status":{"phase":"Running","containerStatuses":[{"name":"main","ready":false,"restartCount":2}]}}`, name, namespace, planted)
	}
	answers := map[string]string{
		"/api":                      `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":                     `{"kind":"APIGroupList","groups":[{"name":"x.example","versions":[{"groupVersion":"x.example/v1","version":"v1"}],"preferredVersion":{"groupVersion":"x.example/v1","version":"v1"}},{"name":"broken","versions":[{"groupVersion":"broken/v1","version":"v1"}],"preferredVersion":{"groupVersion":"broken/v1","version":"v1"}}]}`,
		"/api/v1":                   `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"secrets","kind":"Secret","verbs":["list"]},{"name":"configmaps","kind":"ConfigMap","verbs":["list"]},{"name":"pods","kind":"Pod","verbs":["list"]},{"name":"pods/log","kind":"Pod","verbs":["get"]},{"name":"nodes","kind":"Node","verbs":["list"]},{"name":"services","kind":"Service","verbs":["list"]},{"name":"bindings","kind":"Binding","verbs":["create"]}]}`,
		"/apis/x.example/v1":        `{"kind":"APIResourceList","groupVersion":"x.example/v1","resources":[{"name":"things","kind":"Thing","verbs":["list"]}]}`,
		"/apis/x.example/v1/things": `{"kind":"ThingList","items":[{"kind":"Thing","metadata":{"name":"t"},"spec":{"clientSecret":"` + planted + `-field","note":"` + planted + `"}}]}`,
		"/api/v1/secrets":           `{"kind":"SecretList","items":[{"kind":"Secret","metadata":{"name":"s","namespace":"a"},"data":{"password":"` + secret + `"}}]}`,
		"/api/v1/configmaps":        `{"kind":"ConfigMapList","items":[{"kind":"ConfigMap","metadata":{"name":"c"},"data":{"cloud.conf":"password=` + planted + `-map"}}]}`,
		"/api/v1/nodes":             `{"kind":"NodeList","items":[{"metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}},{"metadata":{"name":"n2"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}]}`,
		"/api/v1/pods":              `{"kind":"PodList","items":[` + pod("kube-system", "ccm") + `,` + pod("shop", "tenants") + `]}`,

		"/api/v1/namespaces/kube-system/pods/ccm/log": "2026-01-02 using " + planted + " and " + secret + "\nlast line\n",
		"/api/v1/namespaces/shop/pods/tenants/log":    "what tenants do\n",
		"/api/v1/nodes/n1/proxy/logs/":                "kubelet says so\n",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		switch {
		case !ok:
			http.Error(w, "no such thing", http.StatusNotFound)
		case r.URL.Path == "/api/v1/services":
			http.Error(w, "down", http.StatusInternalServerError)
		case r.URL.Query().Get("query") == "containerd":
			http.Error(w, "off", http.StatusForbidden)
		default:
			if !strings.HasSuffix(r.URL.Path, "/log") {
				w.Header().Set("Content-Type", "application/json")
			}
			io.WriteString(w, text)
		}
	}))
	t.Cleanup(server.Close)
	cluster, err := kube.New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// collected runs parts and returns the files of the archive.
func collected(t *testing.T, known *redact.Known, parts ...support.Part) (files map[string]string, missing string) {
	t.Helper()
	limits := support.DefaultLimits()
	path := filepath.Join(t.TempDir(), "x.tar.zst")
	written, err := support.Write(support.Target{Path: path}, support.Manifest{Environment: "prod"}, support.Collect(t.Context(), parts, limits, event.Discard{}), known, limits)
	if err != nil {
		t.Fatal(err)
	}
	if files, err = support.Files(path, ""); err != nil {
		t.Fatal(err)
	}
	for _, m := range written.Missing {
		missing += m.Part + " " + m.What + ": " + m.Cause + "\n"
	}
	return files, missing
}

// TestWhatKubernetesHas: objects of all kinds, logs with those from before, journals; what
// does not answer is missing, and no secret is in it. Of a tenant's cluster there is
// nothing of the tenant's own.
func TestWhatKubernetesHas(t *testing.T) {
	t.Parallel()
	cluster, known := api(t), &redact.Known{}
	parts := func(name string, tenant bool) []support.Part {
		return []support.Part{{Name: name + "/objects", Collect: Objects(cluster, tenant, known)}, {Name: name + "/logs", Collect: Logs(cluster.Typed, tenant, 100)}, {Name: name + "/journals", Collect: Journals(cluster.Typed, 100)}}
	}
	files, missing := collected(t, known, append(parts("seed", false), parts("shop", true)...)...)
	for name, want := range map[string]string{
		"seed/objects/secrets.json": `"password": "[removed: 14 bytes]"`, "seed/objects/configmaps.json": `"cloud.conf"`, "seed/objects/x.example/things.json": `"note": "[removed]"`,
		"seed/logs/kube-system/ccm/main.log": "last line\n", "seed/logs/kube-system/ccm/main.previous.log": "using [removed] and", "seed/logs/shop/tenants/main.log": "what tenants do",
		"seed/journals/n1/kubelet.log": "kubelet says so", "shop/logs/kube-system/ccm/main.log": "last line", "shop/objects/pods.json": `"name": "ccm"`,
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s has no %q: %s", name, want, files[name])
		}
	}
	for name, text := range files {
		if strings.Contains(text, "PL4NTED") || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(planted))[:12]) {
			t.Errorf("%s has a secret: %s", name, text)
		}
		if name == "shop/logs/shop/tenants/main.log" || name == "shop/objects/x.example/things.json" || strings.Contains(name, "/n2/") {
			t.Errorf("%s is none of ours", name)
		}
	}
	for _, want := range []string{"seed/objects some kinds: ", "seed/objects services.json: ", "n1/containerd.log: reading it through the kubelet"} {
		if !strings.Contains(missing, want) {
			t.Errorf("no %q in what is missing:\n%s", want, missing)
		}
	}
}

// TestWhatTheCloudHas: lists, ports with bindings, trees, faults, and the console and the
// actions of a server that is not well.
func TestWhatTheCloudHas(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := box.Faults.Add(faultinject.Rule{Kind: faultinject.NoValidHost, Service: "compute", Resource: "shop-w1"})
	check(err)
	n, err := networks.Create(t.Context(), box.Member.Network(t), networks.CreateOpts{Name: "n"}).Extract()
	check(err)
	s, err := subnets.Create(t.Context(), box.Member.Network(t), subnets.CreateOpts{NetworkID: n.ID, IPVersion: 4, CIDR: "10.7.0.0/24"}).Extract()
	check(err)
	lb, err := loadbalancers.Create(t.Context(), box.Member.LoadBalancer(t), loadbalancers.CreateOpts{Name: "kubeapi", VipSubnetID: s.ID}).Extract()
	check(err)
	img, err := images.Create(t.Context(), box.Member.Image(t), images.CreateOpts{Name: "node", ContainerFormat: "bare", DiskFormat: "raw"}).Extract()
	check(err)
	check(imagedata.Upload(t.Context(), box.Member.Image(t), img.ID, strings.NewReader("boot me")).ExtractErr())
	compute := box.Member.Compute(t)
	compute.Microversion = "2.52"
	server, err := servers.Create(t.Context(), compute, servers.CreateOpts{Name: "shop-w1", FlavorRef: "3", ImageRef: img.ID, Networks: "none"}, nil).Extract()
	check(err)
	for range 1000 {
		v, err := servers.Get(t.Context(), compute, server.ID).Extract()
		check(err)
		if v.Status == "ERROR" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	text, err := os.ReadFile(box.CloudsYAML())
	check(err)
	opened, err := cloud.Open(t.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: text})
	check(err)
	defer opened.Close()
	known := &redact.Known{}
	known.Add(redact.ValuesIn("clouds.yaml", string(text))...)
	known.Add(opened.Provider.Token())
	if known.Count() == 0 {
		t.Error("the login has no secret")
	}
	files, missing := collected(t, known, support.Part{Name: "cloud", Collect: Cloud(opened, func(context.Context) []string { return nil })})
	var project cloud.Snapshot
	if err := json.Unmarshal([]byte(files["cloud/project.json"]), &project); err != nil || len(project.Quotas) == 0 || len(project.Servers) != 1 || !strings.Contains(project.Servers[0].Fault, "No valid host") {
		t.Errorf("%v: %s", err, files["cloud/project.json"])
	}
	for name, want := range map[string]string{"cloud/ports.json": `"vifType"`, "cloud/load-balancers/kubeapi-" + lb.ID + ".json": `"provisioning_status"`} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s has no %q: %s", name, want, files[name])
		}
	}
	at := "servers/shop-w1-" + server.ID
	if files["cloud/"+at+".actions.json"] == "" && !strings.Contains(missing, at+".actions.json") || files["cloud/"+at+".console.log"] == "" && !strings.Contains(missing, at+".console.log") {
		t.Errorf("neither there nor missing: %s", missing)
	}
}

// runner answers as a machine does.
type runner struct{}

func (runner) Pipe(_ context.Context, _ io.Reader, out io.Writer, program string, args ...string) error {
	if program == "ss" {
		return errors.New("ss: not found")
	}
	_, err := io.WriteString(out, program+" "+strings.Join(args, " ")+" OS_PASSWORD="+planted+"\n")
	return err
}

func TestWhatAMachineHas(t *testing.T) {
	t.Parallel()
	files, missing := collected(t, &redact.Known{}, support.Part{Name: "seed/machine", Collect: Machine(runner{}, 50)})
	if got := files["seed/machine/k3s.log"]; got != "journalctl --no-pager --unit k3s --lines 50 OS_PASSWORD=[removed]\n" || missing != "seed/machine listening-ports.txt: ss: not found\n" {
		t.Errorf("%q, missing %q", got, missing)
	}
}

// TestTheEndOfALogStays, however it is written.
func TestTheEndOfALogStays(t *testing.T) {
	t.Parallel()
	e := &end{}
	for i := range 400000 {
		fmt.Fprintf(e, "line %d\n", i)
	}
	text := string(e.text())
	if len(text) > longest || len(text) < longest-20 || !strings.HasPrefix(text, "line ") || !strings.HasSuffix(text, "line 399999\n") || cap(e.kept) > 6*longest {
		t.Errorf("%d bytes, %d kept: %q", len(text), cap(e.kept), text[:20])
	}
}
