package recoverytest

import (
	"strings"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
)

// cluster adds a cluster with all that belongs to it.
func (g *Graph) cluster(name string) {
	fill := strings.NewReplacer("NAME", name, "RELEASE", release(name),
		"CLUSTER", "cluster.x-k8s.io/v1beta2|Cluster/"+name, "LABEL", "cluster.x-k8s.io/cluster-name: "+name)
	for text := range strings.SplitSeq(clusterObjects, "\n---\n") {
		g.add(fill.Replace(text))
	}
	machines := []struct{ name, owner, template, label string }{
		{name + "-cp-1", "controlplane.cluster.x-k8s.io/v1beta2|KubeadmControlPlane/" + name, name + "-cp", "cluster.x-k8s.io/control-plane: ''"},
		{name + "-md-1", "cluster.x-k8s.io/v1beta2|MachineSet/" + name + "-md", name + "-md", "cluster.x-k8s.io/deployment-name: " + name + "-md"},
		{name + "-md-2", "cluster.x-k8s.io/v1beta2|MachineSet/" + name + "-md", name + "-md", "cluster.x-k8s.io/deployment-name: " + name + "-md"},
	}
	cloud := &g.Snapshot.Cloud
	for _, m := range machines {
		fill := strings.NewReplacer("MACHINE", m.name, "OWNER", m.owner, "TEMPLATE", m.template, "KIND", m.label,
			"NAME", name, "LABEL", "cluster.x-k8s.io/cluster-name: "+name)
		for text := range strings.SplitSeq(machineObjects, "\n---\n") {
			g.add(fill.Replace(text))
		}
		cloud.Servers = append(cloud.Servers, resource("server-"+m.name, m.name, "ACTIVE"))
		cloud.Ports = append(cloud.Ports, resource("port-"+m.name, m.name+"-0", "ACTIVE"))
	}
	cloud.LoadBalancers = append(cloud.LoadBalancers, resource("lb-"+name, "k8s-clusterapi-cluster-"+name+"-"+name+"-kubeapi", "ACTIVE"))
	cloud.FloatingIPs = append(cloud.FloatingIPs, snapshot.Resource{ID: "fip-" + name, Name: "fip-" + name, Project: Project, Status: "ACTIVE", Address: "address-of-" + name})
	g.Networks = append(g.Networks, resource("net-"+name, "n", "ACTIVE"))
	g.Routers = append(g.Routers, resource("router-"+name, "r", "ACTIVE"))
	g.SecurityGroups = append(g.SecurityGroups, resource("sg-cp-"+name, "cp", ""), resource("sg-md-"+name, "md", ""))
}

func resource(id, name, status string) snapshot.Resource {
	return snapshot.Resource{ID: id, Name: name, Project: Project, Status: status}
}

