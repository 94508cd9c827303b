package openstack

import "github.com/slipway-sh/slipway/internal/ownership"

// Belonging is in which region the environment is that something in Keystone is of: Keystone
// keeps credentials for all regions of a cloud, and each may have an environment of the name.
type Belonging int

const (
	// Here is the region of the login.
	Here Belonging = iota
	// Away is another region.
	Away
	// Unclear is what names no region, in a cloud that has several. It is left alone.
	Unclear
)

// Belongs reads from a description with ownership tags in which region the environment is. A
// login without a region takes part in all.
func Belongs(clients Clients, description string) Belonging {
	region := ownership.RegionIn(description)
	switch {
	case clients.Region() == "" || region == clients.Region():
		return Here
	case region != "":
		return Away
	case clients.OtherRegions():
		return Unclear
	}
	return Here // of a time before descriptions had regions
}

// homeOf is the project of the login; "" if it does not say.
func homeOf(clients Clients) string {
	client, err := clients.Identity()
	if err != nil {
		return ""
	}
	return projectOf(client)
}
