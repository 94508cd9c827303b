package cloud

import (
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// Region is the region of the endpoints; "" if the login names none.
func (c *Cloud) Region() string { return c.Endpoint.Region }

// OtherRegions reports whether the catalog has networks in another region than that of the
// login. Without a catalog nobody knows, and there may be one. It sends no request.
func (c *Cloud) OtherRegions() bool {
	answer, ok := c.Provider.GetAuthResult().(interface {
		ExtractServiceCatalog() (*tokens.ServiceCatalog, error)
	})
	if !ok {
		return true
	}
	catalog, err := answer.ExtractServiceCatalog()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(catalog.Entries, func(service tokens.CatalogEntry) bool {
		return service.Type == string(Network) && slices.ContainsFunc(service.Endpoints, func(e tokens.Endpoint) bool {
			return e.Region+e.RegionID != "" && e.Region != c.Endpoint.Region && e.RegionID != c.Endpoint.Region
		})
	})
}
