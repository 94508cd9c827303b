"""Prints what the real magnum-api answers on a database, as one JSON object of
paths and bodies. Nobody logs in: the headers are those that Keystone's middleware
sets.

    ask.py SQLALCHEMY-URL PROJECT PATH...
"""
import json
import sys
import tempfile

import magnum.conf
import webob
from oslo_log import log
from magnum.api import app
from magnum.common import rpc

CONF = magnum.conf.CONF


def main():
    log.register_options(CONF)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write("[DEFAULT]\ntransport_url = fake://\n[database]\nconnection = %s\n" % sys.argv[1])
        file.flush()
        CONF(["--config-file", file.name], project="magnum")
    rpc.init(CONF)
    api = app.setup_app()
    answers = {}
    for path in sys.argv[3:]:
        request = webob.Request.blank(path, base_url="http://magnum", headers={
            "X-User-Id": "9a2b7c1d5e6f47e08f1e2d3c4b5a6978", "X-Project-Id": sys.argv[2], "X-Roles": "reader,member",
            "X-Auth-Token": "t", "Accept": "application/json", "OpenStack-API-Version": "container-infra 1.14"})
        response = request.get_response(api)
        if response.status_int != 200:
            sys.exit("%s: %s %s" % (path, response.status, response.text))
        answers[path] = response.json
    json.dump(answers, sys.stdout, indent=1, sort_keys=True)
    print()


main()
