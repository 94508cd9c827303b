"""Prints the result of every task as JSON: ansible-core alone has no callback that does."""

import json

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: report
type: stdout
short_description: results as JSON
description: Prints the result of every task as one JSON document.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "report"

    def __init__(self):
        super().__init__()
        self.tasks = []

    def keep(self, result, **more):
        self.tasks.append(dict(result._result, name=result._task.get_name(), **more))

    def v2_runner_on_ok(self, result):
        self.keep(result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self.keep(result, failed=True)

    def v2_runner_on_skipped(self, result):
        self.keep(result, skipped=True)

    def v2_runner_on_unreachable(self, result):
        self.keep(result, failed=True)

    def v2_playbook_on_stats(self, stats):
        self._display.display(json.dumps(dict(tasks=self.tasks)))
