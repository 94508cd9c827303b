package kubernetes

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube/apitest"
	"github.com/slipway-sh/slipway/internal/remote"
)

const (
	readyNode = "apiVersion: v1\nkind: Node\nmetadata: {name: demo-seed}\nstatus: {conditions: [{type: MemoryPressure, status: 'False'}, {type: Ready, status: 'True', reason: KubeletReady}]}\n"
	busyNode  = "apiVersion: v1\nkind: Node\nmetadata: {name: demo-seed}\nstatus: {conditions: [{type: Ready, status: 'False', reason: KubeletNotReady, message: no CNI}]}\n"
	archived  = `{"manifests":[{"annotations":{"io.containerd.image.name":"x/a:v2"}}]}`
)

// withAPI is a machine whose k3s has an API that this computer reaches through it alone.
func withAPI(t *testing.T) (*computer, *apitest.Server) {
	t.Helper()
	c, server := bundled(), apitest.Start(t)
	c.api = strings.TrimPrefix(server.URL, "https://")
	_, port, err := net.SplitHostPort(c.api)
	if err != nil {
		t.Fatal(err)
	}
	c.files["/etc/rancher/k3s/k3s.yaml"] = strings.Replace(server.Kubeconfig(), "127.0.0.1:"+port, apiAddress, 1)
	c.says["sh -c "+indexes] = said{out: archived}
	c.says["/usr/local/bin/k3s ctr"] = said{out: "x/a:v1\nx/a:v2\n"}
	return c, server
}

// TestASeedIsThereWhenItsNodeIsReady, with the images of its archives: then its kubeconfig and its
// version are known. A former datastore is put on it before.
func TestASeedIsThereWhenItsNodeIsReady(t *testing.T) {
	t.Parallel()
	c, server := withAPI(t)
	server.Put(readyNode)
	put := 0
	k := k3sKind{bundle: empty(t), datastore: func(context.Context, *remote.Machine) error { put++; return nil }}
	in := K3sInputs{Login: Login{Address: "127.0.0.1"}, Node: "demo-seed", VolumeGiB: 10}
	state, err := k.arrange(t.Context(), in, wanted(), c.machine(t))
	if err != nil || state.Version != "v1.34.4+k3s1" || !strings.Contains(state.Kubeconfig, "https://127.0.0.1:6443") || put != 1 {
		t.Errorf("%+v, %v; the datastore was put %d times", state, err, put)
	}
	k.datastore = nil
	if state, err := k.arrange(t.Context(), in, wanted(), c.machine(t)); err != nil || state.Version == "" {
		t.Errorf("without a datastore: %+v, %v", state, err)
	}
	address := Login{Address: "192.0.2.5"}
	if text, err := (host{c.machine(t)}).kubeconfig(t.Context(), address.Address); err != nil || !strings.Contains(text, "https://192.0.2.5:6443") {
		t.Errorf("%v; the kubeconfig leads to\n%s", err, text)
	}
}

