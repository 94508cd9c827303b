package policy

import "testing"

// FuzzRules reads anything as a policy file: an error, or rules that decide
// about everybody, and let nobody in by a rule that does not exist.
func FuzzRules(f *testing.F) {
	for _, file := range []string{"", "cluster:create: role:admin\n", "a: rule:b\nb: rule:a\n", "a: '(((('\n", "a: not not not @\n", `{"cluster:get": "user_id:%(user_id)s and (role:x or !)"}`,
		"a: '%(project_id)s:%(user_id)s'\n", "a: \"'x':%(user_id)s\"\n", "cluster:get: ''\n", "a: [role:x]\n", "a: role:%(x)s\n", "context_is_admin: '@'\n", "a: '!:x'\n", "a: 'http://x'\n",
		"a: \"role:\\\"\\\\\\\"\\\"\"\n", "a: rule:%(user_id)s\n", "? [a]\n: b\n", "a: True:%(is_admin)s\n", "&a a: *a\n"} {
		f.Add(file, "rule", "member")
	}
	f.Fuzz(func(t *testing.T, file, rule, role string) {
		e, err := New([]byte(file))
		if err != nil {
			return
		}
		for _, caller := range []Caller{{}, {UserID: "u", ProjectID: "p", DomainID: "d", Roles: []string{role}}} {
			for _, target := range []Target{{}, {ProjectID: "p", UserID: "u"}, {ProjectID: role, UserID: rule}} {
				for _, name := range []string{rule, "cluster:create", "certificate:create", "clustertemplate:publish"} {
					e.Allowed(name, caller, target)
				}
				e.Admin(caller)
			}
		}
		if e.Allowed("there is no such rule", Caller{Roles: []string{"admin"}}, Target{}) {
			t.Error("a rule that does not exist lets in")
		}
	})
}
