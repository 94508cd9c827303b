package preflight

// Check is one preflight check. docs/operations/preflight.md describes each by its ID.
type Check struct {
	ID string
	// Asks is the question that the check answers.
	Asks string
	run  func(*run)
}

// Checks lists the checks in the order in which they run: those whose choices
// others need come first.
func Checks() []Check {
	return []Check{
		{"credential", "Can your credential create an environment, and is it valid long enough?", checkCredential},
		{"roles", "Do you have the roles that the environment's credential needs?", checkRoles},
		{"tls", "Are the certificates of OpenStack's APIs verified?", checkTLS},
		{"services", "Does the cloud have the required services, and do they answer?", checkServices},
		{"clock", "Does your machine's clock agree with the cloud's?", checkClock},
		{"external-network", "Is there exactly one external network, or the named one?", checkExternalNetwork},
		{"network", "Do the named networks and subnets exist?", checkNetwork},
		{"floating-ip", "Can the seed be reached from outside?", checkFloatingIP},
		{"availability-zone", "Do the named availability zones exist?", checkZones},
		{"local-seed", "Can this machine run the local seed?", checkLocalSeed},
		{"flavor", "Is there a large enough flavor, or the named one?", checkFlavor},
		{"image", "Is there an active image with the name, and is it fit for the seed?", checkImage},
		{"volume-type", "Do the named volume types exist?", checkVolumeTypes},
		{"key-pair", "Does the named key pair exist?", checkKeyPair},
		{"load-balancer", "Does the cloud have load balancers for clusters?", checkLoadBalancer},
		{"management-cluster", "Are there flavors, an image and a load balancer for the management cluster?", checkManagement},
		{CatalogCheck, "Can the Magnum API be in Keystone's catalog?", checkCatalog},
		{"name", "Are the names of the environment's resources free?", checkNames},
		{"cidr", "Do the address ranges overlap with others nearby?", checkRanges},
		{"quota", "Is there enough free quota?", checkQuota},
		{"bundle", "Does the bundle exist, and is it complete?", checkBundle},
		{"mirror", "During an upgrade to another bundle, can nodes get the images of both?", checkMirror},
	}
}
