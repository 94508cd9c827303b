package compute

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// serverItem is a server in a list: the attributes are those that lists
// filter and sort by.
type serverItem struct {
	UUID        string     `json:"uuid"`
	Name        string     `json:"display_name"`
	Description string     `json:"display_description"`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
	LaunchedAt  *time.Time `json:"launched_at"`
	VMState     string     `json:"vm_state"`
	TaskState   string     `json:"task_state"`
	PowerState  int        `json:"power_state"`
	Image       string     `json:"image"`
	ImageRef    string     `json:"image_ref"`
	Flavor      string     `json:"flavor"`
	FlavorID    string     `json:"instance_type_id"`
	Key         string     `json:"key_name"`
	Reservation string     `json:"reservation_id"`
	User        string     `json:"user_id"`
	Zone        string     `json:"availability_zone"`
	Host        string     `json:"host"`
	Node        string     `json:"node"`
	Hostname    string     `json:"hostname"`
	ConfigDrive bool       `json:"config_drive"`
	Locked      bool       `json:"locked"`
	AccessIPv4  string     `json:"access_ip_v4"`
	AccessIPv6  string     `json:"access_ip_v6"`
	ProjectID   string     `json:"project_id"`
	TenantID    string     `json:"tenant_id"`

	server *model.Server
}

func newServerItem(v model.Server) serverItem {
	i := serverItem{UUID: v.ID, Name: v.Name, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt, LaunchedAt: v.LaunchedAt,
		VMState: v.VMState, TaskState: v.TaskState, PowerState: v.PowerState, Image: v.ImageID, ImageRef: v.ImageID,
		Flavor: v.Flavor.ID, FlavorID: v.Flavor.ID, Key: v.KeyName, Reservation: v.ReservationID, User: v.UserID, Zone: v.Zone,
		Host: v.Host, Node: v.Host, Hostname: v.Hostname, ConfigDrive: v.ConfigDrive, Locked: v.Locked,
		AccessIPv4: v.AccessIPv4, AccessIPv6: v.AccessIPv6, ProjectID: v.ProjectID, TenantID: v.ProjectID, server: &v}
	if v.Description != nil {
		i.Description = *v.Description
	}
	return i
}

// serverName is what a list without details has of a server.
type serverName struct {
	ID    string     `json:"id"`
	Name  string     `json:"name"`
	Links []api.Link `json:"links"`
}

// userFilters are the filters that everyone may use; the others are for administrators and have no
// effect for users, as in Nova.
func userFilters(v api.Microversion) []string {
	names := []string{"reservation_id", "name", "status", "image", "flavor", "ip", "ip6", "changes-since", "changes-before", "all_tenants"}
	if v.AtLeast(2, 26) {
		names = append(names, "tags", "tags-any", "not-tags", "not-tags-any")
	}
	if v.AtLeast(2, 73) {
		names = append(names, "locked")
	}
	if v.AtLeast(2, 83) {
		names = append(names, "availability_zone", "config_drive", "key_name", "created_at", "launched_at", "terminated_at",
			"power_state", "task_state", "vm_state", "progress", "user_id")
	}
	return names
}

func (s *service) listServers(c *api.Call, detail bool) error {
	all, err := everyProject(c)
	if err != nil {
		return err
	}
	if err := checkQuery(c); err != nil {
		return err
	}
	if c.Request.URL.Query().Has("deleted") && c.Principal.Admin() && truth(c.Query("deleted")) {
		return c.Reply(http.StatusOK, map[string]any{"servers": []any{}}) // no deleted server is kept
	}
	return c.View(func(r store.Reader) error {
		list := api.List[serverItem]{Key: "servers", ID: func(i serverItem) string { return i.UUID }, Links: api.NextLinks,
			MaxLimit: 1000, Sort: []string{"created_at:desc"}, Filters: s.filters(c, r),
			Render: func(i serverItem) any {
				if detail {
					return s.view(c, r, *i.server)
				}
				return serverName{i.UUID, i.Name, serverLinks(c, i.UUID)}
			}}
		source := s.model.ServersOf.Each(r, c.Principal.ProjectID)
		if all {
			source = s.model.Servers.All(r)
		}
		return list.Reply(c, func(yield func(serverItem) bool) {
			for v := range source {
				if !yield(newServerItem(v)) {
					return
				}
			}
		})
	})
}

