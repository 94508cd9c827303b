package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// Project is a project of Keystone.
type Project struct{ ID, Name string }

func (p Project) String() string { return p.Name + " (" + p.ID + ")" }

// FindProject returns the project with an ID or a name in which the user of the login has a
// role. The error says why there is none: only an administrator learns more.
func FindProject(ctx context.Context, c Clients, wanted string) (Project, error) {
	client, err := c.Identity()
	if err != nil {
		return Project{}, err
	}
	object := "project " + wanted
	pages, err := projects.ListAvailable(client).AllPages(ctx)
	if err != nil {
		return Project{}, explain(object, err)
	}
	all, err := projects.ExtractProjects(pages)
	if err != nil {
		return Project{}, explain(object, err)
	}
	found := called(all, wanted)
	switch {
	case len(found) == 0:
		return Project{}, absentProject(ctx, client, wanted)
	case len(found) > 1:
		var words []string
		for _, p := range found {
			words = append(words, p.ID+" in domain "+p.DomainID)
		}
		return Project{}, fault.Usage(object, errors.New("several projects have this name: "+strings.Join(words, ", ")), "give the ID of one of them")
	case !found[0].Enabled:
		return Project{}, disabled(Project{found[0].ID, found[0].Name})
	}
	return Project{found[0].ID, found[0].Name}, nil
}

// called returns the project with the ID or, if there is none, those with the name.
func called(all []projects.Project, wanted string) (named []projects.Project) {
	for _, p := range all {
		if p.ID == wanted {
			return []projects.Project{p}
		}
		if p.Name == wanted {
			named = append(named, p)
		}
	}
	return named
}

func disabled(p Project) error {
	return fault.Usage("project "+p.String(), errors.New("it is disabled"), "have an administrator run openstack project set --enable "+p.ID+", or choose another project")
}

// absentProject is the error for a project in which the user has no role.
func absentProject(ctx context.Context, client *gophercloud.ServiceClient, wanted string) error {
	object := "project " + wanted
	found, err := searchProjects(ctx, client, wanted)
	switch {
	case gophercloud.ResponseCodeIs(err, http.StatusForbidden):
		return fault.Usage(object, errors.New("it does not exist, or the user of the login has no role in it"), "list those that you can use with openstack project list --my-projects")
	case err != nil:
		return explain(object, err)
	case len(found) == 0:
		return fault.Usage(object, errors.New("it does not exist"), "list those that you can use with openstack project list --my-projects, or add --create-project")
	case !found[0].Enabled:
		return disabled(Project{found[0].ID, found[0].Name})
	}
	return fault.Usage("project "+Project{found[0].ID, found[0].Name}.String(), errors.New("the user of the login has no role in it"),
		"give it those that it has in the environment's project, with openstack role add --project "+found[0].ID+" --user USER ROLE")
}

