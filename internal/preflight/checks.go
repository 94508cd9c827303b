package preflight

// Check is one check. docs/operations/preflight.md describes each by its id.
type Check struct {
	ID string
	// Asks is the question that the check answers.
	Asks string
	run  func(*run)
}

// Checks lists the checks in the order in which they run: choices that others
// need come first.
func Checks() []Check {
	return []Check{
		{"credential", "Can the operator's credential make an environment, and does it last?", checkCredential},
		{"roles", "Has the operator the roles that the environment's credential is to have?", checkRoles},
		{"tls", "Are the certificates of OpenStack's APIs verified?", checkTLS},
		{"services", "Has the cloud the services that are needed, and do they answer?", checkServices},
		{"clock", "Do the cloud's clock and ours agree?", checkClock},
		{"external-network", "Is there one external network, or the named one?", checkExternalNetwork},
		{"network", "Do the named networks and subnets exist?", checkNetwork},
		{"floating-ip", "Can the seed be reached from outside?", checkFloatingIP},
		{"availability-zone", "Do the named availability zones exist?", checkZones},
		{"flavor", "Is there a flavor that is large enough, or the named one?", checkFlavor},
		{"image", "Is there an active image of the name, and does it fit?", checkImage},
		{"volume-type", "Do the named volume types exist?", checkVolumeTypes},
		{"key-pair", "Does the named key pair exist?", checkKeyPair},
		{"load-balancer", "Has the cloud load balancers for clusters?", checkLoadBalancer},
		{"management-cluster", "Are there flavors, an image and a load balancer for the management cluster?", checkManagement},
		{"name", "Are the names free that things will have?", checkNames},
		{"cidr", "Do the ranges of addresses overlap with others nearby?", checkRanges},
		{"quota", "Is enough quota free?", checkQuota},
		{"bundle", "Is the bundle there and complete?", checkBundle},
		{"mirror", "Do nodes find the images of the bundle before while another one follows it?", checkMirror},
	}
}
