"""A small client of the Kubernetes API, of the standard library alone.

A VNF manager runs the script with its own Python, which may have no other modules.
"""

import base64
import http.client
import json
import os
import re
import ssl
import tempfile
import urllib.error
import urllib.parse
import urllib.request


class Failure(Exception):
    """Ends the script; its text is for the operator and has no secret in it."""


class ApiError(Failure):
    """The API server refused a request."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Unreachable(Failure):
    """Nobody answered."""


def context(ca, cert=None, key=None):
    """TLS that verifies the server; with a certificate, also for the client."""
    made = ssl.create_default_context(cadata=ca or None)
    if cert:
        # load_cert_chain reads files only; mkstemp makes them for this user alone.
        handle, path = tempfile.mkstemp()
        try:
            with os.fdopen(handle, "w") as file:
                file.write(cert + "\n" + key)
            made.load_cert_chain(path)
        finally:
            os.unlink(path)
    return made


def pem(text):
    """Restores the newlines that Tacker lets users replace by blanks."""
    if not text or "\n" in text.strip():
        return text
    return re.sub(r"(-----BEGIN [A-Z ]+-----) (.*?) (-----END [A-Z ]+-----)",
                  lambda m: "\n".join([m[1], *m[2].split(), m[3]]) + "\n", text.strip())


def call(method, url, tls, headers, body=None, timeout=30):
    """One request; the answer as JSON, {} if it has no text."""
    request = urllib.request.Request(url, method=method, headers=headers, data=body)
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=tls), NoRedirect())
    try:
        with opener.open(request, timeout=timeout) as answer:
            text = answer.read()
    except urllib.error.HTTPError as error:
        raise ApiError(error.code, f"{method} {url}: {error.code} {message(error)}") from None
    except (OSError, http.client.HTTPException) as error:  # the latter: an answer that was cut
        cause = getattr(error, "reason", error)
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise Failure(f"{method} {url}: certificate is not trusted: {cause.verify_message}") from None
        raise Unreachable(f"{method} {url}: {cause}") from None
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return {}


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would take a token to another host."""

    def redirect_request(self, *_):
        return None


def message(answer):
    """What an error's body says."""
    try:
        return str(json.loads(answer.read()).get("message", ""))[:500]
    except (OSError, http.client.HTTPException, ValueError, AttributeError):
        return ""


class Kube:
    """One API server."""

    def __init__(self, server, ca, token=None, cert=None, key=None):
        self.server, self.ca = server.rstrip("/"), ca
        self.tls = context(ca, cert, key)
        self.headers = {"Accept": "application/json"}
        if token:
            self.headers["Authorization"] = "Bearer " + token
        self.kinds = {}

    def request(self, method, path, body=None, kind="application/json"):
        headers = dict(self.headers)
        if body is not None:
            body, headers["Content-Type"] = json.dumps(body).encode(), kind
        return call(method, self.server + path, self.tls, headers, body)

    def get(self, path):
        """The object, None if there is none."""
        try:
            return self.request("GET", path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path, selector=""):
        query = "?labelSelector=" + urllib.parse.quote(selector) if selector else ""
        return self.request("GET", path + query).get("items", [])

    def merge(self, path, body):
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def apply(self, item):
        """Server-side apply: what others have set elsewhere in the object stays."""
        path = self.path(item) + "?fieldManager=slipway-tacker&force=true"
        return self.request("PATCH", path, item, "application/apply-patch+yaml")

    def delete(self, path):
        try:
            self.request("DELETE", path)
        except ApiError as error:
            if error.status != 404:
                raise

    def path(self, item):
        """Where an object is. A kind that the server does not know is an error."""
        version = item["apiVersion"]
        base = "/apis/" + version if "/" in version else "/api/" + version
        if base not in self.kinds:
            found = self.get(base) or {}
            self.kinds[base] = {r["kind"]: r for r in found.get("resources", []) if "/" not in r["name"]}
        resource = self.kinds[base].get(item["kind"])
        if resource is None:
            raise Failure(f"the API server has no kind {item['kind']} of {version}")
        meta = item["metadata"]
        if resource["namespaced"]:
            base += "/namespaces/" + meta.get("namespace", "default")
        return f"{base}/{resource['name']}/{meta['name']}"


def from_kubeconfig(text):
    """The client of a kubeconfig as Cluster API writes it: one cluster, one user."""

    def value(key):
        found = re.search(rf"^\s*(?:- )?{key}:\s*(\S+)\s*$", text, re.MULTILINE)
        if found is None:
            raise Failure(f"the kubeconfig has no {key}")
        return found[1].strip("\"'")

    def decoded(key):
        return base64.b64decode(value(key)).decode()

    return Kube(value("server"), decoded("certificate-authority-data"),
                cert=decoded("client-certificate-data"), key=decoded("client-key-data"))
