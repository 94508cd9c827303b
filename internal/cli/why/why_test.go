package why

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/support"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// twoFaults is a cluster whose worker found no host and whose load balancer broke, and
// one of the same project that is well. Cluster API says nothing of either fault.
const twoFaults = `
clusters cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: shop, namespace: prod}
spec: {infrastructureRef: {name: shop}}
status: {phase: Provisioned, conditions: [{type: Available, status: "False", message: "* WorkersAvailable: 0 of 1"}]}
---
clusters cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: well, namespace: prod}
spec: {infrastructureRef: {name: well}}
status: {phase: Provisioned, conditions: [{type: Available, status: "True"}]}
---
openstackclusters infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: shop, namespace: prod}
spec: {identityRef: {name: shop-cloud-credentials, cloudName: sandbox}}
status: {ready: true}
---
openstackclusters infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: well, namespace: prod}
spec: {identityRef: {name: shop-cloud-credentials, cloudName: sandbox}}
status: {ready: true}
---
machines cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: shop-w1, namespace: prod, labels: {cluster.x-k8s.io/cluster-name: shop}}
spec: {clusterName: shop, infrastructureRef: {name: shop-w1}, bootstrap: {dataSecretName: x}}
status: {phase: Provisioning, conditions: [{type: Ready, status: "False", message: "* InfrastructureReady: WaitingForBootstrapData"}]}
---
openstackmachines infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachine
metadata: {name: shop-w1, namespace: prod}
status: {conditions: [{type: InstanceReady, status: "False", severity: Info, reason: WaitingForBootstrapData}]}
`

