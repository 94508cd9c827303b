#!/usr/bin/python
# Copyright: Slipway authors
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
module: slipway_info
short_description: Read the status, the plan or the clusters of an environment
version_added: 0.1.0
description:
  - Calls a command of C(slipway) that only reads, and returns its JSON.
options:
  about:
    description:
      - C(status) lists resources and clusters, C(drift) compares them with the state too.
      - C(plan) lists what C(slipway up) would change, C(preflight) what stands in its way.
      - C(config) is the environment with all defaults, C(version) that of the program.
    type: str
    choices: [status, drift, plan, preflight, clusters, config, version]
    default: status
extends_documentation_fragment: [slipway.cloud.program]
attributes:
  check_mode:
    description: It never changes anything.
    support: full
  diff_mode:
    description: There is no diff.
    support: none
author: Slipway authors (@slipway-sh)
"""

EXAMPLES = r"""
- name: Read the status
  slipway.cloud.slipway_info:
    chdir: /srv/prod
  register: environment_status
"""

RETURN = r"""
info:
  description: What the command printed.
  type: raw
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.slipway.cloud.plugins.module_utils.slipway import Slipway, environment_arguments

COMMANDS = dict(
    status=["status"], drift=["status", "--drift"], plan=["plan"], preflight=["preflight"],
    clusters=["cluster", "list"], config=["config", "show"], version=["version"],
)


def main():
    arguments = environment_arguments()
    arguments.update(about=dict(type="str", choices=["status", "drift", "plan", "preflight", "clusters", "config", "version"], default="status"))
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True)
    about = module.params["about"]
    if about == "version":
        module.params["files"], module.params["env"] = [], None
    # Preflight says with code 3 that something stands in the way: that is an answer.
    accept = (0, 3) if about == "preflight" else (0,)
    module.exit_json(changed=False, info=Slipway(module).run(COMMANDS[about], accept=accept))


if __name__ == "__main__":
    main()
