package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/ui"
)

// replica is one running API.
type replica struct {
	t       *testing.T
	address string
	metrics string
	token   string
	kube    client.Client
	stop    context.CancelFunc
	ended   chan error
	log     *syncBuffer
}

// startReplica starts the command as a user would.
func startReplica(t *testing.T, kubeconfig, token string, args ...string) *replica {
	t.Helper()
	return startServer(t, "magnum", kubeconfig, token, args...)
}

// startServer starts one of the APIs.
func startServer(t *testing.T, api, kubeconfig, token string, args ...string) *replica {
	t.Helper()
	r := &replica{t: t, address: freeAddress(t), metrics: freeAddress(t), token: token, ended: make(chan error, 1), log: &syncBuffer{}}
	cmd := New(ui.Streams{Err: r.log, Out: io.Discard})
	cmd.SetArgs(append([]string{api, "--kubeconfig", kubeconfig, "--listen", r.address, "--metrics-address", r.metrics, "--drain-time", "1s", "--os-cloud", "sandbox"}, args...))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	go func() { r.ended <- cmd.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		cancel()
		if t.Failed() {
			t.Log(r.log.String())
		}
	})
	return r
}

func (r *replica) ready() {
	r.t.Helper()
	eventually(r.t, "an API that is ready", func() bool {
		select {
		case err := <-r.ended:
			r.t.Fatalf("it ended: %v\n%s", err, r.log.String())
		default:
		}
		status, _ := get("http://" + r.address + "/healthcheck")
		return status == http.StatusOK
	})
}

// do sends a request and ends the test unless it is answered with want.
func (r *replica) do(method, path string, body any, want int) map[string]any {
	r.t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			r.t.Fatal(err)
		}
	}
	request, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.address+path, bytes.NewReader(text))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", r.token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("OpenStack-API-Version", "container-infra latest")
	request.Header.Set("Version", "2.0.0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if response.StatusCode != want {
		r.t.Fatalf("%s %s: %d, want %d: %s", method, path, response.StatusCode, want, answer)
	}
	var members map[string]any
	_ = json.Unmarshal(answer, &members)
	return members
}

func patch(operations ...string) []map[string]any {
	var list []map[string]any
	for _, o := range operations {
		parts := strings.SplitN(o, " ", 3)
		operation := map[string]any{"op": parts[0], "path": parts[1]}
		if len(parts) == 3 {
			operation["value"] = parts[2]
		}
		list = append(list, operation)
	}
	return list
}

