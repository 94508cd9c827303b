package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// patience is how long the node may take until the controller can be made: it needs the node's
// addresses, which the cloud controller manager writes after the node has joined, and a list of
// its links, which the kernel refuses while those of pods come and go.
const patience = 5 * time.Minute

// enforce has the packet filter obey the policies until ctx ends. The rules stay then: pods are
// as safe while this program is replaced as they were before.
func (s *settings) enforce(ctx context.Context, client kubernetes.Interface) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	pods, namespaces := factory.Core().V1().Pods().Informer(), factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	factory.Start(ctx.Done())
	for kind, ok := range factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("listing %v: %w", kind, context.Cause(ctx))
		}
	}
	controller, err := s.controller(ctx, client, pods, policies, namespaces)
	if err != nil {
		return err
	}
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{pods: controller.PodEventHandler,
		namespaces: controller.NamespaceEventHandler, policies: controller.NetworkPolicyEventHandler} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watching: %w", err)
		}
	}
	heartbeats := make(chan *healthcheck.ControllerHeartbeat, 10)
	health, err := healthcheck.NewHealthController(s.KubeRouterConfig)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	health.SetAlive()
	ctx, end := context.WithCancel(ctx)
	defer end()
	var running sync.WaitGroup
	running.Add(2)
	go health.RunCheck(heartbeats, ctx.Done(), &running)
	go controller.Run(heartbeats, ctx.Done(), &running)
	err = s.serve(ctx, health.Handler)
	end()
	running.Wait()
	return err
}

// controller makes kube-router's controller.
func (s *settings) controller(ctx context.Context, client kubernetes.Interface, pods, policies, namespaces cache.SharedIndexInformer) (*netpol.NetworkPolicyController, error) {
	iptables, ipsets, err := netpol.NewIPTablesHandlers(s.KubeRouterConfig)
	if err != nil {
		return nil, fmt.Errorf("packet filter: %w", err)
	}
	for begun := time.Now(); ; {
		c, err := netpol.NewNetworkPolicyController(client, s.KubeRouterConfig, pods, policies, namespaces, &sync.Mutex{}, nil, iptables, ipsets)
		if err == nil || time.Since(begun) > patience {
			return c, err
		}
		klog.Infof("trying again in a second: %v", err)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

// serve answers the kubelet, and nobody else: it shares the network of the node.
func (s *settings) serve(ctx context.Context, health http.HandlerFunc) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", health)
	server := &http.Server{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(int(s.HealthPort))), Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return fmt.Errorf("serving health: %w", err)
	}
	return nil
}
