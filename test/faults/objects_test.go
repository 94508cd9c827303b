package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/cause"
)

// shop is a cluster that is well: one control plane, one worker, an addon. A case changes
// or adds objects by kind and name.
const shop = `
kind: Cluster
metadata: {name: shop, namespace: prod, creationTimestamp: "2026-01-02T08:00:00Z", generation: 2}
spec: {infrastructureRef: {name: shop}, controlPlaneEndpoint: {host: 203.0.113.7, port: 6443}}
status: {observedGeneration: 2, phase: Provisioned, conditions: [{type: Available, status: "True"}]}
---
kind: OpenStackCluster
metadata: {name: shop, namespace: prod, creationTimestamp: "2026-01-02T08:00:00Z"}
spec: {identityRef: {name: shop-cloud-credentials, cloudName: openstack}}
status: {ready: true, conditions: [{type: Ready, status: "True"}]}
---
kind: KubeadmControlPlane
metadata: {name: shop-control-plane, namespace: prod, creationTimestamp: "2026-01-02T08:00:00Z", generation: 1}
spec: {replicas: 1}
status: {observedGeneration: 1, replicas: 1, readyReplicas: 1, conditions: [{type: Available, status: "True"}]}
---
kind: MachineDeployment
metadata: {name: shop-workers, namespace: prod, creationTimestamp: "2026-01-02T08:00:00Z", generation: 1}
spec: {replicas: 1}
status: {observedGeneration: 1, replicas: 1, readyReplicas: 1, conditions: [{type: Available, status: "True"}]}
---
kind: Machine
metadata: {name: shop-cp1, namespace: prod, creationTimestamp: "2026-01-02T08:01:00Z", labels: {cluster.x-k8s.io/control-plane: ""}}
spec: {infrastructureRef: {name: shop-cp1}, bootstrap: {dataSecretName: shop-cp1}}
status: {nodeRef: {name: shop-cp1}, conditions: [{type: Ready, status: "True"}]}
---
kind: OpenStackMachine
metadata: {name: shop-cp1, namespace: prod, creationTimestamp: "2026-01-02T08:01:00Z"}
status: {ready: true, conditions: [{type: InstanceReady, status: "True"}]}
---
kind: Machine
metadata: {name: shop-w1, namespace: prod, creationTimestamp: "2026-01-02T08:02:00Z", labels: {cluster.x-k8s.io/deployment-name: shop-workers}}
spec: {infrastructureRef: {name: shop-w1}, bootstrap: {dataSecretName: shop-w1}}
status: {nodeRef: {name: shop-w1}, conditions: [{type: Ready, status: "True"}]}
---
kind: OpenStackMachine
metadata: {name: shop-w1, namespace: prod, creationTimestamp: "2026-01-02T08:02:00Z"}
status: {ready: true, conditions: [{type: InstanceReady, status: "True"}]}
---
kind: HelmRelease
metadata: {name: shop-cni-calico, namespace: prod, creationTimestamp: "2026-01-02T08:00:00Z"}
status: {phase: Deployed, conditions: [{type: Ready, status: "True"}]}
`

// objects are those of shop with the changes of a case. Maps are merged; a status is
// replaced as a whole, because conditions are.
func objects(t *testing.T, changes string) cause.Objects {
	t.Helper()
	all := map[string]map[string]any{}
	var order []string
	for _, document := range strings.Split(shop+"---\n"+changes, "---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		text, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatalf("%v in %s", err, document)
		}
		var o map[string]any
		if err := json.Unmarshal(text, &o); err != nil { // whole numbers as the API server's
			t.Fatal(err)
		}
		u := unstructured.Unstructured{Object: o}
		key := u.GetKind() + "/" + u.GetName()
		old, there := all[key]
		if !there {
			order = append(order, key)
			all[key] = o
			continue
		}
		if o["status"] != nil {
			old["status"] = o["status"]
		}
		merge(old, o, "metadata")
		merge(old, o, "spec")
	}
	found := cause.Objects{}
	for _, key := range order {
		u := &unstructured.Unstructured{Object: all[key]}
		if u.GetNamespace() == "" {
			u.SetNamespace("prod")
		}
		found[u.GetKind()] = append(found[u.GetKind()], u)
	}
	return found
}

func merge(old, changes map[string]any, field string) {
	from, _ := changes[field].(map[string]any)
	into, _ := old[field].(map[string]any)
	if into == nil {
		into = map[string]any{}
	}
	for key, value := range from {
		into[key] = value
	}
	old[field] = into
}

