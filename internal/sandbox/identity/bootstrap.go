package identity

import (
	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// DefaultDomain is the id of the domain that every cloud has.
const DefaultDomain = "default"

// Passwords are the passwords of the first two users.
type Passwords struct {
	Admin string `json:"admin"`
	Demo  string `json:"demo"`
}

// Bootstrap creates what a cloud begins with: the default domain, projects and users admin and
// demo, and the default roles. It changes nothing in a cloud that has begun.
func (k *Keystone) Bootstrap(p Passwords) error {
	admin, err := k.secrets.hash(p.Admin)
	if err != nil {
		return err
	}
	demo, err := k.secrets.hash(p.Demo)
	if err != nil {
		return err
	}
	return k.env.Store.Update(func(tx *store.Tx) error {
		if _, ok := k.model.Projects.Get(tx, DefaultDomain); ok {
			return nil
		}
		k.model.Projects.Put(tx, model.Project{ID: DefaultDomain, Name: "Default", Description: "The default domain", Enabled: true, IsDomain: true})
		k.model.Regions.Put(tx, model.Region{ID: k.env.Region})
		roles := k.bootstrapRoles(tx)
		adminUser, adminProject := k.bootstrapUser(tx, "admin", admin)
		demoUser, demoProject := k.bootstrapUser(tx, "demo", demo)
		for _, a := range []model.Assignment{
			{RoleID: roles["admin"], UserID: adminUser, ProjectID: adminProject},
			{RoleID: roles["admin"], UserID: adminUser, ProjectID: demoProject},
			{RoleID: roles["admin"], UserID: adminUser, DomainID: DefaultDomain},
			{RoleID: roles["admin"], UserID: adminUser, System: true},
			{RoleID: roles["member"], UserID: demoUser, ProjectID: demoProject},
		} {
			k.model.Assignments.Put(tx, a)
		}
		return nil
	})
}

// bootstrapRoles creates OpenStack's default roles: each of the first four implies the one before
// it. The others are those of service users, and those that Octavia's and Barbican's policies name.
func (k *Keystone) bootstrapRoles(tx *store.Tx) map[string]string {
	ids := map[string]string{}
	implied := []string(nil)
	for _, name := range []string{"reader", "member", "manager", "admin"} {
		ids[name] = model.NewKeyID()
		k.model.Roles.Put(tx, model.Role{ID: ids[name], Name: name, Implies: implied,
			Options: map[string]any{"immutable": true}})
		implied = []string{ids[name]}
	}
	for _, name := range []string{"service", "load-balancer_member", "creator"} {
		ids[name] = model.NewKeyID()
		k.model.Roles.Put(tx, model.Role{ID: ids[name], Name: name})
	}
	return ids
}

// bootstrapUser creates a user and a project with the same name.
func (k *Keystone) bootstrapUser(tx *store.Tx, name, hash string) (userID, projectID string) {
	project := model.Project{ID: model.NewKeyID(), Name: name, DomainID: DefaultDomain, ParentID: DefaultDomain, Enabled: true}
	user := model.User{ID: model.NewKeyID(), Name: name, DomainID: DefaultDomain, DefaultProjectID: project.ID, Enabled: true, Hash: hash}
	k.model.Projects.Put(tx, project)
	k.model.Users.Put(tx, user)
	return user.ID, project.ID
}

// Register puts services in the catalog, with the three usual endpoints each.
// What an administrator changed there stays.
func (k *Keystone) Register(services []*api.Service) error {
	return k.env.Store.Update(func(tx *store.Tx) error {
		known := map[string]bool{}
		for v := range k.model.Services.All(tx) {
			known[v.Type] = true
		}
		for _, s := range services {
			if s.Catalog == "" || known[s.Type] {
				continue
			}
			v := model.Service{ID: model.NewKeyID(), Name: s.Name, Type: s.Type, Enabled: true}
			k.model.Services.Put(tx, v)
			for _, face := range []string{"public", "internal", "admin"} {
				k.model.Endpoints.Put(tx, model.Endpoint{ID: model.NewKeyID(), ServiceID: v.ID, RegionID: k.env.Region,
					Interface: face, URL: BaseURL + s.Catalog, Enabled: true})
			}
		}
		return nil
	})
}
