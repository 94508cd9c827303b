package cloud

import (
	"cmp"
	"slices"
)

// add takes over what one listing found.
func (s *Snapshot) add(part *Snapshot) {
	s.Networks = append(s.Networks, part.Networks...)
	s.Subnets = append(s.Subnets, part.Subnets...)
	s.Routers = append(s.Routers, part.Routers...)
	s.SecurityGroups = append(s.SecurityGroups, part.SecurityGroups...)
	s.FloatingIPs = append(s.FloatingIPs, part.FloatingIPs...)
	s.Extensions = append(s.Extensions, part.Extensions...)
	s.Flavors = append(s.Flavors, part.Flavors...)
	s.Images = append(s.Images, part.Images...)
	s.VolumeTypes = append(s.VolumeTypes, part.VolumeTypes...)
	s.Servers = append(s.Servers, part.Servers...)
	s.Volumes = append(s.Volumes, part.Volumes...)
	s.KeyPairs = append(s.KeyPairs, part.KeyPairs...)
	s.Credentials = append(s.Credentials, part.Credentials...)
	s.Balancers = append(s.Balancers, part.Balancers...)
	s.Listeners = append(s.Listeners, part.Listeners...)
	s.Pools = append(s.Pools, part.Pools...)
	s.Ports = append(s.Ports, part.Ports...)
	s.Providers = append(s.Providers, part.Providers...)
	s.Quotas = append(s.Quotas, part.Quotas...)
	if part.DefaultVolumeType != "" {
		s.DefaultVolumeType = part.DefaultVolumeType
	}
	for kind, zones := range part.Zones {
		s.Zones[kind] = zones
	}
}

// complete fills in what follows from several listings, and sorts what came
// in the order of answers.
func (s *Snapshot) complete() {
	for i := range s.Quotas {
		q := &s.Quotas[i]
		switch { // Octavia tells limits only; Nova does not count key pairs
		case q.Service == LoadBalancer && q.Resource == balancersQuota:
			q.Used = len(s.Balancers)
		case q.Service == Compute && q.Resource == "key_pairs":
			q.Used = len(s.KeyPairs)
		}
	}
	for _, credential := range s.Credentials {
		if credential.ID == s.Token.CredentialID {
			s.Token.Restricted = !credential.Unrestricted
		}
	}
	slices.SortFunc(s.Missing, func(x, y Missing) int {
		return cmp.Or(cmp.Compare(x.Service, y.Service), cmp.Compare(x.What, y.What))
	})
	slices.SortStableFunc(s.Quotas, func(x, y Quota) int { return cmp.Compare(x.Service, y.Service) })
	slices.SortFunc(s.Flavors, func(x, y FlavorInfo) int {
		return cmp.Or(x.RAM-y.RAM, x.VCPUs-y.VCPUs, x.Disk-y.Disk, cmp.Compare(x.Name, y.Name))
	})
}

// Resources are all named things of the project, for checks of ownership.
func (s *Snapshot) Resources() []Resource {
	var all []Resource
	for _, n := range s.Networks {
		if n.ProjectID == s.Token.ProjectID {
			all = append(all, n.Resource)
		}
	}
	for _, n := range s.Subnets {
		if n.ProjectID == s.Token.ProjectID {
			all = append(all, n.Resource)
		}
	}
	for _, r := range s.Routers {
		all = append(all, r.Resource)
	}
	for _, v := range s.Servers {
		all = append(all, v.Resource)
	}
	for _, i := range s.Images {
		if i.ProjectID == s.Token.ProjectID {
			all = append(all, i.Resource)
		}
	}
	for _, f := range s.FloatingIPs {
		all = append(all, f.Resource)
	}
	for _, c := range s.Credentials {
		all = append(all, c.Resource)
	}
	for _, g := range s.SecurityGroups {
		all = append(all, g.Resource)
	}
	for _, v := range s.Volumes {
		all = append(all, v.Resource)
	}
	all = append(all, s.KeyPairs...)
	for _, b := range s.Balancers {
		all = append(all, b.Resource)
	}
	return all
}
