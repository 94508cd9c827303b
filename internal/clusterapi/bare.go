package clusterapi

import (
	"regexp"
	"slices"

	"github.com/slipway-sh/slipway/internal/cause"
)

// noNetwork is how a kubelet says that its node waits for a network plugin only.
var noNetwork = regexp.MustCompile(`NetworkPluginNotReady|cni plugin not initialized`)

// WithoutNetwork is the state of a machine that is a node and waits only for a
// network plugin, which its cluster has no addon for.
const WithoutNetwork = "a node without network plugin"

// bare settles the report on a cluster without addons: whoever disabled them
// brings a network plugin later, and until then no node can be ready. What waits
// for nothing but that is as ready as it will be by itself. cluster are the
// conditions of the Cluster.
func (r *Report) bare(cluster []cause.Condition) {
	if slices.ContainsFunc(r.Parts, func(p Part) bool { return p.Kind == "HelmRelease" || p.Kind == "Manifests" }) {
		return
	}
	owner, settled := -1, false
	for i := range r.Parts {
		p := &r.Parts[i]
		if p.Level == 1 {
			owner = i
		}
		if p.Kind != "Machine" || p.Ready || p.State != "Running" || !noNetwork.MatchString(p.Cause) {
			continue
		}
		p.Ready, p.State, p.Cause, p.Server, settled = true, WithoutNetwork, "", "", true
		if owner >= 0 {
			r.Parts[owner].withoutNetwork++
		}
	}
	if !settled {
		return
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		switch {
		case p.withoutNetwork > 0 && p.current && p.withoutNetwork+p.readyMachines == p.wanted:
			p.Ready, p.Cause = true, ""
		case p.Kind == "Cluster" && p.State == "Provisioned":
			p.Ready = find(cluster, "InfrastructureReady").Status == "True" && find(cluster, "ControlPlaneAvailable").Status == "True"
		}
	}
}
