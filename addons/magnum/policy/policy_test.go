package policy

import (
	"strings"
	"testing"
)

func enforcer(t *testing.T, file string) *Enforcer {
	t.Helper()
	e, err := New([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	e := enforcer(t, "")
	admin := Caller{UserID: "a", ProjectID: "ops", Roles: []string{"Admin", "member", "reader"}}
	member := Caller{UserID: "m", ProjectID: "p", Roles: []string{"member", "reader"}}
	reader := Caller{UserID: "r", ProjectID: "p", Roles: []string{"reader"}}
	other := Caller{UserID: "x", ProjectID: "q", Roles: []string{"member", "reader"}}
	target := Target{ProjectID: "p", UserID: "m"}
	type row struct{ admin, member, reader, other bool }
	tests := map[string]row{
		"cluster:create":               {true, true, false, false},
		"cluster:get":                  {true, true, true, false},
		"cluster:get_all_all_projects": {true, false, false, false},
		"clustertemplate:publish":      {true, false, false, false},
		"certificate:create":           {true, true, false, false},
		"certificate:get":              {true, true, true, false},
		"credential:rotate":            {false, true, false, false},
		"cluster:update_health_status": {true, true, false, false},
		"quota:get":                    {true, true, true, false},
		"quota:create":                 {true, false, false, false},
		"magnum-service:get_all":       {true, false, false, false},
		"no:such":                      {},
	}
	for rule, want := range tests {
		got := row{e.Allowed(rule, admin, target), e.Allowed(rule, member, target), e.Allowed(rule, reader, target), e.Allowed(rule, other, target)}
		if got != want {
			t.Errorf("%s: %+v, want %+v", rule, got, want)
		}
	}
	if !e.Admin(admin) || e.Admin(member) {
		t.Error("who is an administrator")
	}
}

func TestOverride(t *testing.T) {
	t.Parallel()
	// The reference's rule for certificates, and a role of the operator's own.
	e := enforcer(t, "certificate:create: rule:admin_or_member_user\nmine: role:k8s_admin\ncluster:create: rule:mine\ncluster:get: ''\ncluster:delete: '!'\n")
	creator := Caller{UserID: "m", ProjectID: "p", Roles: []string{"member"}}
	colleague := Caller{UserID: "o", ProjectID: "p", Roles: []string{"member"}}
	target := Target{ProjectID: "p", UserID: "m"}
	if !e.Allowed("certificate:create", creator, target) || e.Allowed("certificate:create", colleague, target) {
		t.Error("the owner's rule is not kept")
	}
	if e.Allowed("cluster:create", creator, target) || !e.Allowed("cluster:create", Caller{Roles: []string{"k8s_admin"}}, target) {
		t.Error("the operator's rule is not kept")
	}
	if !e.Allowed("cluster:get", Caller{}, target) || e.Allowed("cluster:delete", creator, target) {
		t.Error("always and never")
	}
}

func TestWrongFilesAreRefused(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"cluster:create: rule:nobody":           "does not exist",
		"a: rule:b\nb: rule:a":                  "refers to itself",
		"cluster:create: 'role:admin and and'":  "parsing",
		"cluster:creat: role:admin":             "no such rule",
		"- a":                                   "reading",
		"cluster:create: [['role:a','role:b']]": "reading",
	} {
		if _, err := New([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}
