package compute

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// builder creates the records of new servers in one transaction. Its server has what all servers of
// the request have in common.
type builder struct {
	*service
	call    *api.Call
	tx      *store.Tx
	in      serverInput
	server  model.Server
	payload model.ServerPayload
	count   int
}

func (s *service) createServer(c *api.Call) error {
	var body, raw map[string]json.RawMessage
	if err := c.Decode(&body); err != nil {
		return err
	}
	b := &builder{service: s, call: c}
	if _, ok := body["server"]; !ok {
		return api.BadRequest("Invalid input for field/attribute. 'server' is a required property")
	}
	if err := parse(body["server"], &raw); err != nil {
		return err
	}
	if err := parse(body["server"], &b.in); err != nil {
		return err
	}
	if err := b.in.check(c.Version, raw); err != nil {
		return err
	}
	wanted, err := hints(body)
	if err != nil {
		return err
	}
	b.server.Hints = wanted
	if b.payload.UserData, err = userData(b.in.UserData); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		run := *b // a transaction starts from what the request says
		run.tx = tx
		return run.create()
	})
}

func (b *builder) create() error {
	b.basics()
	for _, step := range []func() error{b.contents, b.size, b.source, b.key, b.place, b.cards, b.groups, b.disks, b.limits} {
		if err := step(); err != nil {
			return err
		}
	}
	ids := []string{}
	for i := range b.count {
		v, err := b.put(i)
		if err != nil {
			return err
		}
		ids = append(ids, v.ID)
	}
	return b.answer(ids)
}

func (b *builder) basics() {
	p, now := b.call.Principal, b.env.Timing.Now()
	v := &b.server
	v.Name, v.Description, v.ProjectID, v.UserID = strings.TrimSpace(b.in.Name), b.in.Description, p.ProjectID, p.UserID()
	v.CreatedAt, v.UpdatedAt = now, now
	v.VMState, v.TaskState = model.ServerBuilding, taskScheduling
	v.Pending = b.env.Timing.Start(taskScheduling, time.Second)
	v.ConfigDrive, v.Metadata = bool(b.in.ConfigDrive), orEmpty(b.in.Metadata)
	v.Tags = slices.Compact(slices.Sorted(slices.Values(b.in.Tags)))
	v.DiskConfig, v.AccessIPv4, v.AccessIPv6 = cmp.Or(b.in.DiskConfig, "MANUAL"), b.in.AccessIPv4, b.in.AccessIPv6
	v.ReservationID = "r-" + strings.ToLower(rand.Text()[:8])
	for _, kind := range []faultinject.Kind{faultinject.NoBoot, faultinject.NoNetwork, faultinject.DiskFull, faultinject.SlowDisk} {
		if b.env.Faults.Hit(kind, "compute", v.Name) {
			v.Trouble = append(v.Trouble, string(kind))
		}
	}
	for _, g := range b.in.SecurityGroups {
		if !slices.Contains(v.SecurityGroups, g.Name) {
			v.SecurityGroups = append(v.SecurityGroups, g.Name)
		}
	}
}

// contents sets what only the machine gets.
func (b *builder) contents() (err error) {
	limits := b.quota.Limits(b.tx, b.server.ProjectID)
	if b.payload.Files, err = files(b.in.Personality, limits); err != nil {
		return err
	}
	if limit := limits["metadata_items"]; limit >= 0 && len(b.in.Metadata) > limit {
		return api.Forbidden("Maximum number of metadata items exceeds %d", limit)
	}
	b.payload.Password = rand.Text()[:12]
	if b.in.Password != nil && *b.in.Password != "" {
		b.payload.Password = *b.in.Password
	}
	return nil
}

func (b *builder) size() error {
	f, err := b.flavor(b.call, b.tx, b.in.Flavor[0])
	if err != nil {
		return api.BadRequest("Flavor %s could not be found.", b.in.Flavor[0])
	}
	f.Projects = nil
	b.server.Flavor = f
	return nil
}

func smallMemory() error {
	return api.BadRequest("Flavor's memory is too small for requested image.")
}

// source sets the image, unless the server boots from a volume.
func (b *builder) source() error {
	if b.in.Image == nil || *b.in.Image == "" {
		if len(b.in.Disks) == 0 {
			return api.BadRequest("Missing imageRef attribute")
		}
		return nil
	}
	img, err := b.usableImage(b.tx, b.call.Principal, *b.in.Image)
	if err != nil {
		return err
	}
	b.server.ImageID = img.ID
	if img.Properties["img_config_drive"] == "mandatory" {
		b.server.ConfigDrive = true
	}
	return fits(b.call, b.server.Flavor, img)
}

// fits refuses flavors that are too small for an image.
func fits(c *api.Call, f model.Flavor, img model.Image) error {
	size := int64(0)
	if img.VirtualSize != nil {
		size = *img.VirtualSize
	} else if img.Size != nil {
		size = *img.Size
	}
	switch {
	case img.MinRAM > f.RAM:
		return smallMemory()
	case f.Disk == 0 && !c.Principal.Admin():
		return api.Forbidden("Only volume-backed servers are allowed for flavors with zero disk.")
	case f.Disk > 0 && size > int64(f.Disk)<<30:
		return api.BadRequest("Flavor's disk is too small for requested image. Flavor disk is %d bytes, image is %d bytes.", f.Disk<<30, size)
	case f.Disk > 0 && img.MinDisk > f.Disk:
		return api.BadRequest("Flavor's disk is smaller than the minimum size specified in image metadata. Flavor disk is %d bytes, minimum size is %d bytes.", f.Disk<<30, img.MinDisk<<30)
	}
	return nil
}

