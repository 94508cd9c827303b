package metadata_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/metadata"
)

func instance() metadata.Instance {
	return metadata.Instance{ID: "12345678-9abc-4000-8000-000000000000", Name: "My server", ProjectID: "p",
		Metadata: machine.Metadata{Hostname: "my-server", AvailabilityZone: "nova", UserData: []byte("#!/bin/sh\n\x00"),
			PublicKeys: map[string]string{"k": "ssh-ed25519 AAAA"}, Values: map[string]string{"role": "db"},
			Devices: []machine.Device{{Serial: "volume", Tag: "etcd"}, {Address: "0000:00:10.0", Tag: "scratch"}}},
		Names: []string{"eth0"},
		Ports: []machine.Port{{ID: "01234567-89ab-cdef", NetworkID: "net", MAC: "fa:16:3e:00:00:01", MTU: 1450,
			Addresses: []machine.Address{
				{Prefix: netip.MustParsePrefix("10.0.0.5/20"), Gateway: netip.MustParseAddr("10.0.0.1"),
					Nameservers: []netip.Addr{netip.MustParseAddr("10.0.0.2")},
					Routes:      []machine.Route{{Destination: netip.MustParsePrefix("10.9.0.0/16"), Via: netip.MustParseAddr("10.0.0.9")}}},
				{Prefix: netip.MustParsePrefix("fd00::5/64"), Gateway: netip.MustParseAddr("fd00::1")}}}}}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	docs, err := metadata.Documents(instance())
	if err != nil {
		t.Fatal(err)
	}
	var meta struct {
		UUID, Hostname string
		PublicKeys     map[string]string `json:"public_keys"`
		Meta           map[string]string
		Devices        []struct {
			Type, Bus, Address, Serial string
			Tags                       []string
		}
	}
	var network struct {
		Links []struct {
			ID, Name, Type string
			MAC            string `json:"ethernet_mac_address"`
		}
		Networks []struct {
			Type, Netmask, Link string
			Address             string `json:"ip_address"`
			Routes              []struct{ Network, Netmask, Gateway string }
		}
		Services []struct{ Type, Address string }
	}
	for name, into := range map[string]any{"meta_data": &meta, "network_data": &network} {
		if err := json.Unmarshal(docs["openstack/latest/"+name+".json"], into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if meta.UUID != instance().ID || meta.Hostname != "my-server" || meta.PublicKeys["k"] == "" || meta.Meta["role"] != "db" {
		t.Errorf("meta_data: %+v", meta)
	}
	if said := fmt.Sprint(meta.Devices); said != "[{disk none none volume [etcd]} {disk pci 0000:00:10.0  [scratch]}]" {
		t.Errorf("devices: %s", said)
	}
	four, six := network.Networks[0], network.Networks[1]
	if four.Type != "ipv4" || four.Netmask != "255.255.240.0" || four.Routes[0].Netmask != "0.0.0.0" || four.Routes[1].Netmask != "255.255.0.0" ||
		four.Link != network.Links[0].ID || network.Links[0].Name != "eth0" {
		t.Errorf("network_data: %+v", network)
	}
	if six.Type != "ipv6" || six.Address != "fd00::5" || six.Netmask != "ffff:ffff:ffff:ffff::" || network.Services[0].Address != "10.0.0.2" {
		t.Errorf("network_data: %+v", network)
	}
	if string(docs["openstack/latest/user_data"]) != "#!/bin/sh\n\x00" {
		t.Errorf("user data: %q", docs["openstack/latest/user_data"])
	}
}

func TestService(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"net": true}
	s := metadata.NewServers(func(network string, a netip.Addr) (metadata.Instance, bool) {
		return instance(), known[network] && a == netip.MustParseAddr("127.0.0.1")
	})
	t.Cleanup(func() { _ = s.Close() })
	address := map[string]string{}
	for _, network := range []string{"net", "other"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address[network] = "http://" + l.Addr().String()
		s.Serve(network, l)
	}
	get := func(network, path string) (int, string) {
		t.Helper()
		r, err := http.Get(address[network] + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(body)
	}
	for path, want := range map[string]string{
		"/openstack":                                    "2012-08-10\n2015-10-15\n2018-08-27\nlatest",
		"/openstack/latest":                             "meta_data.json\nnetwork_data.json\nuser_data\nvendor_data.json\nvendor_data2.json",
		"/openstack/2018-08-27/user_data":               "#!/bin/sh\n\x00",
		"/latest/meta-data/local-ipv4":                  "10.0.0.5",
		"/latest/meta-data/instance-id":                 "i-12345678",
		"/latest/meta-data/placement/availability-zone": "nova",
		"/latest/meta-data/public-keys/0/openssh-key":   "ssh-ed25519 AAAA",
		"/2009-04-04/user-data":                         "#!/bin/sh\n\x00",
		"/openstack/latest/../latest/vendor_data.json":  "{}",
	} {
		if status, got := get("net", path); status != http.StatusOK || got != want {
			t.Errorf("%s: %d %q, want %q", path, status, got, want)
		}
	}
	if _, list := get("net", "/latest/meta-data/"); !strings.Contains(list, "placement/\n") || !strings.Contains(list, "hostname\n") {
		t.Errorf("list: %q", list)
	}
	for _, path := range []string{"/openstack/latest/nothing", "/etc/passwd", "/openstack/2099-01-01"} {
		if status, _ := get("net", path); status != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, status)
		}
	}
	if status, _ := get("other", "/openstack/latest/user_data"); status != http.StatusNotFound {
		t.Errorf("who is not known gets %d", status)
	}
	if !s.Serves("net") {
		t.Error("the network is not served")
	}
	s.End("net")
	if s.Serves("net") {
		t.Error("the network is still served")
	}
}
