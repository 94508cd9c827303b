package preflight

import (
	"github.com/slipway-sh/slipway/internal/cloud"
)

// Capacity is what the project's quotas leave for growth.
type Capacity struct {
	// Quotas are all that are known, also those of which nothing is needed.
	Quotas []Need `json:"quotas"`
	// Room is for machines like those of each group of the management cluster.
	Room []Room `json:"room"`
}

// Room is how many more machines of a group the quotas allow, beside what the environment still
// needs. Whether hosts have room for them is not known.
type Room struct {
	Group  string `json:"group"`
	Flavor string `json:"flavor"`
	// Machines is -1 if no quota limits them.
	Machines int `json:"machines"`
	// Bound is the quota that ends first; empty if there is none.
	Bound string `json:"bound,omitempty"`
}

// Left is what a quota leaves beside what is needed; -1 is unlimited.
func (n Need) Left() int {
	if n.Limit < 0 {
		return -1
	}
	return max(0, n.Limit-n.Used-n.Need)
}

// rooms are those of all groups; none if the quotas of machines are not known.
func (r *run) rooms(quotas []Need) []Room {
	rooms := []Room{}
	if !r.Snapshot.Known(cloud.Compute, cloud.ListQuotas) {
		return rooms
	}
	for _, nodes := range r.nodes {
		one := machines{count: 1, flavor: nodes.flavor, ports: nodes.ports, volumes: nodes.volumes, members: nodes.members}
		rooms = append(rooms, one.room(nodes.group, quotas))
	}
	return rooms
}

// room is how many more of these machines fit into what the quotas leave.
func (m machines) room(group string, quotas []Need) Room {
	room := Room{Group: group, Flavor: m.flavor.Name, Machines: -1}
	each := map[resource]int{}
	m.add(each)
	for _, q := range quotas {
		per := each[resource{q.Service, q.Resource}]
		if per == 0 || q.Limit < 0 {
			continue
		}
		if fit := q.Left() / per; room.Machines < 0 || fit < room.Machines {
			room.Machines, room.Bound = fit, q.Resource
		}
	}
	return room
}