func (b *builder) key() error {
	if b.in.Key == nil || *b.in.Key == "" {
		return nil
	}
	k, ok := b.model.KeyPairs.Get(b.tx, model.KeyPairID(b.server.UserID, *b.in.Key))
	if !ok {
		return api.BadRequest("Invalid key_name provided.")
	}
	b.server.KeyName, b.payload.KeyType, b.payload.PublicKey = k.Name, k.Type, k.PublicKey
	return nil
}

// place sets the availability zone, which administrators may write as zone:host.
func (b *builder) place() error {
	v := &b.server
	if b.in.Zone != nil && *b.in.Zone != "" {
		zone, host, forced := strings.Cut(*b.in.Zone, ":")
		if names, _ := b.zones(b.tx); zone != "" && !slices.Contains(names, zone) {
			return api.BadRequest("The requested availability zone is not available")
		}
		v.PinnedZone = zone
		if forced {
			host, _, _ = strings.Cut(host, ":")
			b.in.Host = host
		}
	}
	b.in.Host = cmp.Or(b.in.Host, b.in.Node)
	if b.in.Host == "" {
		return nil
	}
	if !b.call.Principal.Admin() {
		return api.Forbidden("Policy doesn't allow os_compute_api:servers:create:forced_host to be performed.")
	}
	if _, ok := b.model.Hosts.Get(b.tx, b.in.Host); !ok {
		return api.BadRequest("Compute host %s could not be found.", b.in.Host)
	}
	v.ForcedHost = b.in.Host
	return nil
}

// groups checks the server group that the hints name.
func (b *builder) groups() error {
	asked := b.server.Hints["group"]
	if len(asked) == 0 {
		return nil
	}
	g, ok := b.model.Groups.Get(b.tx, asked[0])
	if !ok || !b.call.Principal.Owns(g.ProjectID) {
		return api.BadRequest("Instance group %s could not be found.", asked[0])
	}
	used := b.model.ServersIn.Count(b.tx, g.ID)
	if _, over := b.quota.Exceeded(b.tx, g.ProjectID, "server_group_members", used, int(b.in.MaxCount)); over {
		return api.Forbidden("Quota exceeded, too many servers in group")
	}
	b.server.GroupID = g.ID
	return nil
}

// limits finds how many servers the quotas have room for, at least min_count.
func (b *builder) limits() error {
	var err error
	for b.count = int(b.in.MaxCount); b.count >= int(b.in.MinCount); b.count-- {
		if err = b.room(b.tx, b.server.ProjectID, demand(b.server.Flavor, b.count)); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	if b.count > 1 && slices.ContainsFunc(b.server.Networks, func(n model.ServerNetwork) bool { return n.PortID != "" || n.FixedIP != "" }) {
		return api.BadRequest("Unable to launch multiple instances with a single configured port ID. Please launch your instance one by one with different ports.")
	}
	return b.portRoom()
}

// portRoom refuses servers whose ports would exceed Neutron's quota.
func (b *builder) portRoom() error {
	ports := 0
	for _, n := range b.server.Networks {
		if n.PortID == "" {
			ports += b.count
		}
	}
	limit, used := b.ports.UsesQuota(b.tx, b.server.ProjectID, "port")
	if limit >= 0 && ports > 0 && used+ports > limit {
		return api.Forbidden("Maximum number of ports exceeded")
	}
	return nil
}

// put adds the n-th server of the request.
func (b *builder) put(n int) (model.Server, error) {
	v := b.server
	v.ID, v.LaunchIndex = model.NewID(), n
	v.Disks = slices.Clone(v.Disks)
	if b.count > 1 {
		v.Name = fmt.Sprintf("%s-%d", v.Name, n+1)
	}
	v.Hostname = cmp.Or(b.in.Hostname, hostname(v.Name, v.ID))
	if err := b.reserveDisks(&v); err != nil {
		return v, err
	}
	v.ActionID = b.begin(b.tx, b.call, v, "create", "compute__do_build_and_run_instance")
	b.model.Servers.Put(b.tx, v)
	payload := b.payload
	payload.ServerID = v.ID
	b.model.Payloads.Put(b.tx, payload)
	return v, nil
}

func (b *builder) answer(ids []string) error {
	if b.in.Reservation {
		return b.call.Reply(http.StatusAccepted, map[string]any{"reservation_id": b.server.ReservationID})
	}
	groups := []map[string]string{}
	for _, name := range b.server.SecurityGroups {
		groups = append(groups, map[string]string{"name": name})
	}
	if len(groups) == 0 {
		groups = append(groups, map[string]string{"name": "default"})
	}
	b.call.Writer.Header().Set("Location", b.call.URL("/v2.1/servers/"+ids[0]))
	return b.call.Reply(http.StatusAccepted, map[string]any{"server": map[string]any{
		"id": ids[0], "links": serverLinks(b.call, ids[0]), "OS-DCF:diskConfig": b.server.DiskConfig,
		"security_groups": groups, "adminPass": b.payload.Password,
	}})
}
