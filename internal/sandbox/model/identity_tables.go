package model

import "github.com/slipway-sh/slipway/internal/sandbox/store"

// Identity is Keystone's tables.
type Identity struct {
	Projects       *store.Table[Project]
	ProjectsByName *store.Index[Project]
	ProjectsIn     *store.Index[Project] // by parent

	Users       *store.Table[User]
	UsersByName *store.Index[User]

	Groups   *store.Table[Group]
	GroupsOf *store.Index[Group] // by member

	Roles       *store.Table[Role]
	RolesByName *store.Index[Role]

	Assignments   *store.Table[Assignment]
	AssignmentsOf *store.Index[Assignment] // by user or group
	AssignmentsOn *store.Index[Assignment] // by project, domain or "system"

	Tokens   *store.Table[Token]
	TokensOf *store.Index[Token] // by user

	AppCreds    *store.Table[ApplicationCredential]
	AppCredsOf  *store.Index[ApplicationCredential] // by user
	AccessRules *store.Table[AccessRule]

	Services  *store.Table[Service]
	Endpoints *store.Table[Endpoint]
	Regions   *store.Table[Region]

	Trusts *store.Table[Trust]

	Credentials         *store.Table[Credential]
	CredentialsOf       *store.Index[Credential] // by user
	CredentialsByAccess *store.Index[Credential]
}

func newIdentity(s *store.Store) Identity {
	var i Identity
	i.Projects = store.NewTable(s, "identity.projects", func(p Project) string { return p.ID })
	i.ProjectsByName = i.Projects.Index(func(p Project) string { return p.Name })
	i.ProjectsIn = i.Projects.Index(func(p Project) string { return p.ParentID })
	i.Users = store.NewTable(s, "identity.users", func(u User) string { return u.ID })
	i.UsersByName = i.Users.Index(func(u User) string { return u.Name })
	i.Groups = store.NewTable(s, "identity.groups", func(g Group) string { return g.ID })
	i.GroupsOf = i.Groups.IndexEach(func(g Group) []string { return g.Members })
	i.Roles = store.NewTable(s, "identity.roles", func(r Role) string { return r.ID })
	i.RolesByName = i.Roles.Index(func(r Role) string { return r.Name })
	i.Assignments = store.NewTable(s, "identity.assignments", Assignment.Key)
	i.AssignmentsOf = i.Assignments.Index(Assignment.Actor)
	i.AssignmentsOn = i.Assignments.Index(Assignment.Target)
	i.Tokens = store.NewTable(s, "identity.tokens", func(t Token) string { return t.ID })
	i.TokensOf = i.Tokens.Index(func(t Token) string { return t.UserID })
	i.addCredentials(s)
	i.Services = store.NewTable(s, "identity.services", func(v Service) string { return v.ID })
	i.Endpoints = store.NewTable(s, "identity.endpoints", func(e Endpoint) string { return e.ID })
	i.Regions = store.NewTable(s, "identity.regions", func(r Region) string { return r.ID })
	i.Trusts = store.NewTable(s, "identity.trusts", func(t Trust) string { return t.ID })
	return i
}

func (i *Identity) addCredentials(s *store.Store) {
	i.AppCreds = store.NewTable(s, "identity.application_credentials", func(a ApplicationCredential) string { return a.ID })
	i.AppCredsOf = i.AppCreds.Index(func(a ApplicationCredential) string { return a.UserID })
	i.AccessRules = store.NewTable(s, "identity.access_rules", func(r AccessRule) string { return r.ID })
	i.Credentials = store.NewTable(s, "identity.credentials", func(c Credential) string { return c.ID })
	i.CredentialsOf = i.Credentials.Index(func(c Credential) string { return c.UserID })
	i.CredentialsByAccess = i.Credentials.Index(func(c Credential) string { return c.Access })
}
