"""Serves the real magnum-api on a database until it is killed. Nobody logs in: who has
the token "admin" is an administrator, everybody else a member of a project. Pages
have two entries, so that whoever reads must turn them.

    api.py SQLALCHEMY-URL PROJECT PORT
"""
import sys
import tempfile
from wsgiref import simple_server

import magnum.conf
from oslo_log import log
from magnum.api import app
from magnum.common import rpc

CONF = magnum.conf.CONF


class Quiet(simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


def main():
    log.register_options(CONF)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write("[DEFAULT]\ntransport_url = fake://\n[database]\nconnection = %s\n[api]\nmax_limit = 2\n" % sys.argv[1])
        file.flush()
        CONF(["--config-file", file.name], project="magnum")
    rpc.init(CONF)
    api = app.setup_app()

    def known(environ, start_response):
        roles = "admin,member,reader" if environ.get("HTTP_X_AUTH_TOKEN") == "admin" else "member,reader"
        environ.update(HTTP_X_USER_ID="9a2b7c1d5e6f47e08f1e2d3c4b5a6978", HTTP_X_PROJECT_ID=sys.argv[2], HTTP_X_ROLES=roles)
        return api(environ, start_response)

    server = simple_server.make_server("127.0.0.1", int(sys.argv[3]), known, handler_class=Quiet)
    print("ready", flush=True)
    server.serve_forever()


main()
