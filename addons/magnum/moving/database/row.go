package database

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// table is a table as text; a nil cell is NULL.
type table struct {
	name    string
	columns []string
	rows    [][]*string
}

// reader reads the cells of one row after the other and keeps what is wrong.
type reader struct {
	table *table
	row   []*string
	errs  []error
}

func each(r *reader, t *table, read func()) {
	r.table = t
	for _, r.row = range t.rows {
		read()
	}
}

func (r *reader) err() error { return errors.Join(r.errs...) }

// wrong notes a mistake. Values are not quoted: they may be secrets.
func (r *reader) wrong(column, what string) {
	id := "?"
	if at := slices.Index(r.table.columns, "id"); at >= 0 && r.row[at] != nil {
		id = *r.row[at]
	}
	r.errs = append(r.errs, fault.New(fmt.Sprintf("table %s, row %s, column %s", r.table.name, id, column), errors.New(what), again))
}

// cell is a column's value; a column that this schema has not is NULL.
func (r *reader) cell(column string) (string, bool) {
	at := slices.Index(r.table.columns, column)
	if at < 0 || r.row[at] == nil {
		return "", false
	}
	return *r.row[at], true
}

func (r *reader) text(column string) string {
	value, _ := r.cell(column)
	return value
}

// must is a text that no row can be without.
func (r *reader) must(column string) string {
	value := r.text(column)
	if value == "" {
		r.wrong(column, "it is empty")
	}
	return value
}

func (r *reader) number(column string) int32 {
	if n := r.pointer(column); n != nil {
		return *n
	}
	return 0
}

func (r *reader) pointer(column string) *int32 {
	value, ok := r.cell(column)
	if !ok {
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		r.wrong(column, "it is not a number")
	}
	small := int32(n)
	return &small
}

// flag reads MySQL's 0 and 1, and PostgreSQL's t and f.
func (r *reader) flag(column string) bool {
	value, ok := r.cell(column)
	if !ok {
		return false
	}
	on, err := strconv.ParseBool(value)
	if err != nil {
		r.wrong(column, "it is neither true nor false")
	}
	return on
}

// time reads a time without a zone, which is UTC.
func (r *reader) time(column string) *time.Time {
	value, ok := r.cell(column)
	if !ok {
		return nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05.999999", time.RFC3339Nano} {
		if at, err := time.Parse(layout, value); err == nil {
			at = at.UTC().Truncate(time.Second) // as the API shows it
			return &at
		}
	}
	r.wrong(column, "it is not a time")
	return nil
}

// document reads JSON; NULL and "null" leave into as it is.
func (r *reader) document(column string, into any) {
	value, ok := r.cell(column)
	if !ok || value == "" {
		return
	}
	if err := json.Unmarshal([]byte(value), into); err != nil {
		r.wrong(column, "it is not the JSON that Magnum writes")
	}
}

// dictionary reads an object; values are text, as the API shows them.
func (r *reader) dictionary(column string) map[string]string {
	var raw map[string]any
	r.document(column, &raw)
	if len(raw) == 0 {
		return nil
	}
	return texts(raw)
}

func texts(raw map[string]any) map[string]string {
	all := map[string]string{}
	for key, value := range raw {
		switch value := value.(type) {
		case string:
			all[key] = value
		case nil:
			all[key] = ""
		case bool:
			all[key] = strings.ToUpper(strconv.FormatBool(value)[:1]) + strconv.FormatBool(value)[1:] // Python's
		default:
			text, err := json.Marshal(value)
			if err == nil {
				all[key] = string(text)
			}
		}
	}
	return all
}

func sorted(list []string) []string { slices.Sort(list); return list }

func (r *reader) common() Row {
	id, err := strconv.ParseInt(r.must("id"), 10, 64)
	if err != nil {
		r.wrong("id", "it is not a number")
	}
	return Row{ID: id, Created: r.time("created_at"), Updated: r.time("updated_at")}
}

