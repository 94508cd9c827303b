package volume

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) infoRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/os-availability-zone", Role: api.Reader, Handle: s.zones},
		{Pattern: "GET /v3/extensions", Role: api.Reader, Handle: extensions},
		{Pattern: "GET /v3/extensions/{alias}", Role: api.Reader, Handle: extension},
		{Pattern: "GET /v3/os-services", Role: api.Admin, Handle: s.services},
		{Pattern: "GET /v3/os-hosts", Role: api.Admin, Handle: s.hosts},
		{Pattern: "GET /v3/scheduler-stats/get_pools", Role: api.Admin, Handle: s.pools},
		{Pattern: "GET /v3/capabilities/{host}", Role: api.Admin, Handle: s.capabilities},
		{Pattern: "GET /v3/resource_filters", Role: api.Reader, Handle: since(33, resourceFilters)},
	}
}

func (s *service) zones(c *api.Call) error {
	return c.Reply(http.StatusOK, map[string]any{"availabilityZoneInfo": []any{
		map[string]any{"zoneName": zone, "zoneState": map[string]bool{"available": true}}}})
}

// extensionNames are the aliases of the extensions with their names.
func extensionNames() map[string]string {
	return map[string]string{"os-availability-zone": "AvailabilityZones", "backups": "Backups", "os-quota-sets": "Quotas",
		"os-volume-transfer": "VolumeTransfer", "os-types-extra-specs": "TypesExtraSpecs", "os-types-manage": "TypesManage",
		"os-volume-actions": "VolumeActions", "os-volume-type-access": "VolumeTypeAccess", "os-volume-encryption-metadata": "VolumeEncryptionMetadata",
		"os-volume-type-encryption": "VolumeTypeEncryption", "os-admin-actions": "AdminActions", "os-services": "Services",
		"os-hosts": "Hosts", "qos-specs": "Qos_specs_manage", "scheduler-stats": "Scheduler_stats", "os-volume-manage": "VolumeManage",
		"os-vol-host-attr": "VolumeHostAttribute", "os-vol-tenant-attr": "VolumeTenantAttribute", "os-vol-mig-status-attr": "VolumeMigStatusAttribute",
		"os-vol-image-meta": "VolumeImageMetadata", "os-snapshot-actions": "SnapshotActions", "OS-SCH-HNT": "SchedulerHints",
		"os-extended-snapshot-attributes": "ExtendedSnapshotAttributes", "os-used-limits": "UsedLimits", "capabilities": "Capabilities"}
}

func extensionView(alias, name string) map[string]any {
	return map[string]any{"alias": alias, "name": name, "description": name + " support.", "links": []any{},
		"updated": "2013-04-18T00:00:00+00:00"}
}

func extensions(c *api.Call) error {
	list := []any{}
	for alias, name := range extensionNames() {
		list = append(list, extensionView(alias, name))
	}
	return c.Reply(http.StatusOK, map[string]any{"extensions": list})
}

func extension(c *api.Call) error {
	name, ok := extensionNames()[c.Path("alias")]
	if !ok {
		return api.NotFound("The resource could not be found.")
	}
	return c.Reply(http.StatusOK, map[string]any{"extension": extensionView(c.Path("alias"), name)})
}

func (s *service) services(c *api.Call) error {
	now := stamp(s.env.Timing.Now())
	list := []any{}
	for binary, at := range map[string]string{"cinder-scheduler": "sandbox", "cinder-volume": host, "cinder-backup": "sandbox"} {
		if asked := c.Query("binary"); asked != "" && asked != binary {
			continue
		}
		if asked := c.Query("host"); asked != "" && asked != at {
			continue
		}
		list = append(list, map[string]any{"binary": binary, "host": at, "zone": zone, "status": "enabled", "state": "up",
			"updated_at": now, "disabled_reason": nil, "frozen": false, "replication_status": "disabled", "active_backend_id": nil, "cluster": nil})
	}
	return c.Reply(http.StatusOK, map[string]any{"services": list})
}

func (s *service) hosts(c *api.Call) error {
	return c.Reply(http.StatusOK, map[string]any{"hosts": []any{map[string]any{"host_name": host, "service": "cinder-volume",
		"zone": zone, "service-status": "available", "service-state": "enabled", "last-update": stamp(s.env.Timing.Now())}}})
}

func (s *service) pools(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		entry := map[string]any{"name": pool}
		if truth(c.Query("detail")) {
			entry["capabilities"] = s.poolDetail(r)
		}
		return c.Reply(http.StatusOK, map[string]any{"pools": []any{entry}})
	})
}

func (s *service) poolDetail(r store.Reader) map[string]any {
	used := 0
	for v := range s.model.Volumes.All(r) {
		used += v.Size
	}
	return map[string]any{"volume_backend_name": "files", "vendor_name": "Slipway", "driver_version": "1.0",
		"storage_protocol": "local", "total_capacity_gb": "infinite", "free_capacity_gb": "infinite", "reserved_percentage": 0,
		"allocated_capacity_gb": used, "provisioned_capacity_gb": used, "max_over_subscription_ratio": "20.0", "QoS_support": false,
		"thin_provisioning_support": true, "thick_provisioning_support": false, "multiattach": true, "sparse_copy_volume": true,
		"timestamp": stamp(s.env.Timing.Now()), "location_info": "files", "total_volumes": s.model.Volumes.Len(r),
		"filter_function": nil, "goodness_function": nil}
}

func (s *service) capabilities(c *api.Call) error {
	if c.Path("host") != host && c.Path("host") != pool {
		return api.NotFound("Can't find service: %s", c.Path("host"))
	}
	return c.Reply(http.StatusOK, map[string]any{"namespace": "OS::Storage::Capabilities::" + host, "vendor_name": "Slipway",
		"volume_backend_name": "files", "pool_name": "files", "driver_version": "1.0", "storage_protocol": "local",
		"display_name": "Sparse files", "description": "Volumes in files of the sandbox", "visibility": "public",
		"replication_targets": []any{}, "properties": map[string]any{}})
}

func resourceFilters(c *api.Call) error {
	filters := map[string][]string{
		"volume":     {"name", "status", "metadata", "bootable", "migration_status", "availability_zone", "group_id", "size"},
		"snapshot":   {"name", "status", "volume_id", "metadata"},
		"backup":     {"name", "status", "volume_id"},
		"attachment": {"volume_id", "instance_id", "status", "attach_status"},
		"message":    {"resource_uuid", "resource_type", "event_id", "request_id", "message_level"},
	}
	list := []any{}
	for resource, names := range filters {
		if asked := c.Query("resource"); asked == "" || asked == resource {
			list = append(list, map[string]any{"resource": resource, "filters": names})
		}
	}
	return c.Reply(http.StatusOK, map[string]any{"resource_filters": list})
}