const clusterObjects = `apiVersion: v1
kind: Namespace
metadata: {name: NAME, labels: {magnum.openstack.org/project-id: p}}
spec: {finalizers: [kubernetes]}
status: {phase: Active}
---
apiVersion: v1
kind: Secret
metadata: {name: NAME-cloud-credentials, namespace: NAME, labels: {LABEL}}
data: {clouds.yaml: e30=}
---
apiVersion: v1
kind: Secret
type: helm.sh/release.v1
metadata: {name: sh.helm.release.v1.NAME.v1, namespace: NAME, labels: {owner: helm, name: NAME}}
data: {release: RELEASE}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata: {name: NAME-token, namespace: NAME, labels: {LABEL}}
data: {token: eA==}
---
apiVersion: v1
kind: Secret
metadata: {name: NAME-files, namespace: NAME}
data: {a: YQ==}
---
apiVersion: magnum.slipway.sh/v1alpha1
kind: ClusterTemplate
metadata: {name: NAME-template, namespace: NAME}
spec: {uuid: 11111111-0000-4000-8000-000000000000, name: k8s, projectID: p, coe: kubernetes, imageID: i}
---
apiVersion: magnum.slipway.sh/v1alpha1
kind: Cluster
metadata: {name: NAME, namespace: NAME, finalizers: [magnum.slipway.sh/cluster]}
spec: {uuid: 22222222-0000-4000-8000-000000000000, name: NAME, projectID: p, templateRef: {name: NAME-template}, credential: {secretName: NAME-cloud-credentials}}
status: {phase: CREATE_COMPLETE, observedGeneration: 3}
---
apiVersion: magnum.slipway.sh/v1alpha1
kind: NodeGroup
metadata: {name: NAME-default-worker, namespace: NAME, owners: "magnum.slipway.sh/v1alpha1|MagnumCluster/NAME", finalizers: [magnum.slipway.sh/nodegroup]}
spec: {uuid: 33333333-0000-4000-8000-000000000000, name: default-worker, projectID: p, clusterName: NAME, role: worker, nodeCount: 2}
status: {phase: CREATE_COMPLETE}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: NAME, namespace: NAME, labels: {LABEL}, finalizers: [cluster.cluster.x-k8s.io]}
spec:
  clusterNetwork: {pods: {cidrBlocks: [10.0.0.0/16]}}
  controlPlaneEndpoint: {host: 192.0.2.1, port: 6443}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: NAME}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: NAME}
status:
  phase: Provisioned
  observedGeneration: 3
  initialization: {infrastructureProvisioned: true, controlPlaneInitialized: true}
  conditions: [{type: Available, status: "True", reason: Available, message: "", lastTransitionTime: "2026-02-01T00:00:00Z", observedGeneration: 3},
    {type: Paused, status: "False", reason: NotPaused, message: "", lastTransitionTime: "2026-02-01T00:00:00Z", observedGeneration: 3}]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: NAME, namespace: NAME, labels: {LABEL}, owners: CLUSTER, finalizers: [openstackcluster.infrastructure.cluster.x-k8s.io]}
spec:
  identityRef: {name: NAME-cloud-credentials, cloudName: openstack}
  apiServerLoadBalancer: {enabled: true}
status:
  ready: true
  network: {id: net-NAME, name: net, subnets: [{id: subnet-NAME, name: sub, cidr: 10.0.0.0/24}]}
  router: {id: router-NAME, name: router}
  apiServerLoadBalancer: {id: lb-NAME, name: lb, ip: address-of-NAME, internalIP: 10.0.0.2}
  controlPlaneSecurityGroup: {id: sg-cp-NAME, name: cp}
  workerSecurityGroup: {id: sg-md-NAME, name: md}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {name: NAME-cp, namespace: NAME, labels: {LABEL}, owners: CLUSTER}
spec: {template: {spec: {flavor: m1, image: {filter: {name: i}}, identityRef: {name: NAME-cloud-credentials, cloudName: openstack}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata: {name: NAME-md, namespace: NAME, labels: {LABEL}, owners: CLUSTER}
spec: {template: {spec: {flavor: m1, image: {filter: {name: i}}, identityRef: {name: NAME-cloud-credentials, cloudName: openstack}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: NAME-md, namespace: NAME, labels: {LABEL}, owners: CLUSTER}
spec: {template: {spec: {files: [{path: /a, contentFrom: {secret: {name: NAME-files, key: a}}}]}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: NAME, namespace: NAME, labels: {LABEL}, owners: CLUSTER, finalizers: [kubeadm.controlplane.cluster.x-k8s.io]}
spec:
  replicas: 1
  version: v1.34.4
  kubeadmConfigSpec: {initConfiguration: {nodeRegistration: {name: x}}}
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: NAME-cp}}}
status: {observedGeneration: 3, replicas: 1, readyReplicas: 1, version: v1.34.4, initialization: {controlPlaneInitialized: true}}
---
apiVersion: v1
kind: Secret
type: cluster.x-k8s.io/secret
metadata: {name: NAME-ca, namespace: NAME, labels: {LABEL}, owners: "controlplane.cluster.x-k8s.io/v1beta2|KubeadmControlPlane/NAME"}
data: {tls.crt: YQ==, tls.key: Yg==}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: NAME-md, namespace: NAME, labels: {LABEL}, owners: CLUSTER}
spec:
  clusterName: NAME
  replicas: 2
  selector: {matchLabels: {LABEL}}
  template:
    metadata: {labels: {LABEL}}
    spec:
      clusterName: NAME
      version: v1.34.4
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: NAME-md}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: NAME-md}
status: {observedGeneration: 3, replicas: 2, readyReplicas: 2, phase: Running}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineSet
metadata: {name: NAME-md, namespace: NAME, labels: {LABEL}, owners: "cluster.x-k8s.io/v1beta2|MachineDeployment/NAME-md"}
spec:
  clusterName: NAME
  replicas: 2
  selector: {matchLabels: {LABEL}}
  template:
    metadata: {labels: {LABEL}}
    spec:
      clusterName: NAME
      version: v1.34.4
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: NAME-md}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachineTemplate, name: NAME-md}
status: {observedGeneration: 3, replicas: 2, readyReplicas: 2}
---
apiVersion: addons.stackhpc.com/v1alpha1
kind: HelmRelease
metadata: {name: NAME-cni, namespace: NAME, labels: {LABEL}, owners: CLUSTER, finalizers: [addons.stackhpc.com/finalizer]}
spec:
  clusterName: NAME
  targetNamespace: kube-system
  releaseName: cni
  chart: {repo: "https://charts.invalid", name: cni, version: 1.0.0}
status: {phase: Deployed, revision: 1, observedGeneration: 3}`

