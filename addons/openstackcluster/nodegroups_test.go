package openstackcluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestGroupOverrides wants what a group says to win, also where it is false, 0,
// empty or null.
//
// proves: F78
func TestGroupOverrides(t *testing.T) {
	t.Parallel()
	all := render(t, `
nodeGroupDefaults:
  failureDomain: az1
  machineRootVolume: {diskSize: 20, volumeType: ssd}
  nodeLabels: {a: b}
  machineMetadata: {a: b}
nodeGroups:
  - {name: plain, machineCount: 1}
  - name: own
    machineCount: 1
    failureDomain: null
    healthCheck: {enabled: false}
    machineRootVolume: {diskSize: 0}
    nodeLabels: {a: null, c: ""}
    machineMetadata: {a: ""}
    nodeDrainTimeout: 0s
    rolloutStrategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 2}}
`)
	plain, own := all.get(t, "MachineDeployment plain"), all.get(t, "MachineDeployment own")
	want(t, plain, `az1`, "spec", "template", "spec", "failureDomain")
	want(t, own, `null`, "spec", "template", "spec", "failureDomain")
	want(t, own, `{maxUnavailable: 0, maxSurge: 2}`, "spec", "rollout", "strategy", "rollingUpdate")
	want(t, own, `{nodeDrainTimeoutSeconds: 0, nodeVolumeDetachTimeoutSeconds: 300, nodeDeletionTimeoutSeconds: 300}`, "spec", "template", "spec", "deletion")
	all.get(t, "MachineHealthCheck plain")
	if all["MachineHealthCheck own"] != nil {
		t.Error("a health check is there that the group switched off")
	}
	machine := all.template(t, "OpenStackMachineTemplate", "own").Object
	want(t, machine, `null`, "spec", "template", "spec", "rootVolume")
	want(t, machine, `[{key: a, value: ""}]`, "spec", "template", "spec", "serverMetadata")
	labels := arguments(at(all.template(t, "KubeadmConfigTemplate", "own").Object,
		"spec", "template", "spec", "joinConfiguration", "nodeRegistration", "kubeletExtraArgs"))
	if !slices.Contains(labels, "node-labels=c=,capi.stackhpc.com/node-group=own") {
		t.Errorf("arguments %q", labels)
	}
}

// TestMetadata is of each group alone, in whatever order groups are.
//
// proves: F93, S-63
func TestMetadata(t *testing.T) {
	t.Parallel()
	groups := []string{`{name: one, machineCount: 1, machineMetadata: {group: one, only: here}}`, `{name: two, machineCount: 1}`}
	for _, order := range []string{groups[0] + "," + groups[1], groups[1] + "," + groups[0]} {
		all := render(t, `{machineMetadata: {owner: me}, controlPlane: {machineMetadata: {role: cp}}, nodeGroups: [`+order+`]}`)
		for group, pairs := range map[string]string{
			"control-plane": `[{key: owner, value: me}, {key: role, value: cp}]`,
			"one":           `[{key: group, value: one}, {key: only, value: here}, {key: owner, value: me}]`,
			"two":           `[{key: owner, value: me}]`,
		} {
			want(t, all.template(t, "OpenStackMachineTemplate", group).Object, pairs, "spec", "template", "spec", "serverMetadata")
		}
	}
}

// TestServerGroups takes a group by id or name, or asks for one to be made.
//
// proves: F93
func TestServerGroups(t *testing.T) {
	t.Parallel()
	all := render(t, `
controlPlane: {serverGroup: {policy: soft-anti-affinity}}
nodeGroups:
  - {name: by-id, machineCount: 1, serverGroupId: 4f8d3f9e-8f63-4a69-8c6e-7d4c2f0b7d11, serverGroup: {policy: affinity}}
  - {name: by-name, machineCount: 1, serverGroup: {name: shared}}
  - {name: none, machineCount: 1}
`)
	made := all.get(t, "ServerGroup control-plane")
	want(t, made, `{name: k8s-default-c1-control-plane, policy: soft-anti-affinity}`, "spec", "resource")
	want(t, made, `{cloudName: openstack, secretName: creds}`, "spec", "cloudCredentialsRef")
	for group, ref := range map[string]string{
		"control-plane": `{filter: {name: k8s-default-c1-control-plane}}`,
		"by-id":         `{id: 4f8d3f9e-8f63-4a69-8c6e-7d4c2f0b7d11}`,
		"by-name":       `{filter: {name: shared}}`,
		"none":          `null`,
	} {
		want(t, all.template(t, "OpenStackMachineTemplate", group).Object, ref, "spec", "template", "spec", "serverGroup")
	}
	if all["ServerGroup by-id"] != nil || all["ServerGroup by-name"] != nil {
		t.Error("a server group is made that is there")
	}
}

