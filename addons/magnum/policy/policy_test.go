package policy

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
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
		"cluster:create: 'role:admin and and'":  `parsing rules: rule cluster:create: column 16: a check like role:member was expected, not "and"`,
		"cluster:creat: role:admin":             "no such rule",
		"- a":                                   "reading",
		"cluster:create: [['role:a','role:b']]": "reading",
	} {
		if _, err := New([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}

// Each wrong rule is told, in the order of their names, with what is wrong where.
func TestWrongRulesAreToldAtOnce(t *testing.T) {
	t.Parallel()
	_, err := New([]byte("b: role:admin or\na: (role:admin\nc: role admin\nd: 'role:'\ne: role:a role:b\nf: \"'None:%(user_id)s\"\ng: \"'a':b\"\nh: not\ni: user_id:%(user_id\n"))
	want := `parsing rules: rule a: column 12: ")" is missing at the end
rule b: column 14: a check like role:member is missing at the end
rule c: column 6: ":" behind role was expected, not "admin"
rule d: column 6: what role is compared with is missing at the end
rule e: column 8: "and" or "or" was expected, not "role"
rule f: column 1: a check like role:member was expected, not "'None"
rule g: column 5: what 'a' is compared with was expected, not "b"
rule h: column 4: a check like role:member is missing at the end
rule i: column 10: "and" or "or" was expected, not "("`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

// What is well-formed is also so to the library that decides.
func TestRulesOfEveryForm(t *testing.T) {
	t.Parallel()
	admin := Caller{UserID: "u", ProjectID: "p", Roles: []string{"admin"}}
	for rule, want := range map[string]bool{
		"": true, " @ ": true, "!": false, "not !": true, "not not @": true, "(@)": true,
		"role:admin": true, "role:'admin'": true, "role:\"admin\"": true, "role:member": false, "role:member or role:admin": true,
		"not role:admin": false, "@ and (! or role:admin)": true, "user_id:%(user_id)s and project_id:%(project_id)s": true,
		"user_id:%(project_id)s": false, "'u':%(user_id)s": true, "True:%(user_id)s": false, "7:%(user_id)s": false, "is_admin:True": false, "user_id:7": false,
		"role:member\n or\n role:admin\n": true, "role:member or\r\nrole:admin": true, "rule:mine": true, "role:with-dashes_and.dots or role:admin": true,
	} {
		file, err := yaml.Marshal(map[string]string{"mine": "role:admin", "cluster:get": rule, "context_is_admin": "!"})
		if err != nil {
			t.Fatal(err)
		}
		e, err := New(file)
		if err != nil {
			t.Errorf("%q: %v", rule, err)
			continue
		}
		if got := e.Allowed("cluster:get", admin, Target{ProjectID: "p", UserID: "u"}); got != want {
			t.Errorf("%q allows: %t, want %t", rule, got, want)
		}
	}
}
