package e2e

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/slipway-sh/slipway/internal/bundle"
)

// scaling are the values of a cluster with a group that has no machine until a pod asks for
// one. The autoscaler decides in seconds what takes it ten minutes by default.
const scaling = `
controlPlane: {machineCount: 1}
nodeGroups:
  - {name: md-0, machineCount: 1}
  - {name: burst, autoscale: true, machineCountMin: 0, machineCountMax: 2, machineFlavor: m1.medium}
autoscaler:
  extraArgs:
    scan-interval: 5s
    scale-down-unneeded-time: 20s
    scale-down-delay-after-add: 20s
    scale-down-delay-after-delete: 5s
    unremovable-node-recheck-timeout: 20s
    max-node-provision-time: 20m
`

// bursting is a Deployment whose pods need a node of the group each.
const bursting = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: burst}
spec:
  replicas: 1
  selector: {matchLabels: {app: burst}}
  template:
    metadata: {labels: {app: burst}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {capi.stackhpc.com/node-group: burst}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: burst}}}
      containers: [{name: pause, image: "registry.k8s.io/pause:3.10.1", resources: {requests: {cpu: 100m}}}]
`

// TestAutoscaling has Kubernetes' cluster-autoscaler, which you give, make machines of a group
// that has none while pods wait for a node, one more, and no more than its maximum, and delete
// all of them when the pods are gone.
//
// proves: F79
func TestAutoscaling(t *testing.T) {
	program := os.Getenv("SLIPWAY_AUTOSCALER")
	if program == "" {
		t.Skip("SLIPWAY_AUTOSCALER names no program: run make autoscaler-test")
	}
	bundleDir(t)
	if !isolate(t) {
		return
	}
	p := newProject(t)
	p.append(smallManagementCluster)
	p.mirror("--dir", programBundle(t, program, bundle.Item{Name: "cluster-autoscaler", Kind: bundle.Image, Version: "v1.34.0", License: "Apache-2.0", Source: program,
		Ref: "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.0"}))
	p.timed("up", func() { p.up() })
	p.enlargeQuota()
	values := filepath.Join(p.folder, "values.yaml")
	if err := os.WriteFile(values, []byte(scaling), 0o600); err != nil {
		t.Fatal(err)
	}
	p.timed("the cluster", func() { p.do("cluster", "create", "shop", "--wait", "ready", "-f", values) })
	kubeconfig := p.keep(filepath.Join("clusters", "shop.kubeconfig"))
	if now := p.burst(); now != 0 {
		t.Errorf("without a pod the group has %d machines", now)
	}
	apply := func(args ...string) {
		t.Helper()
		if out, err := p.by(kubeconfig, bursting, args...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	p.timed("from none to one", func() {
		apply("apply", "-f", "-")
		p.bursts(kubeconfig, 1)
	})
	p.timed("from one to two", func() {
		apply("scale", "deployment", "burst", "--replicas", "2")
		p.bursts(kubeconfig, 2)
	})
	apply("scale", "deployment", "burst", "--replicas", "3")
	time.Sleep(30 * time.Second) // the autoscaler looks every five
	if now := p.burst(); now != 2 {
		t.Errorf("the maximum is 2, and the group has %d machines", now)
	}
	p.timed("from two to none", func() {
		apply("delete", "deployment", "burst")
		p.eventually("the group is empty", 10*time.Minute, func() (string, bool) {
			now := p.burst()
			return fmt.Sprintf("%d machines", now), now == 0
		})
	})
	p.timed("delete", func() { p.do("cluster", "delete", "shop", "--yes") })
	p.timed("down", func() { p.do("down", "--yes") })
}

// burst is how many servers the group has.
func (p *project) burst() (count int) {
	p.t.Helper()
	for _, server := range p.of("shop-") {
		if strings.Contains(server, "burst") {
			count++
		}
	}
	return count
}

// bursts waits until so many pods run, each on a machine of the group.
func (p *project) bursts(kubeconfig string, want int) {
	p.t.Helper()
	p.eventually("pods run", 15*time.Minute, func() (string, bool) {
		out, err := p.by(kubeconfig, "", "get", "pods", "-l", "app=burst", "--no-headers", "-o", "wide")
		return out, err == nil && strings.Count(out, " Running ") == want
	})
	if now := p.burst(); now != want {
		p.t.Errorf("%d pods run, and the group has %d machines", want, now)
	}
}

// programBundle is a bundle with nothing but an image of one program.
func programBundle(t *testing.T, program string, item bundle.Item) string {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	err = w.WriteHeader(&tar.Header{Name: item.Name, Mode: 0o755, Size: int64(len(text))})
	if err == nil {
		_, err = w.Write(text)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Config.Entrypoint = "linux", "amd64", []string{"/" + item.Name}
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := bundle.Create(filepath.Join(t.TempDir(), item.Name), "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	digest, err := folder.PutImage(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	item.SHA256, item.Size = digest.SHA256, digest.Size
	if err := folder.Record(item); err != nil {
		t.Fatal(err)
	}
	return folder.Dir()
}