func truth(text string) bool {
	on, err := strconv.ParseBool(strings.ToLower(text))
	return err == nil && on
}

// everyProject reports whether the list is of all projects, which only administrators may see.
func everyProject(c *api.Call) (bool, error) {
	query := c.Request.URL.Query()
	asked := query.Has("all_tenants") && (query.Get("all_tenants") == "" || truth(query.Get("all_tenants")))
	if c.Principal.Admin() {
		return asked || query.Has("project_id") || query.Has("tenant_id"), nil
	}
	if asked {
		return false, api.Forbidden("Policy doesn't allow os_compute_api:servers:index:get_all_tenants to be performed.")
	}
	return false, nil
}

// checkQuery refuses invalid values of filters.
func checkQuery(c *api.Call) error {
	for _, name := range []string{"name", "ip", "ip6"} {
		if _, err := regexp.Compile(c.Query(name)); err != nil {
			return api.BadRequest("Invalid input for field/attribute %s. Value: %s. It is not a valid regex", name, c.Query(name))
		}
	}
	for _, name := range []string{"changes-since", "changes-before"} {
		if text := c.Query(name); text != "" {
			if _, err := parseTime(text); err != nil {
				return api.BadRequest("Invalid input for field/attribute %s. Value: %s. '%s' is not a 'date-time'", name, text, text)
			}
		}
	}
	if !c.Version.AtLeast(2, 75) {
		return nil
	}
	known := append(userFilters(api.Microversion{Major: 2, Minor: 96}), "limit", "marker", "sort_key", "sort_dir", "host", "hostname",
		"node", "project_id", "tenant_id", "uuid", "deleted", "description", "display_description", "soft_deleted", "access_ip_v4",
		"access_ip_v6", "launch_index", "root_device_name", "auto_disk_config", "instance_type_id", "cell_name", "display_name")
	for name := range c.Request.URL.Query() {
		if !slices.Contains(known, name) {
			return api.BadRequest("Invalid input for query parameters %s. Additional properties are not allowed ('%s' was unexpected)", name, name)
		}
	}
	return nil
}

// filters returns the filters that are not plain attributes, and nil for those that the caller may
// not use.
func (s *service) filters(c *api.Call, r store.Reader) map[string]api.Filter[serverItem] {
	out := map[string]api.Filter[serverItem]{}
	if !c.Principal.Admin() {
		allowed := userFilters(c.Version)
		for name := range c.Request.URL.Query() {
			if !slices.Contains(allowed, name) {
				out[name] = nil
			}
		}
	}
	if c.Version.AtLeast(2, 26) {
		for name, filter := range api.TagFilters(func(i serverItem) []string { return i.server.Tags }) {
			out[name] = filter
		}
	}
	out["all_tenants"], out["deleted"] = nil, nil
	name, ip4, ip6 := expression(c, "name"), expression(c, "ip"), expression(c, "ip6")
	out["name"] = func(i serverItem, _ []string) bool { return name.MatchString(i.Name) }
	out["status"] = func(i serverItem, v []string) bool {
		return slices.ContainsFunc(v, func(want string) bool { return strings.EqualFold(want, serverStatus(*i.server)) })
	}
	out["ip"] = func(i serverItem, _ []string) bool { return s.hasAddress(r, *i.server, ip4, 4) }
	out["ip6"] = func(i serverItem, _ []string) bool { return s.hasAddress(r, *i.server, ip6, 6) }
	out["changes-since"] = func(i serverItem, v []string) bool {
		at, _ := parseTime(v[0])
		return !i.server.UpdatedAt.Before(at)
	}
	out["changes-before"] = func(i serverItem, v []string) bool {
		at, _ := parseTime(v[0])
		return !i.server.UpdatedAt.After(at)
	}
	return out
}

// expression returns the pattern of a query parameter; it matches anywhere in a text and ignores
// case, as in the database.
func expression(c *api.Call, name string) *regexp.Regexp {
	e, err := regexp.Compile("(?i)" + c.Query(name))
	if err != nil {
		return regexp.MustCompile("$^") // refused before
	}
	return e
}

func (s *service) hasAddress(r store.Reader, v model.Server, e *regexp.Regexp, version int) bool {
	for _, a := range s.ports.Addresses(r, v.ID) {
		if !a.Floating && a.Version == version && e.MatchString(a.IP) {
			return true
		}
	}
	return false
}
