package stacks

import (
	"net/netip"
	"slices"

	"github.com/slipway-sh/slipway/internal/config"
)

// nodeRules is the chart's list of rules for all nodes.
const nodeRules = "allNodesSecurityGroupRules"

// networking puts the nodes beside the seed, so that one reaches the other
// whatever the cloud's networks are.
func (e Environment) networking(made Made) map[string]any {
	internal := map[string]any{"networkFilter": map[string]any{"id": made.NetworkID}}
	if made.SubnetID != "" {
		internal["subnetFilter"] = map[string]any{"id": made.SubnetID}
	}
	if made.NetworkMTU > 0 {
		internal["mtu"] = made.NetworkMTU
	}
	values := map[string]any{"internalNetwork": internal}
	if made.SeedGroupID != "" {
		values[nodeRules] = []any{fromSeed(made.SeedGroupID)}
	}
	return withText(values, "externalNetworkId", e.Choices.ExternalNetworkID)
}

// fromSeed lets the seed, and nothing else, log in to nodes: etcd's snapshots, the repair
// of its quorum, and `slipway ssh --forward` go that way.
func fromSeed(groupID string) map[string]any {
	return map[string]any{"name": "ssh-from-seed", "description": "SSH from the seed", "direction": "ingress", "etherType": "IPv4",
		"protocol": "tcp", "portRangeMin": 22, "portRangeMax": 22, "remoteGroupID": groupID}
}

// keepSeedRule adds the seed's rule to rules that the operator gives, which replace ours: a
// list of values is taken whole.
func keepSeedRule(theirs map[string]any, made Made) {
	networking, _ := theirs["clusterNetworking"].(map[string]any)
	if rules, ok := networking[nodeRules].([]any); ok && made.SeedGroupID != "" {
		networking[nodeRules] = append(slices.Clone(rules), fromSeed(made.SeedGroupID))
	}
}

func (e Environment) apiServer(a config.APIServer, made Made) map[string]any {
	values := map[string]any{"enableLoadBalancer": true, "associateFloatingIP": a.FloatingIP}
	// amphora is the default of every chart and driver; naming it would differ
	// from the clusters that they made (azimuth-ops leaves it out too).
	if provider := e.Choices.LoadBalancerProvider; provider != "amphora" {
		withText(values, "loadBalancerProvider", provider)
	}
	if len(a.AllowedCIDRs) > 0 {
		values["allowedCIDRs"] = prefixes(append(slices.Clone(a.AllowedCIDRs), e.needed(made)...))
	}
	return values
}

// needed are the ranges that must reach the API whatever is allowed: the nodes, which their
// router translates to its own address on their way to the API's floating IP, and the seed, which
// it translates to the seed's. CAPO knows the routers that it made, not this one.
func (e Environment) needed(made Made) []netip.Prefix {
	ranges := e.inside()
	for _, text := range []string{made.SeedAddress, made.RouterAddress} {
		address, err := netip.ParseAddr(text)
		if err == nil && !slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(address) }) {
			ranges = append(ranges, netip.PrefixFrom(address, address.BitLen()))
		}
	}
	return ranges
}

// inside are the ranges of the nodes and the seed.
func (e Environment) inside() []netip.Prefix {
	if e.Config.Spec.Seed.MakesNetwork() {
		return []netip.Prefix{e.Config.Spec.Seed.Network.CIDR}
	}
	return nil
}
