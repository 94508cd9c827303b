package openstackcluster

import (
	"slices"
	"strings"
	"testing"
)

// TestNumbersAreWrittenOut where text is wanted: numbers of a values file are floating-point ones,
// and etcd, kubelets and the cloud controller manager read no 8.589934592e+09.
func TestNumbersAreWrittenOut(t *testing.T) {
	t.Parallel()
	all := render(t, `
etcd: {extraArgs: {quota-backend-bytes: 8589934592}}
machineMetadata: {asset: 1234567, share: 0.5}
nodeGroupDefaults: {nodeLabels: {example.org/asset: 1234567}}
addons: {openstack: {cloudConfig: {LoadBalancer: {timeout-client-data: 3600000}}}}
`)
	if got := arguments(at(all.kubeadm(t), "clusterConfiguration", "etcd", "local", "extraArgs")); !slices.Contains(got, "quota-backend-bytes=8589934592") {
		t.Errorf("etcd's arguments are %q", got)
	}
	labels := arguments(at(all.worker(t, "md-0"), "joinConfiguration", "nodeRegistration", "kubeletExtraArgs"))
	if !slices.Contains(labels, "node-labels=capi.stackhpc.com/node-group=md-0,example.org/asset=1234567") {
		t.Errorf("the kubelet's arguments are %q", labels)
	}
	server := all.template(t, "OpenStackMachineTemplate", "md-0").Object
	want(t, server, `[{key: asset, value: "1234567"}, {key: share, value: "0.5"}]`, "spec", "template", "spec", "serverMetadata")
	conf, _ := at(applied(t, all, "cloud-config", known(someClouds, nil)).get(t, "Secret cloud-config"), "stringData", "cloud.conf").(string)
	if !strings.Contains(conf, "timeout-client-data=3600000\n") {
		t.Errorf("cloud.conf is\n%s", conf)
	}
}
