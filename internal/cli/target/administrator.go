package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// administrator logs in to Keystone as spec.magnum.adminCloud, once.
type administrator openstack.Administrator

func newAdministrator(loaded *config.Loaded) administrator {
	options := environment.CloudOptions(loaded)
	if m := loaded.Environment.Spec.Magnum; m != nil && m.AdminCloud != "" {
		options.Cloud, options.Region = m.AdminCloud, ""
	}
	var mu sync.Mutex
	var opened *cloud.Cloud
	return func(ctx context.Context) (*gophercloud.ServiceClient, string, error) {
		mu.Lock()
		defer mu.Unlock()
		if opened == nil {
			c, err := cloud.Open(ctx, options)
			if err != nil {
				return nil, "", fault.New("spec.magnum.adminCloud", err, "name an entry of clouds.yaml that can log in and may create users and services")
			}
			opened = c
		}
		domain, err := domainID(opened)
		if err != nil {
			return nil, "", err
		}
		client, err := opened.Identity()
		return client, domain, err
	}
}

// check refuses a login without the rights it needs, before anything is created.
func (a administrator) check(ctx context.Context) error {
	client, _, err := a(ctx)
	if err == nil {
		_, err = services.List(client, services.ListOpts{}).AllPages(ctx)
	}
	if gophercloud.ResponseCodeIs(err, 403) {
		err = errors.New("it is not an administrator: Keystone does not let it list services")
		return fault.Usage("spec.magnum.adminCloud", err, "name an entry of clouds.yaml that may create users and services, or leave out spec.magnum")
	}
	return err
}

// MayRegister refuses an administrator without rights, and a region whose Magnum API is that of an
// environment in another project. It changes nothing.
func MayRegister(ctx context.Context, c *cloud.Cloud, loaded *config.Loaded) error {
	return newAdministrator(loaded).mayRegister(ctx, c, loaded.Environment)
}

// mayRegister is MayRegister with the target's administrator, before anything is created.
func (t *Target) mayRegister(ctx context.Context) error {
	return t.administrator.mayRegister(ctx, t.Cloud, t.Environment)
}

func (a administrator) mayRegister(ctx context.Context, c *cloud.Cloud, conf *config.Environment) error {
	if err := a.check(ctx); err != nil || !conf.Spec.Magnum.Catalog {
		return err
	}
	project, err := projectID(c)
	if err != nil {
		return err
	}
	in := stacks.CatalogEntry(conf, stacks.Cloud{Region: region(c), ProjectID: project})
	return openstack.CatalogFree(ctx, openstack.Administrator(a), c, in)
}

// Unregister deletes what the environment registered in Keystone for its Magnum API, by its
// ownership tags: a lost state knows none of it, and one whose run was killed not all. things are
// what the project has of the environment.
func (t *Target) Unregister(ctx context.Context, things []openstack.Resource, progress event.Sink) error {
	registered, wanted := stacks.Registered(t.Environment, region(t.Cloud), things)
	if !wanted {
		return nil
	}
	step := event.Start(progress, stacks.StepMagnumCatalog, "deleting what Keystone has of the Magnum API")
	unclear, err := openstack.RemoveRegistered(ctx, openstack.Administrator(t.administrator), t.Cloud, registered)
	said := "nothing is left in Keystone"
	if len(unclear) > 0 {
		said = fmt.Sprintf("stays in Keystone: %s. It names no project, and can be of an environment %s in another one; if there is none, delete it with openstack endpoint delete and openstack user delete",
			strings.Join(unclear, ", "), t.Name())
	}
	step.End(said, err)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fault.New("Keystone", fmt.Errorf("deleting what the Magnum API of %s has there: %w", t.Name(), err),
		cmp.Or(fault.Remedy(err), "run slipway down again")+"; or leave out spec.magnum: then it stays in Keystone")
}

// domainID is the domain of the login's project, else of its user.
func domainID(c *cloud.Cloud) (string, error) {
	result, err := grantedTo(c)
	if err != nil {
		return "", err
	}
	user, err := result.ExtractUser()
	if err != nil {
		return "", c.Fault("token", err)
	}
	project, err := result.ExtractProject()
	if err != nil {
		return "", c.Fault("token", err)
	}
	if project == nil {
		return user.Domain.ID, nil
	}
	return cmp.Or(project.Domain.ID, user.Domain.ID), nil
}

// region is the region of the login, or that of Keystone in the catalog.
func region(c *cloud.Cloud) string {
	if c.Endpoint.Region != "" {
		return c.Endpoint.Region
	}
	result, err := grantedTo(c)
	if err != nil {
		return ""
	}
	catalog, err := result.ExtractServiceCatalog()
	if err != nil {
		return ""
	}
	for _, entry := range catalog.Entries {
		for _, endpoint := range entry.Endpoints {
			if entry.Type == string(cloud.Identity) {
				return cmp.Or(endpoint.Region, endpoint.RegionID)
			}
		}
	}
	return ""
}