// cluster is a Kubernetes with those objects and the Secret of their credential.
func cluster(t *testing.T, box *sandboxtest.Cloud) witness.Place {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{{Version: "v1", Resource: "events"}: "EventList", {Version: "v1", Resource: "secrets"}: "SecretList", {Version: "v1", Resource: "pods"}: "PodList",
		{Group: "apps", Version: "v1", Resource: "deployments"}: "DeploymentList"}
	for group, names := range map[string]string{"cluster.x-k8s.io/v1beta2": "clusters machines machinedeployments machinehealthchecks", "controlplane.cluster.x-k8s.io/v1beta2": "kubeadmcontrolplanes",
		"infrastructure.cluster.x-k8s.io/v1beta1": "openstackclusters openstackmachines", "infrastructure.cluster.x-k8s.io/v1alpha1": "openstackservers",
		"addons.stackhpc.com/v1alpha1": "helmreleases manifests", "openstack.k-orc.cloud/v1alpha1": "servergroups"} {
		for _, name := range strings.Fields(names) {
			version, _ := schema.ParseGroupVersion(group)
			lists[version.WithResource(name)] = name + "List"
		}
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	create := func(kind schema.GroupVersionResource, o *unstructured.Unstructured) {
		if _, err := client.Resource(kind).Namespace("prod").Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, document := range strings.Split(twoFaults, "---\n") {
		head, body, _ := strings.Cut(strings.TrimSpace(document), "\n")
		name, group, _ := strings.Cut(head, " ")
		version, _ := schema.ParseGroupVersion(group)
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(body), &o.Object); err != nil {
			t.Fatal(err)
		}
		o.SetAPIVersion(group)
		create(version.WithResource(name), o)
	}
	text, err := os.ReadFile(box.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	create(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": "shop-cloud-credentials", "namespace": "prod"}, "data": map[string]any{"clouds.yaml": base64.StdEncoding.EncodeToString(text)}}})
	return witness.Place{Name: "management", Client: client}
}

const balancer = "k8s-clusterapi-cluster-prod-shop-kubeapi"

// plant makes both faults in the cloud.
func plant(t *testing.T, box *sandboxtest.Cloud) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := box.Faults.Add(faultinject.Rule{Kind: faultinject.BalancerError, Service: "load-balancer", Resource: balancer})
	check(err)
	_, err = box.Faults.Add(faultinject.Rule{Kind: faultinject.NoValidHost, Service: "compute", Resource: "shop-w1"})
	check(err)
	n, err := networks.Create(t.Context(), box.Member.Network(t), networks.CreateOpts{Name: "n"}).Extract()
	check(err)
	s, err := subnets.Create(t.Context(), box.Member.Network(t), subnets.CreateOpts{NetworkID: n.ID, IPVersion: 4, CIDR: "10.7.0.0/24"}).Extract()
	check(err)
	lb, err := loadbalancers.Create(t.Context(), box.Member.LoadBalancer(t), loadbalancers.CreateOpts{Name: balancer, VipSubnetID: s.ID}).Extract()
	check(err)
	img, err := images.Create(t.Context(), box.Member.Image(t), images.CreateOpts{Name: "node", ContainerFormat: "bare", DiskFormat: "raw"}).Extract()
	check(err)
	check(imagedata.Upload(t.Context(), box.Member.Image(t), img.ID, strings.NewReader("boot me")).ExtractErr())
	compute := box.Member.Compute(t)
	compute.Microversion = "2.52"
	server, err := servers.Create(t.Context(), compute, servers.CreateOpts{Name: "shop-w1", FlavorRef: "3", ImageRef: img.ID, Networks: "none"}, nil).Extract()
	check(err)
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		b, err := loadbalancers.Get(t.Context(), box.Member.LoadBalancer(t), lb.ID).Extract()
		check(err)
		v, err := servers.Get(t.Context(), compute, server.ID).Extract()
		check(err)
		if b.ProvisioningStatus == "ERROR" && v.Status == "ERROR" {
			return
		}
	}
	t.Fatal("the faults did not come up")
}

// TestIndependentCausesAreAllTold with objects in Kubernetes and a cloud that is asked:
// the worker without a host and the load balancer, each once, with its chain and fix; of
// what is asked by name only its own.
func TestIndependentCausesAreAllTold(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	plant(t, box)
	on := cluster(t, box)
	all, err := clusterapi.ReadAll(t.Context(), on.Client, metav1.NamespaceAll)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(name string) support.Answers {
		scenes := witness.Scenes(t.Context(), on, all, look.NewCache(time.Now), name, "", time.Now())
		return support.Snapshots{Environment: "prod", Scenes: scenes}.Explain(name, "")
	}
	reasons := func(r support.Answers) string {
		var list []string
		for _, a := range r.Answers {
			for _, f := range a.Findings {
				list = append(list, a.Cluster+"/"+f.Reason)
			}
		}
		return strings.Join(list, " ")
	}
	for name, want := range map[string]string{
		"": "shop/no-valid-host shop/load-balancer-error", "shop": "shop/no-valid-host shop/load-balancer-error", "well": "",
		"shop-w1": "shop/no-valid-host", balancer: "shop/load-balancer-error",
	} {
		got := reasons(ask(name))
		if got != want && got != strings.Join([]string{"shop/load-balancer-error", "shop/no-valid-host"}, " ") || name == "well" && got != "" {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	on.Tenants = map[workload.Key]workload.Tenant{{Namespace: "prod", Name: "shop"}: {Name: "web", UUID: "379ac8a7-6e44-41f9-bfa5-574cd79f80a6"}}
	for _, name := range []string{"web", "379AC8A7-6e44-41f9-bfa5-574cd79f80a6"} { // as its tenant calls it
		if got := ask(name); len(got.Answers) != 1 || got.Answers[0].Cluster != "shop" || !strings.Contains(got.Text(), "cluster prod/shop, web in the Magnum API") {
			t.Errorf("%s: %s", name, got.Text())
		}
	}
	on.Tenants = nil
	if len(ask("nobody").Answers) > 0 {
		t.Error("an answer about nobody")
	}
	text := ask("").Text()
	for _, want := range []string{
		"server shop-w1: No valid host was found. There are not enough hosts available (since 20", "says Nova)\n",
		"load balancer " + balancer + ": its provisioning status is ERROR (since 20", "says Octavia)\n",
		"chain:    Cluster shop → Machine shop-w1 → OpenStackMachine shop-w1 → server shop-w1\n", "chain:    Cluster shop → OpenStackCluster shop → load balancer " + balancer + "\n",
		"reason:   no-valid-host (cluster prod/shop)\n", "evidence: Nova: server shop-w1 is ERROR: No valid host", "fix:      choose a smaller flavor",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "WaitingForBootstrapData") {
		t.Errorf("it repeats what is over:\n%s", text)
	}
	if well := ask("well").Text(); !strings.HasPrefix(well, "no cause found for well\nlooked at cluster prod/well:\n  Keystone accepts the credential\n") {
		t.Errorf("of a cluster that is well:\n%s", well)
	}
	var decoded support.Answers
	if encoded, err := json.Marshal(ask("shop")); err != nil || json.Unmarshal(encoded, &decoded) != nil || len(decoded.Answers) != 1 || len(decoded.Answers[0].Findings) != 2 {
		t.Errorf("as JSON: %v, %+v", err, decoded)
	}
}

// TestWhatCannotBeSeenIsTold: a cloud that nobody names, and the seed. That the credential's
// Secret is gone is no blind spot but a cause.
func TestWhatCannotBeSeenIsTold(t *testing.T) {
	t.Parallel()
	box := sandboxtest.Start(t)
	on := cluster(t, box)
	remove := func(kind schema.GroupVersionResource, name string) {
		t.Helper()
		if err := on.Client.Resource(kind).Namespace("prod").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	remove(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "shop-cloud-credentials")
	remove(schema.GroupVersionResource{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Resource: "openstackclusters"}, "well")
	all, err := clusterapi.ReadAll(t.Context(), on.Client, metav1.NamespaceAll)
	if err != nil {
		t.Fatal(err)
	}
	gone := support.Snapshots{Environment: "prod", Scenes: witness.Scenes(t.Context(), on, all, look.NewCache(time.Now), "shop", "", time.Now())}.Explain("shop", "").Text()
	if !strings.Contains(gone, `credential shop-cloud-credentials: secrets "shop-cloud-credentials" not found`) || !strings.Contains(gone, "credential-missing") || !strings.Contains(gone, "says Kubernetes") {
		t.Errorf("without the Secret of the credential:\n%s", gone)
	}
	scenes := witness.Scenes(t.Context(), on, all, look.NewCache(time.Now), "well", "", time.Now())
	r := support.Snapshots{Environment: "prod", Scenes: scenes, Unseen: []cause.Unseen{{What: "the seed", Why: "it is shelved"}}}.Explain("", "")
	text := r.Text()
	for _, want := range []string{"no cause found for environment prod\n", "not seen:\n  the seed: it is shelved\n", "  cluster prod/well: the cloud: it was not asked\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
