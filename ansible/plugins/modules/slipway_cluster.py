#!/usr/bin/python
# Copyright: Slipway authors
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: slipway_cluster
short_description: Create, change or delete a workload cluster
version_added: 0.1.0
description:
  - Calls C(slipway cluster create) or C(slipway cluster delete) on the management cluster of an environment.
  - Check mode looks only whether the cluster exists; changes of its values are not compared.
options:
  name:
    description: Name of the cluster.
    type: str
    required: true
  namespace:
    description: Namespace of the cluster; by default one with the name of the cluster.
    type: str
  state:
    description: Whether the cluster exists.
    type: str
    choices: [present, absent]
    default: present
  values_files:
    description: Files with values of the chart openstack-cluster; the last one wins.
    type: list
    elements: path
    default: []
  kubeconfig:
    description: Kubeconfig file to write.
    type: path
  wait:
    description: What to wait for.
    type: str
    choices: [none, control-plane, ready]
    default: ready
  timeout:
    description: How long to wait.
    type: str
    default: 30m
extends_documentation_fragment: [slipway.cloud.program]
attributes:
  check_mode:
    description: Looks only whether the cluster exists.
    support: partial
  diff_mode:
    description: There is no diff.
    support: none
author: Slipway authors (@slipway-sh)
"""

EXAMPLES = r"""
- name: Create a cluster with five workers
  slipway.cloud.slipway_cluster:
    chdir: /srv/prod
    name: shop
    values_files: [shop.yaml]
"""

RETURN = r"""
result:
  description: What the command printed.
  type: dict
  returned: when it was run
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.slipway.cloud.plugins.module_utils.slipway import Slipway, environment_arguments


def listed(slipway, name, namespace):
    clusters = slipway.run(["cluster", "list"])
    if isinstance(clusters, dict):
        clusters = clusters.get("clusters") or []
    return [c for c in clusters if c.get("name") == name and namespace in (None, c.get("namespace"))]


def present(module, slipway):
    p = module.params
    if module.check_mode:
        return dict(changed=not listed(slipway, p["name"], p["namespace"]))
    options = ["--wait", p["wait"], "--timeout", p["timeout"], "--progress", "json"]
    for name in p["values_files"]:
        options += ["--values", name]
    if p["namespace"]:
        options += ["--namespace", p["namespace"]]
    if p["kubeconfig"]:
        options += ["--kubeconfig-out", p["kubeconfig"]]
    result = slipway.run(["cluster", "create", p["name"]], options)
    return dict(changed=result.get("change") != UNCHANGED, result=result)


# What `slipway cluster create` says of a cluster that is as its values say.
UNCHANGED = "no changes"


def absent(module, slipway):
    p = module.params
    if not listed(slipway, p["name"], p["namespace"]):
        return dict(changed=False)
    if module.check_mode:
        return dict(changed=True)
    options = ["--yes", "--timeout", p["timeout"], "--progress", "json"]
    if p["namespace"]:
        options += ["--namespace", p["namespace"]]
    return dict(changed=True, result=slipway.run(["cluster", "delete", p["name"]], options))


def main():
    arguments = environment_arguments()
    arguments.update(
        name=dict(type="str", required=True),
        namespace=dict(type="str"),
        state=dict(type="str", choices=["present", "absent"], default="present"),
        values_files=dict(type="list", elements="path", default=[]),
        kubeconfig=dict(type="path"),
        wait=dict(type="str", choices=["none", "control-plane", "ready"], default="ready"),
        timeout=dict(type="str", default="30m"),
    )
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    do = present if module.params["state"] == "present" else absent
    module.exit_json(**do(module, Slipway(module)))


if __name__ == "__main__":
    main()
