"""Sends a workload cluster's credential to a receiver, which registers it as a VIM."""

import base64
import json
import time

from slipway_kube import ApiError, Failure, Unreachable, call, context, from_kubeconfig, pem

ACCOUNT = "tacker-vim"
# Answers after which another attempt may do better.
AGAIN = (408, 429, 500, 502, 503, 504)


class Receiver:
    """Where credentials go: additionalParams of the request say it, or nobody."""

    def __init__(self, params, seconds):
        self.url, self.token = params.get("credential_receiver_url"), params.get("credential_receiver_token")
        self.ca, self.role = pem(params.get("credential_receiver_ca")), params.get("credential_role") or "cluster-admin"
        self.seconds = seconds
        if self.url and not self.url.startswith("https://"):
            raise Failure("credential_receiver_url: it must begin with https://")
        if self.url and not self.token:
            raise Failure("credential_receiver_token: it is missing")

    def send(self, payload):
        """Delivers the payload; the receiver takes it twice without harm."""
        tls, body = context(self.ca), json.dumps(payload).encode()
        headers = {"Content-Type": "application/json", "Authorization": "Bearer " + self.token}
        end, pause = time.monotonic() + self.seconds, 1
        while True:
            try:
                call("POST", self.url, tls, headers, body)
                return
            except (ApiError, Unreachable) as error:
                over = time.monotonic() + pause > end
                if over or isinstance(error, ApiError) and error.status not in AGAIN:
                    raise Failure(f"sending the credential: {error}") from None
            time.sleep(pause)
            pause = min(pause * 2, 30)


def mint(kube, role, patience):
    """A token of a service account: Tacker has no client certificates."""
    meta = {"name": ACCOUNT, "namespace": "kube-system"}
    kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": f"{ACCOUNT}-{role}"},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
               "subjects": [{"kind": "ServiceAccount", **meta}]}
    kube.apply(binding)
    secret = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
              "metadata": {"name": ACCOUNT + "-token", "namespace": "kube-system", "annotations": {"kubernetes.io/service-account.name": ACCOUNT}}}
    kube.apply(secret)

    def token():
        data = (kube.get(kube.path(secret)) or {}).get("data") or {}
        return data.get("token"), "the token is not there yet"

    return base64.b64decode(patience(f"token of service account {ACCOUNT}", token)).decode()


def created(management, place, receiver, patience):
    """Sends the credential of a new cluster; place is vnfInstanceId, clusterName and namespace."""
    secret = management.get(f"/api/v1/namespaces/{place['namespace']}/secrets/{place['clusterName']}-kubeconfig")
    if secret is None:
        raise Failure(f"cluster {place['namespace']}/{place['clusterName']} has no kubeconfig")
    workload = from_kubeconfig(base64.b64decode(secret["data"]["value"]).decode())
    receiver.send({**place, "action": "created", "endpoint": workload.server, "ssl_ca_cert": workload.ca,
                   "bearer_token": mint(workload, receiver.role, patience)})


def deleted(place, receiver):
    """Says that a cluster is gone."""
    receiver.send({**place, "action": "deleted"})
