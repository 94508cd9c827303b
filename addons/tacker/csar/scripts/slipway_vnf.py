"""The management script of Slipway's packages.

A VNF manager such as Tacker runs it around an operation, with a pickled dict on standard
input. It prints nothing on standard output, which would be read as an answer; errors go to
standard error, and the exit code is 0 or 1. Every step may be repeated.
"""

import json
import os
import pickle
import sys
import time

import slipway_credentials as credentials
from slipway_kube import ApiError, Failure, Kube, Unreachable, pem

CAPI = "/apis/cluster.x-k8s.io/v1beta2/namespaces/{}/{}"
CONTROL = "/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/{}/kubeadmcontrolplanes/{}"
AVAILABLE = "Available"


class Instance:
    """The VNF instance that the operation is about."""

    def __init__(self, data, settings):
        self.data, self.settings = data, settings
        self.vnf, self.request = data["vnf_instance"], data.get("request") or {}
        self.info = self.vnf.get("instantiatedVnfInfo") or {}
        meta, self.params = self.info.get("metadata") or {}, self.request.get("additionalParams") or {}
        self.namespace = meta.get("namespace") or self.params.get("namespace") or "default"
        self.name = meta.get("release_name") or "vnf" + self.vnf["id"].replace("-", "")
        if settings["variant"] == "raw":
            self.name = settings["cluster"]
            self.namespace = meta.get("namespace") or self.params.get("namespace") or settings["namespace"]
        self.kube = self.connect()

    def connect(self):
        """The client of the VIM, as Tacker keeps its data."""
        vims = list((self.vnf.get("vimConnectionInfo") or {}).values())
        if not vims:
            raise Failure("vimConnectionInfo: it is empty")
        interface, access = vims[0].get("interfaceInfo") or {}, vims[0].get("accessInfo") or {}
        if not access.get("bearer_token"):
            raise Failure("vimConnectionInfo: accessInfo has no bearer_token")
        return Kube(interface["endpoint"], pem(interface.get("ssl_ca_cert")), token=access["bearer_token"])

    @property
    def place(self):
        return {"vnfInstanceId": self.vnf["id"], "clusterName": self.name, "namespace": self.namespace}

    def receiver(self):
        return credentials.Receiver(self.params, self.settings["sendSeconds"])

    def patience(self, what, look):
        """Waits for look to return something; it also says why it has not."""
        end, why = time.monotonic() + self.settings["waitSeconds"], ""
        while time.monotonic() < end:
            try:
                found, why = look()
                if found:
                    return found
            except Unreachable as error:
                why = str(error)
            except ApiError as error:
                if error.status < 500 and error.status != 429:
                    raise
                why = str(error)
            time.sleep(self.settings["pollSeconds"])
        raise Failure(f"{what} is not ready after {self.settings['waitSeconds']} s: {why}")

    def level(self, unit):
        """The scale level that the operation ends with: while it scales, the instance
        still has the old one, and no count depends on what is there now."""
        level = unit["level"]
        for status in self.info.get("scaleStatus") or []:
            if status["aspectId"] == unit["aspect"]:
                level = status["scaleLevel"]
        if self.data["operation"] == "scale_end" and self.request.get("aspectId") == unit["aspect"]:
            steps = self.request.get("numberOfSteps") or 1
            level += steps if self.request["type"] == "SCALE_OUT" else -steps
        return level

    def count(self, unit):
        return unit["initial"] + self.level(unit) * unit["step"]

    def documents(self):
        """The manifests of a raw package, with the numbers of machines of now."""
        root, found = os.path.dirname(os.path.dirname(os.path.abspath(__file__))), []
        for path in self.settings["deploy"] if self.settings["variant"] == "raw" else []:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                found += [json.loads(text) for text in file.read().split("\n---\n")]
        for item in found:
            if self.settings["kind"] == "workload":
                item["metadata"]["namespace"] = self.namespace
        return [item for item in found if item["kind"] != "Pod"]


