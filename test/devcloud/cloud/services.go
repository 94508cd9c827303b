package cloud

import "strings"

// service is a process of the cloud.
type service struct {
	name, command string
	// environment is what it needs besides that of all.
	environment map[string]string
	// port is where it listens; 0 for those that only take from the queue.
	port int
	// ready is a path that is answered below 400 when it serves; empty means
	// that an open port is enough.
	ready string
}

// hosts are the hypervisors: three, so that servers can keep apart, or one that
// boots machines.
func (c *Cloud) hosts() []string {
	if c.Machines {
		return []string{machineHost}
	}
	return []string{"compute-1", "compute-2", "compute-3"}
}

// infrastructure comes before all else; the database is the first.
func (c *Cloud) infrastructure() []service {
	all := []service{
		{name: "mariadb", command: "eatmydata mariadbd --defaults-file=/etc/devcloud/mariadb.cnf", port: 3306},
		{name: "memcached", command: "memcached -l {address} -p 11211 -m 64 -u nobody -U 0", port: 11211},
		{name: "rabbitmq", command: "/usr/lib/rabbitmq/bin/rabbitmq-server", port: 5672, environment: map[string]string{
			"HOME": "/var/lib/devcloud-rabbitmq", "RABBITMQ_MNESIA_BASE": "/var/lib/devcloud-rabbitmq", "RABBITMQ_LOG_BASE": "/var/log/devcloud",
			// A scheduler of Erlang that waits without spinning.
			"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none"}},
	}
	if c.Machines {
		all = append(all, machineInfrastructure()...)
	}
	return all
}

// identity comes before what logs in. It has one thread: with four, users were
// now and then given roles of another caller.
func identity() service {
	return web("keystone", 5000, 1, "--module keystone.wsgi.api:application", "", "/v3")
}

// apis are the rest, with their workers. What is built on eventlet has one thread.
func (c *Cloud) apis() []service {
	all := []service{
		web("placement", 8778, 2, "--module placement.wsgi.api:application", "", "/"),
		web("glance-api", 9292, 2, "--wsgi-file /usr/bin/glance-wsgi-api", "/etc/glance/glance-api.conf", "/healthcheck"),
		web("nova-api", 8774, 1, "--module nova.wsgi.osapi_compute:application", "", "/"),
		web("neutron-api", 9696, 1, "--module neutron.wsgi.api:application", "/etc/neutron/neutron.conf", "/"),
		web("cinder-api", 8776, 1, "--module cinder.wsgi.api:application", "/etc/cinder/cinder.conf", "/"),
		web("octavia-api", 9876, 4, "--wsgi-file /usr/bin/octavia-wsgi", "/etc/octavia/octavia.conf", "/"),
		web("barbican-api", 9311, 2, "--wsgi-file /usr/bin/barbican-wsgi-api", "", "/"),
		web("magnum-api", 9511, 4, "--wsgi-file /usr/bin/magnum-api-wsgi", "/etc/magnum/magnum.conf", "/"),
		worker("nova-conductor", "nova.cmd.conductor", "/etc/nova/nova.conf"),
		worker("nova-scheduler", "nova.cmd.scheduler", "/etc/nova/nova.conf"),
		worker("cinder-scheduler", "cinder.cmd.scheduler", "/etc/cinder/cinder.conf"),
		worker("cinder-volume", "cinder.cmd.volume", "/etc/cinder/cinder.conf"),
		worker("magnum-conductor", "magnum.cmd.conductor", "/etc/magnum/magnum.conf"),
	}
	all = append(all, objectStore()...)
	for _, host := range c.hosts() {
		all = append(all, worker("nova-"+host, "nova.cmd.compute", "/etc/nova/nova-compute.conf", "/etc/nova/"+host+".conf"))
	}
	if c.Machines {
		all = append(all, machineServices()...)
	}
	if c.Horizon {
		all = append(all, dashboard()...)
	}
	if c.Tacker != "" {
		all = append(all, orchestrator()...)
	}
	return all
}

// web is an API in a process of uwsgi. Connections end with each answer: uwsgi
// closes them anyway, and clients would send calls into that.
func web(name string, port, threads int, application, config, ready string) service {
	command := "uwsgi_python3 --http-socket {address}:{port} " + application +
		" --threads {threads} --enable-threads --need-app --die-on-term --buffer-size 65535 --disable-logging --add-header 'Connection: close' --listen 100"
	if config != "" {
		command += " --pyargv '--config-file " + config + "'"
	}
	folder := strings.TrimSuffix(name, "-api")
	return service{name: name, port: port, ready: ready, command: fill(command, map[string]any{"port": port, "threads": threads}),
		environment: map[string]string{"OS_" + strings.ToUpper(folder) + "_CONFIG_DIR": "/etc/" + folder + "/"}}
}

// worker is a process without an API.
func worker(name, module string, configs ...string) service {
	command := `python3 -c 'import sys; sys.argv[0]="` + name + `"; from ` + module + ` import main; sys.exit(main())'`
	for _, c := range configs {
		command += " --config-file " + c
	}
	return service{name: name, command: command}
}
