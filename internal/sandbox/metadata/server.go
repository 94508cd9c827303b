package metadata

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// Lookup returns the machine that has an address in a network.
type Lookup func(networkID string, a netip.Addr) (Instance, bool)

// Servers are the metadata services of networks: the same address in each, and
// what is answered depends on who asks.
type Servers struct {
	lookup Lookup
	mu     sync.Mutex
	by     map[string]*http.Server
}

// NewServers returns services that find machines by lookup.
func NewServers(lookup Lookup) *Servers {
	return &Servers{lookup: lookup, by: map[string]*http.Server{}}
}

// Serves tells whether a network has its service.
func (s *Servers) Serves(networkID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[networkID] != nil
}

// Serve answers what comes to the listener, which it closes at the end.
func (s *Servers) Serve(networkID string, l net.Listener) {
	server := &http.Server{Handler: s.handler(networkID), ReadHeaderTimeout: 10 * time.Second}
	s.mu.Lock()
	s.by[networkID] = server
	s.mu.Unlock()
	go func() { _ = server.Serve(l) }()
}

// End closes a network's service.
func (s *Servers) End(networkID string) {
	s.mu.Lock()
	server := s.by[networkID]
	delete(s.by, networkID)
	s.mu.Unlock()
	if server != nil {
		_ = server.Close()
	}
}

// Close closes all services.
func (s *Servers) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for id, server := range s.by {
		err = errors.Join(err, server.Close())
		delete(s.by, id)
	}
	return err
}

func (s *Servers) handler(networkID string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			http.Error(w, "400 Bad Request", http.StatusBadRequest)
			return
		}
		instance, ok := s.lookup(networkID, from.Addr().Unmap())
		if !ok {
			http.NotFound(w, r)
			return
		}
		instance.serve(r.Context(), w, r)
	})
}

// serve answers one request for one machine; a folder answers with the names
// in it.
func (i Instance) serve(_ context.Context, w http.ResponseWriter, r *http.Request) {
	files, err := Documents(i)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	i.addEC2(files)
	name := strings.Trim(path.Clean(r.URL.Path), "/.")
	if content, ok := files[name]; ok {
		if strings.HasSuffix(name, ".json") {
			w.Header().Set("Content-Type", "application/json")
		} else {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		}
		_, _ = w.Write(content)
		return
	}
	names := children(files, name)
	if len(names) == 0 {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, strings.Join(names, "\n"))
}

// children lists what is in a folder. Below EC2's form a folder in a folder
// ends with a slash; OpenStack's versions do not, but for its root.
func children(files map[string][]byte, folder string) []string {
	prefix := folder + "/"
	if folder == "" {
		prefix = ""
	}
	names := map[string]bool{}
	for name := range files {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		first, _, deeper := strings.Cut(rest, "/")
		if deeper && strings.Contains(folder, "meta-data") {
			first += "/"
		}
		names[first] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// addEC2 adds the documents in EC2's form, for which cloud-init asks beside
// OpenStack's: without them it tries for seconds.
func (i Instance) addEC2(files map[string][]byte) {
	short := strings.ReplaceAll(i.ID, "-", "")
	values := map[string]string{
		"instance-id": "i-" + short[:min(8, len(short))], "ami-id": "None", "hostname": i.Metadata.Hostname,
		"local-hostname": i.Metadata.Hostname, "public-hostname": i.Metadata.Hostname, "instance-action": "none",
		"instance-type": "", "placement/availability-zone": i.Metadata.AvailabilityZone, "reservation-id": "r-" + short[:min(8, len(short))],
		"ami-launch-index": "0", "security-groups": "", "public-ipv4": "",
	}
	for _, p := range i.Ports {
		for _, a := range p.Addresses {
			if a.Prefix.Addr().Is4() && values["local-ipv4"] == "" {
				values["local-ipv4"] = a.Prefix.Addr().String()
			}
		}
	}
	for n, name := range slices.Sorted(maps.Keys(i.Metadata.PublicKeys)) {
		values[fmt.Sprintf("public-keys/%d/openssh-key", n)] = i.Metadata.PublicKeys[name]
	}
	for _, version := range []string{"latest", "2009-04-04"} {
		for name, value := range values {
			files[version+"/meta-data/"+name] = []byte(value)
		}
		if len(i.Metadata.UserData) > 0 {
			files[version+"/user-data"] = i.Metadata.UserData
		}
	}
}