class Workload(Instance):
    """A workload cluster: objects of Cluster API."""

    def targets(self):
        """Each unit with the object that makes its machines, and where that is."""
        cluster = self.kube.get(CAPI.format(self.namespace, "clusters/" + self.name))
        if cluster is None:
            raise Failure(f"cluster {self.namespace}/{self.name} does not exist")
        for unit in self.settings["units"]:
            if not unit["group"]:
                yield unit, CONTROL.format(self.namespace, cluster["spec"]["controlPlaneRef"]["name"])
                continue
            prefix = self.settings["prefix"]
            found = self.kube.items(CAPI.format(self.namespace, "machinedeployments"),
                                    f"{prefix}/cluster={self.name},{prefix}/node-group={unit['group']}")
            if len(found) != 1:
                raise Failure(f"node group {unit['group']} of {self.namespace}/{self.name}: {len(found)} MachineDeployments")
            yield unit, CAPI.format(self.namespace, "machinedeployments/" + found[0]["metadata"]["name"])

    def converge(self):
        """Applies what a raw package holds, sets all numbers, and waits for the machines."""
        for item in self.documents():
            for unit in self.settings["units"]:
                if item["kind"] == unit["kind"] and item["metadata"]["name"] == unit["object"]:
                    item["spec"]["replicas"] = self.count(unit)
            self.kube.apply(item)
        targets = list(self.targets())
        for unit, path in targets:
            if self.kube.get(path)["spec"].get("replicas") != self.count(unit):
                self.kube.merge(path, {"spec": {"replicas": self.count(unit)}})
        for unit, path in targets:
            self.patience(f"{unit['id']} of {self.namespace}/{self.name}", lambda at=path, n=self.count(unit): rolled(self.kube.get(at), n))
        self.patience(f"cluster {self.namespace}/{self.name}", lambda: condition(self.kube.get(CAPI.format(self.namespace, "clusters/" + self.name))))

    def instantiate_end(self):
        receiver = self.receiver()  # mistakes first
        self.converge()
        if receiver.url:
            credentials.created(self.kube, self.place, receiver, self.patience)

    scale_end = scale_rollback_end = converge
    change_current_package_end = change_current_package_rollback_end = converge

    def terminate_start(self):
        """The Cluster goes first, while the credential of its servers is still there."""
        receiver, path = self.receiver(), CAPI.format(self.namespace, "clusters/" + self.name)
        self.kube.delete(path)
        self.patience(f"deletion of cluster {self.namespace}/{self.name}", lambda: gone(self.kube.get(path)))
        for item in reversed(self.documents()):
            self.kube.delete(self.kube.path(item))
        if receiver.url:
            credentials.deleted(self.place, receiver)

    instantiate_rollback_start = terminate_start


class Management(Instance):
    """Cluster API and its providers."""

    def instantiate_end(self):
        for item in self.documents():
            self.kube.apply(item)
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "certificates.json"), encoding="utf-8") as file:
            later = json.load(file)
        for item in later:  # the webhook of cert-manager has to run
            self.patience(f"{item['kind']} {item['metadata']['name']}", lambda what=item: self.accepted(what))
        for place in self.settings["deployments"]:
            namespace, name = place.split("/")
            self.patience(f"deployment {place}", lambda at=f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}": condition(self.kube.get(at)))

    change_current_package_end = change_current_package_rollback_end = instantiate_end

    def accepted(self, item):
        self.kube.kinds.clear()
        try:
            return self.kube.apply(item), ""
        except Failure as error:  # no such kind yet, or no webhook
            return None, str(error)

    def terminate_start(self):
        """Refuses while there are clusters, which would lose who looks after them."""
        try:
            left = self.kube.items("/apis/cluster.x-k8s.io/v1beta2/clusters")
        except ApiError as error:
            if error.status != 404:
                raise
            left = []
        if left:
            names = ", ".join(f"{c['metadata']['namespace']}/{c['metadata']['name']}" for c in left[:5])
            raise Failure(f"{len(left)} clusters still exist: {names}; terminate them first")


def rolled(item, count):
    """Whether all machines of an object are there, ready and up to date."""
    if item is None:
        return None, "it does not exist"
    status = item.get("status") or {}
    seen = status.get("observedGeneration", 0) >= item["metadata"].get("generation", 0)
    have = {key: status.get(key) or 0 for key in ("replicas", "readyReplicas", "upToDateReplicas")}
    why = f"{have['readyReplicas']} of {count} machines are ready, {have['upToDateReplicas']} up to date"
    return seen and all(number == count for number in have.values()), why


def condition(item):
    """Whether an object is available, and what says that it is not."""
    if item is None:
        return None, "it does not exist"
    for one in (item.get("status") or {}).get("conditions") or []:
        if one["type"] == AVAILABLE:
            return one["status"] == "True", f"{one.get('reason', '')}: {one.get('message', '')}"
    return None, "it has no condition Available yet"


def gone(item):
    """Whether an object is gone, and what says why not."""
    if item is None:
        return True, ""
    said = [c.get("message", "") for c in (item.get("status") or {}).get("conditions") or [] if c["type"] == "Deleting"]
    return None, (said or ["it is still there"])[0]


def main():
    """Runs the operation of the pickled dict, if the package has something to do in it."""
    data = pickle.load(sys.stdin.buffer)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "settings.json"), encoding="utf-8") as file:
        settings = json.load(file)
    kind = {"workload": Workload, "management": Management}[settings["kind"]]
    step = getattr(kind, data["operation"], None)
    if data["operation"] in settings["operations"] and step is not None:
        step(kind(data, settings))


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"slipway: {failure}")
    except Exception as error:  # pylint: disable=broad-except  # a trace could show a secret
        sys.exit(f"slipway: unexpected {type(error).__name__}")