// files writes the kubeconfig, and clouds.yaml of the sandbox's administrator.
func files(t *testing.T, server *kubetest.Server, sandbox *sandboxtest.Cloud) string {
	t.Helper()
	dir := t.TempDir()
	kubeconfig, clouds := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "clouds.yaml")
	if err := os.WriteFile(kubeconfig, server.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(map[string]any{"clouds": map[string]any{"sandbox": map[string]any{"region_name": "RegionOne", "auth": map[string]string{
		"auth_url": sandbox.URL() + "/identity", "username": "admin", "password": sandbox.Passwords().Admin, "project_name": "admin", "user_domain_id": "default", "project_domain_id": "default"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(clouds, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OS_CLIENT_CONFIG_FILE", clouds)
	return kubeconfig
}

// TestMagnumServing runs two replicas on a real API server and a cloud: the
// definitions take everything the API writes, what one replica wrote the other
// shows at once, and one that is ended while requests come drains.
func TestMagnumServing(t *testing.T) {
	server := kubetest.Start(t)
	sandbox := sandboxtest.Start(t)
	kubeconfig := files(t, server, sandbox)
	public := images.ImageVisibilityPublic
	for name, version := range map[string]string{"k134": "v1.34.2", "k135": "v1.35.0"} {
		if _, err := images.Create(t.Context(), sandbox.Admin.Image(t), images.CreateOpts{Name: name, Visibility: &public, DiskFormat: "raw", ContainerFormat: "bare",
			Properties: map[string]string{"os_distro": "ubuntu", "kube_version": version}}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	token := sandbox.Member.Provider.Token()
	peers := "127.0.0.1"
	first := startReplica(t, kubeconfig, token, "--install-crds")
	first.ready()
	_, port, _ := strings.Cut(first.metrics, ":")
	second := startReplica(t, kubeconfig, token, "--peers", peers+":"+port)
	second.ready()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var err error
	if second.kube, err = client.New(server.Config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	cluster := exerciseMagnum(t, second, first)
	if status, text := get("http://" + first.metrics + "/metrics"); status != http.StatusOK || !strings.Contains(text, `slipway_magnum_request_duration_seconds_count{method="GET",route="/v1/clusters/{ident}",status="200"}`) {
		t.Errorf("metrics: %d", status)
	}
	second.stop()
	eventually(t, "a health check that says no", func() bool {
		status, _ := get("http://" + second.address + "/healthcheck")
		return status == http.StatusServiceUnavailable
	})
	second.do(http.MethodGet, "/v1/clusters/"+cluster, nil, 200)
	select {
	case err := <-second.ended:
		if err != nil {
			t.Errorf("after a signal: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it goes on after a signal")
	}
	if strings.Contains(first.log.String()+second.log.String(), token) {
		t.Error("a token in the log")
	}
}

// exerciseMagnum writes everything once with one replica and reads it with the
// other right after.
func exerciseMagnum(t *testing.T, writer, reader *replica) (cluster string) {
	t.Helper()
	template := func(image string) string {
		body := map[string]any{"name": "t-" + image, "coe": "kubernetes", "image_id": image, "external_network_id": "public", "flavor_id": "m1.large", "master_flavor_id": "m1.large",
			"dns_nameserver": "192.0.2.1,192.0.2.2", "volume_driver": "cinder", "docker_volume_size": 5, "apiserver_port": 8443, "http_proxy": "http://p", "https_proxy": "http://p", "no_proxy": "x",
			"registry_enabled": true, "insecure_registry": "r", "tags": "a,b", "master_lb_enabled": true, "labels": map[string]any{"a.b/c": 1}}
		return writer.do(http.MethodPost, "/v1/clustertemplates", body, 201)["uuid"].(string)
	}
	from, to := template("k134"), template("k135")
	reader.do(http.MethodGet, "/v1/clustertemplates/"+to, nil, 200)
	writer.do(http.MethodPatch, "/v1/clustertemplates/"+to, patch("replace /name other", "remove /volume_driver", "remove /apiserver_port"), 200)
	if got := reader.do(http.MethodGet, "/v1/clustertemplates/"+to, nil, 200); got["name"] != "other" || got["volume_driver"] != nil {
		t.Errorf("the other replica shows %v", got)
	}
	for i := range 10 {
		body := map[string]any{"name": fmt.Sprintf("c%d", i), "cluster_template_id": from, "master_count": 3, "node_count": 2, "labels": map[string]any{"min_node_count": 1, "max_node_count": 5}}
		cluster = writer.do(http.MethodPost, "/v1/clusters", body, 202)["uuid"].(string)
		if got := reader.do(http.MethodGet, "/v1/clusters/"+cluster, nil, 200); got["status"] != "CREATE_IN_PROGRESS" || got["node_count"] != 2.0 || got["master_count"] != 3.0 {
			t.Errorf("the other replica shows %v", got)
		}
	}
	groups := reader.do(http.MethodGet, "/v1/clusters/"+cluster+"/nodegroups", nil, 200)["nodegroups"].([]any)
	if len(groups) != 2 {
		t.Errorf("groups %v", groups)
	}
	settleMagnum(t, writer, cluster)
	writer.do(http.MethodPatch, "/v1/clusters/"+cluster, patch("replace /health_status HEALTHY", "replace /health_status_reason {'api': 'ok'}"), 202)
	group := map[string]any{"name": "gpu-1", "node_count": 2, "min_node_count": 0, "max_node_count": 4, "node_labels": map[string]any{"a": "b"},
		"node_taints": []any{map[string]any{"key": "k", "value": "v", "effect": "NoSchedule"}}, "docker_volume_size": 3, "role": "gpu"}
	writer.do(http.MethodPost, "/v1/clusters/"+cluster+"/nodegroups", group, 202)
	reader.do(http.MethodGet, "/v1/clusters/"+cluster+"/nodegroups/gpu-1", nil, 200)
	writer.do(http.MethodPatch, "/v1/clusters/"+cluster+"/nodegroups/default-worker", patch("replace /max_node_count 3", "replace /min_node_count 1"), 202)
	writer.do(http.MethodPost, "/v1/clusters/"+cluster+"/actions/resize", map[string]any{"node_count": 3, "nodes_to_remove": []string{"x"}}, 202)
	if got := reader.do(http.MethodGet, "/v1/clusters/"+cluster, nil, 200); got["status"] != "UPDATE_IN_PROGRESS" || got["node_count"] != 5.0 {
		t.Errorf("after a resize the other replica shows %v", got)
	}
	writer.do(http.MethodPatch, "/v1/credentials/"+cluster, nil, 202)
	settleMagnum(t, writer, cluster)
	writer.do(http.MethodPost, "/v1/clusters/"+cluster+"/actions/upgrade", map[string]any{"cluster_template": to, "max_batch_size": 1}, 202)
	if got := reader.do(http.MethodGet, "/v1/clusters/"+cluster, nil, 200); got["cluster_template_id"] != to {
		t.Errorf("after an upgrade the other replica shows %v", got)
	}
	writer.do(http.MethodDelete, "/v1/clusters/"+cluster+"/nodegroups/gpu-1", nil, 204)
	writer.do(http.MethodDelete, "/v1/clusters/"+cluster, nil, 204)
	if got := reader.do(http.MethodGet, "/v1/clusters/"+cluster, nil, 200); got["status"] != "DELETE_IN_PROGRESS" {
		t.Errorf("after a deletion the other replica shows %v", got["status"])
	}
	return cluster
}

// settleMagnum does the controllers' work on a cluster, default groups first,
// and waits until replica r shows it.
func settleMagnum(t *testing.T, r *replica, uuid string) {
	t.Helper()
	c := r.stored(uuid)
	for _, g := range v1alpha1.DefaultGroups(c) {
		if err := r.kube.Create(t.Context(), g); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	var groups v1alpha1.NodeGroupList
	if err := r.kube.List(t.Context(), &groups, client.InNamespace(c.Namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range groups.Items {
		g := &groups.Items[i]
		if g.Spec.ClusterName != c.Name {
			continue
		}
		g.Status.Phase, g.Status.ObservedGeneration, g.Status.NodeAddresses = v1alpha1.CreateComplete, g.Generation, []string{"10.0.0.5"}
		if err := r.kube.Status().Update(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	c.Status.Phase, c.Status.ObservedGeneration, c.Status.APIAddress, c.Status.COEVersion = v1alpha1.CreateComplete, c.Generation, "https://192.0.2.1:6443", "v1.34.2"
	if err := r.kube.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a complete cluster", func() bool {
		return r.do(http.MethodGet, "/v1/clusters/"+uuid, nil, 200)["status"] == "CREATE_COMPLETE"
	})
}

// stored is the Cluster object of a uuid.
func (r *replica) stored(uuid string) *v1alpha1.Cluster {
	r.t.Helper()
	var clusters v1alpha1.ClusterList
	if err := r.kube.List(r.t.Context(), &clusters); err != nil {
		r.t.Fatal(err)
	}
	for i := range clusters.Items {
		if clusters.Items[i].Spec.UUID == uuid {
			return &clusters.Items[i]
		}
	}
	r.t.Fatalf("no Cluster object has uuid %s", uuid)
	return nil
}
