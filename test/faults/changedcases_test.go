package faults

import (
	"errors"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"

	"github.com/slipway-sh/slipway/internal/cause"
)

// made is the infrastructure with what CAPO noted of a part that it made.
func made(part string) string {
	return "kind: OpenStackCluster\nmetadata: {name: shop}\nstatus: {ready: true, " + part + "}\n"
}

// pair are both servers as they run, with a port each if they are named.
func pair(ports ...string) *cause.Cloud {
	c := &cause.Cloud{Servers: []cause.Server{{ID: "cp", Name: "shop-cp1", Status: "ACTIVE", Created: asked.Add(-time.Hour)}, {ID: "w1", Name: "shop-w1", Status: "ACTIVE", Created: asked.Add(-time.Hour)}}}
	for _, id := range ports {
		c.Ports = append(c.Ports, cause.Port{ID: "p-" + id, Name: "p-" + id, Status: "ACTIVE", Device: id, Up: true})
	}
	return c
}

// with is a cloud that is changed.
func with(c *cause.Cloud, change func(*cause.Cloud)) *cause.Cloud {
	change(c)
	return c
}

// leaves is the worker that a rolling change replaces, and that was not evicted since.
func leaves(message string) string {
	return `
kind: Machine
metadata: {name: shop-w1, deletionTimestamp: "2026-01-02T09:00:10Z", finalizers: [machine.cluster.x-k8s.io]}
status: {nodeRef: {name: shop-w1}, conditions: [{type: Deleting, status: "True", reason: DrainingNode, lastTransitionTime: "2026-01-02T09:00:20Z", message: "` + message + `"}]}
`
}

