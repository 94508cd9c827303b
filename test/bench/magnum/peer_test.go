package magnum

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// fill makes that many clusters in Magnum's database, each with a node group of
// masters and one of workers, as its conductor would leave them; it returns the
// id of one.
func (b *bench) fill(count int) string {
	b.t.Helper()
	template, last := uuid.NewString(), ""
	var text strings.Builder
	fmt.Fprintf(&text, `DELETE FROM nodegroup; DELETE FROM cluster; DELETE FROM cluster_template;
INSERT INTO cluster_template (uuid, name, image_id, project_id, user_id, coe, cluster_distro, server_type, flavor_id, master_flavor_id,
	external_network_id, network_driver, labels, public, tls_disabled, registry_enabled, hidden, floating_ip_enabled, master_lb_enabled, created_at)
	VALUES ('%s', 'bench', 'tiny', '%s', '%s', 'kubernetes', 'ubuntu', 'vm', 'm1.small', 'm1.medium', 'public', 'calico', '{}', 0, 0, 0, 0, 1, 1, NOW());
`, template, b.project, b.user)
	for i := range count {
		last = uuid.NewString()
		fmt.Fprintf(&text, `INSERT INTO cluster (uuid, name, project_id, user_id, cluster_template_id, keypair, stack_id, status, health_status, create_timeout,
	api_address, coe_version, container_version, labels, flavor_id, master_flavor_id, discovery_url, trust_id, floating_ip_enabled, master_lb_enabled, docker_volume_size, created_at)
	VALUES ('%s', 'bench-%d', '%s', '%s', '%s', 'ops', '%s', 'CREATE_COMPLETE', 'HEALTHY', 60, 'https://203.0.113.1:6443', 'v1.34.2', '1.7', '{"a":"b"}',
	'm1.small', 'm1.medium', '', 'x', 1, 1, 10, NOW());
`, last, i, b.project, b.user, template, uuid.NewString())
		for _, role := range []string{"master", "worker"} {
			fmt.Fprintf(&text, `INSERT INTO nodegroup (uuid, name, cluster_id, project_id, role, node_count, min_node_count, flavor_id, image_id, is_default, status,
	labels, node_addresses, created_at) VALUES ('%s', 'default-%s', '%s', '%s', '%s', 3, 1, 'm1.small', 'tiny', 1, 'CREATE_COMPLETE', '{"a":"b"}', '["10.0.0.1"]', NOW());
`, uuid.NewString(), role, last, b.project, role)
		}
	}
	if _, err := b.cloud.Query(b.t.Context(), "magnum", text.String()); err != nil {
		b.t.Fatal(err)
	}
	return last
}
