"""Fills a database of Magnum with rows as its API and conductor write them.

    fill.py SQLALCHEMY-URL [CERTIFICATES-FILE]

The schema is what magnum-db-manage made. Columns that a revision has not are left
out. Authorities are made by Magnum's own functions, once: later runs read the
file.
"""
import datetime
import json
import os
import sys

import sqlalchemy as sa

SHOP = "3f1d5a0b7e5c4b7d9d0d6e0b4a7f9c11"
OTHER = "aa1d5a0b7e5c4b7d9d0d6e0b4a7f9c22"
GONE = "dead5a0b7e5c4b7d9d0d6e0b4a7f9c33"
USER = "9a2b7c1d5e6f47e08f1e2d3c4b5a6978"
T = "0b7a9e0c-0d3c-4a51-8a41-00000000000"
C = "6c9f3a52-5c0e-4b9f-9a5c-00000000000"
G = "c6b1d7a4-0f0e-4a80-9d0b-0000000000"
K = "5a1b1f4f-6a2f-4c10-8000-00000000000"


def at(minute):
    return datetime.datetime(2026, 2, 3, 9, minute, 12)


def authorities(path):
    if path and os.path.exists(path):
        return json.load(open(path))
    from magnum.common.x509 import operations
    made = []
    for n in range(3):
        word = "passphrase-%d" % n
        pair = operations.generate_ca_certificate("old-heat", encryption_password=word)
        made.append({"certificate": pair["certificate"].decode(), "private_key": pair["private_key"].decode(), "private_key_passphrase": word})
    if path:
        json.dump(made, open(path, "w"))
    return made


class Filler:
    def __init__(self, url):
        self.engine = sa.create_engine(url)
        self.meta = sa.MetaData()
        self.meta.reflect(self.engine)
        self.next = {}

    def row(self, connection, into, /, **values):
        table = self.meta.tables[into]
        values.setdefault("id", self.next.setdefault(into, 17))
        self.next[into] = values["id"] + 1
        encoded = {}
        for key, value in values.items():
            if key not in table.c:
                continue
            encoded[key] = json.dumps(value) if isinstance(value, (dict, list)) else value
        connection.execute(table.insert().values(**encoded))


def template(f, c, n, name, project=SHOP, **more):
    values = dict(uuid=T + str(n), name=name, project_id=project, user_id=USER, image_id="ubuntu-kube-v1.34.2", flavor_id="m1.large",
                  master_flavor_id="m1.medium", external_network_id="public", network_driver="calico", volume_driver="cinder",
                  dns_nameserver="192.0.2.53,192.0.2.54", coe="kubernetes", cluster_distro="ubuntu", server_type="vm", registry_enabled=False,
                  tls_disabled=False, public=False, hidden=False, master_lb_enabled=True, floating_ip_enabled=True,
                  labels={"auto_healing_enabled": "true", "monitoring_enabled": "false"}, driver="k8s_capi_helm_v1", created_at=at(0))
    values.update(more)
    f.row(c, "cluster_template", **values)


def cluster(f, c, n, name, stack, template, project=SHOP, groups=(), **more):
    values = dict(uuid=C + str(n), name=name, project_id=project, user_id=USER, cluster_template_id=T + str(template), keypair="ops",
                  labels={"auto_healing_enabled": "true", "boot_volume_size": "40", "our_own_label": "it's \"kept\"\\n\u00e9"}, flavor_id="m1.large", master_flavor_id="m1.medium",
                  stack_id=stack, api_address="https://203.0.113.%d:6443" % (20 + n), status="CREATE_COMPLETE", health_status="HEALTHY",
                  health_status_reason={"cluster": "Ready", "infrastructure": "Ready", "controlplane": "Ready", "nodegroup": "Ready"},
                  create_timeout=60, coe_version="v1.34.2", floating_ip_enabled=True, master_lb_enabled=True,
                  ca_cert_ref="http://barbican/v1/containers/1", magnum_cert_ref="http://barbican/v1/containers/2",
                  trust_id="ab" * 16, trustee_user_id="cd" * 16, trustee_username="x", trustee_password="y", created_at=at(n), updated_at=at(20 + n))
    values.update(more)
    f.row(c, "cluster", **values)
    groups = list(groups) or [("default-master", "master", 1, {}), ("default-worker", "worker", 1, {})]
    for i, (group, role, count, extra) in enumerate(groups):
        row = dict(uuid=G + "%d%d" % (n, i), name=group, cluster_id=C + str(n), project_id=project, role=role, node_count=count, min_node_count=0,
                   is_default=group.startswith("default-"), flavor_id="m1.medium" if role == "master" else "m1.large", image_id="ubuntu-kube-v1.34.2",
                   labels=values["labels"], node_addresses=[], stack_id=stack, status=values["status"], node_labels={}, node_taints=[], created_at=at(n))
        row.update(extra)
        f.row(c, "nodegroup", **row)


def main():
    f = Filler(sys.argv[1])
    keys = authorities(sys.argv[2] if len(sys.argv) > 2 else None)
    with f.engine.begin() as c:
        template(f, c, 1, "k8s-1-34", public=True, tags="a,b")
        template(f, c, 2, "old", hidden=True, cluster_distro="fedora-coreos", image_id="fcos-38", network_driver="flannel",
                 driver="k8s_fedora_coreos_v1", master_lb_enabled=False, updated_at=at(5))
        template(f, c, 3, "swarm", project=OTHER, coe="swarm")  # the API answers 500 to its owner
        cluster(f, c, 1, "shop-prod", "shop-prod-k3v9x2m4q7zd", 1, groups=[
            ("default-master", "master", 3, {}), ("default-worker", "worker", 2, {"max_node_count": 5, "min_node_count": 1, "updated_at": at(30)}),
            ("gpu_1", "worker", 1, {"flavor_id": "g1.large", "max_node_count": 3, "node_labels": {"example.org/pool": "gpu"},
                                   "node_taints": [{"key": "gpu", "value": "true", "effect": "NoSchedule"}]})])
        for n, ref in enumerate(("1", "2", "3")):
            f.row(c, "x509keypair", uuid=K + ref, project_id=SHOP, user_id=USER, created_at=at(2), **keys[n])
        cluster(f, c, 2, "old-heat", "7e5c4b7d-9d0d-4e0b-8a7f-9c113f1d5a0b", 2, coe_version="v1.21.11", ca_cert_ref=K + "1", etcd_ca_cert_ref=K + "2",
                front_proxy_ca_cert_ref=K + "3", health_status_reason={"api": "ok", "old-heat-master-0.Ready": "True"}, labels={"kube_tag": "v1.21.11"})
        cluster(f, c, 3, "vex", "kube-abc12", 1, project=OTHER)
        cluster(f, c, 4, "twin", "twin-aaaaaaaaaaaa", 1, project=OTHER)
        cluster(f, c, 5, "twin", "twin-bbbbbbbbbbbb", 1, project=OTHER, status="UPDATE_IN_PROGRESS")
        cluster(f, c, 6, "orphan", "orphan-cccccccccccc", 1, project=GONE)
        cluster(f, c, 7, "half", None, 1, status="CREATE_FAILED", status_reason="Quota exceeded; \"cores\"\nline two\ttab \\ back", api_address=None,
                coe_version=None, health_status=None, health_status_reason={}, updated_at=None)
        f.row(c, "quotas", project_id=SHOP, resource="Cluster", hard_limit=5, created_at=at(1))
        f.row(c, "magnum_service", host="m", binary="magnum-conductor", report_count=1, created_at=at(1))


main()
