// Package kube applies manifests to a Kubernetes cluster and waits for its objects,
// and reports causes instead of timeouts.
package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// FieldManager is the owner of the fields that Slipway applies.
const FieldManager = "slipway"

// Cluster is a Kubernetes cluster.
type Cluster struct {
	// Typed is the client for built-in kinds, Dynamic for all.
	Typed   kubernetes.Interface
	Dynamic dynamic.Interface

	config *rest.Config
	mapper meta.ResettableRESTMapper
	paces  paces
}

// New returns the cluster of a client configuration. It sends no requests.
func New(config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = FieldManager
	config.QPS, config.Burst = -1, -1 // priority and fairness of the server decides
	// Each client would else have a connection of its own if the way leads through another
	// machine, and on a slow one a TLS handshake takes seconds.
	calls, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a Kubernetes client: %w", err)
	}
	typed, err := kubernetes.NewForConfigAndClient(config, calls)
	if err != nil {
		return nil, fmt.Errorf("making a Kubernetes client: %w", err)
	}
	resources, err := dynamic.NewForConfigAndClient(config, calls)
	if err != nil {
		return nil, fmt.Errorf("making a Kubernetes client: %w", err)
	}
	return &Cluster{typed, resources, config, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(typed.Discovery())), newPaces()}, nil
}