// searchProjects looks for an ID or a name in all projects, as an administrator may.
func searchProjects(ctx context.Context, client *gophercloud.ServiceClient, wanted string) ([]projects.Project, error) {
	pages, err := projects.List(client, projects.ListOpts{Name: wanted}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := projects.ExtractProjects(pages)
	if err != nil || len(all) > 0 {
		return all, err
	}
	one, err := projects.Get(ctx, client, wanted).Extract()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []projects.Project{*one}, nil
}

// ClusterProject is a project that Slipway makes for a cluster. It carries the ownership tag
// of the cluster's step, so that it is found again and never made twice.
type ClusterProject struct {
	Administrator Administrator
	Ownership
	// Name of the project, and DomainID of its domain.
	Name, DomainID string
	// UserID is the user who gets the roles with the IDs in Roles.
	UserID string
	Roles  []string
}

// Find returns the project of the cluster, nil if there is none. It refuses one of others with
// the name, and a login that may not make projects.
func (c ClusterProject) Find(ctx context.Context) (*Project, error) {
	client, _, err := c.Administrator(ctx)
	if err != nil {
		return nil, err
	}
	list, err := c.list(ctx, client, projects.ListOpts{Tags: strings.Join(c.mark().Tags(), ",")})
	if err != nil {
		return nil, c.explain(err)
	}
	for _, p := range list {
		if mark, ok := ownership.FromTags(p.Tags); !ok || mark != c.mark() {
			continue
		}
		switch {
		case p.Name != c.Name:
			return nil, fault.Usage("project "+c.Name, fmt.Errorf("this cluster has project %s (%s), which Slipway made", p.Name, p.ID), "give --project "+p.Name)
		case !p.Enabled:
			return nil, disabled(Project{p.ID, p.Name})
		}
		return &Project{p.ID, p.Name}, nil
	}
	list, err = c.list(ctx, client, projects.ListOpts{Name: c.Name, DomainID: c.DomainID})
	if err != nil {
		return nil, c.explain(err)
	}
	for _, p := range list {
		if p.Name == c.Name {
			return nil, fault.Usage("project "+c.Name, fmt.Errorf("it exists, but Slipway did not make it for this cluster (%s)", p.ID),
				"use it with --project "+p.ID+" without --create-project, or give the new one another name with --project NAME")
		}
	}
	return nil, nil
}

func (ClusterProject) list(ctx context.Context, client *gophercloud.ServiceClient, o projects.ListOpts) ([]projects.Project, error) {
	pages, err := projects.List(client, o).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return projects.ExtractProjects(pages)
}

// Ensure finds the project or makes it, and gives the user the roles.
func (c ClusterProject) Ensure(ctx context.Context) (Project, error) {
	var p Project
	err := again(ctx, func() error {
		there, err := c.Find(ctx)
		if err != nil {
			return err
		}
		client, _, err := c.Administrator(ctx)
		if err != nil {
			return err
		}
		if there == nil {
			made, err := projects.Create(ctx, client, projects.CreateOpts{Name: c.Name, DomainID: c.DomainID, Tags: c.mark().Tags(),
				Description: "project of a cluster of Slipway's environment " + c.Environment}).Extract()
			if err != nil {
				return err
			}
			there = &Project{made.ID, made.Name}
		}
		p = *there
		for _, role := range c.Roles {
			if err := roles.Assign(ctx, client, role, roles.AssignOpts{UserID: c.UserID, ProjectID: p.ID}).ExtractErr(); err != nil {
				return err
			}
		}
		return nil
	})
	return p, c.explain(err)
}

// Made reports whether Slipway made a project for a cluster of the environment. It asks with
// the login of the project itself, which may see it.
func Made(ctx context.Context, inside Clients, environment, id string) (bool, error) {
	client, err := inside.Identity()
	if err != nil {
		return false, err
	}
	p, err := projects.Get(ctx, client, id).Extract()
	if err != nil {
		return false, explain("project "+id, err)
	}
	mark, ok := ownership.FromTags(p.Tags)
	return ok && mark.Environment == environment, nil
}

// Remains lists what is left in a project, also images that somebody has protected.
func (i Inventory) Remains(ctx context.Context, project string) ([]Resource, error) {
	left, err := i.Everything(ctx, project, "")
	if err != nil {
		return nil, err
	}
	client, err := i.Image()
	if err != nil {
		return left, absent(err)
	}
	protected, err := every(ctx, images.List(client, images.ListOpts{Owner: project}), images.ExtractImages, func(m images.Image) Resource {
		if !m.Protected {
			return Resource{}
		}
		return Resource{Type: TypeImage, ID: m.ID, Name: m.Name, State: string(m.Visibility)}
	})
	if err != nil {
		return nil, explain("inventory of project "+project, err)
	}
	return append(left, protected...), nil
}

// RemoveProject deletes a project. It is no error if it is gone.
func RemoveProject(ctx context.Context, administrator Administrator, id string) error {
	client, _, err := administrator(ctx)
	if err != nil {
		return err
	}
	if err := skipGone(gone(projects.Delete(ctx, client, id).ExtractErr())); err != nil {
		return explain("project "+id, fmt.Errorf("deleting: %w", err))
	}
	return nil
}

// Gone reports whether a project does not exist any more, as far as an administrator knows.
func Gone(ctx context.Context, administrator Administrator, id string) bool {
	client, _, err := administrator(ctx)
	if err != nil {
		return false
	}
	_, err = projects.Get(ctx, client, id).Extract()
	return gophercloud.ResponseCodeIs(err, http.StatusNotFound)
}

func (c ClusterProject) explain(err error) error {
	if err == nil {
		return nil
	}
	if gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		return fault.Usage("--create-project", fmt.Errorf("Keystone does not let the login make projects and give roles in them%w", quiet{err}),
			"log in as an administrator; or have one make the project and give your user its roles there, and name it with --project")
	}
	return explain("project "+c.Name, err)
}

// quiet keeps an error for errors.As, and says nothing.
type quiet struct{ error }

func (quiet) Error() string { return "" }

func (q quiet) Unwrap() error { return q.error }
