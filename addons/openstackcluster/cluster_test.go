package openstackcluster

import "testing"

// proves: F72
func TestMinimalCluster(t *testing.T) {
	t.Parallel()
	all := render(t)
	want(t, all.get(t, "Cluster"), `{apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: c1-control-plane}`, "spec", "controlPlaneRef")
	cloud := all.get(t, "OpenStackCluster")
	want(t, cloud, `{name: creds, cloudName: openstack}`, "spec", "identityRef")
	want(t, cloud, `{enabled: true, monitor: {delay: 5, timeout: 5, maxRetries: 2, maxRetriesDown: 3}}`, "spec", "apiServerLoadBalancer")
	want(t, cloud, `false`, "spec", "disableAPIServerFloatingIP")
	want(t, cloud, `[{cidr: 192.168.3.0/24}]`, "spec", "managedSubnets")
	want(t, all.get(t, "KubeadmControlPlane control-plane"), `3`, "spec", "replicas")
	want(t, all.get(t, "KubeadmControlPlane control-plane"), `v1.34.4`, "spec", "version")
	want(t, all.get(t, "MachineDeployment md-0"), `3`, "spec", "replicas")
	want(t, all.template(t, "OpenStackMachineTemplate", "md-0").Object,
		`{flavor: m1.large, image: {id: 5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1}}`, "spec", "template", "spec")
	if all["Secret cloud-credentials"] != nil {
		t.Error("a Secret is made, though there is one")
	}
}
