package cloud

// horizonPort is the ordinary one of HTTP: browsers find the dashboard at the cloud's address.
const horizonPort = 80

// dashboard is Horizon, and Heat: Magnum's panels ask it for the nodes of a cluster before
// they resize one, and take its word that there is no such stack.
func dashboard() []service {
	horizon := web("horizon", horizonPort, 4, "--wsgi-file /usr/share/openstack-dashboard/wsgi.py --static-map /static=/var/lib/openstack-dashboard/static", "", "/auth/login/")
	return []service{
		web("heat-api", 8004, 2, "--module heat.wsgi.api:application", "/etc/heat/heat.conf", "/"),
		worker("heat-engine", "heat.cmd.engine", "/etc/heat/heat.conf"),
		horizon,
	}
}

// Dashboard is where Horizon is.
func (c *Cloud) Dashboard() string { return "http://" + c.Address().String() }
