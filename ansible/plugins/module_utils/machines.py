# Copyright: Slipway authors
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Reads the machines of an environment out of what slipway prints."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type


def environment_of(status, listed):
    """The seed and the machines, of the JSON of `slipway status` and `slipway cluster list`:
    a dict of environment, seed (None if there is none), machines and warnings. It has no
    secrets, and is what a cache keeps."""
    name = status["environment"]
    facts = dict(environment=name, seed=seed_of(status), machines=[], warnings=[])
    if not status.get("resources"):
        facts["warnings"].append("environment %s has no machines: slipway up creates it" % name)
    if status.get("unreachable"):
        facts["warnings"].append("the machines of the clusters of environment %s are unknown: %s" % (name, status["unreachable"]))
    summaries = dict(((one["namespace"], one["name"]), one) for one in listed)
    found = {}
    for cluster in status.get("clusters") or []:
        # A cluster that is being moved is on both; the management cluster has the last word.
        found[(cluster["namespace"], cluster["name"])] = cluster
    for key, cluster in sorted(found.items()):
        same = [other for other in found if other[1] == key[1]]
        group = key[1] if len(same) == 1 else "%s_%s" % key
        for machine in cluster.get("machines") or []:
            if machine.get("address"):
                facts["machines"].append(machine_of(name, cluster, machine, group, summaries.get(key) or {}))
    name_hosts(facts)
    return facts


def seed_of(status):
    """The seed, or None if it has no address yet."""
    access = status.get("ssh")
    servers = [one for one in status.get("resources") or [] if one.get("type") == "server" and one.get("step") == "seed"]
    if not access or not servers:
        return None
    variables = dict(environment=status["environment"], role="seed", server_id=servers[0]["id"], state=servers[0]["state"], ready=servers[0]["state"] == "ACTIVE", labels={})
    return dict(name=servers[0]["name"], address=access["address"], user=access["user"], host_key=access["hostKey"],
                identity_file=access.get("identityFile") or "", variables=variables)


def machine_of(environment, cluster, machine, group, summary):
    """A machine of a cluster; summary is that of `slipway cluster list`, {} if it has none."""
    node_group = machine.get("group") or ""
    if node_group.startswith(cluster["name"] + "-"):
        node_group = node_group[len(cluster["name"]) + 1:]
    own = cluster["name"] == environment and not summary  # the list leaves the management cluster out
    variables = dict(
        environment=environment, role=machine["role"], server_id=machine.get("server") or "", state=machine["state"], ready=bool(machine.get("ready")),
        labels=machine.get("labels") or {}, cluster=cluster["name"], namespace=cluster["namespace"], node_group=node_group, machine=machine["name"],
        version=machine.get("version") or "", made_by="environment" if own else summary.get("madeBy") or "others",
    )
    magnum = summary.get("magnum")
    if magnum:
        variables.update(magnum_name=magnum["name"], magnum_uuid=magnum["uuid"], project_id=magnum["projectId"])
    return dict(host=machine.get("node") or machine["name"], cluster=cluster["name"], cluster_group=group, address=machine["address"], variables=variables)


def name_hosts(facts):
    """Gives hosts of different clusters that share a name the namespace in front of it."""
    seen = {}
    for machine in facts["machines"]:
        seen.setdefault(machine["host"], []).append(machine)
    taken = facts["seed"]["name"] if facts["seed"] else None
    for name, machines in seen.items():
        if len(machines) > 1 or name == taken:
            for machine in machines:
                machine["host"] = "%s.%s" % (machine["variables"]["namespace"], name)


def matches(machine, patterns, match):
    """Whether one of the patterns means the cluster of a machine."""
    v = machine["variables"]
    names = [v["cluster"], "%s/%s" % (v["namespace"], v["cluster"]), v.get("magnum_name"), v.get("magnum_uuid")]
    return any(match(name, pattern) for name in names if name for pattern in patterns)
