# Copyright: Slipway authors
# Apache License 2.0 (see https://www.apache.org/licenses/LICENSE-2.0)
"""Runs the program slipway and reads what it prints."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import json
import os

# The exit codes of slipway (docs/reference/exit-codes.md) after which the same command may
# be run again, and continues.
RESUMABLE = {4: "partly done", 5: "deadline passed", 130: "interrupted"}

EXITS = {1: "failure", 2: "usage", 3: "preflight refused"}
EXITS.update(RESUMABLE)


def environment_arguments():
    """The arguments that all modules share."""
    return dict(
        executable=dict(type="path", default="slipway"),
        chdir=dict(type="path"),
        files=dict(type="list", elements="path", default=[]),
        env=dict(type="str"),
        os_cloud=dict(type="str"),
        clouds_file=dict(type="path"),
    )


def errors_in(text):
    """The errors that slipway printed, each with its fix: list of dicts of message and fix."""
    found = []
    for line in text.splitlines():
        if line.startswith("error: "):
            found.append(dict(message=line[len("error: "):], fix=""))
        elif line.startswith("  fix: ") and found:
            found[-1]["fix"] = line[len("  fix: "):]
    return found


def command_line(program, words, options, file_flag="--file"):
    """The words of a command, then the environment file that the options name."""
    line = [program] + list(words)
    for name in options["files"]:
        line += [file_flag, name]
    if options["env"]:
        line += ["--env", options["env"]]
    return line


def cloud_variables(options):
    """The variables of the environment with which the program finds its cloud."""
    variables = {}
    if options["os_cloud"]:
        variables["OS_CLOUD"] = options["os_cloud"]
    if options["clouds_file"]:
        variables["OS_CLIENT_CONFIG_FILE"] = os.path.abspath(options["clouds_file"])
    return variables


class Slipway(object):
    """Calls slipway for a module, in the folder and with the files of its arguments."""

    def __init__(self, module, file_flag="--file"):
        self.module = module
        self.file_flag = file_flag
        self.program = module.get_bin_path(module.params["executable"], required=True)

    def run(self, words, options=(), accept=(0,)):
        """Runs a command and returns its JSON. An exit code that is not accepted ends the
        module, with every error and its fix."""
        line = command_line(self.program, words, self.module.params, self.file_flag) + list(options) + ["-o", "json"]
        code, out, said = self.module.run_command(line, cwd=self.module.params["chdir"], environ_update=cloud_variables(self.module.params))
        self._keep_progress(said)
        if code not in accept:
            self.fail(line, code, said, out)
        try:
            return json.loads(out or "{}")
        except ValueError as error:
            self.module.fail_json(msg="slipway printed no JSON: %s" % error, cmd=line, rc=code, stdout=out, stderr=said)

    def _keep_progress(self, said):
        path = self.module.params.get("progress_file")
        events = [line for line in said.splitlines(True) if line.startswith("{")]
        if path and events:
            with open(path, "a") as log:
                log.writelines(events)

    def fail(self, line, code, said, out):
        found = errors_in(said)
        more = {}
        try:
            more["result"] = json.loads(out)  # what was done before it failed
        except ValueError:
            pass
        message = "; ".join(error["message"] for error in found) or said.strip()[-2000:] or "slipway ended with code %d" % code
        self.module.fail_json(
            msg=message, errors=found, cmd=line, rc=code, reason=EXITS.get(code, "failure"),
            resumable=code in RESUMABLE, stderr=said[-20000:], **more
        )


def diff_of(plan):
    """A plan as Ansible shows differences."""
    before, after = [], []
    for change in plan.get("changes") or []:
        head = "%s %s" % (change["type"], change["name"])
        if change["operation"] != "create":
            before.append(head)
        if change["operation"] != "delete":
            after.append(head)
        for item in change.get("properties") or []:
            if "old" in item:
                before.append("  %s: %s" % (item["path"], json.dumps(item["old"], sort_keys=True)))
            if "new" in item:
                after.append("  %s: %s" % (item["path"], json.dumps(item["new"], sort_keys=True)))
    return dict(before="\n".join(before) + "\n", after="\n".join(after) + "\n")
