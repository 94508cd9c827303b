package openstack

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
)

// Administrator opens Keystone with a login that may create users and services, and returns
// its domain. Only resources that need it call it: an environment without such resources
// needs no administrator.
type Administrator func(ctx context.Context) (identity *gophercloud.ServiceClient, domainID string, err error)