// TestVersionsAndImages are of the role if it has its own, else the cluster's.
//
// proves: F73
func TestVersionsAndImages(t *testing.T) {
	t.Parallel()
	all := render(t, `
controlPlane: {kubernetesVersion: v1.34.5, machineImage: "cp-{{ .Values.kubernetesVersion }}"}
nodeGroups: [{name: own, machineCount: 1, kubernetesVersion: 1.33.1, machineImageId: 11111111-2222-3333-4444-555555555555}, {name: plain, machineCount: 1}]
`)
	want(t, all.get(t, "KubeadmControlPlane control-plane"), `v1.34.5`, "spec", "version")
	want(t, all.get(t, "MachineDeployment own"), `v1.33.1`, "spec", "template", "spec", "version")
	want(t, all.get(t, "MachineDeployment plain"), `v1.34.4`, "spec", "template", "spec", "version")
	for group, image := range map[string]string{
		"control-plane": `{filter: {name: cp-1.34.4}}`,
		"own":           `{id: 11111111-2222-3333-4444-555555555555}`,
		"plain":         `{id: 5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1}`,
	} {
		want(t, all.template(t, "OpenStackMachineTemplate", group).Object, image, "spec", "template", "spec", "image")
	}
}

// TestVolumes have size, type and zone.
func TestVolumes(t *testing.T) {
	t.Parallel()
	all := render(t, `
nodeGroupDefaults:
  machineRootVolume: {diskSize: 100, volumeType: ssd, availabilityZone: az1}
  additionalBlockDevices: {data: {size: 50, volumeType: hdd}, scratch: {size: 10, type: Local}}
`)
	spec := all.template(t, "OpenStackMachineTemplate", "md-0").Object
	want(t, spec, `{sizeGiB: 100, type: ssd, availabilityZone: {from: Name, name: az1}}`, "spec", "template", "spec", "rootVolume")
	want(t, spec, `
- {name: data, sizeGiB: 50, storage: {type: Volume, volume: {type: hdd, availabilityZone: {from: Machine}}}}
- {name: scratch, sizeGiB: 10, storage: {type: Local}}
`, "spec", "template", "spec", "additionalBlockDevices")
	refuse(t, `nodeGroupDefaults: {additionalBlockDevices: {data: {}}}`, "size is required")
}

// TestHealthChecks have Cluster API's two spellings.
func TestHealthChecks(t *testing.T) {
	t.Parallel()
	all := render(t)
	ready := `{nodeStartupTimeoutSeconds: 1800, unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}, {type: Ready, status: "False", timeoutSeconds: 300}]}`
	want(t, all.get(t, "MachineHealthCheck md-0"), ready, "spec", "checks")
	want(t, all.get(t, "MachineHealthCheck md-0"), `{triggerIf: {unhealthyLessThanOrEqualTo: 100%}}`, "spec", "remediation")
	want(t, all.get(t, "MachineHealthCheck control-plane"), ready, "spec", "checks")
	want(t, all.get(t, "MachineHealthCheck control-plane"), `{triggerIf: {unhealthyLessThanOrEqualTo: 1}}`, "spec", "remediation")
	want(t, all.get(t, "MachineHealthCheck control-plane"), `{capi.stackhpc.com/cluster: c1, capi.stackhpc.com/component: control-plane}`, "spec", "selector", "matchLabels")

	other := render(t, `
controlPlane: {healthCheck: {spec: {unhealthyRange: "[1-2]", nodeStartupTimeout: 10m}}}
nodeGroupDefaults:
  healthCheck:
    spec:
      maxUnhealthy: null
      unhealthyConditions: null
      checks: {unhealthyNodeConditions: [{type: DiskPressure, status: "True", timeoutSeconds: 60}]}
      remediation: {triggerIf: {unhealthyLessThanOrEqualTo: 2}}
`)
	want(t, other.get(t, "MachineHealthCheck control-plane"), `{triggerIf: {unhealthyInRange: "[1-2]"}}`, "spec", "remediation")
	want(t, other.get(t, "MachineHealthCheck control-plane"), `600`, "spec", "checks", "nodeStartupTimeoutSeconds")
	want(t, other.get(t, "MachineHealthCheck md-0"), `[{type: DiskPressure, status: "True", timeoutSeconds: 60}]`, "spec", "checks", "unhealthyNodeConditions")
	want(t, other.get(t, "MachineHealthCheck md-0"), `2`, "spec", "remediation", "triggerIf", "unhealthyLessThanOrEqualTo")
	if off := render(t, `controlPlane: {healthCheck: {enabled: false}}`); off["MachineHealthCheck control-plane"] != nil {
		t.Error("the control plane has a health check that is off")
	}
}

