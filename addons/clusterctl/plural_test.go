package clusterctl_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/cluster-api/util/contract"
)

// regular are kinds of the definitions that clusters get: of Cluster API and its providers, Slipway,
// networks, storage, gateways and certificates.
const regular = `
Addon BGPConfiguration BGPFilter BGPPeer BackingImage BackingImageDataSource BackingImageManager Backup BackupTarget BackupVolume Certificate
CertificateRequest Challenge Cluster ClusterIssuer ClusterResourceSet ClusterResourceSetBinding ClusterTemplate DevCluster DevClusterTemplate
DevMachine DevMachineTemplate DockerCluster DockerClusterTemplate DockerMachine DockerMachinePool DockerMachinePoolTemplate DockerMachineTemplate
Domain ETCDSnapshotFile Engine EngineImage ExtensionConfig FelixConfiguration Flavor FloatingIP GRPCRoute Gateway GlobalNetworkSet Group HTTPRoute
HelmChart HelmChartConfig HelmRelease HostEndpoint IPAMBlock IPAMConfig IPAMHandle IPAddressClaim IPPool IPReservation Image InstanceManager Issuer
KeyPair KubeControllersConfiguration KubeadmConfig KubeadmConfigTemplate KubeadmControlPlane KubeadmControlPlaneTemplate ListenerSet Machine
MachineDeployment MachineDrainRule MachineHealthCheck MachinePool MachineSet Network NetworkSet Node NodeGroup OpenStackCluster
OpenStackClusterTemplate OpenStackFloatingIPPool OpenStackMachine OpenStackMachineTemplate OpenStackServer Order Orphan Port Project Provider Quota
RecurringJob ReferenceGrant Replica Role Router RouterInterface SecurityGroup Server ServerGroup Service Setting ShareManager Snapshot Subnet
SupportBundle SystemBackup SystemRestore TCPRoute TLSRoute Tier UDPRoute VNFInstance VNFOperation VNFPackage VNFSubscription Volume
VolumeGroupSnapshot VolumeGroupSnapshotContent VolumePopulator VolumeSnapshot VolumeSnapshotContent VolumeType XBackend XListenerSet
`

// TestDefinitionsHaveTheNamesOfTheirKinds: Cluster API looks definitions up by the plural of a
// kind, which a small module makes in the place of a large one. The plurals are the large one's.
func TestDefinitionsHaveTheNamesOfTheirKinds(t *testing.T) {
	t.Parallel()
	plurals := map[string]string{
		"AdminNetworkPolicy": "adminnetworkpolicies", "BackendTLSPolicy": "backendtlspolicies", "BaselineAdminNetworkPolicy": "baselineadminnetworkpolicies",
		"Batch": "batches", "BlockAffinity": "blockaffinities", "CalicoNodeStatus": "caliconodestatuses", "ClusterClass": "clusterclasses",
		"ClusterInformation": "clusterinformation", "Endpoints": "endpoints", "Gateway": "gateways", "GatewayClass": "gatewayclasses",
		"GlobalNetworkPolicy": "globalnetworkpolicies", "IPAddress": "ipaddresses", "Ingress": "ingresses",
		"Mesh": "meshes", "Metal3Data": "metal3data", "NetworkPolicy": "networkpolicies",
		"OpenStackClusterIdentity": "openstackclusteridentities", "Prometheus": "prometheuses", "StagedGlobalNetworkPolicy": "stagedglobalnetworkpolicies",
		"StagedKubernetesNetworkPolicy": "stagedkubernetesnetworkpolicies", "StagedNetworkPolicy": "stagednetworkpolicies", "Status": "statuses",
		"StorageClass": "storageclasses", "VolumeGroupSnapshotClass": "volumegroupsnapshotclasses", "VolumeSnapshotClass": "volumesnapshotclasses",
		"XBackendTrafficPolicy": "xbackendtrafficpolicies", "XMesh": "xmeshes",
	}
	for _, kind := range strings.Fields(regular) {
		plurals[kind] = strings.ToLower(kind) + "s"
	}
	for kind, want := range plurals {
		if got := contract.CalculateCRDName("x", kind); got != want+".x" {
			t.Errorf("%s: %s, want %s.x", kind, got, want)
		}
	}
}