// The objects as the controllers write them: CAPO 0.14.2 in controllers/ and
// pkg/cloud/services, the resource controller 2.4.0, Cluster API 1.12.3.

// waitingWorker is the worker while its server is made. CAPO keeps the condition
// WaitingForBootstrapData on the OpenStackMachine until the server is ready, whatever
// becomes of the server (openstackmachine_controller.go, reconcileMachineServer).
const waitingWorker = `
kind: Machine
metadata: {name: shop-w1}
status: {phase: Provisioning, conditions: [{type: Ready, status: "False", reason: NotReady, message: "* InfrastructureReady: WaitingForBootstrapData"},
  {type: InfrastructureReady, status: "False", reason: WaitingForBootstrapData, lastTransitionTime: "2026-01-02T08:02:10Z"}]}
---
kind: OpenStackMachine
metadata: {name: shop-w1}
status: {conditions: [{type: InstanceReady, status: "False", severity: Info, reason: WaitingForBootstrapData, lastTransitionTime: "2026-01-02T08:02:10Z"},
  {type: Ready, status: "False", severity: Info, reason: WaitingForBootstrapData, lastTransitionTime: "2026-01-02T08:02:10Z"}]}
---
`

// server is the worker whose server has a condition InstanceReady of severity Error.
// CAPO gives up on it if the state is ERROR.
func server(state, id, reason, message string) string {
	return waitingWorker + fmt.Sprintf(`
kind: OpenStackServer
metadata: {name: shop-w1, creationTimestamp: "2026-01-02T08:02:20Z"}
status: {instanceState: %s, instanceID: %q, conditions: [{type: InstanceReady, status: "False", severity: Error, reason: %s, message: %q, lastTransitionTime: "2026-01-02T08:03:00Z"}]}
`, state, id, reason, message)
}

// refused is the worker whose server Nova or Neutron refused to create: compute's
// CreateInstance wraps the call's error.
func refused(err error) string {
	return server("ERROR", "", "InstanceCreateFailed", "error creating Openstack instance: "+err.Error())
}

// warning is the worker whose OpenStackServer waits, with an event of CAPO about it: what
// goes wrong before Nova is asked leaves no condition.
func warning(reason, message string) string {
	at := time.Now().UTC().Format(time.RFC3339)
	return fmt.Sprintf(`
kind: OpenStackServer
metadata: {name: shop-w1, creationTimestamp: "2026-01-02T08:02:20Z"}
status: {ready: false}
---
kind: Event
metadata: {name: shop-w1.1}
type: Warning
reason: %s
message: %q
involvedObject: {kind: OpenStackServer, name: shop-w1}
firstTimestamp: %q
lastTimestamp: %q
`, reason, message, at, at)
}

// infrastructure is the OpenStackCluster with a condition of severity Error, and what
// handleUpdateOSCError adds.
func infrastructure(kind, reason, message string) string {
	return fmt.Sprintf(`
kind: OpenStackCluster
metadata: {name: shop}
status: {ready: false, conditions: [{type: %s, status: "False", severity: Error, reason: %s, message: %q, lastTransitionTime: "2026-01-02T08:03:00Z"},
  {type: Ready, status: "False", severity: Warning, reason: OpenStackError, message: %q, lastTransitionTime: "2026-01-02T08:03:00Z"}]}
`, kind, reason, message, message)
}

// node is the worker, or the control plane, with a condition that Cluster API repeats
// from its Node.
func node(name, kind, message string) string {
	return fmt.Sprintf(`
kind: Machine
metadata: {name: %s}
status: {phase: Running, nodeRef: {name: %s}, conditions: [{type: Ready, status: "False", reason: NotReady, message: %q},
  {type: %s, status: "False", reason: NodeNotHealthy, message: %q, lastTransitionTime: "2026-01-02T09:00:00Z"}]}
`, name, name, kind+": "+message, kind, message)
}

// addon is the addon whose release failed.
func addon(message string) string {
	return fmt.Sprintf(`
kind: HelmRelease
metadata: {name: shop-cni-calico}
status: {phase: Failed, failureMessage: %q, conditions: [{type: Ready, status: "False", reason: ReleaseFailed, message: %q, lastTransitionTime: "2026-01-02T09:00:00Z"}]}
`, message, message)
}
