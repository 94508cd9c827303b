package compute

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

func (s *service) extensionRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2.1/extensions", Role: api.Token, Handle: listExtensions},
		{Pattern: "GET /v2.1/extensions/{alias}", Role: api.Token, Handle: showExtension},
		{Pattern: "POST /v2.1/os-server-external-events", Role: api.Admin, Handle: s.externalEvents},
	}
}

// extensions are the names that clients of the old API look for. All of them are always there;
// since v2.1 the list says nothing else.
func extensions() [][2]string {
	return [][2]string{
		{"os-admin-actions", "AdminActions"}, {"os-aggregates", "Aggregates"}, {"os-attach-interfaces", "AttachInterfaces"}, {"os-availability-zone", "AvailabilityZone"},
		{"os-block-device-mapping", "BlockDeviceMapping"}, {"os-config-drive", "ConfigDrive"}, {"os-console-output", "ConsoleOutput"},
		{"os-create-backup", "CreateBackup"}, {"os-extended-availability-zone", "ExtendedAvailabilityZone"},
		{"os-extended-server-attributes", "ExtendedServerAttributes"}, {"os-extended-status", "ExtendedStatus"},
		{"os-extended-volumes", "ExtendedVolumes"}, {"os-flavor-access", "FlavorAccess"}, {"os-flavor-extra-specs", "FlavorExtraSpecs"},
		{"os-hypervisors", "Hypervisors"}, {"os-instance-actions", "InstanceActions"}, {"os-keypairs", "Keypairs"},
		{"os-lock-server", "LockServer"}, {"os-multinic", "Multinic"}, {"os-pause-server", "PauseServer"}, {"os-quota-sets", "Quotas"},
		{"os-remote-consoles", "Consoles"}, {"os-rescue", "Rescue"}, {"os-scheduler-hints", "SchedulerHints"},
		{"os-security-groups", "SecurityGroups"}, {"os-server-external-events", "ServerExternalEvents"},
		{"os-server-groups", "ServerGroups"}, {"os-server-password", "ServerPassword"}, {"os-services", "Services"},
		{"os-shelve", "Shelve"}, {"os-simple-tenant-usage", "SimpleTenantUsage"}, {"os-suspend-server", "SuspendServer"},
		{"os-used-limits", "UsedLimits"}, {"os-user-data", "UserData"}, {"os-volume-attachment-update", "VolumeAttachmentUpdate"},
		{"os-volumes", "Volumes"},
	}
}

func extensionView(e [2]string) map[string]any {
	return map[string]any{"alias": e[0], "name": e[1], "description": e[1], "links": []any{},
		"namespace": "http://docs.openstack.org/compute/ext/fake_xml", "updated": "2014-12-03T00:00:00Z"}
}

func listExtensions(c *api.Call) error {
	list := []any{}
	for _, e := range extensions() {
		list = append(list, extensionView(e))
	}
	return c.Reply(http.StatusOK, map[string]any{"extensions": list})
}

func showExtension(c *api.Call) error {
	for _, e := range extensions() {
		if e[0] == c.Path("alias") {
			return c.Reply(http.StatusOK, map[string]any{"extension": extensionView(e)})
		}
	}
	return api.NotFound("The resource could not be found.")
}
