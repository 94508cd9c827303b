package faults

import (
	"time"

	"github.com/slipway-sh/slipway/internal/cause"
)

// booting is the worker whose server runs and is no node.
const booting = `
kind: Machine
metadata: {name: shop-w1}
spec: {providerID: "openstack:///w1"}
status: {phase: Provisioned, conditions: [{type: Ready, status: "False", reason: NotReady, message: "* NodeHealthy: Waiting for a Node with spec.providerID openstack:///w1 to exist"},
  {type: NodeHealthy, status: "Unknown", reason: InspectionFailed, message: "Waiting for a Node with spec.providerID openstack:///w1 to exist"}]}
`

// console is a cloud whose worker's server runs and wrote lines.
func console(lines string) *cause.Cloud {
	return &cause.Cloud{Servers: []cause.Server{{ID: "w1", Name: "shop-w1", Status: "ACTIVE", Created: asked.Add(-time.Hour), Console: lines}}}
}

func bootCases() []planted {
	return []planted{
		{fault: "kernel panic", reason: "kernel-panic", object: "server shop-w1", objects: booting, said: console("[    1.92] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\n")},
		{fault: "system in emergency mode", reason: "boot-failed", object: "server shop-w1", objects: booting, said: console("[    9.1] systemd[1]: Failed to mount /var/lib/etcd.\nYou are in emergency mode. After logging in, type \"journalctl -xb\"\n")},
		{fault: "metadata unreachable", reason: "metadata-unreachable", object: "server shop-w1", objects: booting,
			said: console("[   61.2] cloud-init[512]: url_helper.py[WARNING]: Calling 'http://169.254.169.254/openstack' failed [50/-1s]: request error [timed out]\n")},
		{fault: "kubeadm preflight", reason: "kubeadm-preflight", object: "server shop-w1", objects: booting, said: console("cloud-init[197]: \t[ERROR NumCPU]: the number of available CPUs 1 is less than the required 2\n")},
		{fault: "kubelet of another version", reason: "kubeadm-preflight", object: "server shop-w1", objects: booting,
			said: console("cloud-init[197]: \t[ERROR KubeletVersion]: the kubelet version is higher than the control plane version. This is not a supported version skew\n")},
		{fault: "disk full while a machine boots", reason: "disk-full", object: "server shop-w1", objects: booting, said: console("containerd[402]: write /var/lib/containerd/x: No space left on device\n")},
		{fault: "machine that says nothing", reason: "machine-no-node", object: "server shop-w1", objects: booting, said: console("login:\n")},
		{fault: "kubeadm fails", reason: "kubeadm-failed", object: "server shop-w1", objects: booting, said: console("cloud-init[197]: error execution phase kubelet-start: timed out waiting for the condition\n")},
		{fault: "script of cloud-init fails", reason: "cloud-init-failed", object: "server shop-w1", objects: booting, said: console("cc_scripts_user.py[WARNING]: Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)\n")},
	}
}
