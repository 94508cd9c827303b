"""An Octavia provider that builds nothing. What the API leaves PENDING a thread
of its process settles soon after, by the interface that Octavia has for
providers, so that quotas and VIP ports are Octavia's own work."""
import threading
import time

from octavia.api.drivers.driver_agent import driver_updater
from octavia.db import api as database
from octavia.db import models
from octavia_lib.api.drivers import exceptions, provider_base
from oslo_log import log

LOG = log.getLogger(__name__)
KINDS = {'l7rules': models.L7Rule, 'l7policies': models.L7Policy,
         'members': models.Member, 'healthmonitors': models.HealthMonitor,
         'pools': models.Pool, 'listeners': models.Listener,
         'loadbalancers': models.LoadBalancer}
# How long after a call the thread looks: the API commits after it has called
# its provider.
PATIENCE = 20


class Settler:
    def __init__(self):
        self.asked = threading.Event()
        self.lock = threading.Lock()
        self.thread = None

    def ask(self):
        with self.lock:
            if self.thread is None:
                self.thread = threading.Thread(target=self.run, daemon=True)
                self.thread.start()
        self.asked.set()

    def run(self):
        while True:
            self.asked.wait()
            self.asked.clear()
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                time.sleep(0.25)
                try:
                    if self.settle():
                        end = time.monotonic() + PATIENCE
                except Exception:
                    LOG.exception('settling')

    def settle(self):
        session, report = database.get_session(), {}
        with session.begin():
            for kind, model in KINDS.items():
                for row in session.query(model).filter(
                        model.provisioning_status.like('PENDING%')):
                    self.decide(report, kind, row)
        session.close()
        if report:
            answer = driver_updater.DriverUpdater().update_loadbalancer_status(report)
            if answer.get('status_code') != 200:
                LOG.error('settling: %s', answer)
        return bool(report)

    def decide(self, report, kind, row):
        if row.provisioning_status != 'PENDING_DELETE':
            up = 'NO_MONITOR' if kind == 'members' else 'ONLINE'
            self.add(report, kind, row, 'ACTIVE', up if row.enabled else 'OFFLINE')
            return
        for below in self.parts(row) if kind == 'loadbalancers' else ():
            self.add(report, *below, 'DELETED')
        self.add(report, kind, row, 'DELETED')

    def parts(self, balancer):
        """What goes with a load balancer, the innermost first."""
        for listener in balancer.listeners:
            for policy in listener.l7policies:
                yield from (('l7rules', rule) for rule in policy.l7rules)
                yield 'l7policies', policy
            yield 'listeners', listener
        for pool in balancer.pools:
            yield from (('members', member) for member in pool.members)
            if pool.health_monitor:
                yield 'healthmonitors', pool.health_monitor
            yield 'pools', pool

    def add(self, report, kind, row, provisioning, operating=None):
        records = report.setdefault(kind, [])
        if any(r['id'] == row.id for r in records):
            return
        record = {'id': row.id, 'provisioning_status': provisioning}
        if operating:
            record['operating_status'] = operating
        records.append(record)


SETTLER = Settler()


class Provider(provider_base.ProviderDriver):
    def __init__(self):
        super().__init__()
        SETTLER.ask()

    def create_vip_port(self, *args, **kwargs):
        raise exceptions.NotImplementedError()  # then Octavia makes the port

    def get_supported_flavor_metadata(self):
        return {'none': 'takes no settings'}

    def get_supported_availability_zone_metadata(self):
        return {'none': 'takes no settings'}

    def validate_flavor(self, flavor_metadata):
        pass

    def validate_availability_zone(self, availability_zone_metadata):
        pass


def _ask(self, *args, **kwargs):
    SETTLER.ask()


for _name in dir(provider_base.ProviderDriver):
    if _name.startswith(('loadbalancer_', 'listener_', 'pool_', 'member_',
                         'health_monitor_', 'l7policy_', 'l7rule_')):
        setattr(Provider, _name, _ask)
