// Command network-policies has a node's packet filter obey the NetworkPolicies of its cluster,
// which flannel leaves to others, and keeps pods from addresses such as that of the cloud's
// metadata service. It is the controller of kube-router that k3s runs, without k3s.
package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// settings are what the flags say.
type settings struct {
	*options.KubeRouterConfig
	// denied are addresses that pods do not reach; pods in the network of the node do.
	denied []netip.Prefix
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "network-policies:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	s, err := flags(os.Args[1:])
	if err != nil {
		return err
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to the API server: %w", err)
	}
	if err := s.deny(); err != nil {
		return fmt.Errorf("keeping pods from addresses: %w", err)
	}
	return s.enforce(ctx, client)
}

func flags(args []string) (*settings, error) {
	s := &settings{KubeRouterConfig: options.NewKubeRouterConfig()}
	s.RunFirewall = true
	set := pflag.NewFlagSet("network-policies", pflag.ContinueOnError)
	set.StringVar(&s.HostnameOverride, "node", os.Getenv("NODE_NAME"), "name of this node")
	set.StringSliceVar(&s.ClusterIPCIDRs, "services", nil, "networks of the cluster's Services")
	set.BoolVar(&s.EnableIPv4, "ipv4", true, "pods have IPv4")
	set.BoolVar(&s.EnableIPv6, "ipv6", false, "pods have IPv6")
	set.Uint16Var(&s.HealthPort, "health-port", 20244, "port on loopback for /healthz")
	denied := set.StringSlice("deny", nil, "networks that pods do not reach, as 169.254.169.254/32")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	for _, text := range *denied {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--deny: %w", err)
		}
		s.denied = append(s.denied, p)
	}
	return s, nil
}
