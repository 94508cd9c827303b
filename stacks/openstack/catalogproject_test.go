package openstack

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// namesakes are two environments of one name in two projects of a region.
func namesakes(t *testing.T) (client *gophercloud.ServiceClient, one, other catalogKind) {
	t.Helper()
	box := sandboxtest.Start(t)
	client = box.Admin.Identity(t)
	administrator := func(context.Context) (*gophercloud.ServiceClient, string, error) { return client, "default", nil }
	at := func(login *gophercloud.ServiceClient) catalogKind {
		return catalogKind{administrator: administrator, clients: homed{placed{region: "RegionOne"}, login}}
	}
	return client, at(box.Member.Identity(t)), at(client)
}

func entryAt(address string) CatalogEntryInputs {
	return CatalogEntryInputs{Ownership: Ownership{Environment: "prod", Step: "magnum-catalog"}, Type: "container-infra", Name: "magnum", Region: "RegionOne", URL: "https://" + address + ":9511/v1"}
}

// register settles an entry as up does.
func (k catalogKind) register(t *testing.T, in CatalogEntryInputs) (string, CatalogEntryState) {
	t.Helper()
	id, err := k.find(t.Context(), in)
	if err == nil && id == "" {
		id, err = k.make(t.Context(), in)
	}
	if err != nil {
		t.Fatal(err)
	}
	state, err := k.settle(t.Context(), id, in)
	if err != nil {
		t.Fatal(err)
	}
	return id, state
}

// served are the endpoints of the catalog's Magnum API, as "URL on" or "URL off", each once.
func served(t *testing.T, client *gophercloud.ServiceClient) (list []string) {
	t.Helper()
	for _, service := range ofType(t, client, "container-infra") {
		pages, err := endpoints.List(client, endpoints.ListOpts{ServiceID: service.ID}).AllPages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all, err := endpoints.ExtractEndpoints(pages)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			list = append(list, e.URL+map[bool]string{true: " on", false: " off"}[e.Enabled])
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestEndpointsOfAnotherProjectStay: they are there again when ours are gone, and the service goes
// with the last, whoever made it.
func TestEndpointsOfAnotherProjectStay(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]bool{"the first goes": true, "the second goes": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, one, other := namesakes(t)
			id, early := one.register(t, entryAt("one"))
			_, late := other.register(t, entryAt("other"))
			if got, want := served(t, client), []string{"https://one:9511/v1 off", "https://other:9511/v1 on"}; !slices.Equal(got, want) {
				t.Errorf("catalog %q, want %q", got, want)
			}
			gone, stays, goes, rest := one, other, early, late
			if !first {
				gone, stays, goes, rest = other, one, late, early
			}
			if err := gone.remove(t.Context(), id, goes); err != nil {
				t.Fatal(err)
			}
			if got, want := served(t, client), []string{rest.URL + " on"}; !slices.Equal(got, want) {
				t.Errorf("afterwards %q, want %q", got, want)
			}
			if err := stays.remove(t.Context(), id, rest); err != nil {
				t.Fatal(err)
			}
			if left := ofType(t, client, "container-infra"); len(left) > 0 {
				t.Errorf("the service is left: %v", left)
			}
		})
	}
}

// TestEndpointsOfAFormerReleaseAreTheirOwners, which name no project: by their URL, or the one that
// the state has.
func TestEndpointsOfAFormerReleaseAreTheirOwners(t *testing.T) {
	t.Parallel()
	client, one, other := namesakes(t)
	former := catalogKind{administrator: one.administrator, clients: placed{}}
	id, state := former.register(t, entryAt("one"))
	other.register(t, entryAt("other"))
	if got, want := served(t, client), []string{"https://one:9511/v1 off", "https://other:9511/v1 on"}; !slices.Equal(got, want) {
		t.Errorf("taken by another project: %q, want %q", got, want)
	}
	if now, err := one.read(t.Context(), id, state.CatalogEntryInputs); err != nil || now.URL != state.URL {
		t.Errorf("the state forgets the URL: %+v, %v", now, err)
	}
	one.former = []string{state.URL}
	_, now := one.register(t, entryAt("renamed"))
	if got, want := served(t, client), []string{"https://other:9511/v1 off", "https://renamed:9511/v1 on"}; !slices.Equal(got, want) {
		t.Errorf("the owner's, with another name: %q, want %q", got, want)
	}
	one.former = nil
	if err := one.remove(t.Context(), id, now); err != nil {
		t.Fatal(err)
	}
	if got, want := served(t, client), []string{"https://other:9511/v1 on"}; !slices.Equal(got, want) {
		t.Errorf("without the owner: %q, want %q", got, want)
	}
	_, state = former.register(t, CatalogEntryInputs{Ownership: Ownership{Environment: "stage", Step: "magnum-catalog"}, Type: "container-infra", Name: "magnum", Region: "RegionOne", URL: "https://stage:9511/v1"})
	if err := one.remove(t.Context(), id, state); err != nil {
		t.Fatal(err)
	}
	if got, want := served(t, client), []string{"https://other:9511/v1 on"}; !slices.Equal(got, want) {
		t.Errorf("without a former release's: %q, want %q", got, want)
	}
}

