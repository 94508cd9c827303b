# Copyright: Slipway authors
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r"""
---
name: environment
short_description: The machines of a Slipway environment
version_added: 0.2.0
description:
  - Lists the seed, and the machines of the management cluster and of the workload clusters, tenants' included.
  - Calls C(slipway status), and C(slipway cluster list) if there are workload clusters. The cloud and the clusters are only read.
  - The name of its file ends with C(slipway_inventory.yml) or C(slipway_inventory.yaml).
  - The seed's host key is the one in the state. The other machines are reached through the seed with C(slipway ssh --forward); the host key of
    each is kept under the ID of its server when it is first seen, so that another server with the same address is noticed.
  - It needs OpenSSH 8.5 or newer on the control node, and the program C(slipway).
notes:
  - Paths are relative to the folder of the inventory file. Without I(chdir) the program runs there.
  - A host has the variables C(slipway_environment), C(slipway_role) (C(seed), C(control-plane) or C(worker)), C(slipway_server_id), C(slipway_state), C(slipway_ready) and
    C(slipway_labels); machines of clusters also C(slipway_cluster), C(slipway_namespace), C(slipway_node_group), C(slipway_machine), C(slipway_version) and
    C(slipway_made_by), those of the Magnum API C(slipway_magnum_name), C(slipway_magnum_uuid) and C(slipway_project_id).
  - Machines that have no address yet are left out.
extends_documentation_fragment:
  - slipway.cloud.program
  - constructed
  - inventory_cache
options:
  plugin:
    description: The name of this plugin.
    type: str
    required: true
    choices: [slipway.cloud.environment]
  clusters:
    description:
      - Clusters whose machines are listed. Each is a shell pattern for the name of the cluster, its C(namespace/name), or its name or UUID in the Magnum API.
      - The management cluster has the name of the environment.
    type: list
    elements: str
    default: ["*"]
  node_user:
    description: User to log in as on machines of clusters. That of the bundle's images is C(debian).
    type: str
    default: debian
  node_private_key:
    description:
      - Private key for machines of clusters. By default it is the environment's, for clusters that have it; those of the Magnum API have key pairs of their
        tenants.
    type: path
  timeout:
    description: How many seconds the program may take.
    type: int
    default: 180
author: Slipway authors (@slipway-sh)
"""

EXAMPLES = r"""
# prod.slipway_inventory.yml, beside slipway.yaml
plugin: slipway.cloud.environment

# The management cluster only, with a group for each node group.
---
plugin: slipway.cloud.environment
chdir: /srv/prod
clusters: [prod]
keyed_groups:
  - key: slipway_node_group
    prefix: nodegroup

# Tenants' machines by label and by project.
---
plugin: slipway.cloud.environment
chdir: /srv/prod
keyed_groups:
  - key: slipway_labels
    prefix: label
  - key: slipway_project_id
    prefix: project
groups:
  broken: not slipway_ready
compose:
  ansible_user: "'ubuntu' if slipway_made_by == 'magnum' else 'debian'"
"""

import fnmatch
import json
import os
import shlex
import subprocess

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.slipway.cloud.plugins.module_utils.machines import environment_of, matches
from ansible_collections.slipway.cloud.plugins.module_utils.slipway import cloud_variables, command_line, errors_in

ENDINGS = ("slipway_inventory.yml", "slipway_inventory.yaml")

# Groups of machines by their role.
ROLES = {"seed": "slipway_seed", "control-plane": "slipway_control_plane", "worker": "slipway_workers"}


def safe(value):
    """The value without a template in it: labels and names are of tenants."""
    if isinstance(value, dict):
        return dict((safe(key), safe(one)) for key, one in value.items())
    if isinstance(value, str) and ("{{" in value or "{%" in value or "{#" in value):
        return wrap_var(value)
    return value


def beside(base, path):
    """A path of the inventory file, relative to its folder; "" if there is none. Ansible
    would take it relative to the folder in which ansible runs."""
    path = os.path.expanduser(os.path.expandvars(path or ""))
    return os.path.normpath(os.path.join(base, path)) if path else ""


def quoted(words):
    """A command line for a shell inside an option of ssh, in which % begins a token."""
    return " ".join(shlex.quote(word).replace("%", "%%") for word in words)


