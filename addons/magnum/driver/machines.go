package driver

import (
	"strings"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// controlPlane is everything of the group default-master.
func (b *builder) controlPlane() {
	machine := b.machine(b.labels, b.Cluster.Spec.DockerVolumeSize)
	flavor := first(b.Cluster.Spec.MasterFlavorID, b.template().MasterFlavorID)
	if master := b.master(); master != nil {
		flavor = first(master.Spec.FlavorID, flavor)
		if len(master.Spec.NodeLabels) > 0 {
			machine["nodeLabels"] = texts(master.Spec.NodeLabels)
		}
	}
	if flavor == "" {
		b.refuse("master_flavor_id", errNoFlavor, "set master_flavor_id on the cluster or the template")
	}
	machine["machineFlavor"] = flavor
	machine["machineCount"] = int64(b.masters())
	if zones := b.labels.list("control_plane_availability_zones"); len(zones) > 0 {
		machine["failureDomains"], machine["omitFailureDomain"] = anys(zones), false
	}
	b.set("controlPlane", map[string]any(machine))
	b.kubeadm()
	b.etcd()
}

func (b *builder) master() *v1alpha1.NodeGroup {
	for _, g := range b.Groups {
		if g.Spec.Role == v1alpha1.RoleMaster {
			return g
		}
	}
	return nil
}

// machine is what control planes and workers have in common.
func (b *builder) machine(l *labels, containers int32) tree {
	machine := tree{}
	machine.set("healthCheck.enabled", l.boolean(true, "auto_healing_enabled"))
	rootVolume(machine, l)
	if policy := l.policy(); policy != "" {
		machine.set("serverGroup.policy", policy)
	}
	if containers > 0 {
		containerVolume(machine, int64(containers), l.text("", "docker_volume_type"))
	}
	return machine
}

// rootVolume is the disk machines boot from; size 0 is the flavor's.
func rootVolume(machine tree, l *labels) {
	machine.set("machineRootVolume.diskSize", nil)
	if size := l.integer(0, "boot_volume_size"); size > 0 {
		machine.set("machineRootVolume.diskSize", int64(size))
	}
	if kind := l.text("", "boot_volume_type"); kind != "" {
		machine.set("machineRootVolume.volumeType", kind)
	}
	if zone := l.text("", "boot_volume_availability_zone"); zone != "" {
		machine.set("machineRootVolume.availabilityZone", zone)
	}
}

// containerVolume puts the images and layers of containers on a volume of their
// own. The image's udev rules name it, as those of etcd's.
func containerVolume(machine tree, size int64, kind string) {
	device := map[string]any{"size": size, "type": "Volume"}
	if kind != "" {
		device["volumeType"] = kind
	}
	machine.set("additionalBlockDevices.containers", device)
	machine.set("kubeadmConfigSpec.diskSetup.filesystems", []any{map[string]any{
		"device": "/dev/disk/openstack/by-tag/containers", "filesystem": "ext4", "label": "containers"}})
	machine.set("kubeadmConfigSpec.mounts", []any{[]any{"LABEL=containers", "/var/lib/containerd"}})
	// containerd started on the image's own folder before it was mounted over.
	machine.set("kubeadmConfigSpec.preKubeadmCommands", []any{"systemctl restart containerd"})
}

// etcd is etcd's own disk; size 0 is none.
func (b *builder) etcd() {
	size := b.labels.integer(0, "etcd_blockdevice_size", "etcd_volume_size")
	kind := b.labels.text("volume", "etcd_blockdevice_type")
	volume := b.labels.text("", "etcd_blockdevice_volume_type", "etcd_volume_type")
	zone := b.labels.text("", "etcd_blockdevice_volume_az")
	if size == 0 {
		return
	}
	device := map[string]any{"size": int64(size), "type": "Volume"}
	if strings.EqualFold(kind, "local") {
		device["type"] = "Local"
	}
	if volume != "" {
		device["volumeType"] = volume
	}
	if zone != "" {
		device["availabilityZone"] = zone
	}
	b.set("etcd.blockDevice", device)
}

// kubeadm is what is set on the API server and kubelets only where a label asks
// for it, so that clusters without those labels are not made anew.
func (b *builder) kubeadm() {
	const api = "controlPlane.kubeadmConfigSpec.clusterConfiguration.apiServer."
	if sans := b.labels.list("api_server_cert_sans"); len(sans) > 0 {
		b.set(api+"certSANs", anys(sans))
	}
	if suites := b.labels.list("api_server_tls_cipher_suites"); len(suites) > 0 {
		b.set(api+"extraArgs.tls-cipher-suites", strings.Join(suites, ","))
	}
	if plugins := b.labels.list("admission_control_list"); len(plugins) > 0 {
		b.set(api+"extraArgs.enable-admission-plugins", strings.Join(append([]string{"NodeRestriction"}, plugins...), ","))
	}
	if suites := b.labels.list("kubelet_tls_cipher_suites"); len(suites) > 0 {
		for _, configuration := range []string{"controlPlane.kubeadmConfigSpec.initConfiguration", "controlPlane.kubeadmConfigSpec.joinConfiguration"} {
			b.set(configuration+".nodeRegistration.kubeletExtraArgs.tls-cipher-suites", strings.Join(suites, ","))
		}
	}
	if prefix := strings.TrimSuffix(b.labels.free("container_infra_prefix"), "/"); prefix != "" {
		b.set("controlPlane.kubeadmConfigSpec.clusterConfiguration.imageRepository", prefix)
	}
	b.audit(api)
}

// auditPolicy leaves out what only fills the log.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    users: [system:kube-proxy, system:apiserver]
    verbs: [get, watch, list]
  - level: None
    nonResourceURLs: ["/healthz*", "/livez*", "/readyz*", /version, "/openapi*"]
  - level: Metadata
`

func (b *builder) audit(api string) {
	age, backup, size := b.labels.integer(30, "audit_log_max_age"), b.labels.integer(10, "audit_log_max_backup"), b.labels.integer(100, "audit_log_max_size")
	if !b.labels.boolean(false, "audit_log_enabled") {
		return
	}
	const policy, logs = "/etc/kubernetes/audit", "/var/log/kubernetes/audit"
	for name, value := range map[string]any{"audit-policy-file": policy + "/policy.yaml", "audit-log-path": logs + "/audit.log",
		"audit-log-maxage": itoa(age), "audit-log-maxbackup": itoa(backup), "audit-log-maxsize": itoa(size)} {
		b.set(api+"extraArgs."+name, value)
	}
	b.set(api+"extraVolumes", []any{
		map[string]any{"name": "audit-policy", "hostPath": policy, "mountPath": policy, "readOnly": true, "pathType": "DirectoryOrCreate"},
		map[string]any{"name": "audit-log", "hostPath": logs, "mountPath": logs, "pathType": "DirectoryOrCreate"},
	})
	b.set("controlPlane.kubeadmConfigSpec.files", []any{map[string]any{"path": policy + "/policy.yaml", "owner": "root:root", "permissions": "0600", "content": auditPolicy}})
}
