package cloud

import (
	"context"
	"fmt"
)

// machineHost is the hypervisor that boots machines: its name in Nova, and that
// of its chassis in OVN, by which Neutron binds ports.
const machineHost = "compute-1"

// The files of the switch and of OVN's databases.
const (
	switchFile = "/var/lib/devcloud-ovn/switch.db"
	northFile  = "/var/lib/devcloud-ovn/north.db"
	southFile  = "/var/lib/devcloud-ovn/south.db"
)

// machineInfrastructure is the switch, OVN and libvirt. The packages' scripts
// would start them as daemons; here supervisord watches them.
func machineInfrastructure() []service {
	store := func(name, file, socket string) service {
		return service{name: name, command: "ovsdb-server " + file + " --remote=punix:" + socket + " --unixctl=/run/" + name + ".ctl -vconsole:info -vsyslog:off"}
	}
	return []service{
		store("switch-store", switchFile, "/run/openvswitch/db.sock"),
		store("ovn-north", northFile, "/run/ovn/ovnnb_db.sock"),
		store("ovn-south", southFile, "/run/ovn/ovnsb_db.sock"),
		{name: "switch", command: "ovs-vswitchd unix:/run/openvswitch/db.sock --pidfile=/run/openvswitch/ovs-vswitchd.pid -vconsole:info -vsyslog:off"},
		{name: "ovn-northd", command: "ovn-northd --ovnnb-db=unix:/run/ovn/ovnnb_db.sock --ovnsb-db=unix:/run/ovn/ovnsb_db.sock -vconsole:info -vsyslog:off"},
		{name: "ovn-controller", command: "ovn-controller unix:/run/openvswitch/db.sock --pidfile=/run/ovn/ovn-controller.pid -vconsole:info -vsyslog:off"},
		{name: "libvirtd", command: "libvirtd"},
	}
}

// machineServices are what serves machines beside the other APIs.
func machineServices() []service {
	return []service{
		web("nova-metadata", 8775, 2, "--module nova.wsgi.metadata:application", "", "/"),
		{name: "neutron-ovn-maintenance", command: "neutron-ovn-maintenance-worker --config-file /etc/neutron/neutron.conf"},
		{name: "neutron-metadata", command: "neutron-ovn-metadata-agent --config-file /etc/neutron/metadata.conf"},
		{name: "octavia-driver-agent", command: "octavia-driver-agent --config-file /etc/octavia/octavia.conf"},
	}
}

// makeSwitch makes the databases of switch and network, with what the chassis
// is: its packets go through user space, because kernels may lack Open vSwitch.
func (c *Cloud) makeSwitch(ctx context.Context, inside container) error {
	chassis := "ovs-vsctl --no-wait --db=unix:/run/switch.sock -- init" +
		// Without segmentation offload checksums of TCP are wrong on virtual links.
		" -- set Open_vSwitch . other_config:userspace-tso-enable=true" +
		" external-ids:system-id=" + machineHost + " external-ids:hostname=" + machineHost +
		" external-ids:ovn-remote=unix:/run/ovn/ovnsb_db.sock external-ids:ovn-encap-type=geneve external-ids:ovn-encap-ip=127.0.0.1" +
		" external-ids:ovn-bridge-datapath-type=netdev external-ids:ovn-bridge-mappings=public:br-ex external-ids:ovn-cms-options=enable-chassis-as-gw" +
		" -- add-br br-ex -- set bridge br-ex datapath_type=netdev"
	script := "mkdir -p /var/lib/devcloud-ovn && " +
		"ovsdb-tool create " + switchFile + " /usr/share/openvswitch/vswitch.ovsschema && " +
		"ovsdb-tool create " + northFile + " /usr/share/ovn/ovn-nb.ovsschema && " +
		"ovsdb-tool create " + southFile + " /usr/share/ovn/ovn-sb.ovsschema && " +
		"ovsdb-server " + switchFile + " --remote=punix:/run/switch.sock --unixctl=/run/switch.ctl --run='" + chassis + "'"
	return c.logged(inside.command(ctx, "sh", "-c", script), "prepare-switch")
}

// attach gives the cloud's own kernel the external network's gateway, and lets
// it forward: between the host and floating IPs, in the cloud's namespace only. The kernel
// cuts what it sends to the switch into packets: the switch loses those of several segments,
// so that half of all was sent twice, and a host with BBR came down to a packet in ten seconds.
func (c *Cloud) attach(ctx context.Context, inside container) error {
	address := fmt.Sprintf("%s/%d", c.external().Addr().Next(), c.external().Bits())
	script := "ovs-vsctl --timeout=60 wait-until interface br-ex ofport!=[] && ip address replace " + address + " dev br-ex && ip link set br-ex gso_max_segs 1 up && " +
		"sysctl -w net.ipv4.ip_forward=1"
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	return poll(ctx, "the external network", func() error {
		if out, err := inside.command(ctx, "sh", "-c", script).CombinedOutput(); err != nil {
			return fmt.Errorf("joining the external network: %w: %s", err, out)
		}
		return nil
	})
}
