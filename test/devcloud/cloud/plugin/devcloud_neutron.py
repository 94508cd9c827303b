"""Neutron without agents: ports with a host are bound and ACTIVE, so are
routers' ports, trunks and floating IPs. Nothing forwards a packet."""
from neutron.services.l3_router import l3_router_plugin
from neutron.services.trunk.drivers import base as trunk
from neutron_lib.api.definitions import portbindings
from neutron_lib.callbacks import events, registry, resources
from neutron_lib import constants
from neutron_lib.plugins import directory
from neutron_lib.plugins.ml2 import api
from neutron_lib.services.trunk import constants as trunk_constants
from oslo_config import cfg

ROUTER_PORTS = (*constants.ROUTER_INTERFACE_OWNERS,
                constants.DEVICE_OWNER_ROUTER_GW)


class TrunkDriver(trunk.DriverBase):
    @property
    def is_loaded(self):
        return 'devcloud' in cfg.CONF.ml2.mechanism_drivers

    @registry.receives(resources.TRUNK_PLUGIN, [events.AFTER_INIT])
    def register(self, resource, event, trigger, payload=None):
        super().register(resource, event, trigger, payload=payload)
        for kind, moment in ((resources.TRUNK, events.AFTER_CREATE),
                             (resources.SUBPORTS, events.AFTER_CREATE),
                             (resources.SUBPORTS, events.AFTER_DELETE)):
            registry.subscribe(self.activate, kind, moment)

    def activate(self, resource, event, trigger, payload):
        payload.states[0].update(status=trunk_constants.TRUNK_ACTIVE_STATUS)


class MechanismDriver(api.MechanismDriver):
    connectivity = portbindings.CONNECTIVITY_L2

    def initialize(self):
        self.trunks = TrunkDriver(
            'devcloud', (portbindings.VIF_TYPE_OVS,),
            (trunk_constants.SEGMENTATION_TYPE_VLAN,), None,
            can_trunk_bound_port=True)

    def bind_port(self, context):
        segment = context.segments_to_bind[0]
        context.set_binding(
            segment[api.ID], portbindings.VIF_TYPE_OVS,
            {portbindings.CAP_PORT_FILTER: True,
             portbindings.VIF_DETAILS_CONNECTIVITY: self.connectivity},
            constants.PORT_STATUS_ACTIVE)

    def create_port_postcommit(self, context):
        # Ports of routers have no host, so that nothing binds them.
        port = context.current
        if (port['device_owner'] in ROUTER_PORTS
                and port['status'] != constants.PORT_STATUS_ACTIVE):
            directory.get_plugin().update_port_status(
                context.plugin_context, port['id'],
                constants.PORT_STATUS_ACTIVE)

    update_port_postcommit = create_port_postcommit


class RouterPlugin(l3_router_plugin.L3RouterPlugin):
    """Does what an agent reports: a floating IP is ACTIVE while it has a port."""

    def create_floatingip(self, context, floatingip):
        made = super().create_floatingip(context, floatingip)
        return self._report(context, made)

    def update_floatingip(self, context, id, floatingip):
        made = super().update_floatingip(context, id, floatingip)
        return self._report(context, made)

    def _report(self, context, made):
        made['status'] = (constants.FLOATINGIP_STATUS_ACTIVE
                          if made['port_id']
                          else constants.FLOATINGIP_STATUS_DOWN)
        self.update_floatingip_status(context.elevated(), made['id'],
                                      made['status'])
        return made