// TestAutoscaling sizes groups by annotations, and tells what is not there yet.
func TestAutoscaling(t *testing.T) {
	t.Parallel()
	all := render(t, `
nodeGroups:
  - name: gpu
    autoscale: true
    machineCountMin: 0
    machineCountMax: 4
    capacity: {memory: 16G, gpuCount: 1}
    nodeLabels: {tier: gpu}
    nodeTaints: [{key: gpu, value: "yes", effect: NoSchedule}]
  - {name: string, autoscale: "true", machineCountMin: 1, machineCountMax: 3, machineCount: 2}
  - {name: not, autoscale: "false", machineCount: 2}
`)
	group := all.get(t, "MachineDeployment gpu")
	want(t, group, `null`, "spec", "replicas")
	want(t, group, `
cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "0"
cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "4"
capacity.cluster-autoscaler.kubernetes.io/labels: capi.stackhpc.com/node-group=gpu,tier=gpu
capacity.cluster-autoscaler.kubernetes.io/taints: gpu=yes:NoSchedule
capacity.cluster-autoscaler.kubernetes.io/memory: 16G
capacity.cluster-autoscaler.kubernetes.io/gpu-count: "1"
`, "metadata", "annotations")
	want(t, all.get(t, "MachineDeployment string"), `null`, "spec", "replicas")
	want(t, all.get(t, "MachineDeployment not"), `2`, "spec", "replicas")
	want(t, all.get(t, "MachineDeployment not"), `null`, "metadata", "annotations")
	want(t, all.get(t, "Role autoscaler"), `{apiGroups: [infrastructure.cluster.x-k8s.io], resources: [openstackmachinetemplates], verbs: [get, list, watch]}`, "rules", 2)
	refuse(t, `nodeGroups: [{name: bad, autoscale: true, machineCountMin: 3, machineCountMax: 1}]`, "machineCountMin is greater")
	refuse(t, `nodeGroups: [{name: bad, autoscale: true, machineCountMax: 1}]`, "needs machineCountMin and machineCountMax")
}

// TestAutoscaler runs only where a group scales, in the minor version of Kubernetes.
//
// proves: F80
func TestAutoscaler(t *testing.T) {
	t.Parallel()
	for name := range render(t) {
		if name == "Deployment autoscaler" || name == "Role autoscaler" || name == "ServiceAccount autoscaler" {
			t.Errorf("%s without a group that scales", name)
		}
	}
	const scaled = `nodeGroups: [{name: one, autoscale: true, machineCountMin: 1, machineCountMax: 3}]`
	for version, image := range map[string]string{"1.34.4": "v1.34.0", "v1.33.9": "v1.33.0"} {
		all := render(t, scaled, `kubernetesVersion: `+version)
		container := at(all.get(t, "Deployment autoscaler"), "spec", "template", "spec", "containers", 0)
		want(t, container, `registry.k8s.io/autoscaling/cluster-autoscaler:`+image, "image")
		command, _ := at(container, "command").([]any)
		if !slices.Contains(command, any("--node-group-auto-discovery=clusterapi:namespace=default,clusterName=c1")) {
			t.Errorf("command %v", command)
		}
	}
	all := render(t, scaled, `autoscaler: {image: {tag: v9.9.9}, extraArgs: {v: null, scan-interval: 30s}}`)
	container := at(all.get(t, "Deployment autoscaler"), "spec", "template", "spec", "containers", 0)
	want(t, container, `registry.k8s.io/autoscaling/cluster-autoscaler:v9.9.9`, "image")
	want(t, all.get(t, "Deployment autoscaler"), `{name: kubeconfig, secret: {secretName: c1-kubeconfig, defaultMode: 292}}`, "spec", "template", "spec", "volumes", 0)
}

