package openstack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/ownership"
)

// CatalogEntryInputs are the inputs of a service in the catalog with our endpoints in one
// region.
type CatalogEntryInputs struct {
	Ownership
	// Type is the service type, such as "container-infra". An existing service of the
	// type is used; other endpoints in the region are disabled while ours exist, and
	// enabled again when ours are deleted.
	Type string `pulumi:"type" diff:"replace"`
	// Name of the service, if it is created.
	Name   string `pulumi:"name" diff:"replace"`
	Region string `pulumi:"region" diff:"replace"`
	// URL of all three interfaces.
	URL string `pulumi:"url"`
	// Project is the ID of the environment's project, which our endpoints name: another one can
	// have an environment of the name. It is empty in states of a time before they did.
	Project string `pulumi:"project,optional"`
}

// CatalogEntryState is the state of an entry; its ID is that of the service.
type CatalogEntryState struct {
	CatalogEntryInputs
	// Borrowed is a service that no environment made. One that an environment made goes with
	// the last of its endpoints, whichever environment that is of.
	Borrowed bool `pulumi:"borrowed"`
}

func (s CatalogEntryState) inputs() CatalogEntryInputs { return s.CatalogEntryInputs }

// CatalogEntry is a service with endpoints in a program.
type CatalogEntry struct{ pulumi.CustomResourceState }

// NewCatalogEntry adds an entry to the program.
func NewCatalogEntry(ctx *pulumi.Context, in CatalogEntryInputs, url pulumi.StringInput, options ...pulumi.ResourceOption) (*CatalogEntry, error) {
	r := &CatalogEntry{}
	return r, register(ctx, "CatalogEntry", in, pulumi.Map{"url": url}, r, options)
}

type catalogEntry struct {
	controller[CatalogEntryInputs, CatalogEntryState]
}

// Annotate names the resource's type.
func (*catalogEntry) Annotate(a infer.Annotator) { a.SetToken("openstack", "CatalogEntry") }

// Create has the kind contend for the region: another environment can begin at the same moment.
func (c *catalogEntry) Create(ctx context.Context, r infer.CreateRequest[CatalogEntryInputs]) (infer.CreateResponse[CatalogEntryState], error) {
	entry, _ := c.kind.(catalogKind)
	entry.begins = true
	return controller[CatalogEntryInputs, CatalogEntryState]{entry}.Create(ctx, r)
}

// Update tells the kind the URL that the endpoints had: those of a time before endpoints named
// their project are known by it, also if it changes now.
func (c *catalogEntry) Update(ctx context.Context, r infer.UpdateRequest[CatalogEntryInputs, CatalogEntryState]) (infer.UpdateResponse[CatalogEntryState], error) {
	entry, _ := c.kind.(catalogKind)
	entry.former = []string{r.State.URL}
	return controller[CatalogEntryInputs, CatalogEntryState]{entry}.Update(ctx, r)
}

type catalogKind struct {
	administrator Administrator
	clients       Clients
	// former are the URLs that the endpoints had, as far as they are known.
	former []string
	// begins says that no state has the entry yet.
	begins bool
}

func (catalogKind) word() string { return "service" }

// home is the project of the environment; "" if neither inputs nor login say.
func (k catalogKind) home(in CatalogEntryInputs) string {
	if in.Project != "" {
		return in.Project
	}
	return homeOf(k.clients)
}

func (k catalogKind) find(ctx context.Context, in CatalogEntryInputs) (string, error) {
	list, err := k.services(ctx, in)
	switch {
	case err != nil || len(list) == 0:
		return "", err
	case len(list) > 1:
		return k.choose(ctx, in, list)
	}
	return list[0].ID, nil
}

func (k catalogKind) make(ctx context.Context, in CatalogEntryInputs) (string, error) {
	client, _, err := k.administrator(ctx)
	if err != nil {
		return "", err
	}
	made, err := services.Create(ctx, client, services.CreateOpts{Type: in.Type, Name: in.Name, Description: in.mark().DescriptionOf("", k.home(in))}).Extract()
	if err != nil {
		return "", err
	}
	return made.ID, nil
}

