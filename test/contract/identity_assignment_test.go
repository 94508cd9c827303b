package contract_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/osinherit"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/trusts"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

func assignments(t *testing.T, o roles.ListAssignmentsOpts) []roles.RoleAssignment {
	t.Helper()
	pages, err := roles.ListAssignments(admin(t).Identity(t), o).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return must[[]roles.RoleAssignment](t)(roles.ExtractRoleAssignments(pages))
}

func TestRoleAssignments(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	yes := true
	direct := assignments(t, roles.ListAssignmentsOpts{UserID: p.user.ID, ScopeProjectID: p.project.ID})
	if len(direct) != 1 || direct[0].Role.ID != roleID(t, "member") || direct[0].Scope.Project.ID != p.project.ID || direct[0].User.ID != p.user.ID {
		t.Errorf("direct: %+v", direct)
	}
	effective := assignments(t, roles.ListAssignmentsOpts{UserID: p.user.ID, Effective: &yes, IncludeNames: &yes})
	names := map[string]bool{}
	for _, a := range effective {
		names[a.Role.Name] = true
		if a.User.Name != p.user.Name || a.Scope.Project.Name != p.project.Name {
			t.Errorf("names are missing: %+v", a)
		}
	}
	if !names["member"] || !names["reader"] || len(names) != 2 {
		t.Errorf("effective roles: %v; member implies reader", names)
	}
	client := admin(t).Identity(t)
	opts := roles.UnassignOpts{UserID: p.user.ID, ProjectID: p.project.ID}
	wantStatus(t, roles.Unassign(t.Context(), client, roleID(t, "admin"), opts).ExtractErr(), http.StatusNotFound)
	wantStatus(t, roles.Assign(t.Context(), client, "no-such-role", roles.AssignOpts{UserID: p.user.ID, ProjectID: p.project.ID}).ExtractErr(), http.StatusNotFound)
	wantStatus(t, roles.Assign(t.Context(), client, roleID(t, "member"), roles.AssignOpts{UserID: "no-such-user", ProjectID: p.project.ID}).ExtractErr(), http.StatusNotFound)
	grant(t, p, roleID(t, "member")) // a second time changes nothing
	if again := assignments(t, roles.ListAssignmentsOpts{UserID: p.user.ID}); len(again) != 1 {
		t.Errorf("assigned twice: %+v", again)
	}
}

func TestRolesThroughGroups(t *testing.T) {
	t.Parallel()
	client := admin(t).Identity(t)
	p, owner := newPerson(t), newPerson(t)
	group := must[*groups.Group](t)(groups.Create(t.Context(), client, groups.CreateOpts{Name: unique(t), DomainID: "default"}).Extract())
	t.Cleanup(func() { _ = groups.Delete(cleanup(t), client, group.ID).ExtractErr() })
	err := roles.Assign(t.Context(), client, roleID(t, "reader"), roles.AssignOpts{GroupID: group.ID, ProjectID: owner.project.ID}).ExtractErr()
	if err != nil {
		t.Fatal(err)
	}
	login := p.options()
	login.Scope = &gophercloud.AuthScope{ProjectID: owner.project.ID}
	_, err = try(t, login)
	wantStatus(t, err, http.StatusUnauthorized)
	if err := users.AddToGroup(t.Context(), client, group.ID, p.user.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if in := must[bool](t)(users.IsMemberOfGroup(t.Context(), client, group.ID, p.user.ID).Extract()); !in {
		t.Error("the user is not in the group")
	}
	must[sandboxtest.Clients](t)(try(t, login))
	if err := users.RemoveFromGroup(t.Context(), client, group.ID, p.user.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	_, err = try(t, login)
	wantStatus(t, err, http.StatusUnauthorized)
}

func TestInheritedRoles(t *testing.T) {
	t.Parallel()
	client := admin(t).Identity(t)
	p := newPerson(t)
	child := must[*projects.Project](t)(projects.Create(t.Context(), client, projects.CreateOpts{Name: unique(t), ParentID: p.project.ID}).Extract())
	t.Cleanup(func() { _ = projects.Delete(cleanup(t), client, child.ID).ExtractErr() })
	login := p.options()
	login.Scope = &gophercloud.AuthScope{ProjectID: child.ID}
	_, err := try(t, login)
	wantStatus(t, err, http.StatusUnauthorized)
	o := osinherit.AssignOpts{UserID: p.user.ID, ProjectID: p.project.ID}
	if err := osinherit.Assign(t.Context(), client, roleID(t, "reader"), o).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	must[sandboxtest.Clients](t)(try(t, login))
}

func TestTrust(t *testing.T) {
	t.Parallel()
	trustor, trustee := newPerson(t), newPerson(t)
	mine, admins := trustor.clients(t).Identity(t), admin(t).Identity(t)
	o := trusts.CreateOpts{TrustorUserID: trustor.user.ID, TrusteeUserID: trustee.user.ID, ProjectID: trustor.project.ID,
		Impersonation: true, RemainingUses: 2, Roles: []trusts.Role{{Name: "member"}}}
	trust := must[*trusts.Trust](t)(trusts.Create(t.Context(), mine, o).Extract())
	t.Cleanup(func() { _ = trusts.Delete(cleanup(t), admins, trust.ID).ExtractErr() })

	login := trustee.options()
	login.Scope = &gophercloud.AuthScope{TrustID: trust.ID}
	acting := must[sandboxtest.Clients](t)(try(t, login))
	got := raw(t, http.MethodGet, trustor.endpoint+"v3/auth/tokens", admins.Token(), "",
		map[string]string{"X-Subject-Token": acting.Provider.Token()})
	if got.at("token", "user", "id") != trustor.user.ID || got.at("token", "project", "id") != trustor.project.ID || got.at("token", "OS-TRUST:trust", "id") != trust.ID {
		t.Errorf("token of the trust: %s", got.text)
	}
	must[sandboxtest.Clients](t)(try(t, login))
	if _, err := try(t, login); err == nil {
		t.Error("a trust of two uses was used three times")
	}

	o.Roles = []trusts.Role{{ID: roleID(t, "admin")}}
	if _, err := trusts.Create(t.Context(), mine, o).Extract(); err == nil {
		t.Error("a trust gave a role that the trustor has not")
	}
	o.TrustorUserID = trustee.user.ID
	_, err := trusts.Create(t.Context(), mine, o).Extract()
	wantStatus(t, err, http.StatusForbidden)
}