def ssh_options(pairs):
    """Options of ssh as Ansible splits them."""
    return " ".join("-o " + shlex.quote("%s=%s" % pair) for pair in pairs)


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    NAME = "slipway.cloud.environment"

    def verify_file(self, path):
        return super(InventoryModule, self).verify_file(path) and path.endswith(ENDINGS)

    def parse(self, inventory, loader, path, cache=True):
        super(InventoryModule, self).parse(inventory, loader, path, cache)
        config = self._read_config_data(path)
        base = os.path.dirname(os.path.abspath(path))
        self.program = dict((name, self.get_option(name)) for name in ("files", "env", "os_cloud"))
        executable = config.get("executable") or "slipway"
        self.program["executable"] = beside(base, executable) if os.sep in executable else executable
        self.program["chdir"] = beside(base, config.get("chdir") or base)
        self.program["clouds_file"] = beside(base, config.get("clouds_file"))
        self.node_key = beside(base, config.get("node_private_key"))
        self._fill(self._facts(path, cache))

    def _facts(self, path, cache):
        """The machines, of the cache if it may be used and has them."""
        wanted = self.get_option("cache")
        key = self.get_cache_key(path)
        if wanted and cache:
            try:
                return self._cache[key]
            except KeyError:
                pass
        facts = self._read()
        if wanted:
            self._cache[key] = facts
        return facts

    def _read(self):
        status = self._run(["status"])
        facts = environment_of(status, [])
        if any(machine["cluster"] != facts["environment"] for machine in facts["machines"]):
            facts = environment_of(status, self._run(["cluster", "list"]))
        for warning in facts["warnings"]:
            self.display.warning(warning)
        return facts

    def _run(self, words):
        line = command_line(self.program["executable"], words, self.program) + ["-o", "json"]
        name = " ".join(["slipway"] + words)
        try:
            done = subprocess.run(line, cwd=self.program["chdir"], env=dict(os.environ, **cloud_variables(self.program)), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=self.get_option("timeout"))
        except subprocess.TimeoutExpired:
            raise AnsibleParserError("%s did not end in %d s. Fix: try it in a terminal, or set a longer timeout in the inventory file." % (name, self.get_option("timeout")))
        except OSError as error:
            raise AnsibleParserError("%s cannot be run in %s: %s. Fix: install slipway, or set executable and chdir in the inventory file."
                                     % (name, self.program["chdir"], error))
        out, said = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        if done.returncode:
            found = ["%s%s" % (error["message"], ". Fix: %s" % error["fix"] if error["fix"] else "") for error in errors_in(said)]
            raise AnsibleParserError("%s ended with code %d: %s" % (name, done.returncode, "; ".join(found) or said.strip()[-2000:] or "it said nothing"))
        try:
            return json.loads(out)
        except ValueError as error:
            raise AnsibleParserError("%s printed no JSON (%s). Fix: look at what it prints in a terminal." % (name, error))

    def _fill(self, facts):
        for group in ("slipway_seed", "slipway_nodes", "slipway_control_plane", "slipway_workers"):
            self.inventory.add_group(group)
        for group in ("slipway_control_plane", "slipway_workers"):
            self.inventory.add_child("slipway_nodes", group)
        seed = facts["seed"]
        if seed:
            self._host(seed["name"], seed, self._seed_access(seed), [])
        for machine in facts["machines"]:
            if matches(machine, self.get_option("clusters"), fnmatch.fnmatchcase):
                kind = "management" if machine["cluster"] == facts["environment"] else "workload"
                self._host(machine["host"], machine, self._node_access(machine, seed), ["slipway_" + kind, "slipway_cluster_" + machine["cluster_group"]])

    def _host(self, name, machine, access, groups):
        strict = self.get_option("strict")
        variables = dict(("slipway_" + key, safe(value)) for key, value in machine["variables"].items())
        variables.update(access)
        self.inventory.add_host(name, group=ROLES[machine["variables"]["role"]])
        for group in groups:
            self.inventory.add_child(self.inventory.add_group(self._sanitize_group_name(group)), name)
        for key, value in variables.items():
            self.inventory.set_variable(name, key, value)
        self._set_composite_vars(self.get_option("compose"), variables, name, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), variables, name, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), variables, name, strict=strict)

    def _seed_access(self, seed):
        known = [("StrictHostKeyChecking", "yes"), ("UserKnownHostsFile", "/dev/null"), ("GlobalKnownHostsFile", "/dev/null"),
                 ("KnownHostsCommand", "/bin/echo %H " + seed["host_key"])]
        access = dict(ansible_host=seed["address"], ansible_user=seed["user"], ansible_ssh_common_args=ssh_options(known))
        if seed["identity_file"]:
            access["ansible_ssh_private_key_file"] = seed["identity_file"]
        return access

    def _node_access(self, machine, seed):
        key = self.node_key
        if not key and seed and machine["variables"]["made_by"] in ("environment", "slipway"):
            key = seed["identity_file"]
        words = ["env", "-C", self.program["chdir"]] + command_line(self.program["executable"], ["ssh"], self.program)
        known = [("StrictHostKeyChecking", "accept-new"), ("HostKeyAlias", machine["variables"]["server_id"] or machine["host"]),
                 ("ProxyCommand", quoted(words) + " --forward %h:%p")]
        access = dict(ansible_host=machine["address"], ansible_user=self.get_option("node_user"), ansible_ssh_common_args=ssh_options(known))
        if key:
            access["ansible_ssh_private_key_file"] = key
        return access
