package devstack_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// adminFile is where kubeadm, and so the service k8s-capi, leaves the kubeconfig.
const adminFile = "/etc/kubernetes/admin.conf"

// foreign has the host run a cluster of somebody else before stack.sh calls this plugin, as
// devstack-plugin-container's k8s-capi does: its networks, its file, Cluster API with ORC and
// the provider for OpenStack.
func (d *devstackHost) foreign() {
	d.t.Helper()
	d.pods = netip.MustParsePrefix("10.244.0.0/24")
	folder := d.path("somebody")
	settings := devstack.Settings{Mode: devstack.K3s, Dir: folder, Bundle: os.Getenv("SLIPWAY_BUNDLE"), Image: devstack.Image{URL: "none"}}
	d.must(settings.Equip(d.t.Context(), event.Discard{}))
	d.k3s, d.kubeconfig = settings.K3sProgram(), d.path("host"+adminFile)
	d.adapted(folder)
	pause, _ := component.Find("pause")
	d.k3sUnit("foreign", folder, map[string]any{"node-ip": d.site.host, "advertise-address": d.site.host, "bind-address": d.site.host,
		"cluster-cidr": "10.244.0.0/16", "service-cidr": "10.96.0.0/12", "cluster-dns": "10.96.0.10", "pause-image": pause.Ref,
		"flannel-backend": "host-gw", "write-kubeconfig": adminFile, "disable": []string{"traefik", "servicelb", "local-storage", "metrics-server"}})
	d.capi()
}

// opened lets in what the cluster of somebody else needs by itself, as its owner would.
func (d *devstackHost) opened() {
	d.t.Helper()
	d.lets("-p tcp -m conntrack --ctstate ESTABLISHED,RELATED", "-s 10.244.0.0/16 -p tcp --dport 6443", "-s 10.244.0.0/16 -p tcp --dport 10250")
}

// lets has the host let in packets that match, until the test ends.
func (d *devstackHost) lets(matches ...string) {
	d.t.Helper()
	for _, rule := range matches {
		args := strings.Fields("INPUT " + rule + " -j ACCEPT")
		d.inNetwork(append([]string{"iptables", "-w", "-A"}, args...)...)
		d.t.Cleanup(func() { d.inNetwork(append([]string{"iptables", "-w", "-D"}, args...)...) })
	}
}

// k3sUnit starts a k3s with a configuration, and waits for its kubeconfig.
func (d *devstackHost) k3sUnit(name, folder string, config map[string]any) {
	d.t.Helper()
	config["data-dir"], config["write-kubeconfig-mode"] = filepath.Join(folder, "k3s"), "0600"
	config["disable-helm-controller"], config["disable-network-policy"], config["egress-selector-mode"] = true, true, "disabled"
	text, err := yaml.Marshal(config)
	d.must(err)
	d.must(os.MkdirAll(folder, 0o700))
	d.must(os.WriteFile(filepath.Join(folder, "k3s.yaml"), text, 0o600))
	unit := fmt.Sprintf("[Service]\nExecStart=%s server --config %s --data-dir %s\nDelegate=yes\nLimitNOFILE=infinity\n", d.k3s, filepath.Join(folder, "k3s.yaml"), filepath.Join(folder, "k3s"))
	d.must(os.WriteFile(d.path("systemd/"+name+".service"), []byte(unit), 0o600))
	d.do("systemctl", "daemon-reload")
	d.do("systemctl", "start", name+".service")
	d.eventually("k3s of "+name, func() bool {
		ask := d.kubectlWith(config["write-kubeconfig"].(string), "get", "--raw=/readyz")
		return d.room.command(d.t.Context(), ask[0], ask[1:]...).Run() == nil
	}, func() string { return d.do("journalctl", "--no-pager", "--output=cat", "-n", "60", "-u", name) })
}

// capi installs Cluster API as clusterctl would, without an authority of anybody.
func (d *devstackHost) capi() {
	d.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", d.kubeconfig)
	d.must(err)
	on, err := kube.New(config)
	d.must(err)
	folder, err := bundle.Open(os.Getenv("SLIPWAY_BUNDLE"))
	d.must(err)
	installation := clusterctl.Installation{Bundle: folder, Cluster: on, Kubeconfig: d.kubeconfig, Progress: func(string) {}}
	ctx, cancel := context.WithTimeout(d.t.Context(), 2*patience)
	defer cancel()
	d.must(installation.Run(ctx))
	d.must(installation.Answering(ctx))
}

// changing are resources that a cluster writes by itself all the time.
var changing = []string{"events", "leases", "endpoints", "endpointslices", "replicasets", "pods", "controllerrevisions", "componentstatuses", "addons"}

// owned lists the objects of the external cluster, with what says that one is another one, or
// has another specification, or is of another field manager.
func (d *devstackHost) owned() (lines []string) {
	d.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", d.kubeconfig)
	d.must(err)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	d.must(err)
	all, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerPreferredResources()
	d.must(err)
	for _, group := range all {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		d.must(err)
		for _, one := range group.APIResources {
			if !slices.Contains(one.Verbs, "list") || slices.Contains(changing, one.Name) {
				continue
			}
			list, err := client.Resource(version.WithResource(one.Name)).List(d.t.Context(), metav1.ListOptions{})
			d.must(err)
			for _, o := range list.Items {
				lines = append(lines, fmt.Sprintf("%s %s/%s %s %d %v", one.Name, o.GetNamespace(), o.GetName(), o.GetUID(), o.GetGeneration(), o.GetLabels()))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// plugged are what of the plugin is on the host.
func (d *devstackHost) plugged() string {
	d.t.Helper()
	return d.do("/bin/bash", "-c", `
for program in iptables ip6tables; do $program-save | grep slipway-devstack; done
find "$WORK/stack" -type f
for process in /proc/[0-9]*; do readlink "$process/exe"; done | grep -F "$WORK/stack/"
true`)
}

// enclosed writes a file of the room, whose folders are layers.
func (d *devstackHost) enclosed(path string, content []byte) {
	d.t.Helper()
	cmd := d.room.command(d.t.Context(), "/bin/bash", "-c", `umask 077; mkdir -p "$(dirname "$0")"; cat > "$0"`, path)
	cmd.Stdin = bytes.NewReader(content)
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatal(errors.Join(err, errors.New(string(out))))
	}
}

// program takes a program out of an image of the bundle.
func (d *devstackHost) program(image, path string) string {
	d.t.Helper()
	folder, err := bundle.Open(os.Getenv("SLIPWAY_BUNDLE"))
	d.must(err)
	item := folder.Bill().Item(image)
	if item == nil {
		d.t.Fatalf("the bundle has no image %s", image)
	}
	unpacked, err := folder.Image(*item)
	d.must(err)
	made := d.path("programs" + path)
	d.must(os.MkdirAll(filepath.Dir(made), 0o755))
	out, err := os.OpenFile(made, os.O_CREATE|os.O_WRONLY, 0o755)
	d.must(err)
	defer out.Close()
	files := mutate.Extract(unpacked)
	defer files.Close()
	for archive := tar.NewReader(files); ; {
		header, err := archive.Next()
		d.must(err)
		if filepath.Clean("/"+header.Name) == path {
			_, err := io.Copy(out, archive)
			d.must(err)
			return made
		}
	}
}
