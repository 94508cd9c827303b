package cloud

import (
	"cmp"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// Region is the region of the endpoints; "" if the login names none.
func (c *Cloud) Region() string { return c.Endpoint.Region }

// OtherRegions reports whether the catalog has networks in another region than that of the
// login. Without a catalog nobody knows, and there may be one. It sends no request.
func (c *Cloud) OtherRegions() bool {
	found, known := c.networks()
	return !known || slices.ContainsFunc(found, func(e tokens.Endpoint) bool {
		return e.Region+e.RegionID != "" && e.Region != c.Endpoint.Region && e.RegionID != c.Endpoint.Region
	})
}

// Where is the region that clients work in: of a login that names none, the first one of the
// catalog. It sends no request.
func (c *Cloud) Where() string {
	if c.Endpoint.Region != "" {
		return c.Endpoint.Region
	}
	found, _ := c.networks()
	for _, e := range found {
		if gophercloud.Availability(e.Interface) == cmp.Or(c.Endpoint.Availability, gophercloud.AvailabilityPublic) {
			return cmp.Or(e.RegionID, e.Region)
		}
	}
	return ""
}

// networks are the endpoints of Neutron in the catalog of the token, if it has one.
func (c *Cloud) networks() (found []tokens.Endpoint, known bool) {
	answer, ok := c.Provider.GetAuthResult().(interface {
		ExtractServiceCatalog() (*tokens.ServiceCatalog, error)
	})
	if !ok {
		return nil, false
	}
	catalog, err := answer.ExtractServiceCatalog()
	if err != nil {
		return nil, false
	}
	for _, service := range catalog.Entries {
		if service.Type == string(Network) {
			found = append(found, service.Endpoints...)
		}
	}
	return found, true
}
