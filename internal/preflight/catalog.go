package preflight

import (
	"errors"

	"github.com/slipway-sh/slipway/internal/fault"
)

// CatalogCheck is the check of Keystone's catalog, for which somebody must ask as its administrator.
const CatalogCheck = "catalog"

// checkCatalog refuses a Magnum API that Keystone's catalog cannot take.
func checkCatalog(r *run) {
	if r.Catalog == nil {
		return
	}
	object, cause := "service container-infra", r.Catalog
	var f *fault.Fault
	if errors.As(r.Catalog, &f) && f.Object != "" {
		object, cause = f.Object, f.Err
	}
	r.find(Error, object, fault.Remedy(r.Catalog), "%s", cause)
}