const machineObjects = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: MACHINE, namespace: NAME, labels: {LABEL, KIND}, owners: OWNER, finalizers: [machine.cluster.x-k8s.io]}
spec:
  clusterName: NAME
  version: v1.34.4
  providerID: openstack:///server-MACHINE
  bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfig, name: MACHINE}, dataSecretName: MACHINE}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachine, name: MACHINE}
status:
  phase: Running
  observedGeneration: 3
  nodeRef: {name: MACHINE}
  initialization: {bootstrapDataSecretCreated: true, infrastructureProvisioned: true}
  conditions: [{type: UpToDate, status: "True", reason: UpToDate, message: "", lastTransitionTime: "2026-02-01T00:00:00Z", observedGeneration: 3},
    {type: Paused, status: "False", reason: NotPaused, message: "", lastTransitionTime: "2026-02-01T00:00:00Z", observedGeneration: 3}]
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfig
metadata: {name: MACHINE, namespace: NAME, labels: {LABEL}, owners: cluster.x-k8s.io/v1beta2|Machine/MACHINE}
spec: {joinConfiguration: {nodeRegistration: {name: x}}}
status: {observedGeneration: 3, dataSecretName: MACHINE, initialization: {dataSecretCreated: true}}
---
apiVersion: v1
kind: Secret
type: cluster.x-k8s.io/secret
metadata: {name: MACHINE, namespace: NAME, labels: {LABEL}, owners: bootstrap.cluster.x-k8s.io/v1beta2|KubeadmConfig/MACHINE}
data: {value: YQ==}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachine
metadata:
  name: MACHINE
  namespace: NAME
  labels: {LABEL}
  owners: cluster.x-k8s.io/v1beta2|Machine/MACHINE
  annotations: {cluster.x-k8s.io/cloned-from-name: TEMPLATE, cluster.x-k8s.io/cloned-from-groupkind: OpenStackMachineTemplate.infrastructure.cluster.x-k8s.io}
  finalizers: [openstackmachine.infrastructure.cluster.x-k8s.io]
spec: {flavor: m1, image: {filter: {name: i}}, identityRef: {name: NAME-cloud-credentials, cloudName: openstack}, providerID: "openstack:///server-MACHINE"}
status: {ready: true, instanceID: server-MACHINE, instanceState: ACTIVE}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
kind: OpenStackServer
metadata: {name: MACHINE, namespace: NAME, labels: {LABEL}, owners: infrastructure.cluster.x-k8s.io/v1beta1|OpenStackMachine/MACHINE, finalizers: [openstackserver.infrastructure.cluster.x-k8s.io]}
spec: {flavor: m1, image: {filter: {name: i}}, sshKeyName: k, identityRef: {name: NAME-cloud-credentials, cloudName: openstack}, ports: [{nameSuffix: "0", description: d}]}
status: {ready: true, instanceID: server-MACHINE, instanceState: ACTIVE, resources: {ports: [{id: port-MACHINE}]}}`