// TestASeedThatDoesNotComeUpIsExplained by the step that it stopped at.
func TestASeedThatDoesNotComeUpIsExplained(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		says    map[string]said
		node    string
		refused string
		want    string
	}{
		"no settings":       {map[string]said{"true": {status: 1}}, readyNode, "", "cannot become root"},
		"no kubeconfig":     {map[string]said{"cat /etc/rancher/k3s/k3s.yaml": {err: "no such file", status: 1}}, readyNode, "", "reading the kubeconfig: cat: no such file"},
		"half a kubeconfig": {map[string]said{"cat /etc/rancher/k3s/k3s.yaml": {out: "kind: ["}}, readyNode, "", "reading the kubeconfig"},
		"no archives":       {map[string]said{"sh -c " + indexes: {err: "no tar", status: 1}}, readyNode, "", "reading the archives of images: sh: no tar"},
		"half an archive":   {map[string]said{"sh -c " + indexes: {out: "{half"}}, readyNode, "", "reading the archives of images"},
		"pods not listed":   {nil, readyNode, "/api/v1/pods", "listing the pods of node demo-seed"},
		"no version":        {nil, readyNode, "/version", "reading the version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, server := withAPI(t)
			server.Put(test.node)
			server.Refuse = func(r *http.Request) (int, string) {
				if r.URL.Path == test.refused {
					return http.StatusForbidden, "Forbidden"
				}
				return 0, ""
			}
			for command, answer := range test.says {
				c.says[command] = answer
			}
			state, err := k3sKind{bundle: empty(t)}.arrange(t.Context(), K3sInputs{Login: Login{Address: "127.0.0.1"}, Node: "demo-seed", VolumeGiB: 10}, wanted(), c.machine(t))
			if err == nil || !strings.Contains(err.Error(), test.want) || state.Version != "" {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	c, _ := withAPI(t)
	refused := errors.New("the datastore is of another seed")
	k := k3sKind{bundle: empty(t), datastore: func(context.Context, *remote.Machine) error { return refused }}
	if _, err := k.arrange(t.Context(), K3sInputs{VolumeGiB: 10}, wanted(), c.machine(t)); !errors.Is(err, refused) {
		t.Errorf("a datastore that is not put: %v", err)
	}
	c.says["systemctl show"] = said{out: strings.Replace(running, "NRestarts=0\nId=k3s.service\nLoadState=loaded\nActiveState=active", "NRestarts=3\nId=k3s.service\nLoadState=loaded\nActiveState=activating", 1)}
	k.datastore = func(context.Context, *remote.Machine) error { return nil }
	if _, err := k.arrange(t.Context(), K3sInputs{VolumeGiB: 10}, wanted(), c.machine(t)); err == nil || !strings.Contains(err.Error(), "after 4 attempts") {
		t.Errorf("a k3s that does not start: %v", err)
	}
}

// TestANodeThatIsNotReadyIsTold with what its kubelet last said.
func TestANodeThatIsNotReadyIsTold(t *testing.T) {
	t.Parallel()
	for node, want := range map[string]string{busyNode: "last seen: KubeletNotReady: no CNI", "": "last seen: the node has not registered",
		strings.Split(busyNode, "status:")[0]: "last seen: the node has not registered"} {
		_, server := withAPI(t)
		if node != "" {
			server.Put(node)
		}
		on, err := Reach(Direct{}, server.Kubeconfig())
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancelCause(t.Context())
		server.Refuse = func(r *http.Request) (int, string) {
			if r.URL.Query().Get("watch") != "" && r.URL.Query().Get("sendInitialEvents") == "" { // what was listed has been looked at
				stop(errStopped)
			}
			return 0, ""
		}
		if err := nodeReady(ctx, on, "demo-seed"); !errors.Is(err, errStopped) || !strings.Contains(err.Error(), "node demo-seed: ") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		stop(nil)
	}
}

// TestImagesThatAreMissingAreWaitedFor, and named when the wait ends.
func TestImagesThatAreMissingAreWaitedFor(t *testing.T) {
	t.Parallel()
	c, _ := withAPI(t)
	c.says["/usr/local/bin/k3s ctr"] = said{status: 1} // containerd starts
	asked := 0
	c.before = func(command string) {
		if !strings.HasPrefix(command, "/usr/local/bin/k3s ctr") {
			return
		}
		asked++
		c.mu.Lock()
		defer c.mu.Unlock()
		c.says["/usr/local/bin/k3s ctr"] = map[int]said{1: {status: 1}, 2: {out: "x/a:v1\n"}, 3: {out: "x/a:v1\nx/a:v2\n"}}[asked]
	}
	if err := (host{c.machine(t)}).imported(t.Context()); err != nil || asked != 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	c.before = func(command string) {
		if strings.HasPrefix(command, "/usr/local/bin/k3s ctr") {
			stop(errStopped)
		}
	}
	c.says["/usr/local/bin/k3s ctr"] = said{}
	if err := (host{c.machine(t)}).imported(ctx); !errors.Is(err, errStopped) || !strings.Contains(err.Error(), "x/a:v2 is not there") || !strings.Contains(fault.Remedy(err), "--grep import") {
		t.Errorf("stopped: %v", err)
	}
	crashed := fault.New("k3s.service", errors.New("it crashes"), "see its log")
	if err := unimported(crashed, "x/a:v2"); err != crashed {
		t.Errorf("a k3s that crashes: %v", err)
	}
	c.says["sh -c "+indexes] = said{}
	if err := (host{c.machine(t)}).imported(t.Context()); err != nil {
		t.Errorf("without archives: %v", err)
	}
}

// TestContainersAreListedOnceContainerdAnswers.
func TestContainersAreListedOnceContainerdAnswers(t *testing.T) {
	t.Parallel()
	c := bundled()
	const crictl = "/usr/local/bin/k3s crictl"
	c.says[crictl] = said{out: "a\nb\n"}
	if all, err := (host{c.machine(t)}).containers(t.Context()); err != nil || strings.Join(all, " ") != "a b" {
		t.Errorf("%q, %v", all, err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	c.says[crictl] = said{err: "connection refused", status: 1}
	looked := 0
	c.before = func(string) {
		if looked++; looked == 2 {
			stop(errStopped)
		}
	}
	if _, err := (host{c.machine(t)}).containers(ctx); !errors.Is(err, errStopped) || looked != 2 {
		t.Errorf("after %d looks: %v", looked, err)
	}
}