func (r *reader) template() Template {
	return Template{Row: r.common(), UUID: r.must("uuid"), ProjectID: r.must("project_id"), UserID: r.text("user_id"), Name: r.text("name"),
		ImageID: r.text("image_id"), FlavorID: r.text("flavor_id"), MasterFlavorID: r.text("master_flavor_id"), KeypairID: r.text("keypair_id"),
		ExternalNetworkID: r.text("external_network_id"), FixedNetwork: r.text("fixed_network"), FixedSubnet: r.text("fixed_subnet"),
		NetworkDriver: r.text("network_driver"), VolumeDriver: r.text("volume_driver"), DNSNameserver: r.text("dns_nameserver"),
		APIServerPort: r.number("apiserver_port"), DockerVolumeSize: r.number("docker_volume_size"), DockerStorageDriver: r.text("docker_storage_driver"),
		ClusterDistro: r.text("cluster_distro"), COE: r.text("coe"), ServerType: r.text("server_type"), HTTPProxy: r.text("http_proxy"),
		HTTPSProxy: r.text("https_proxy"), NoProxy: r.text("no_proxy"), InsecureRegistry: r.text("insecure_registry"),
		RegistryEnabled: r.flag("registry_enabled"), TLSDisabled: r.flag("tls_disabled"), Public: r.flag("public"), Hidden: r.flag("hidden"),
		MasterLBEnabled: r.flag("master_lb_enabled"), FloatingIPEnabled: r.flag("floating_ip_enabled"), Tags: r.text("tags"), Driver: r.text("driver"),
		Labels: r.dictionary("labels")}
}

func (r *reader) cluster() Cluster {
	return Cluster{Row: r.common(), UUID: r.must("uuid"), ProjectID: r.must("project_id"), UserID: r.text("user_id"), Name: r.text("name"),
		TemplateID: r.must("cluster_template_id"), Keypair: r.text("keypair"), DockerVolumeSize: r.number("docker_volume_size"), Labels: r.dictionary("labels"),
		MasterFlavorID: r.text("master_flavor_id"), FlavorID: r.text("flavor_id"), StackID: r.text("stack_id"), APIAddress: r.text("api_address"),
		Status: r.text("status"), StatusReason: r.text("status_reason"), HealthStatus: r.text("health_status"),
		HealthStatusReason: r.dictionary("health_status_reason"), CreateTimeout: r.pointer("create_timeout"), COEVersion: r.text("coe_version"),
		ContainerVersion: r.text("container_version"), FixedNetwork: r.text("fixed_network"), FixedSubnet: r.text("fixed_subnet"),
		FloatingIPEnabled: r.flag("floating_ip_enabled"), MasterLBEnabled: r.flag("master_lb_enabled"), CARef: r.text("ca_cert_ref"),
		MagnumRef: r.text("magnum_cert_ref"), EtcdRef: r.text("etcd_ca_cert_ref"), FrontProxyRef: r.text("front_proxy_ca_cert_ref"),
		TrustID: r.text("trust_id"), TrusteeID: r.text("trustee_user_id")}
}

func (r *reader) group() NodeGroup {
	g := NodeGroup{Row: r.common(), UUID: r.must("uuid"), Name: r.must("name"), ClusterID: r.must("cluster_id"), ProjectID: r.text("project_id"), Role: r.text("role"),
		DockerVolumeSize: r.number("docker_volume_size"), Labels: r.dictionary("labels"), NodeLabels: r.dictionary("node_labels"), FlavorID: r.text("flavor_id"),
		ImageID: r.text("image_id"), NodeCount: r.number("node_count"), MinNodeCount: r.number("min_node_count"), MaxNodeCount: r.pointer("max_node_count"),
		IsDefault: r.flag("is_default"), StackID: r.text("stack_id"), Status: r.text("status"), StatusReason: r.text("status_reason"), Version: r.text("version")}
	r.document("node_addresses", &g.NodeAddresses)
	var taints []map[string]any
	r.document("node_taints", &taints)
	for _, taint := range taints {
		g.NodeTaints = append(g.NodeTaints, texts(taint))
	}
	return g
}

func (r *reader) quota() Quota {
	return Quota{Row: r.common(), ProjectID: r.must("project_id"), Resource: r.text("resource"), HardLimit: r.number("hard_limit")}
}