// settle creates or corrects our endpoint of each interface, then disables those of others.
func (k catalogKind) settle(ctx context.Context, id string, in CatalogEntryInputs) (CatalogEntryState, error) {
	if k.begins {
		if err := k.contend(ctx, id, in); err != nil {
			return CatalogEntryState{}, err
		}
	}
	client, list, err := k.endpoints(ctx, id, in.Region)
	if err != nil {
		return CatalogEntryState{}, err
	}
	ours := map[gophercloud.Availability]endpoints.Endpoint{}
	for _, e := range list {
		if k.isOurs(e, in) {
			ours[e.Availability] = e
		}
	}
	for _, face := range faces() {
		if err := k.put(ctx, client, id, in, face, ours[face]); err != nil {
			return CatalogEntryState{}, fmt.Errorf("%s endpoint: %w", face, err)
		}
	}
	for _, e := range list {
		if !k.isOurs(e, in) && e.Enabled {
			if err := enable(ctx, client, e.ID, false, strings.TrimSpace(e.Description+" "+disabledBy(in, k.home(in)))); err != nil {
				return CatalogEntryState{}, fmt.Errorf("disabling endpoint %s: %w", e.URL, err)
			}
		}
	}
	return k.read(ctx, id, in)
}

// faces are the interfaces of an entry.
func faces() []gophercloud.Availability {
	return []gophercloud.Availability{gophercloud.AvailabilityPublic, gophercloud.AvailabilityInternal, gophercloud.AvailabilityAdmin}
}

// put creates the endpoint of an interface, or corrects the existing one: a claim, one that another
// environment has disabled, or one that names no project because a former release made it.
func (k catalogKind) put(ctx context.Context, client *gophercloud.ServiceClient, id string, in CatalogEntryInputs, face gophercloud.Availability, there endpoints.Endpoint) error {
	home, named := k.home(in), ownership.ProjectIn(there.Description)
	description := in.mark().DescriptionOf("", cmp.Or(home, named))
	switch {
	case there.ID == "":
		return endpoints.Create(ctx, client, endpoints.CreateOpts{Availability: face, Region: in.Region, URL: in.URL, ServiceID: id, Description: description}).Err
	case there.URL != in.URL || !there.Enabled || claimed(there) || home != "" && named != home:
		yes := true
		return endpoints.Update(ctx, client, there.ID, endpoints.UpdateOpts{URL: in.URL, Enabled: &yes, Description: description}).Err
	}
	return nil
}

func enable(ctx context.Context, client *gophercloud.ServiceClient, id string, enabled bool, description string) error {
	return endpoints.Update(ctx, client, id, withDescription{endpoints.UpdateOpts{Enabled: &enabled, Description: description}}).Err
}

// withDescription is a change that sends the description also if it is empty, as it was before.
type withDescription struct{ endpoints.UpdateOpts }

// ToEndpointUpdateMap implements endpoints.UpdateOptsBuilder.
func (w withDescription) ToEndpointUpdateMap() (map[string]any, error) {
	body, err := w.UpdateOpts.ToEndpointUpdateMap()
	if endpoint, ok := body["endpoint"].(map[string]any); ok {
		endpoint["description"] = w.Description
	}
	return body, err
}

// isOurs reports whether an endpoint is of this environment. Endpoints of a time before they named
// their project are so by their URL: an environment of the name in another project can have made
// them. Without its own project, it goes by the name alone.
func (k catalogKind) isOurs(e endpoints.Endpoint, in CatalogEntryInputs) bool {
	mark, ok := ownership.FromDescription(e.Description)
	if !ok || mark != in.mark() {
		return false
	}
	home, named := k.home(in), ownership.ProjectIn(e.Description)
	switch {
	case home == "":
		return true
	case named != "":
		return named == home
	}
	return e.URL == in.URL || slices.Contains(k.former, e.URL)
}

