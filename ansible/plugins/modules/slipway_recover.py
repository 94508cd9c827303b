#!/usr/bin/python
# Copyright: Slipway authors
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: slipway_recover
short_description: Find out what of a Slipway environment is lost, and repair it
version_added: 0.3.0
description:
  - Calls C(slipway recover), which does the smallest repair that is safe, or asks for a decision and fails.
  - In check mode it calls C(slipway recover --dry-run), which changes nothing.
  - Nothing is changed if nothing is lost.
options:
  identity:
    description: File of the private age key. It is needed for what comes from a backup.
    type: path
  source:
    description: Where the backups are, such as C(swift://backups/prod); by default where the environment file says.
    type: str
  at:
    description: Use the last backup before this time, such as C(2026-03-01T04:00:00Z).
    type: str
  cluster:
    description: Restore only this cluster.
    type: str
  leave:
    description: Clusters, as C(namespace/name), that stay paused.
    type: list
    elements: str
    default: []
  etcd_snapshot:
    description: Give the last control plane server the etcd snapshot of the backup.
    type: bool
    default: false
  survivor:
    description: The control plane server, by name or ID, whose etcd has the newest data.
    type: str
  skip_checks:
    description: Ids of preflight checks to skip.
    type: list
    elements: str
    default: []
  timeout:
    description: How long the run may take, such as C(2h). It then fails, and another run continues.
    type: str
  progress_file:
    description: File to which the progress is appended, one JSON object per line.
    type: path
extends_documentation_fragment: [slipway.cloud.program]
attributes:
  check_mode:
    description: Shows what is lost, and what would be done.
    support: full
  diff_mode:
    description: There is no diff.
    support: none
author: Slipway authors (@slipway-sh)
"""

EXAMPLES = r"""
- name: Repair what is lost
  slipway.cloud.slipway_recover:
    chdir: /srv/prod
    identity: /root/backup-key.txt

- name: Restore a cluster that was deleted by mistake
  slipway.cloud.slipway_recover:
    chdir: /srv/prod
    identity: /root/backup-key.txt
    cluster: shop
"""

RETURN = r"""
found:
  description: What is lost and what is there.
  type: list
  elements: str
  returned: success
will:
  description: What is done about it, in order.
  type: list
  elements: str
  returned: success
repair:
  description: The repair; C(nothing) if nothing is lost, empty with I(cluster).
  type: str
  returned: success
result:
  description: What C(slipway recover) printed, with all checks; also of a run that failed after the restore.
  type: dict
  returned: if it printed anything
errors:
  description: Every error with its fix.
  type: list
  elements: dict
  returned: failure
reason:
  description: Name of the exit code.
  type: str
  returned: failure
resumable:
  description: Whether the same task, run again, continues.
  type: bool
  returned: failure
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.slipway.cloud.plugins.module_utils.slipway import Slipway, environment_arguments

# Options of the command that have one value, by argument.
VALUES = dict(identity="--identity", source="--from", at="--at", cluster="--cluster", survivor="--survivor", timeout="--timeout")


def options_of(p):
    options = [word for name in sorted(VALUES) if p[name] for word in (VALUES[name], p[name])]
    options += [word for cluster in p["leave"] for word in ("--leave", cluster)]
    options += [word for check in p["skip_checks"] for word in ("--skip-check", check)]
    return options + (["--etcd-snapshot"] if p["etcd_snapshot"] else [])


def main():
    arguments = environment_arguments()
    arguments.update(
        identity=dict(type="path"),
        source=dict(type="str"),
        at=dict(type="str"),
        cluster=dict(type="str"),
        leave=dict(type="list", elements="str", default=[]),
        etcd_snapshot=dict(type="bool", default=False),
        survivor=dict(type="str"),
        skip_checks=dict(type="list", elements="str", default=[]),
        timeout=dict(type="str"),
        progress_file=dict(type="path"),
    )
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    mode = ["--dry-run"] if module.check_mode else ["--yes", "--progress", "json"]
    result = Slipway(module).run(["recover"], options_of(module.params) + mode)
    diagnosis = result.get("diagnosis") or {}
    module.exit_json(
        changed=diagnosis.get("repair") != "nothing", repair=diagnosis.get("repair") or "",
        found=diagnosis.get("found") or [], will=diagnosis.get("will") or [], result=result,
    )


if __name__ == "__main__":
    main()
