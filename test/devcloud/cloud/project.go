package cloud

import (
	"context"
	"fmt"
	"strings"
)

// Project counts what a project has, in the databases: what an API no longer
// shows may still be there.
type Project struct {
	cloud *Cloud
	id    string
}

// Project finds a project by its name.
func (c *Cloud) Project(ctx context.Context, name string) (*Project, error) {
	rows, err := c.Query(ctx, "keystone", "SELECT id FROM project WHERE name = '"+name+"'")
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 {
		return nil, fmt.Errorf("finding project %s: there are %d", name, len(rows))
	}
	return &Project{cloud: c, id: rows[0]}, nil
}

// ID is the project's in Keystone.
func (p *Project) ID() string { return p.id }

// Count is how many rows of a table are the project's. The table is written as
// "database.table condition", with ? for the project's ID.
func (p *Project) Count(ctx context.Context, table string) (string, error) {
	database, rest, _ := strings.Cut(table, ".")
	name, condition, _ := strings.Cut(rest, " ")
	rows, err := p.cloud.Query(ctx, database, fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE %s", name, strings.ReplaceAll(condition, "?", "'"+p.id+"'")))
	if err != nil {
		return "", err
	}
	return rows[0], nil
}

// Counts are the rows of all tables that Slipway and clusters have things in.
// Keys and rules belong to the user, who is the cloud's only member.
func (p *Project) Counts(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	for _, table := range tables {
		rows, err := p.Count(ctx, table)
		if err != nil {
			return nil, err
		}
		all[table] = rows
	}
	return all, nil
}

// tables have things of projects, with what makes a row the project's.
var tables = [...]string{
	"nova.instances project_id = ? AND deleted = 0",
	"nova.block_device_mapping deleted = 0 AND instance_uuid IN (SELECT uuid FROM instances WHERE project_id = ?)",
	"nova_api.key_pairs user_id IN (SELECT user_id FROM keystone.local_user WHERE name = 'demo')",
	"nova_api.instance_mappings project_id = ? AND queued_for_delete = 0",
	"nova_api.instance_groups project_id = ?",
	"placement.allocations consumer_id IN (SELECT c.id FROM consumers c JOIN projects p ON p.id = c.project_id WHERE p.external_id = ?)",
	"cinder.volumes project_id = ? AND deleted = 0",
	"cinder.volume_attachment deleted = 0 AND volume_id IN (SELECT id FROM volumes WHERE project_id = ?)",
	"cinder.snapshots project_id = ? AND deleted = 0",
	"neutron.networks project_id = ?",
	"neutron.subnets project_id = ?",
	"neutron.ports project_id = ?",
	"neutron.trunks project_id = ?",
	"neutron.routers project_id = ?",
	"neutron.floatingips project_id = ?",
	"neutron.securitygroups project_id = ? AND name <> 'default'",
	"neutron.securitygrouprules security_group_id IN (SELECT id FROM securitygroups WHERE project_id = ? AND name <> 'default')",
	"glance.images owner = ? AND deleted = 0",
	"keystone.application_credential project_id = ?",
	"keystone.access_rule user_id = (SELECT local_user.user_id FROM local_user WHERE name = 'demo')",
	"octavia.load_balancer project_id = ? AND provisioning_status <> 'DELETED'",
	"octavia.listener project_id = ? AND provisioning_status <> 'DELETED'",
	"octavia.pool project_id = ? AND provisioning_status <> 'DELETED'",
	"octavia.member project_id = ? AND provisioning_status <> 'DELETED'",
	"octavia.health_monitor project_id = ? AND provisioning_status <> 'DELETED'",
}
