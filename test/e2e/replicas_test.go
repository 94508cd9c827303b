package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/test/endpoint"
)

// callers is how many clients ask the replicas at once.
const callers = 6

// replicas are two endpoints of one API server, and clients that ask each in
// turn and try the other once when one does not answer.
type replicas struct {
	t                       *testing.T
	token                   string
	endpoints               [2]*endpoint.Endpoint
	asked, retried, refused atomic.Int64
}

// TestAReplicaKilledUnderLoad kills one of two replicas while clients read and
// write: none of them gets an error, and what one replica wrote the other has.
func TestAReplicaKilledUnderLoad(t *testing.T) {
	server := kubetest.Start(t)
	cloud := sandboxtest.Start(t)
	public := images.ImageVisibilityPublic
	if _, err := images.Create(t.Context(), cloud.Admin.Image(t), images.CreateOpts{Name: "k134", Visibility: &public, DiskFormat: "raw",
		ContainerFormat: "bare", Properties: map[string]string{"os_distro": "ubuntu", "kube_version": "v1.34.2"}}).Extract(); err != nil {
		t.Fatal(err)
	}
	program := builtProgram(t)
	r := &replicas{t: t, token: cloud.Member.Provider.Token()}
	metrics := [2]string{endpoint.FreeAddress(t), endpoint.FreeAddress(t)}
	for i := range r.endpoints {
		r.endpoints[i] = endpoint.Start(t, endpoint.Options{Program: program, Kubeconfig: server.Kubeconfig, CloudsYAML: cloud.CloudsYAML(), Cloud: "sandbox-admin",
			Listen: endpoint.FreeAddress(t), Metrics: metrics[i], Flags: []string{"--peers", metrics[1-i]}})
	}
	over, begun := make(chan struct{}), time.Now()
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for turn := 0; ; turn++ {
				select {
				case <-over:
					return
				default:
					r.round(caller, turn)
				}
			}
		})
	}
	time.Sleep(3 * time.Second)
	before := r.asked.Load()
	r.endpoints[0].Kill()
	time.Sleep(5 * time.Second)
	close(over)
	group.Wait()
	t.Logf("%d requests before the kill, %d after it, %d of them asked a second time, in %s", before, r.asked.Load()-before, r.retried.Load(), time.Since(begun).Round(time.Millisecond))
	if before == 0 || r.asked.Load() == before || r.retried.Load() == 0 {
		t.Error("the load did not see the kill")
	}
	if refused := r.refused.Load(); refused != 0 {
		t.Errorf("%d requests failed", refused)
	}
}

// round makes a template with one replica, reads it with the other, lists, and
// deletes it.
func (r *replicas) round(caller, turn int) {
	body := map[string]any{"name": fmt.Sprintf("t-%d-%d", caller, turn), "coe": "kubernetes", "image_id": "k134", "external_network_id": "public",
		"flavor_id": "m1.large", "master_flavor_id": "m1.large"}
	uuid, _ := r.ask(turn, http.MethodPost, "/clustertemplates", body, http.StatusCreated)["uuid"].(string)
	if uuid == "" {
		return // told already
	}
	r.ask(turn+1, http.MethodGet, "/clustertemplates/"+uuid, nil, http.StatusOK)
	r.ask(turn, http.MethodGet, "/clusters", nil, http.StatusOK)
	r.ask(turn+1, http.MethodDelete, "/clustertemplates/"+uuid, nil, http.StatusNoContent)
}

// ask asks one replica, and the other if the first gives no answer. A deletion
// that was done by a replica that died before it said so is done.
func (r *replicas) ask(first int, method, path string, body any, want int) map[string]any {
	r.asked.Add(1)
	status, answer, err := r.once(r.endpoints[first%2], method, path, body)
	if err != nil {
		r.retried.Add(1)
		status, answer, err = r.once(r.endpoints[1-first%2], method, path, body)
		if method == http.MethodDelete && status == http.StatusNotFound {
			return nil
		}
	}
	if err != nil || status != want {
		r.refused.Add(1)
		r.t.Errorf("%s %s: %d, want %d: %v %s", method, path, status, want, err, answer)
	}
	var members map[string]any
	_ = json.Unmarshal(answer, &members)
	return members
}

func (r *replicas) once(e *endpoint.Endpoint, method, path string, body any) (int, []byte, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	request, err := http.NewRequestWithContext(r.t.Context(), method, e.URL+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("X-Auth-Token", r.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}
