#!/usr/bin/python
# Copyright: Slipway authors
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: slipway_environment
short_description: Create, change or delete a Slipway environment
version_added: 0.1.0
description:
  - Calls C(slipway up) or C(slipway down). A second run changes nothing.
  - In check mode it calls C(slipway plan) or C(slipway down --dry-run), which only read the cloud.
  - With C(--diff) it shows what changes.
options:
  state:
    description: Whether the environment exists.
    type: str
    choices: [present, absent]
    default: present
  timeout:
    description: How long the run may take, such as C(90m). It then fails, and another run continues.
    type: str
  skip_checks:
    description: Ids of preflight checks to skip.
    type: list
    elements: str
    default: []
  delete_clusters:
    description: Also delete the workload clusters of the management cluster, with I(state=absent).
    type: bool
    default: false
  delete_images:
    description: Also delete images that the environment uploaded and nothing uses, with I(state=absent).
    type: bool
    default: false
  progress_file:
    description: File to which the progress is appended, one JSON object per line.
    type: path
extends_documentation_fragment: [slipway.cloud.program]
attributes:
  check_mode:
    description: Shows what would change.
    support: full
  diff_mode:
    description: Shows every property that changes.
    support: full
author: Slipway authors (@slipway-sh)
"""

EXAMPLES = r"""
- name: Create the environment, or change it to what its file says
  slipway.cloud.slipway_environment:
    chdir: /srv/prod
    timeout: 90m

- name: Delete it with its clusters
  slipway.cloud.slipway_environment:
    chdir: /srv/prod
    state: absent
    delete_clusters: true
"""

RETURN = r"""
plan:
  description: What was planned, as C(slipway plan -o json) prints it.
  type: dict
  returned: state is present; not in check mode on a host without the program
result:
  description: What C(slipway up) or C(slipway down) printed.
  type: dict
  returned: always, except in check mode with state present
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
from ansible_collections.slipway.cloud.plugins.module_utils.slipway import Slipway, diff_of, environment_arguments


def timeout(module):
    return ["--timeout", module.params["timeout"]] if module.params["timeout"] else []


def present(module, slipway):
    skips = [word for check in module.params["skip_checks"] for word in ("--skip-check", check)]
    plan = slipway.run(["plan"], skips)
    outcome = dict(changed=bool(plan.get("changes")), plan=plan)
    if module._diff:
        outcome["diff"] = diff_of(plan)
    if not module.check_mode:
        # Also without changes: it writes kubeconfigs that somebody lost.
        outcome["result"] = slipway.run(["up"], skips + ["--yes", "--progress", "json"] + timeout(module))
    return outcome


def absent(module, slipway):
    options = ["--delete-clusters"] if module.params["delete_clusters"] else []
    options += ["--images"] if module.params["delete_images"] else []
    there = slipway.run(["down"], options + ["--dry-run"])
    deleted = there.get("deleted") or there.get("left") or []
    outcome = dict(changed=bool(deleted), result=there)
    if module._diff:
        lines = ["%s %s" % (thing["type"], thing["name"]) for thing in deleted]
        outcome["diff"] = dict(before="\n".join(lines) + "\n", after="\n")
    if not module.check_mode and deleted:
        outcome["result"] = slipway.run(["down"], options + ["--yes", "--progress", "json"] + timeout(module))
    return outcome


def main():
    arguments = environment_arguments()
    arguments.update(
        state=dict(type="str", choices=["present", "absent"], default="present"),
        timeout=dict(type="str"),
        skip_checks=dict(type="list", elements="str", default=[]),
        delete_clusters=dict(type="bool", default=False),
        delete_images=dict(type="bool", default=False),
        progress_file=dict(type="path"),
    )
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    program = module.params["executable"]
    if module.check_mode and not module.get_bin_path(program):
        # On a new host the play that would install it has not run yet.
        said = "%s is not installed, so there is no plan yet: install it, with --tags install of the playbook site, and check again" % program
        module.warn(said)
        module.exit_json(changed=module.params["state"] == "present", msg=said)
    do = present if module.params["state"] == "present" else absent
    module.exit_json(**do(module, Slipway(module)))


if __name__ == "__main__":
    main()