// changedCases are changes behind Cluster API's back, and replacements that stand still.
func changedCases() []planted {
	network := "network: {id: net-1, name: nodes}"
	large := func(i *cause.Inside) {
		i.PodNetwork = &cause.PodNetwork{Plugin: "calico", Setting: "Installation default", MTU: 1450, Overhead: 50}
	}
	return []planted{
		{fault: "MTU of pods too large for the network", reason: "mtu-too-large", object: "pod network calico", objects: made(network), inside: inside(large),
			said: &cause.Cloud{Networks: []cause.Network{{ID: "net-1", Name: "nodes", MTU: 1442}}}},
		{fault: "load balancer deleted", reason: "load-balancer-gone", object: "load balancer " + balancer, ending: cause.Passing,
			run: func(w *world) string {
				lb := must(w.balancer())(w)
				w.eventually("ACTIVE", func() bool {
					return must(loadbalancers.Get(w.Context(), w.box.Member.LoadBalancer(w.T), lb.ID).Extract())(w).ProvisioningStatus == "ACTIVE"
				})
				if err := loadbalancers.Delete(w.Context(), w.box.Member.LoadBalancer(w.T), lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr(); err != nil {
					w.Fatal(err)
				}
				w.eventually("gone", func() bool {
					_, err := loadbalancers.Get(w.Context(), w.box.Member.LoadBalancer(w.T), lb.ID).Extract()
					return err != nil
				})
				return made("apiServerLoadBalancer: {id: " + lb.ID + ", name: " + balancer + "}")
			}},
		{fault: "load balancer disabled", reason: "load-balancer-disabled", object: "load balancer " + balancer,
			said: &cause.Cloud{Balancers: []cause.Balancer{{ID: "1f", Name: balancer, Provisioning: "ACTIVE", Operating: "OFFLINE", Disabled: true}}}},
		{fault: "network deleted", reason: "network-gone", object: "network nodes", objects: made(network), said: &cause.Cloud{}},
		{fault: "router deleted", reason: "network-gone", object: "router k8s-clusterapi-cluster-prod-shop",
			run: func(w *world) string {
				r := must(routers.Create(w.Context(), w.box.Member.Network(w.T), routers.CreateOpts{Name: "k8s-clusterapi-cluster-prod-shop"}).Extract())(w)
				if err := routers.Delete(w.Context(), w.box.Member.Network(w.T), r.ID).ExtractErr(); err != nil {
					w.Fatal(err)
				}
				return made("router: {id: " + r.ID + ", name: " + r.Name + "}")
			}},
		{fault: "port of a running server deleted", reason: "port-missing", object: "server shop-w1", said: pair("cp")},
		{fault: "router disconnected from the network", reason: "router-without-interface", object: "router k8s-clusterapi-cluster-prod-shop",
			said: with(pair("cp", "w1"), func(c *cause.Cloud) {
				c.Routers = []cause.Router{{ID: "r", Name: "k8s-clusterapi-cluster-prod-shop", Gateway: "ext"}}
			})},
		{fault: "drain refused for an hour by a disruption budget, while a machine is replaced", reason: "drain-blocked", object: "Machine shop-w1", ending: cause.Outside,
			objects: leaves(`Drain not completed yet (started at 2026-01-02T09:00:20Z):\n* Pod shop/db-0: cannot evict pod as it would violate the pod's disruption budget. The disruption budget db needs 1 healthy pods`)},
		{fault: "replaced machine that waits for its server's deletion", reason: "deletion-waits", object: "Machine shop-w1", objects: leaves("Waiting for InfrastructureMachine deletion")},
		{fault: "service of the cloud that answers with an error", reason: "cloud-service-error", object: "cloud service octavia.example:9876",
			objects: infrastructure("APIEndpointReady", "APIEndpointConfigFailed", "failed to reconcile load balancer: Expected HTTP response code [200] when accessing [GET https://octavia.example:9876/v2.0/lbaas/loadbalancers?name=x], but got 503 instead: Service Unavailable")},
		{fault: "service of the cloud that does not answer", reason: "cloud-service-error", object: "cloud service neutron.example:9696",
			objects: infrastructure("NetworkReady", "OpenStackError", `failed to reconcile network: Get "https://neutron.example:9696/v2.0/networks?id=x": dial tcp 192.0.2.7:9696: connect: connection refused`)},
		{fault: "part that waits without a cause", reason: "not-ready", object: "Machine shop-w1", objects: `
kind: Machine
metadata: {name: shop-w1}
status: {phase: Pending, conditions: [{type: BootstrapConfigReady, status: "False", reason: NotReady, message: "the moon is in the way", lastTransitionTime: "2026-01-02T08:30:00Z"}]}
`},
		{fault: "clouds.yaml without the cluster's entry", reason: "credential-malformed", object: secret,
			run: func(w *world) string { w.entry = "nobody"; return "" }},
		{fault: "clouds.yaml that is no YAML", reason: "credential-malformed", object: secret,
			run: func(w *world) string { w.yaml = []byte("clouds: {sandbox: [}"); return "" }},
		{fault: "clouds.yaml without a secret", reason: "credential-malformed", object: secret,
			run: func(w *world) string {
				w.yaml = []byte("clouds: {sandbox: {auth_type: v3applicationcredential, auth: {auth_url: " + w.box.URL() + "/identity, application_credential_id: 5a1f}}}")
				return ""
			}},
	}
}

// novaCases are Nova's words of what went wrong below it.
func novaCases() []planted {
	error := server("ERROR", "w1", "InstanceStateError", "")
	of := func(fault, reason, object, words string) planted {
		return planted{fault: fault, reason: reason, object: object, objects: error, said: nova(words)}
	}
	const aborted = "Build of instance w1 aborted: "
	return []planted{
		of("host without memory", "no-valid-host", "server shop-w1", "Insufficient compute resources: Free memory 512.00 MB < requested 8192 MB."),
		of("host without the PCI device", "no-valid-host", "server shop-w1", "PCI device request [InstancePCIRequest(alias_name='gpu')] failed"),
		of("server group whose policy no host keeps", "server-group-refused", "server shop-w1", aborted+"Anti-affinity instance group policy was violated."),
		of("no address for a server, told by Nova", "address-pool-empty", "network 5a1f-77", aborted+"No more IP addresses available on network 5a1f-77."),
		of("quota of volumes, told by Nova", "quota-volume", "quota volumes", aborted+"VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'."),
		of("quota of storage of a type, told by Nova", "quota-volume", "quota gigabytes_ssd", aborted+"VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota. Requested 20G exceeded for quota 'gigabytes_ssd'"),
		of("quota of ports, told by Nova", "quota-network", "quota ports", aborted+"Quota exceeded for resources: ['port']."),
		of("image deactivated while a server is built", "image-inactive", "image 5a1f", aborted+"Image 5a1f is not active."),
		of("image deleted while a server is built", "image-missing", "image 0c9d3d1e-0000-4000-8000-000000000001", aborted+"Image 0c9d3d1e-0000-4000-8000-000000000001 could not be found."),
		of("network interface not plugged in time", "port-binding-failed", "server shop-w1", aborted+"Virtual Interface creation failed"),
		{fault: "volume type that the project may not use", reason: "volume-not-created", object: "OpenStackServer shop-w1", objects: refused(errors.New("Volume type ssd could not be found. (404)"))},
		{fault: "machine that does not reach the API to join", reason: "join-unreachable", object: "server shop-w1", objects: booting,
			said: console("cloud-init[197]: error execution phase preflight: couldn't validate the identity of the API Server: failed to request the cluster-info ConfigMap: Get \"https://203.0.113.7:6443/x\": dial tcp 203.0.113.7:6443: i/o timeout\n" + strings.Split(failedInit, "\n")[3])},
		{fault: "node that no cloud controller manager initialises", reason: "node-uninitialized", object: "Node shop-w1",
			inside: worker(func(n *cause.Node) { n.Taints = []string{"node.cloudprovider.kubernetes.io/uninitialized"} })},
		{fault: "cloud controller manager with a wrong login", reason: "pod-crash", object: "DaemonSet kube-system/openstack-cloud-controller-manager", inside: wrongLogin()},
		{fault: "cloud controller manager with a wrong login, while the cluster comes up", reason: "pod-crash", object: "DaemonSet kube-system/openstack-cloud-controller-manager", inside: wrongLogin(),
			objects: booting, said: console("login:\n")},
		{fault: "region of the credential without the service", reason: "cloud-service-missing", object: "OpenStackCluster shop",
			objects: infrastructure("NetworkReady", "OpenStackError", "failed to create network client: No suitable endpoint could be found in the service catalog.")},
		{fault: "addon that waits for its values", reason: "not-ready", object: "HelmRelease shop-cni-calico", objects: `
kind: HelmRelease
metadata: {name: shop-cni-calico}
status: {phase: Pending, conditions: [{type: Ready, status: "False", reason: Waiting, message: "secrets \"calico-values\" are not there yet", lastTransitionTime: "2026-01-02T09:00:00Z"}]}
`},
		{fault: "image of an addon needs a login", reason: "image-pull", object: "container image quay.io/calico/node:v9",
			inside: pods(sickPod("ErrImagePull", `failed to pull and unpack image "quay.io/calico/node:v9": failed to resolve reference "quay.io/calico/node:v9": pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials`))},
		{fault: "addon for which all nodes have a taint", reason: "pod-unschedulable", object: "DaemonSet kube-system/calico-node", inside: tainted()},
		{fault: "pods of an addon refused by pod security", reason: "pods-refused", object: "DaemonSet kube-system/calico-node", inside: inside(func(i *cause.Inside) {
			i.Warnings = []cause.Warning{{Namespace: "kube-system", About: cause.Ref{Kind: "DaemonSet", Name: "kube-system/calico-node"}, Reason: "FailedCreate", First: asked, Last: asked,
				Message: `Error creating: pods "calico-node-x7" is forbidden: violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)`}}
		})},
		{fault: "server that reboots for an hour", reason: "server-slow", object: "server shop-w1",
			said: &cause.Cloud{Servers: []cause.Server{{ID: "w1", Name: "shop-w1", Status: "HARD_REBOOT", Task: "rebooting_hard", Created: asked.Add(-90 * time.Minute), Updated: asked.Add(-time.Hour)}}}},
		{fault: "certificate of the cloud expired", reason: "cloud-certificate-expired", object: secret,
			said: loginRefused(0, "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-01-02T10:00:00Z is after 2026-01-01T00:00:00Z")},
		{fault: "Keystone that limits logins", reason: "keystone-down", object: secret, said: loginRefused(429, "Too Many Requests (429)")},
		{fault: "login that Keystone cannot read", reason: "credential-malformed", object: secret, said: loginRefused(400, "Invalid input for field 'identity/password': 'user' is a required property (400)")},
		{fault: "webhook of the management cluster with an expired certificate", reason: "webhook-down", object: "webhook default.kubeadmconfig.bootstrap.cluster.x-k8s.io", objects: `
kind: KubeadmControlPlane
metadata: {name: shop-control-plane}
status: {observedGeneration: 1, conditions: [{type: MachinesCreated, status: "False", severity: Error, reason: MachineGenerationFailed,
  message: "failed calling webhook \"default.kubeadmconfig.bootstrap.cluster.x-k8s.io\": failed to call webhook: tls: failed to verify certificate: x509: certificate has expired or is not yet valid"}]}
`},
	}
}

// wrongLogin is a cloud controller manager that cannot log in, and nodes that wait for it.
func wrongLogin() *cause.Inside {
	manager := sickPod("CrashLoopBackOff", "back-off 5m0s restarting failed container")
	manager.Owner.Name, manager.Containers[0].Restarts, manager.Containers[0].Exit = "openstack-cloud-controller-manager", 9, "Error, exit code 255"
	manager.Containers[0].Words = "I0102 openstack.go:1] starting\nF0102 main.go:1] Cloud provider could not be initialized: could not init cloud provider \"openstack\": Authentication failed\n"
	i := pods(manager)
	for n := range i.Nodes {
		i.Nodes[n].Taints = []string{"node.cloudprovider.kubernetes.io/uninitialized"}
	}
	return i
}

// tainted is an addon that tolerates less than somebody tainted all nodes with.
func tainted() *cause.Inside {
	waits := sickPod("", "")
	waits.Containers, waits.Node, waits.Waits = nil, "", "0/2 nodes are available: 2 node(s) had untolerated taint {maintenance: true}. preemption: 0/2 nodes are available"
	return pods(waits)
}