// disabledBy is written into the descriptions of others' endpoints while ours are in the
// catalog. It is no ownership tag: the endpoint is not ours to delete.
func disabledBy(in CatalogEntryInputs, project string) string {
	if project == "" {
		return "[disabled by " + in.mark().Name() + "]"
	}
	return "[disabled by " + in.mark().Name() + " of project " + project + "]"
}

// undisabled is a description without our words, and whether it had them. Those of former releases
// name no project: they can be another's while the name is shared.
func (k catalogKind) undisabled(description string, in CatalogEntryInputs, shared bool) (rest string, had bool) {
	rest = description
	projects := []string{k.home(in)}
	if !shared {
		projects = append(projects, "")
	}
	for _, project := range projects {
		rest = strings.ReplaceAll(rest, disabledBy(in, project), "")
	}
	return strings.TrimSpace(rest), rest != description
}

func (k catalogKind) read(ctx context.Context, id string, in CatalogEntryInputs) (CatalogEntryState, error) {
	client, _, err := k.administrator(ctx)
	if err != nil {
		return CatalogEntryState{}, err
	}
	service, err := services.Get(ctx, client, id).Extract()
	if err != nil {
		return CatalogEntryState{}, gone(err)
	}
	mark, ours := ownership.FromDescription(service.Description)
	_, list, err := k.endpoints(ctx, id, in.Region)
	if err != nil {
		return CatalogEntryState{}, err
	}
	url := k.urlOf(list, in)
	// Endpoints of a former release are known by their URL alone, so that stays in the state: what
	// differs then is the project.
	if url != "" || in.Project != "" || k.home(in) == "" {
		in.URL = url
	}
	return CatalogEntryState{in, !ours || mark.Step != in.Step}, nil
}

// urlOf returns the URL if all three endpoints have it, else "", so that a difference is
// detected and corrected.
func (k catalogKind) urlOf(list []endpoints.Endpoint, in CatalogEntryInputs) string {
	right := 0
	for _, e := range list {
		if k.isOurs(e, in) && e.Enabled && e.URL == in.URL {
			right++
		}
	}
	if right < 3 {
		return ""
	}
	return in.URL
}

func (k catalogKind) remove(ctx context.Context, id string, state CatalogEntryState) error {
	client, list, err := k.endpoints(ctx, id, state.Region)
	if err != nil {
		return err
	}
	shared := slices.ContainsFunc(list, func(e endpoints.Endpoint) bool {
		mark, ok := ownership.FromDescription(e.Description)
		return ok && mark == state.mark() && !k.isOurs(e, state.CatalogEntryInputs)
	})
	for _, e := range list {
		rest, disabled := k.undisabled(e.Description, state.CatalogEntryInputs, shared)
		switch {
		case k.isOurs(e, state.CatalogEntryInputs):
			err = skipGone(gone(endpoints.Delete(ctx, client, e.ID).ExtractErr()))
		case disabled:
			err = enable(ctx, client, e.ID, true, rest)
		}
		if err != nil {
			return fmt.Errorf("endpoint %s: %w", e.URL, err)
		}
	}
	if state.Borrowed {
		return nil
	}
	if _, rest, err := k.endpoints(ctx, id, ""); err != nil || len(rest) > 0 {
		return err // they would go with it: those of an environment in another region or project, too
	}
	return gone(services.Delete(ctx, client, id).ExtractErr())
}

func (k catalogKind) endpoints(ctx context.Context, id, region string) (*gophercloud.ServiceClient, []endpoints.Endpoint, error) {
	client, _, err := k.administrator(ctx)
	if err != nil {
		return nil, nil, err
	}
	pages, err := endpoints.List(client, endpoints.ListOpts{ServiceID: id, RegionID: region}).AllPages(ctx)
	if err != nil {
		return nil, nil, err
	}
	list, err := endpoints.ExtractEndpoints(pages)
	return client, list, err
}
