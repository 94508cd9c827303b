// Package metadata tells machines about themselves, in the forms of Nova's
// metadata service and config drive.
package metadata

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// Instance is a machine as its metadata describes it. Names are those of the
// Ports inside, in the same order.
type Instance struct {
	ID, Name, ProjectID string
	Metadata            machine.Metadata
	Ports               []machine.Port
	Names               []string
}

// Versions are those of Nova's OpenStack metadata that are served; their
// documents are the same.
func Versions() []string { return []string{"2012-08-10", "2015-10-15", "2018-08-27", "latest"} }

// Documents returns the files of a config drive by path, "openstack/…".
func Documents(i Instance) (map[string][]byte, error) {
	meta, err := json.Marshal(i.meta())
	if err != nil {
		return nil, fmt.Errorf("writing metadata: %w", err)
	}
	network, err := json.Marshal(i.network())
	if err != nil {
		return nil, fmt.Errorf("writing network metadata: %w", err)
	}
	docs := map[string][]byte{}
	for _, version := range Versions() {
		folder := "openstack/" + version + "/"
		docs[folder+"meta_data.json"] = meta
		docs[folder+"network_data.json"] = network
		docs[folder+"vendor_data.json"] = []byte("{}")
		docs[folder+"vendor_data2.json"] = []byte("{}")
		if len(i.Metadata.UserData) > 0 {
			docs[folder+"user_data"] = i.Metadata.UserData
		}
	}
	return docs, nil
}

func (i Instance) meta() map[string]any {
	keys := []map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(i.Metadata.PublicKeys)) {
		keys = append(keys, map[string]string{"name": name, "type": "ssh", "data": i.Metadata.PublicKeys[name]})
	}
	meta := map[string]any{
		"uuid": i.ID, "name": i.Name, "project_id": i.ProjectID,
		"hostname": i.Metadata.Hostname, "availability_zone": i.Metadata.AvailabilityZone,
		"launch_index": 0, "devices": i.devices(), "dedicated_cpus": []any{},
	}
	if len(keys) > 0 {
		meta["keys"], meta["public_keys"] = keys, i.Metadata.PublicKeys
	}
	if len(i.Metadata.Values) > 0 {
		meta["meta"] = i.Metadata.Values
	}
	return meta
}

// devices are the disks with tags, as in Nova's documentation of metadata; what
// is not known of a bus and an address is "none" there (nova/api/metadata/base.py).
func (i Instance) devices() []any {
	devices := []any{}
	for _, d := range i.Metadata.Devices {
		device := map[string]any{"type": "disk", "bus": "none", "address": "none", "tags": []string{d.Tag}}
		if d.Address != "" {
			device["bus"], device["address"] = "pci", d.Address
		}
		if d.Serial != "" {
			device["serial"] = d.Serial
		}
		devices = append(devices, device)
	}
	return devices
}

// network follows network_data.json's schema in Nova's documentation.
func (i Instance) network() map[string]any {
	links, networks, services := []any{}, []any{}, []any{}
	seen := map[string]bool{}
	for n, p := range i.Ports {
		link := "tap" + p.ID[:min(11, len(p.ID))]
		links = append(links, map[string]any{"id": link, "vif_id": p.ID, "type": "phy",
			"ethernet_mac_address": p.MAC, "mtu": p.MTU, "name": i.nic(n)})
		for _, a := range p.Addresses {
			networks = append(networks, network(a, link, p.NetworkID, len(networks)))
			for _, s := range a.Nameservers {
				if !seen[s.String()] {
					services = append(services, map[string]string{"type": "dns", "address": s.String()})
				}
				seen[s.String()] = true
			}
		}
	}
	return map[string]any{"links": links, "networks": networks, "services": services}
}

func (i Instance) nic(n int) string {
	if n < len(i.Names) {
		return i.Names[n]
	}
	return fmt.Sprintf("eth%d", n)
}

func network(a machine.Address, link, networkID string, n int) map[string]any {
	addr := a.Prefix.Addr()
	kind, zero, bits := "ipv4", "0.0.0.0", 32
	if addr.Is6() {
		kind, zero, bits = "ipv6", "::", 128
	}
	routes := []any{}
	if a.Gateway.IsValid() {
		routes = append(routes, map[string]string{"network": zero, "netmask": mask(0, bits), "gateway": a.Gateway.String()})
	}
	for _, r := range a.Routes {
		routes = append(routes, map[string]string{"network": r.Destination.Addr().String(),
			"netmask": mask(r.Destination.Bits(), bits), "gateway": r.Via.String()})
	}
	// Static, also where the subnet has DHCP: nothing in the network has to
	// answer before the machine is up.
	return map[string]any{"id": fmt.Sprintf("network%d", n), "type": kind, "link": link, "network_id": networkID,
		"ip_address": addr.String(), "netmask": mask(a.Prefix.Bits(), bits), "routes": routes}
}
