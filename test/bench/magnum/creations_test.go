package magnum

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	devcloud "github.com/slipway-sh/slipway/test/devcloud/cloud"
	"github.com/slipway-sh/slipway/test/endpoint"
)

const (
	creations = 1000
	clients   = 32
	// creationsPerSecond is the target.
	creationsPerSecond = 200
)

// TestCreations measures how many clusters a second are accepted, and then the
// list of them and one of them: by Slipway alone, on a Keystone that costs
// little (the sandbox's, in this process). Each
// creation makes an application credential there, a Secret and a Cluster, so
// that what the same API server takes of Secrets alone is measured beside, and
// who used the processors is told.
func TestCreations(t *testing.T) {
	server := controlPlane(t)
	config := *server.Config
	config.QPS = -1
	kube, err := client.New(&config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cloud := sandboxtest.Start(t)
	public := images.ImageVisibilityPublic
	if _, err := images.Create(t.Context(), cloud.Admin.Image(t), images.CreateOpts{Name: "k134", Visibility: &public, DiskFormat: "raw",
		ContainerFormat: "bare", Properties: map[string]string{"os_distro": "ubuntu", "kube_version": "v1.34.2"}}).Extract(); err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs("../../../bin/slipway")
	if err != nil {
		t.Fatal(err)
	}
	e := endpoint.Start(t, endpoint.Options{Program: program, Kubeconfig: asPod(t, server, kube), CloudsYAML: cloud.CloudsYAML(), Cloud: "sandbox-admin",
		Listen: endpoint.FreeAddress(t), Metrics: "0", Flags: []string{"--default-quota", fmt.Sprint(2 * creations)}})
	caller := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	t.Cleanup(caller.CloseIdleConnections)
	token := cloud.Member.Provider.Token()
	template, err := post(caller, token, e.URL+"/clustertemplates", map[string]any{"name": "bench", "coe": "kubernetes", "image_id": "k134",
		"external_network_id": "public", "flavor_id": "m1.large", "master_flavor_id": "m1.large"}, http.StatusCreated)
	if err != nil {
		t.Fatal(err)
	}
	alone, _ := pace(t, func(i int) error {
		return kube.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("alone-%d", i)},
			StringData: map[string]string{"clouds.yaml": "clouds: {}"}})
	})
	uuids := make([]string, creations)
	before := processors(t)
	rate, times := pace(t, func(i int) (err error) {
		uuids[i], err = post(caller, token, e.URL+"/clusters", map[string]any{"name": fmt.Sprintf("c-%d", i), "cluster_template_id": template, "node_count": 1}, http.StatusAccepted)
		return err
	})
	used := processors(t)
	result := "ok"
	if rate < creationsPerSecond {
		result = "missed"
	}
	fmt.Printf("%d creations by %d clients: %.0f/s (target %d/s, %s), p50 %s, p99 %s; the API server alone takes %.0f Secrets/s. Load of the machine: %s.\n", creations,
		clients, rate, creationsPerSecond, result, round(times[creations/2]), round(times[creations*99/100]), alone, average())
	for _, program := range slices.Sorted(maps.Keys(used)) {
		fmt.Printf("Processor time of each creation: %s %s\n", program, round((used[program]-before[program])/creations))
	}
	for what, path := range map[string]string{"GET /clusters": "/clusters", "GET /clusters/{uuid}": "/clusters/" + uuids[0]} {
		m, err := load{token, 20, 5 * time.Second}.run(t.Context(), e.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s with %d clusters: p50 %s, p99 %s, %.0f/s, %d bytes\n", what, creations, round(m.p50), round(m.p99), m.callsPerSecond, m.bytes)
	}
	fmt.Printf("Memory: %s.\n", inWords(devcloud.MemoryOf(e.PID())))
}

// pace does something so many times, by the clients at once; it returns the
// rate per second and the time of each, sorted.
func pace(t *testing.T, do func(i int) error) (rate float64, times []time.Duration) {
	t.Helper()
	times = make([]time.Duration, creations)
	var group errgroup.Group
	group.SetLimit(clients)
	begin := time.Now()
	for i := range creations {
		group.Go(func() error {
			start := time.Now()
			err := do(i)
			times[i] = time.Since(start)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	rate = creations / time.Since(begin).Seconds()
	slices.Sort(times)
	return rate, times
}

// post makes something and returns its uuid.
func post(caller *http.Client, token, url string, body any, want int) (string, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return "", err
	}
	request.Header.Set("X-Auth-Token", token)
	request.Header.Set("Content-Type", "application/json")
	response, err := caller.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != want {
		err = fmt.Errorf("POST %s: %s: %s", url, response.Status, answer)
	}
	var made struct{ UUID string }
	if err == nil {
		err = json.Unmarshal(answer, &made)
	}
	return made.UUID, err
}
