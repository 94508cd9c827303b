package network

import (
	"encoding/json"
	"iter"
	"net/http"
	"reflect"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

const defaultGroupName = "default"

// groupView is a security group with its rules.
type groupView struct {
	model.SecurityGroup
	shown
	Shared bool       `json:"shared"`
	Rules  []ruleView `json:"security_group_rules"`
}

func (n *Core) groups() resource[model.SecurityGroup, groupView] {
	return resource[model.SecurityGroup, groupView]{
		core: n, one: "security_group", many: "security_groups", path: "/v2.0/security-groups",
		table: n.model.Groups, of: n.model.GroupsOf,
		meta: func(v *model.SecurityGroup) *model.NetworkMeta { return &v.NetworkMeta },
		missing: func(id string) error {
			return api.Errorf(http.StatusNotFound, "SecurityGroupNotFound", "Security group %s does not exist", id)
		},
		shared: func(r store.Reader, project string) iter.Seq[model.SecurityGroup] {
			return sharedObjects(n, r, n.model.Groups, "security_group", project)
		},
		sees: func(r store.Reader, project string, v model.SecurityGroup) bool { return n.isShared(r, v.ID, project) },
		view: n.viewGroup, create: n.createGroup, update: n.updateGroup, remove: n.deleteGroup,
		prepare: n.ensureDefault,
	}
}

// ensureDefault makes the default group of the caller's project, and of a
// project that an administrator asks for.
func (n *Core) ensureDefault(c *api.Call) error {
	var missing []string
	err := c.View(func(r store.Reader) error {
		for _, project := range n.askedProjects(r, c) {
			if _, ok := n.findDefault(r, project); !ok {
				missing = append(missing, project)
			}
		}
		return nil
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		for _, project := range missing {
			n.defaultGroup(tx, project)
		}
		return nil
	})
}

func (n *Core) askedProjects(r store.Reader, c *api.Call) []string {
	var projects []string
	if c.Principal.ProjectID != "" {
		projects = append(projects, c.Principal.ProjectID)
	}
	for _, asked := range []string{c.Query("project_id"), c.Query("tenant_id")} {
		if _, known := c.Env.Model.Identity.Projects.Get(r, asked); known && isAdmin(c.Principal) {
			projects = append(projects, asked)
		}
	}
	return projects
}

func (n *Core) viewGroup(r store.Reader, p *api.Principal, v model.SecurityGroup) groupView {
	view := groupView{SecurityGroup: v, shown: show(v.NetworkMeta), Rules: []ruleView{},
		Shared: n.isShared(r, v.ID, projectOf(p, v.ProjectID))}
	for rule := range n.model.RulesOfGroup.Each(r, v.ID) {
		view.Rules = append(view.Rules, n.viewRule(r, p, rule))
	}
	return view
}

// findDefault returns the default group of a project.
func (n *Core) findDefault(r store.Reader, project string) (model.SecurityGroup, bool) {
	for group := range n.model.GroupsOf.Each(r, project) {
		if group.Name == defaultGroupName {
			return group, true
		}
	}
	return model.SecurityGroup{}, false
}

// defaultGroup returns the default group of a project and makes it if there
// is none. No quota counts for it.
func (n *Core) defaultGroup(tx *store.Tx, project string) model.SecurityGroup {
	if group, ok := n.findDefault(tx, project); ok {
		return group
	}
	group := model.SecurityGroup{NetworkMeta: n.newMeta(project, owned{}), Name: defaultGroupName, Stateful: true}
	group.Description = "Default security group"
	n.model.Groups.Put(tx, group)
	for _, etherType := range []string{"IPv4", "IPv6"} {
		n.addRule(tx, group, "ingress", etherType, &group.ID)
	}
	n.addEgress(tx, group)
	return group
}

// addEgress lets everything out, as every new group does.
func (n *Core) addEgress(tx *store.Tx, group model.SecurityGroup) {
	for _, etherType := range []string{"IPv4", "IPv6"} {
		n.addRule(tx, group, "egress", etherType, nil)
	}
}

func (n *Core) addRule(tx *store.Tx, group model.SecurityGroup, direction, etherType string, remote *string) {
	n.model.Rules.Put(tx, model.SecurityGroupRule{NetworkMeta: n.newMeta(group.ProjectID, owned{}),
		GroupID: group.ID, Direction: direction, EtherType: etherType, RemoteGroup: remote})
}

type groupChange struct {
	Name        api.Optional[string] `json:"name"`
	Description api.Optional[string] `json:"description"`
	Stateful    api.Optional[bool]   `json:"stateful"`
}

type groupInput struct {
	groupChange
	owned
}

func (in groupChange) apply(v *model.SecurityGroup) error {
	in.Name.Apply(&v.Name)
	in.Description.Apply(&v.Description)
	if in.Stateful.Set && !in.Stateful.Null {
		v.Stateful = in.Stateful.Value
	}
	return lengths(v.Name, v.Description)
}

func (n *Core) createGroup(tx *store.Tx, p *api.Principal, raw json.RawMessage) (model.SecurityGroup, error) {
	var in groupInput
	var none model.SecurityGroup
	if err := decodeInto(raw, &in, reflect.TypeFor[groupView](), http.MethodPost); err != nil {
		return none, err
	}
	project, err := in.project(p)
	if err != nil {
		return none, err
	}
	n.defaultGroup(tx, project)
	if in.Name.Value == defaultGroupName {
		return none, conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
	}
	if err := n.reserve(tx, project, "security_group"); err != nil {
		return none, err
	}
	v := model.SecurityGroup{NetworkMeta: n.newMeta(project, in.owned), Stateful: true}
	if err := in.apply(&v); err != nil {
		return none, err
	}
	n.model.Groups.Put(tx, v)
	n.addEgress(tx, v)
	return v, nil
}

func (n *Core) updateGroup(tx *store.Tx, _ *api.Principal, old model.SecurityGroup, raw json.RawMessage) (model.SecurityGroup, error) {
	var in groupChange
	if err := decodeInto(raw, &in, reflect.TypeFor[groupView](), http.MethodPut); err != nil {
		return old, err
	}
	if in.Name.Set && old.Name == defaultGroupName && in.Name.Value != old.Name {
		return old, conflict("SecurityGroupCannotUpdateDefault", "Updating default security group not allowed.")
	}
	if in.Name.Set && in.Name.Value == defaultGroupName && old.Name != defaultGroupName {
		return old, conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
	}
	v := old
	if err := in.apply(&v); err != nil {
		return old, err
	}
	if v.Stateful != old.Stateful && n.groupInUse(tx, v.ID) {
		return old, groupInUse(v.ID)
	}
	return v, nil
}

func (n *Core) groupInUse(r store.Reader, id string) bool {
	_, used := n.model.PortsOfGroup.First(r, id)
	return used
}

func groupInUse(id string) error {
	return conflict("SecurityGroupInUse", "Security Group %s in use.", id)
}

// deleteGroup refuses groups of ports; rules that name the group as remote go
// with it.
func (n *Core) deleteGroup(tx *store.Tx, p *api.Principal, v model.SecurityGroup) error {
	if n.groupInUse(tx, v.ID) {
		return groupInUse(v.ID)
	}
	if v.Name == defaultGroupName && !isAdmin(p) {
		return conflict("SecurityGroupCannotRemoveDefault", "Insufficient rights for removing default security group.")
	}
	for rule := range n.model.RulesOfGroup.Each(tx, v.ID) {
		n.model.Rules.Delete(tx, rule.ID)
	}
	for rule := range n.model.RulesOfRemote.Each(tx, v.ID) {
		n.model.Rules.Delete(tx, rule.ID)
	}
	return nil
}

func (n *Core) groupByName(tx *store.Tx, projectID, idOrName string) (model.SecurityGroup, error) {
	n.defaultGroup(tx, projectID)
	if group, ok := n.model.Groups.Get(tx, idOrName); ok &&
		(group.ProjectID == projectID || n.isShared(tx, group.ID, projectID)) {
		return group, nil
	}
	var found []model.SecurityGroup
	for group := range n.model.GroupsOf.Each(tx, projectID) {
		if group.Name == idOrName {
			found = append(found, group)
		}
	}
	switch len(found) {
	case 0:
		return model.SecurityGroup{}, n.groups().missing(idOrName)
	case 1:
		return found[0], nil
	}
	return found[0], api.Conflict("Multiple security groups found matching '%s'. Use an ID to be more specific.", idOrName)
}
