package source

import _ "embed"

// What the patch of Cluster API's OpenStack provider adds to it.
//
//go:embed _patches/capo/readyz.go
var capoReadyz string

// capoPatch has the load balancer of a control plane ask API servers whether they are ready
// (docs/design/0079-readiness-of-api-servers.md). Upstream asks whether something listens. An API
// server listens up to twenty seconds before it answers, and for some seconds more it refuses what
// RBAC allows: with each new machine of a control plane, a part of all requests hung or was
// refused.
func capoPatch() patch {
	const file = "pkg/cloud/services/loadbalancer/loadbalancer.go"
	return patch{
		Module: "sigs.k8s.io/cluster-api-provider-openstack",
		Write:  map[string]string{"pkg/cloud/services/loadbalancer/readyz.go": capoReadyz},
		Replace: []replacement{
			{file, "s.ensureMonitor(openStackCluster, lbPortObjectsName, pool.ID, lb.ID)", "s.ensureMonitor(openStackCluster, lbPortObjectsName, pool.ID, lb, port)"},
			{file, "monitorName, poolID, lbID string) error {\n\tvar cfg", "monitorName, poolID string, lb *loadbalancers.LoadBalancer, port int) error {\n\tlbID, check := lb.ID, checkOf(openStackCluster, lb.Provider, port)\n\tvar cfg"},
			{file, "\tif monitor != nil {\n\t\tneedsUpdate := false\n", "\tif monitor, err = s.replaced(monitor, check, lbID); err != nil {\n\t\treturn err\n\t}\n\tif monitor != nil {\n\t\tneedsUpdate := false\n"},
			{file, "\t\tType:           \"TCP\",\n\t\tDelay: ", "\t\tType:           check.Type,\n\t\tURLPath:        check.URLPath,\n\t\tExpectedCodes:  check.ExpectedCodes,\n\t\tDelay: "},
		},
	}
}
