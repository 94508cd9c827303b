package devstack

import (
	"archive/tar"
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/localseed"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// docker is a runtime of at most one cluster, whose API is a server of the test.
type docker struct {
	kubeconfig string
	there      *localseed.Cluster
	made       localseed.Wanted
	did        []string
	// imported are the files of the archive that the node got.
	imported int
}

func (d *docker) Find(context.Context, string) (*localseed.Cluster, error) { return d.there, nil }

func (d *docker) Create(_ context.Context, wanted localseed.Wanted, _ func(string)) error {
	d.there, d.made = &localseed.Cluster{Owner: wanted.Owner}, wanted
	d.did = append(d.did, "create")
	return nil
}

func (d *docker) Finish(context.Context, string) error { d.there.Finished = true; return nil }

func (d *docker) Kubeconfig(context.Context, string) (string, error) { return d.kubeconfig, nil }

func (d *docker) HasImage(context.Context, string) (bool, error) { return false, nil }

func (d *docker) LoadImage(_ context.Context, archive io.Reader) error {
	d.did = append(d.did, "load")
	_, err := io.Copy(io.Discard, archive)
	return err
}

func (d *docker) Import(_ context.Context, _ string, archive io.Reader) error {
	d.did = append(d.did, "import")
	d.imported = 0
	for files := tar.NewReader(archive); ; d.imported++ {
		if _, err := files.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (d *docker) Delete(context.Context, string) error {
	d.there = nil
	d.did = append(d.did, "delete")
	return nil
}

func (d *docker) open(context.Context) (localseed.Provider, error) { return d, nil }

// newDocker has an API with one node.
func newDocker(t *testing.T) *docker {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/api/v1/nodes" {
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"n"},"status":{"addresses":[{"type":"Hostname","address":"n"},{"type":"InternalIP","address":"172.18.0.2"}]}}]}`)
		}
	}))
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &docker{kubeconfig: fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n"+
		"clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]\n", server.URL, base64.StdEncoding.EncodeToString(authority))}
}

// TestTheClusterOfModeKind is made once, kept by a second stack.sh, and deleted by what has
// nothing but the plugin's folder; another one of its name is left alone.
func TestTheClusterOfModeKind(t *testing.T) {
	bundleDir := os.Getenv("SLIPWAY_BUNDLE")
	if bundleDir == "" {
		t.Skip("SLIPWAY_BUNDLE names no bundle: run make e2e")
	}
	dir := t.TempDir()
	variables := map[string]string{"SLIPWAY_MODE": "kind", "SLIPWAY_BIN": "/opt/stack/bin/slipway", "SLIPWAY_DIR": filepath.Join(dir, "slipway"), "SLIPWAY_BUNDLE_DIR": bundleDir,
		"HOST_IP": "192.0.2.7", "SERVICE_HOST": "192.0.2.7", "REGION_NAME": "RegionOne", "KEYSTONE_SERVICE_URI": "http://192.0.2.7/identity"}
	s, err := devstack.Read(func(name string) string { return variables[name] })
	if err != nil {
		t.Fatal(err)
	}
	d := newDocker(t)
	for range 2 {
		node, err := bring(t.Context(), s, d.open, event.Discard{})
		if err != nil || node != "172.18.0.2" {
			t.Fatalf("node %q, %v", node, err)
		}
	}
	if want := []string{"load", "create", "import", "import"}; !slices.Equal(d.did, want) || d.imported < 10 {
		t.Errorf("did %q, imported %d files", d.did, d.imported)
	}
	if d.made.Name != "slipway-devstack" || d.made.PodCIDR != "10.42.0.0/16" || d.made.Image == "" || !d.there.Finished {
		t.Errorf("made %+v", d.made)
	}
	kubeconfig := filepath.Join(dir, "slipway/kubeconfig")
	if info, err := os.Stat(kubeconfig); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v (%v)", info, err)
	}
	for range 2 {
		if err := removeKind(t.Context(), s.Dir, d.open); err != nil || d.there != nil {
			t.Errorf("removing: %v, %+v", err, d.there)
		}
	}
	if _, err := os.Stat(kubeconfig); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the kubeconfig is left (%v)", err)
	}
	d.there = &localseed.Cluster{Owner: "somebody", Finished: true}
	if _, err := bring(t.Context(), s, d.open, event.Discard{}); err == nil || d.there == nil {
		t.Errorf("a cluster of somebody else: %v", err)
	}
}
