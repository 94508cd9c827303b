package cause

import "slices"

// index finds things in the lists of a project by what other things know of them: a project
// of a thousand clusters has ten thousand servers.
type index struct {
	servers map[string]int   // by id
	named   map[string][]int // servers by name
	ports   map[string][]int // by the id of their server
	port    map[string]int   // by id
}

// Indexed makes it quick to find something in the lists, which must stay as they are from
// now on, and returns the cloud. Without it they are searched from end to end.
func (c *Cloud) Indexed() *Cloud {
	if c == nil {
		return nil
	}
	x := &index{servers: make(map[string]int, len(c.Servers)), named: make(map[string][]int, len(c.Servers)), ports: make(map[string][]int, len(c.Ports)), port: make(map[string]int, len(c.Ports))}
	for i, s := range c.Servers {
		x.servers[s.ID] = i
		x.named[s.Name] = append(x.named[s.Name], i)
	}
	for i, p := range c.Ports {
		x.ports[p.Device] = append(x.ports[p.Device], i)
		x.port[p.ID] = i
	}
	c.index = x
	return c
}

// server returns the server with an id, or else the newest one with a name.
func (c *Cloud) server(id, name string) *Server {
	switch {
	case c == nil:
		return nil
	case c.index == nil:
		return c.search(id, name)
	case id != "":
		if i, known := c.index.servers[id]; known {
			return &c.Servers[i]
		}
		return nil
	case name == "":
		return nil
	}
	var found *Server
	for _, i := range c.index.named[name] {
		if s := &c.Servers[i]; found == nil || s.Created.After(found.Created) {
			found = s
		}
	}
	return found
}

// search is server without an index.
func (c *Cloud) search(id, name string) *Server {
	var found *Server
	for i := range c.Servers {
		s := &c.Servers[i]
		switch {
		case id != "" && s.ID == id:
			return s
		case id == "" && name != "" && s.Name == name && (found == nil || s.Created.After(found.Created)):
			found = s
		}
	}
	return found
}

// portsOf are the ports of a server.
func (c *Cloud) portsOf(server string) []Port {
	var found []Port
	if c.index != nil {
		for _, i := range c.index.ports[server] {
			found = append(found, c.Ports[i])
		}
		return found
	}
	for _, p := range c.Ports {
		if p.Device == server {
			found = append(found, p)
		}
	}
	return found
}

// port returns the port with an id, nil if there is none.
func (c *Cloud) port(id string) *Port {
	i, known := -1, false
	if c.index != nil {
		i, known = c.index.port[id]
	} else {
		i = slices.IndexFunc(c.Ports, func(p Port) bool { return p.ID == id })
		known = i >= 0
	}
	if !known {
		return nil
	}
	return &c.Ports[i]
}
