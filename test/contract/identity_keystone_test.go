package contract_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/domains"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/trusts"
)

// Attributes that Keystone does not know are kept with the group.
func TestGroupExtraAttributes(t *testing.T) {
	t.Parallel()
	client := admin(t).Identity(t)
	group := must[*groups.Group](t)(groups.Create(t.Context(), client, groups.CreateOpts{Name: unique(t), DomainID: "default",
		Extra: map[string]any{"email": "first@example.com", "floor": 2}}).Extract())
	t.Cleanup(func() { _ = groups.Delete(cleanup(t), client, group.ID).ExtractErr() })
	_, err := groups.Update(t.Context(), client, group.ID, groups.UpdateOpts{Extra: map[string]any{"email": "second@example.com"}}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	got := must[*groups.Group](t)(groups.Get(t.Context(), client, group.ID).Extract())
	if got.Extra["email"] != "second@example.com" || got.Extra["floor"] != 2.0 || got.Name != group.Name {
		t.Errorf("after the update: %+v", got)
	}
}

// A domain is a project that acts as a domain, and the projects API works on
// it; it can be deleted there only when it is disabled.
func TestProjectThatActsAsDomain(t *testing.T) {
	t.Parallel()
	client := admin(t).Identity(t)
	yes, no := true, false
	domain := must[*projects.Project](t)(projects.Create(t.Context(), client, projects.CreateOpts{Name: unique(t), IsDomain: &yes}).Extract())
	t.Cleanup(func() { _ = projects.Delete(cleanup(t), client, domain.ID).ExtractErr() })
	if !domain.IsDomain || domain.DomainID != "" {
		t.Errorf("created: %+v", domain)
	}
	if d := must[*domains.Domain](t)(domains.Get(t.Context(), client, domain.ID).Extract()); d.Name != domain.Name {
		t.Errorf("as a domain: %+v", d)
	}
	wantStatus(t, projects.Delete(t.Context(), client, domain.ID).ExtractErr(), http.StatusForbidden)
	updated := must[*projects.Project](t)(projects.Update(t.Context(), client, domain.ID, projects.UpdateOpts{Enabled: &no}).Extract())
	if updated.Enabled || !updated.IsDomain {
		t.Errorf("disabled: %+v", updated)
	}
	if err := projects.Delete(t.Context(), client, domain.ID).ExtractErr(); err != nil {
		t.Errorf("deleting it when disabled: %v", err)
	}
	_, err := domains.Get(t.Context(), client, domain.ID).Extract()
	wantStatus(t, err, http.StatusNotFound)
}

func TestInexactFilters(t *testing.T) {
	t.Parallel()
	client := admin(t).Identity(t)
	name := unique(t)
	role := must[*roles.Role](t)(roles.Create(t.Context(), client, roles.CreateOpts{Name: name + "-Tail"}).Extract())
	t.Cleanup(func() { _ = roles.Delete(cleanup(t), client, role.ID).ExtractErr() })
	for _, c := range []struct {
		filter, value string
		found         bool
	}{
		{"name__contains", name[1:], true}, {"name__contains", "no such part", false},
		{"name__startswith", name, true}, {"name__startswith", "Tail", false},
		{"name__endswith", "-Tail", true}, {"name__endswith", "-tail", false}, {"name__iendswith", "-TAIL", true},
	} {
		pages, err := roles.List(client, roles.ListOpts{Filters: map[string]string{c.filter: c.value}}).AllPages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, r := range must[[]roles.Role](t)(roles.ExtractRoles(pages)) {
			found = found || r.ID == role.ID
		}
		if found != c.found {
			t.Errorf("%s=%s: found %v, want %v", c.filter, c.value, found, c.found)
		}
	}
}

// What a trust may give is what the trustor has on the trust's project, not in
// the token: a role that another implies counts, one on another project not.
func TestTrustOnAnotherProject(t *testing.T) {
	t.Parallel()
	trustor, trustee, stranger := newPerson(t), newPerson(t), newPerson(t)
	mine := trustor.clients(t).Identity(t)
	far := trustor
	far.project = trustee.project
	grant(t, far, roleID(t, "member"))
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	o := trusts.CreateOpts{TrustorUserID: trustor.user.ID, TrusteeUserID: trustee.user.ID, ProjectID: trustee.project.ID,
		ExpiresAt: &expires, Roles: []trusts.Role{{ID: roleID(t, "reader")}}}
	trust := must[*trusts.Trust](t)(trusts.Create(t.Context(), mine, o).Extract())
	t.Cleanup(func() { _ = trusts.Delete(cleanup(t), mine, trust.ID).ExtractErr() })
	if !trust.ExpiresAt.Equal(expires) || len(trust.Roles) != 1 {
		t.Errorf("created: %+v", trust)
	}
	o.ProjectID = stranger.project.ID
	_, err := trusts.Create(t.Context(), mine, o).Extract()
	wantStatus(t, err, http.StatusNotFound)
}
