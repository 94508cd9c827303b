package openstackcluster

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// TestServerGroupsOfRoles: each role has a group of its own policy, hard or soft,
// without the other's.
//
// proves: S-34
func TestServerGroupsOfRoles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ plane, workers string }{{"anti-affinity", "soft-anti-affinity"}, {"soft-anti-affinity", "anti-affinity"}, {"anti-affinity", ""}, {"", "anti-affinity"}} {
		all := render(t, fmt.Sprintf(`{controlPlane: {serverGroup: {policy: %s}}, nodeGroupDefaults: {serverGroup: {policy: %s}}}`, cmp.Or(test.plane, "null"), cmp.Or(test.workers, "null")))
		for group, policy := range map[string]string{"control-plane": test.plane, "md-0": test.workers} {
			if policy == "" {
				if all["ServerGroup "+group] != nil {
					t.Errorf("%+v: %s has a group", test, group)
				}
				want(t, all.template(t, "OpenStackMachineTemplate", group).Object, `null`, "spec", "template", "spec", "serverGroup")
				continue
			}
			if keep := all["ServerGroup "+group].GetAnnotations()["helm.sh/resource-policy"]; keep != "" {
				t.Errorf("%s stays when the release goes", group)
			}
			want(t, all.get(t, "ServerGroup "+group), `{name: k8s-default-c1-`+group+`, policy: `+policy+`}`, "spec", "resource")
			want(t, all.template(t, "OpenStackMachineTemplate", group).Object, `{filter: {name: k8s-default-c1-`+group+`}}`, "spec", "template", "spec", "serverGroup")
		}
	}
	refuse(t, `controlPlane: {serverGroup: {policy: far-apart}}`, "controlPlane/serverGroup/policy", "soft-anti-affinity")
}

// TestThePolicyOfAServerGroupStays: the groups are those that the chart renders, and values that
// would change the policy of one that is there are refused.
func TestThePolicyOfAServerGroupStays(t *testing.T) {
	t.Parallel()
	const plane = "controlPlane: {serverGroup: {policy: anti-affinity}}"
	const defaults = "{nodeGroupDefaults: {serverGroup: {policy: soft-anti-affinity}}, nodeGroups: [{name: one, machineCount: 1}, {name: two, machineCount: 1, serverGroup: {policy: affinity}}]}"
	for name, c := range map[string]struct{ was, now, refused string }{
		"the same":                {plane, plane, ""},
		"another":                 {plane, "controlPlane: {serverGroup: {policy: soft-anti-affinity}}", "controlPlane.serverGroup.policy"},
		"none any more":           {plane, "", ""},
		"one by name instead":     {plane, "controlPlane: {serverGroup: {policy: null, name: mine}}", ""},
		"one by ID instead":       {plane, "controlPlane: {serverGroupId: 4f8d3f9e-8f63-4a69-8c6e-7d4c2f0b7d11, serverGroup: {policy: affinity}}", ""},
		"another of the defaults": {defaults, strings.Replace(defaults, "soft-anti-affinity", "anti-affinity", 1), "nodeGroups[one].serverGroup.policy"},
		"another of one group":    {defaults, strings.Replace(defaults, "policy: affinity", "policy: soft-affinity", 1), "nodeGroups[two].serverGroup.policy"},
		"not of one group":        {defaults, strings.Replace(defaults, "{policy: affinity}", "null", 1), ""},
		"of the only group":       {"nodeGroupDefaults: {serverGroup: {policy: affinity}}", "nodeGroupDefaults: {serverGroup: {policy: soft-affinity}}", "nodeGroups[md-0].serverGroup.policy"},
	} {
		var there []*unstructured.Unstructured
		for _, o := range render(t, c.was) {
			if o.GetKind() == "ServerGroup" {
				there = append(there, o)
			}
		}
		made, _, err := ServerGroups(Release{Name: "c1", Values: values(t, minimal, c.was)})
		if err != nil || !maps.Equal(made, Policies(there)) {
			t.Errorf("%s: groups %v, rendered %v: %v", name, made, Policies(there), err)
		}
		err = CheckServerGroups(Release{Name: "c1", Values: values(t, minimal, c.now)}, Policies(there), "below.")
		if c.refused == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var f *fault.Fault
		if all := fault.All(err); len(all) != 1 || !errors.As(all[0], &f) || f.Object != "below."+c.refused || f.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// groupsOfThree are three roles, of which the cloud refuses the last one's policy.
const groupsOfThree = `
controlPlane: {serverGroup: {policy: anti-affinity}}
nodeGroups:
  - {name: soft, machineCount: 1, serverGroup: {policy: soft-anti-affinity}}
  - {name: refused, machineCount: 1, serverGroup: {policy: soft-anti-affinity}}
`

// TestServerGroupsInACloud has the resource controller make the groups in the
// sandbox: one that is refused keeps no other from being made and is the cause
// that is told; all go with the objects of the release.
//
// proves: S-34
func TestServerGroupsInACloud(t *testing.T) {
	program := bundletest.Program(t, "openstack-resource-controller", "manager")
	server := kubetest.Start(t)
	cloud := sandboxtest.Start(t)
	const words = "Invalid input for field/attribute policy. 'soft-anti-affinity' is not one of ['anti-affinity', 'affinity']"
	if _, err := cloud.Faults.Add(faultinject.Rule{Service: "compute", Method: "POST", Path: "/v2.1/os-server-groups", Resource: "*-refused", Status: 400,
		Body: `{"badRequest": {"code": 400, "message": "` + words + `"}}`}); err != nil {
		t.Fatal(err)
	}
	cluster := must[*kube.Cluster](t)(kube.New(server.Config))
	definitions := controllerDefinitions(t)
	if err := cluster.ApplyObjects(t.Context(), definitions); err != nil {
		t.Fatal(err)
	}
	// The controller gives up where one is not served.
	if err := cluster.AwaitServed(t.Context(), definitions, func(string) {}); err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{[]byte("{apiVersion: v1, kind: Namespace, metadata: {name: clusters}}"), credentials(t, cloud)} {
		if err := cluster.Apply(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	objects := must[dynamic.Interface](t)(dynamic.NewForConfig(server.Config))
	runController(t, program, server.Kubeconfig)
	made := groupObjects(t)
	if err := cluster.ApplyObjects(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	nova := cloud.Member.Compute(t)
	nova.Microversion = "2.64"
	var seen string
	until(t, func() bool {
		seen = inNova(t, nova) + told(t, objects)
		return seen == "k8s-clusters-c1-control-plane anti-affinity; k8s-clusters-c1-soft soft-anti-affinity; c1-control-plane Available; c1-refused InvalidConfiguration; c1-soft Available; "
	}, &seen)
	part := waiting(t, objects)
	if part.Kind != "ServerGroup" || part.Name != "c1-refused" || !part.Hopeless || !strings.Contains(part.Cause, words) {
		t.Errorf("the cause is %+v", part)
	}
	for _, object := range made {
		if object.GetKind() == "ServerGroup" {
			if err := objects.Resource(serverGroupResource).Namespace("clusters").Delete(t.Context(), object.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := clusterapi.AwaitServerGroups(t.Context(), objects, "clusters", "c1"); err != nil {
		t.Fatal(err)
	}
	if left := inNova(t, nova) + told(t, objects); left != "" {
		t.Errorf("there is still %s", left)
	}
}
