package stacks

// The outputs of the program that commands read.
const (
	OutputAddress    = "seedAddress"
	OutputServerID   = "seedID"
	OutputUser       = "seedUser"
	OutputHostKey    = "seedHostKey"
	OutputPrivateKey = "seedPrivateKey"
	OutputKubeconfig = "seedKubeconfig"
	// OutputManagementKubeconfig is the management cluster's.
	OutputManagementKubeconfig = "managementKubeconfig"
	// OutputMagnumURL and OutputMagnumAuthority are the Magnum-compatible API's
	// address, and the certificate that clients trust it by.
	OutputMagnumURL       = "magnumURL"
	OutputMagnumAuthority = "magnumAuthority"
	// OutputConsoleURL and OutputConsoleAuthority are the same of the tenants' console.
	OutputConsoleURL       = "consoleURL"
	OutputConsoleAuthority = "consoleAuthority"
)
