package stacks

import "github.com/slipway-sh/slipway/stacks/openstack"

// The steps of an environment in OpenStack. With the environment's name in
// front they are the names of things there, so they never change.
const (
	StepNetwork          = "network"
	StepSubnet           = "subnet"
	StepRouter           = "router"
	StepRouterInterface  = "router-interface"
	StepAccess           = "seed-access"
	StepSSHKey           = "ssh-key"
	StepKeyPair          = "key-pair"
	StepImage            = "seed-image"
	StepNodeImage        = "node-image"
	StepProvisioningPort = "provisioning-port"
	StepPort             = "seed-port"
	StepAddress          = "seed-address"
	StepData             = "seed-data"
	StepCredential       = "credential"
	StepHostKey          = "host-key"
	StepSeed             = "seed"
)

// The steps on the seed.
const (
	// StepLocalSeed is a seed on the operator's machine, with all that runs on it.
	StepLocalSeed  = "local-seed"
	StepK3s        = "k3s"
	StepClusterAPI = "cluster-api"
	// StepControllers are Slipway's own: addon provider and janitor.
	StepControllers = "controllers"
	// StepSeedMonitoring is StepMonitoring without a management cluster. With the same name it
	// would stay on the seed when the environment gets one.
	StepSeedMonitoring = "seed-monitoring"
)

// The steps on, and of, the management cluster.
const (
	StepManagementCluster     = "management-cluster"
	StepManagementReady       = "management-cluster-ready"
	StepManagementClusterAPI  = "management-cluster-api"
	StepManagementControllers = "management-controllers"
	// StepManagementMove is there while the management cluster manages
	// itself: without it the seed does.
	StepManagementMove = "management-move"
	// StepVelero is Velero, if the environment file asks for it.
	StepVelero = "velero"
	// StepMonitoring is Prometheus and what goes with it, if the environment file asks for it.
	StepMonitoring = "monitoring"
	// StepBackupCredential is what the management cluster's own backups log in with.
	StepBackupCredential = "backup-login"
	// StepSeedBackupCredential is what the backups of the seed's datastore log in with.
	StepSeedBackupCredential = "datastore-login"
)

// The steps of the Magnum-compatible API: in OpenStack, then on the management
// cluster, then in the catalog.
const (
	StepMagnumAddress = "magnum-address"
	StepMagnumProject = "magnum-project"
	// StepMagnumUser validates tokens, StepMagnumAdministrator revokes the
	// credentials of clusters that are gone: the API, which tenants reach, has not
	// the right to.
	StepMagnumUser          = "magnum-user"
	StepMagnumAdministrator = "magnum-administrator"
	StepMagnum              = "magnum"
	StepMagnumCatalog       = "magnum-catalog"
	StepMagnumTemplates     = "magnum-templates"
)

// The steps of the tenants' console: in OpenStack, then on the management cluster.
const (
	StepConsoleAddress = "console-address"
	StepConsole        = "console"
)

// Steps lists the steps that make things in OpenStack.
func Steps() []string {
	return []string{StepNetwork, StepSubnet, StepRouter, StepRouterInterface, StepAccess, StepSSHKey, StepKeyPair,
		StepImage, StepNodeImage, StepProvisioningPort, StepPort, StepAddress, StepData, StepCredential, StepBackupCredential, StepSeedBackupCredential, StepHostKey, StepSeed,
		StepMagnumAddress, StepMagnumProject, StepMagnumUser, StepMagnumAdministrator, StepMagnumCatalog, StepConsoleAddress}
}

// Adoptable are the steps whose things may be made by others, with the types of
// the things: what has a name and a mark that can be given later, and is nothing
// but what the environment file says of it.
func Adoptable() map[string]string {
	return map[string]string{StepNetwork: openstack.TypeNetwork, StepSubnet: openstack.TypeSubnet, StepRouter: openstack.TypeRouter,
		StepAccess: openstack.TypeSecurityGroup, StepPort: openstack.TypePort, StepAddress: openstack.TypeFloatingIP, StepData: openstack.TypeVolume}
}
