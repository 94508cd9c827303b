package loadbalancer

import (
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"

	infrav1 "sigs.k8s.io/cluster-api-provider-openstack/api/v1beta1"
)

// checkOf is what a health monitor asks the members behind a port: API servers whether they are
// ready, as far as the provider's balancer speaks HTTP, and else whether something listens.
// An API server without anonymous requests answers 401, once it answers at all. One whose etcd
// has no leader stays: its clients are told why.
func checkOf(cluster *infrav1.OpenStackCluster, provider string, port int) monitors.CreateOpts {
	speaks := []string{"amphora", "amphorav2", "octavia"} // one provider: the others are former names
	if !slices.Contains(speaks, provider) || slices.Contains(cluster.Spec.APIServerLoadBalancer.AdditionalPorts, port) {
		return monitors.CreateOpts{Type: monitors.TypeTCP}
	}
	return monitors.CreateOpts{Type: monitors.TypeHTTPS, URLPath: "/readyz?exclude=etcd&exclude=etcd-readiness", ExpectedCodes: "200,401"}
}

// replaced deletes the monitor of an earlier release, which asked whether something listens: the
// type of a monitor cannot be changed. It returns the monitor that is left.
func (s *Service) replaced(monitor *monitors.Monitor, check monitors.CreateOpts, lbID string) (*monitors.Monitor, error) {
	if monitor == nil || monitor.Type != monitors.TypeTCP || check.Type == monitors.TypeTCP {
		return monitor, nil
	}
	s.scope.Logger().Info("Replacing load balancer monitor", "loadBalancerID", lbID, "monitorID", monitor.ID, "type", check.Type)
	if err := s.loadbalancerClient.DeleteMonitor(monitor.ID); err != nil {
		return nil, fmt.Errorf("deleting load balancer monitor %s: %w", monitor.ID, err)
	}
	if _, err := s.waitForLoadBalancerActive(lbID); err != nil {
		return nil, fmt.Errorf("deleting load balancer monitor %s: %w", monitor.ID, err)
	}
	return nil, nil
}