// TestACatalogOfAnotherProjectIsNotTaken by an environment that is not in it yet.
func TestACatalogOfAnotherProjectIsNotTaken(t *testing.T) {
	t.Parallel()
	client, one, other := namesakes(t)
	former := catalogKind{administrator: one.administrator, clients: placed{}}
	free := func(who string, refused bool) {
		t.Helper()
		err := CatalogFree(t.Context(), one.administrator, one.clients, entryAt("one"))
		if (err != nil) != refused {
			t.Errorf("%s: %v, want refused %t", who, err, refused)
		}
		if refused && (fault.ExitCode(err) != fault.ExitPreflight || !strings.Contains(err.Error(), "environment prod of project "+homeOf(other.clients)) || !strings.Contains(fault.Remedy(err), "endpoint set --disable")) {
			t.Errorf("%s: %v, exit code %d, fix %q", who, err, fault.ExitCode(err), fault.Remedy(err))
		}
	}
	free("nobody", false)
	id, theirs := other.register(t, entryAt("other"))
	free("another", true)
	_, list, err := other.endpoints(t.Context(), id, "")
	for _, e := range list {
		if err == nil {
			err = enable(t.Context(), client, e.ID, false, e.Description)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	free("another that is disabled", false)
	_, ours := one.register(t, entryAt("one"))
	other.register(t, entryAt("other"))
	free("both", false)
	if err := errors.Join(one.remove(t.Context(), id, ours), other.remove(t.Context(), id, theirs)); err != nil {
		t.Fatal(err)
	}
	former.register(t, entryAt("any"))
	free("a former release", false)
}

// TestWhatNoStateHasGoesByItsProject: users that a killed run left, and an entry with the former
// host name. What names no project stays if it is unclear whose it is.
func TestWhatNoStateHasGoesByItsProject(t *testing.T) {
	t.Parallel()
	client, one, other := namesakes(t)
	own := func(step string) Ownership { return Ownership{Environment: "prod", Step: step} }
	r := Registered{Catalog: entryAt("renamed"), Project: ServiceProjectInputs{Ownership: own("magnum-project"), Name: "none"},
		Users: []ServiceUserInputs{{Ownership: own("magnum-user"), Role: "service"}, {Ownership: own("magnum-administrator"), Role: "admin"}}}
	former := serviceUserKind{one.administrator, placed{region: "RegionOne"}}
	unclear, err := former.make(t.Context(), r.Users[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []catalogKind{one, other} {
		if _, err := (serviceUserKind{k.administrator, k.clients}).make(t.Context(), r.Users[1]); err != nil {
			t.Fatal(err)
		}
	}
	id, theirs := other.register(t, entryAt("other"))
	one.register(t, entryAt("one"))
	r.Catalog.URL = "" // the address is not in the project any more
	for range 2 {
		left, err := RemoveRegistered(t.Context(), one.administrator, one.clients, r)
		if err != nil || len(left) != 1 || !strings.Contains(left[0], unclear) {
			t.Errorf("unclear %q, %v; want user %s", left, err, unclear)
		}
	}
	if got, want := registeredUsers(t, client), []string{"prod-magnum-administrator-RegionOne", "prod-magnum-user"}; !slices.Equal(got, want) {
		t.Errorf("users %q, want %q", got, want)
	}
	if got, want := served(t, client), []string{"https://other:9511/v1 on"}; !slices.Equal(got, want) {
		t.Errorf("catalog %q, want %q", got, want)
	}
	r.Catalog.URL = entryAt("renamed").URL
	if left, err := RemoveRegistered(t.Context(), one.administrator, one.clients, r); err != nil || len(left) != 1 {
		t.Errorf("with the address, while another project has the name: unclear %q, %v", left, err)
	}
	if err := other.remove(t.Context(), id, theirs); err != nil {
		t.Fatal(err)
	}
	if left, err := RemoveRegistered(t.Context(), one.administrator, one.clients, r); err != nil || len(left) > 0 {
		t.Errorf("with the address: unclear %q, %v", left, err)
	}
	if got := registeredUsers(t, client); len(got) != 1 {
		t.Errorf("with the address %q is left", got)
	}
}

// TestWhatAnotherProjectDisabledStaysSo: words of a former release do not say whose they are, and
// two enabled endpoints of a region would be ambiguous for every client.
func TestWhatAnotherProjectDisabledStaysSo(t *testing.T) {
	t.Parallel()
	client, one, other := namesakes(t)
	id, theirs := other.register(t, entryAt("other"))
	former := entryAt("former")
	if err := endpoints.Create(t.Context(), client, endpoints.CreateOpts{Availability: gophercloud.AvailabilityPublic, Region: former.Region, URL: former.URL, ServiceID: id}).Err; err != nil {
		t.Fatal(err)
	}
	_, list, err := other.endpoints(t.Context(), id, former.Region)
	for _, e := range list {
		if err == nil && e.URL == former.URL {
			err = enable(t.Context(), client, e.ID, false, disabledBy(former, ""))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := one.remove(t.Context(), id, CatalogEntryState{entryAt("one"), true}); err != nil {
		t.Fatal(err)
	}
	if got, want := served(t, client), []string{former.URL + " off", "https://other:9511/v1 on"}; !slices.Equal(got, want) {
		t.Errorf("after down of one that never had it: %q, want %q", got, want)
	}
	theirs.Borrowed = true
	if err := other.remove(t.Context(), id, theirs); err != nil {
		t.Fatal(err)
	}
	if got, want := served(t, client), []string{former.URL + " on"}; !slices.Equal(got, want) {
		t.Errorf("after down of the one that disabled it: %q, want %q", got, want)
	}
}
