package openstack

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
)

// Administrator opens Keystone as who may make users and services there, and
// says in which domain. It is asked only by resources that need it: an
// environment without them needs no administrator.
type Administrator func(ctx context.Context) (identity *gophercloud.ServiceClient, domainID string, err error)
