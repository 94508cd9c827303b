package faults

import (
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

// comingUp is the cluster while CAPO waits for the load balancer: for minutes it has not
// written a word (loadbalancer.go, waitForLoadBalancerActive).
const comingUp = `
kind: Cluster
metadata: {name: shop}
status: {observedGeneration: 2, phase: Provisioning, conditions: [{type: Available, status: "False", reason: NotAvailable, message: "* RemoteConnectionProbe: Remote connection not established yet\n* InfrastructureReady: OpenStackCluster status.initialization.provisioned is false\n* ControlPlaneAvailable: Control plane not yet initialized"}]}
---
kind: OpenStackCluster
metadata: {name: shop}
status: {ready: false}
---
kind: KubeadmControlPlane
metadata: {name: shop-control-plane}
status: {observedGeneration: 1, conditions: [{type: Available, status: "False", reason: NotAvailable, message: "Control plane not yet initialized"}]}
`

func balancerCases() []planted {
	return []planted{
		{fault: "load balancer in ERROR", reason: "load-balancer-error", object: "load balancer " + balancer,
			run: func(w *world) string {
				w.rule(faultinject.Rule{Kind: faultinject.BalancerError, Service: "load-balancer", Resource: balancer})
				lb := must(w.balancer())(w)
				w.eventually("ERROR", func() bool {
					return must(loadbalancers.Get(w.Context(), w.box.Member.LoadBalancer(w.T), lb.ID).Extract())(w).ProvisioningStatus == "ERROR"
				})
				return comingUp
			}},
		{fault: "load balancer in ERROR, and CAPO waited in vain", reason: "load-balancer-error", object: "load balancer " + balancer,
			objects: infrastructure("APIEndpointReady", "APIEndpointConfigFailed", `Failed to reconcile control plane endpoint: failed to reconcile load balancer: load balancer "`+balancer+`" with id 1f is not active after timeout: timed out waiting for the condition`),
			said:    &cause.Cloud{Balancers: []cause.Balancer{{ID: "1f", Name: balancer, Provisioning: "ERROR", Operating: "ERROR", Updated: asked.Add(-time.Hour)}}}},
		{fault: "load balancer PENDING for ever", reason: "load-balancer-pending", object: "load balancer " + balancer, objects: comingUp,
			said: &cause.Cloud{Balancers: []cause.Balancer{{ID: "1f", Name: balancer, Provisioning: "PENDING_CREATE", Operating: "OFFLINE", Created: asked.Add(-time.Hour)}}}},
		{fault: "load balancer PENDING, and the cloud is not asked", reason: "load-balancer-pending", object: "load balancer " + balancer,
			objects: infrastructure("APIEndpointReady", "APIEndpointConfigFailed", `Failed to reconcile control plane endpoint: failed to reconcile load balancer: load balancer "`+balancer+`" with id 1f is not active after timeout: timed out waiting for the condition`)},
		{fault: "member of the load balancer down", reason: "load-balancer-member-down", object: "load balancer " + balancer,
			said: &cause.Cloud{Balancers: []cause.Balancer{{ID: "1f", Name: balancer, Provisioning: "ACTIVE", Operating: "ERROR",
				Members: []cause.Member{{Name: "k8s-clusterapi-cluster-prod-shop-kubeapi-6443-shop-cp1", Address: "10.0.0.11", Operating: "ERROR"}}}}}},
		{fault: "provider of the load balancer does not exist", reason: "load-balancer-refused", object: "OpenStackCluster shop",
			run: func(w *world) string {
				o := loadbalancers.CreateOpts{Name: balancer, VipSubnetID: w.subnet("10.7.0.0/24").ID, Provider: "nobody"}
				_, err := loadbalancers.Create(w.Context(), w.box.Member.LoadBalancer(w.T), o).Extract()
				return infrastructure("APIEndpointReady", "APIEndpointConfigFailed", "Failed to reconcile control plane endpoint: failed to reconcile load balancer: "+w.wrong(err).Error())
			}},
	}
}
