// Package network is Neutron: networks, subnets, ports, routers, floating IPs
// and security groups. Core is what other services use of it.
package network

import (
	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/quota"
)

// Core is the rules of networks, without HTTP. It holds no state of its own,
// so every service may have one.
type Core struct {
	env    *api.Env
	model  model.Networking
	quotas quota.Set
}

// NewCore returns the rules over the model of env.
func NewCore(env *api.Env) *Core {
	return &Core{env: env, model: env.Model.Network, quotas: quota.Set{
		Service: "network", Defaults: defaultQuotas(), Quotas: env.Model.Quotas, Faults: env.Faults,
	}}
}

func defaultQuotas() map[string]int {
	return map[string]int{
		"network": 100, "subnet": 100, "port": 500, "router": 10, "floatingip": 50,
		"security_group": 10, "security_group_rule": 100, "rbac_policy": 10, "subnetpool": -1, "trunk": -1,
	}
}