// TestNodeGroupMistakes stops where the API server would only tell later.
func TestNodeGroupMistakes(t *testing.T) {
	t.Parallel()
	refuse(t, `nodeGroups: [{name: md-0, machineCount: 1}, {name: md-0, machineCount: 2}]`, "md-0", "twice")
	refuse(t, `nodeGroups: [{name: A, machineCount: 1}]`, "nodeGroups")
	refuse(t, `nodeGroups: [{name: one}]`, "machineCount is required")
	refuse(t, `nodeGroupDefaults: {machineFlavor: null}`, "nodeGroups[md-0].machineFlavor is required")
	refuse(t, `machineImageId: null`, "machineImageId or machineImage is required")
	refuse(t, `kubernetesVersion: null`, "kubernetesVersion is required")
}

// TestManyGroups have each their own flavor, zone, labels, taints, volume and limits.
//
// proves: S-61, S-62
func TestManyGroups(t *testing.T) {
	t.Parallel()
	var groups []string
	zones := []string{"one", "two", "three"}
	for n := range 20 {
		groups = append(groups, fmt.Sprintf(`{name: group-%d, autoscale: true, machineCountMin: %d, machineCountMax: %d, machineFlavor: flavor-%d, failureDomain: %s, nodeLabels: {number: "%d"},
  nodeTaints: [{key: k%d, effect: NoSchedule}], machineRootVolume: {diskSize: 20, availabilityZone: vol-%s}}`, n, n+1, n+5, n, zones[n%3], n, n, zones[n%3]))
	}
	all := render(t, `{controlPlane: {omitFailureDomain: false, failureDomains: [one, two, three]}, nodeGroups: [`+strings.Join(groups, ",\n")+`]}`)
	want(t, all.get(t, "OpenStackCluster"), `[one, two, three]`, "spec", "controlPlaneAvailabilityZones")
	want(t, all.get(t, "OpenStackCluster"), `null`, "spec", "controlPlaneOmitAvailabilityZone")
	for n := range 20 {
		name, zone := fmt.Sprintf("group-%d", n), zones[n%3]
		group := all.get(t, "MachineDeployment "+name)
		want(t, group, zone, "spec", "template", "spec", "failureDomain")
		want(t, group, fmt.Sprintf(`"%d"`, n+1), "metadata", "annotations", "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size")
		want(t, group, fmt.Sprintf(`"%d"`, n+5), "metadata", "annotations", "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size")
		machine := all.template(t, "OpenStackMachineTemplate", name).Object
		want(t, machine, fmt.Sprintf("flavor-%d", n), "spec", "template", "spec", "flavor")
		want(t, machine, `{from: Name, name: vol-`+zone+`}`, "spec", "template", "spec", "rootVolume", "availabilityZone")
		want(t, all.worker(t, name), fmt.Sprintf(`[{key: k%d, effect: NoSchedule}]`, n), "joinConfiguration", "nodeRegistration", "taints")
		labels := arguments(at(all.worker(t, name), "joinConfiguration", "nodeRegistration", "kubeletExtraArgs"))
		if !slices.ContainsFunc(labels, func(a string) bool {
			return strings.HasPrefix(a, "node-labels=") && strings.Contains(a, fmt.Sprintf("number=%d", n))
		}) {
			t.Errorf("%s: arguments %q", name, labels)
		}
	}
}
