package moving

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	addons "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/process"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// manage makes the management cluster to which Magnum's driver writes: a k3s on a host in the
// cloud's network, with Cluster API and its provider for OpenStack as pods.
func (w *world) manage() {
	w.Helper()
	network, err := w.cloud.Network()
	w.must(err)
	w.wayOut(network)
	w.room = w.newRoom(network)
	folder := w.path("management")
	settings := devstack.Settings{Mode: devstack.K3s, Dir: folder, Bundle: w.bundle, Image: devstack.Image{URL: "none"}}
	w.must(settings.Equip(w.Context(), event.Discard{}))
	w.k3s(settings.K3sProgram(), folder)
	w.installed()
	w.guests(network)
}

// wayOut gives the network a default route, as every host has: k3s asks for one.
func (w *world) wayOut(network string) {
	w.Helper()
	run := func(args ...string) {
		out, err := exec.Command("nsenter", append([]string{"--net=" + network}, args...)...).CombinedOutput()
		if err != nil {
			w.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	run("ip", "route", "add", "default", "via", w.cloud.HostAddress().String())
	w.Cleanup(func() { run("ip", "route", "del", "default") })
}

// k3s starts it as a unit, and waits until it answers here.
func (w *world) k3s(program, folder string) {
	w.Helper()
	address := w.cloud.Address().String()
	w.kubeconfig = w.path("kubeconfig")
	pause, _ := component.Find("pause")
	config, err := yaml.Marshal(map[string]any{
		"data-dir": filepath.Join(folder, "k3s"), "write-kubeconfig": w.kubeconfig, "write-kubeconfig-mode": "0600",
		"node-ip": address, "advertise-address": address, "bind-address": address, "pause-image": pause.Ref, "flannel-backend": "host-gw",
		"disable": []string{"traefik", "servicelb", "local-storage", "metrics-server"}, "disable-helm-controller": true, "disable-network-policy": true, "egress-selector-mode": "disabled",
		// The disk is shared with all that others keep on it.
		"kubelet-arg": []string{"eviction-hard=nodefs.available<1Gi,imagefs.available<1Gi,nodefs.inodesFree<1%,memory.available<100Mi", "image-gc-high-threshold=100"}})
	w.must(err)
	for name, text := range map[string]string{
		"management/k3s.yaml": string(config),
		// Root may not lower the OOM score of a process everywhere.
		"management/k3s/agent/etc/containerd/config-v3.toml.tmpl": "imports = [\"" + filepath.Join(folder, "room.toml") + "\"]\n{{ template \"base\" . }}\n",
		"management/room.toml":       "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\n  restrict_oom_score_adj = true\n",
		"systemd/management.service": fmt.Sprintf("[Service]\nExecStart=%s server --config %s --data-dir %s\nDelegate=yes\nLimitNOFILE=infinity\n", program, filepath.Join(folder, "k3s.yaml"), filepath.Join(folder, "k3s")),
	} {
		w.must(errors.Join(os.MkdirAll(filepath.Dir(w.path(name)), 0o700), os.WriteFile(w.path(name), []byte(text), 0o600)))
	}
	w.room.do("systemctl", "daemon-reload")
	w.room.do("systemctl", "start", "management.service")
	journal := []string{"--no-pager", "--output=cat", "-n", "60", "-u", "management"}
	w.Cleanup(func() {
		if w.Failed() {
			said, err := w.room.command(context.Background(), "journalctl", journal...).CombinedOutput()
			w.Logf("k3s said (%v):\n%s", err, said)
		}
	})
	w.eventually("k3s", func() bool {
		return w.room.command(w.Context(), program, "kubectl", "--kubeconfig", w.kubeconfig, "get", "--raw=/readyz").Run() == nil
	}, func() string {
		return w.room.do(append([]string{"journalctl"}, journal...)...)
	})
}

// installed installs Cluster API as clusterctl would, and the kinds of addons.
func (w *world) installed() {
	w.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", w.kubeconfig)
	w.must(err)
	on, err := kube.New(config)
	w.must(err)
	scheme := runtime.NewScheme()
	w.must(errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	w.kube, err = client.New(config, client.Options{Scheme: scheme})
	w.must(err)
	folder, err := bundle.Open(w.bundle)
	w.must(err)
	installation := clusterctl.Installation{Bundle: folder, Cluster: on, Kubeconfig: w.kubeconfig, Progress: func(string) {}}
	ctx, cancel := context.WithTimeout(w.Context(), 2*patience)
	defer cancel()
	w.must(installation.Run(ctx))
	w.must(installation.Answering(ctx))
	w.must(on.Define(ctx, maps.Clone(addons.Definitions())))
}

// guests starts the program that stands in for what Nova's fake driver does not boot.
func (w *world) guests(network string) {
	w.Helper()
	w.start("guests", exec.Command("nsenter", "--net="+network, "../../../bin/guests", "--kubeconfig", w.kubeconfig))
}

// start starts a program that runs as long as the test. What it said is told if the test failed.
func (w *world) start(name string, cmd *exec.Cmd) *exec.Cmd {
	w.Helper()
	log, err := os.Create(w.path(name + ".log"))
	w.must(err)
	defer log.Close() // the process has its own
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = process.Bound(true)
	w.must(cmd.Start())
	w.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if w.Failed() {
			text, _ := os.ReadFile(w.path(name + ".log"))
			w.Logf("%s said:\n%s", name, text[max(0, len(text)-6000):])
		}
	})
	return cmd
}

// eventually waits until something holds.
func (w *world) eventually(what string, holds func() bool, cause func() string) {
	w.Helper()
	begin := time.Now()
	for ; !holds(); time.Sleep(time.Second) {
		if time.Since(begin) > patience {
			w.Fatalf("timed out: %s\n%s", what, cause())
		}
	}
	w.Logf("%s: after %.0f s", what, time.Since(begin).Seconds())
}

// kubectl asks the management cluster, for who looks for a cause.
func (w *world) kubectl(args ...string) string {
	out, err := w.room.command(context.Background(), w.path("management/bin/k3s"), append([]string{"kubectl", "--kubeconfig", w.kubeconfig}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// objects are Cluster API's, for who looks for a cause.
func (w *world) objects() string {
	return w.kubectl("get", "clusters.cluster.x-k8s.io,openstackclusters,kubeadmcontrolplanes,machinedeployments,machines,openstackmachines", "--all-namespaces", "--output=wide") +
		w.kubectl("--namespace", "capo-system", "logs", "deployment/capo-controller-manager", "--tail=15") +
		w.kubectl("--namespace", "capi-system", "logs", "deployment/capi-controller-manager", "--tail=15") +
		w.kubectl("--namespace", "capi-kubeadm-control-plane-system", "logs", "deployment/capi-kubeadm-control-plane-controller-manager", "--tail=15")
}
