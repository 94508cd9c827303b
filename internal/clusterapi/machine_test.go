package clusterapi

import (
	"reflect"
	"testing"
	"time"
)

func TestTheMachinesOfACluster(t *testing.T) {
	t.Parallel()
	r := assess(namespace(t, cluster+network+plane+`---
machines
metadata: {name: c-md-0-x, labels: {cluster.x-k8s.io/cluster-name: c, cluster.x-k8s.io/deployment-name: c-md-0, zone: north}}
spec: {clusterName: c, version: v1.34.4, providerID: "openstack://region/1f9c1dd4"}
status: {phase: Running, nodeRef: {name: c-md-0-node}, conditions: [{type: Ready, status: "True"}],
  addresses: [{type: Hostname, address: host}, {type: InternalIP, address: 10.6.0.7}, {type: InternalIP, address: 10.7.0.7}, {type: ExternalIP, address: 192.0.2.7}]}
---
machines
metadata: {name: c-md-0-y, labels: {cluster.x-k8s.io/cluster-name: c, cluster.x-k8s.io/deployment-name: c-md-0}}
spec: {clusterName: c}
---
machines
metadata: {name: d-1, labels: {cluster.x-k8s.io/cluster-name: d}}
spec: {clusterName: d}
`), "c", nil, time.Now())
	own := map[string]string{Label: "c"}
	with := func(pairs ...string) map[string]string {
		all := map[string]string{}
		for key, value := range own {
			all[key] = value
		}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i]] = pairs[i+1]
		}
		return all
	}
	want := []Machine{
		{Name: "c-1", Role: RoleControlPlane, State: "Running", Ready: true, Labels: with("cluster.x-k8s.io/control-plane", "")},
		{Name: "c-md-0-x", Role: RoleWorker, Group: "c-md-0", Node: "c-md-0-node", Server: "1f9c1dd4", Address: "10.6.0.7", ExternalAddress: "192.0.2.7", State: "Running", Ready: true,
			Version: "v1.34.4", Labels: with("cluster.x-k8s.io/deployment-name", "c-md-0", "zone", "north")},
		{Name: "c-md-0-y", Role: RoleWorker, Group: "c-md-0", State: "Pending", Labels: with("cluster.x-k8s.io/deployment-name", "c-md-0")},
	}
	if !reflect.DeepEqual(r.Machines, want) {
		t.Errorf("got  %+v\nwant %+v", r.Machines, want)
	}
}
