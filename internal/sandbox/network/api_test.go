package network_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/network"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func TestProviderAttributesAreForAdministrators(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	admin, member := cloud.Admin.Network(t), cloud.Member.Network(t)
	vlan := id(t, admin, "networks", "network", `{"shared": true, "provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": 7}`)
	seen := call(t, admin, http.MethodGet, "networks/"+vlan, "", 200)
	if get(seen, "network", "provider:segmentation_id") != 7.0 || get(seen, "network", "mtu") != 1500.0 {
		t.Errorf("got %v", seen)
	}
	object, _ := get(call(t, member, http.MethodGet, "networks/"+vlan, "", 200), "network").(map[string]any)
	if _, shown := object["provider:network_type"]; shown || object["shared"] != true {
		t.Errorf("a member sees %v", object)
	}
	found := call(t, admin, http.MethodGet, "networks?provider:segmentation_id=7&provider:network_type=vlan", "", 200)
	if list, _ := found["networks"].([]any); len(list) != 1 {
		t.Errorf("got %v", found)
	}
	for _, body := range []string{
		`{"provider:network_type": "vlan", "provider:physical_network": "p", "provider:segmentation_id": 5000}`,
		`{"provider:network_type": "flat"}`, `{"provider:network_type": "pigeon"}`, `{"provider:physical_network": "p"}`, `{"mtu": 9000}`,
	} {
		refused := call(t, admin, http.MethodPost, "networks", `{"network": `+body+`}`, http.StatusBadRequest)
		if get(refused, "NeutronError", "type") != "InvalidInput" {
			t.Errorf("%s: got %v", body, refused)
		}
	}
}

func TestPagesBothWays(t *testing.T) {
	t.Parallel()
	client := sandboxtest.Start(t).Member.Network(t)
	for i := range 5 {
		id(t, client, "networks", "network", fmt.Sprintf(`{"name": "n%d"}`, i))
	}
	page := call(t, client, http.MethodGet, "networks?limit=2&sort_key=name&sort_dir=asc&router:external=false", "", 200)
	names := pageNames(page)
	if names != "n0 n1" || link(page, "previous") != "" {
		t.Fatalf("got %s with links %v", names, page["networks_links"])
	}
	next := call(t, client, http.MethodGet, strings.TrimPrefix(link(page, "next"), client.ServiceURL()), "", 200)
	if pageNames(next) != "n2 n3" {
		t.Errorf("got %s", pageNames(next))
	}
	back := call(t, client, http.MethodGet, strings.TrimPrefix(link(next, "previous"), client.ServiceURL()), "", 200)
	if pageNames(back) != "n0 n1" {
		t.Errorf("got %s on the way back", pageNames(back))
	}
}

func pageNames(page map[string]any) string {
	var names []string
	list, _ := page["networks"].([]any)
	for _, item := range list {
		object, _ := item.(map[string]any)
		names = append(names, fmt.Sprint(object["name"]))
	}
	return strings.Join(names, " ")
}

func link(page map[string]any, rel string) string {
	links, _ := page["networks_links"].([]any)
	for _, item := range links {
		object, _ := item.(map[string]any)
		if object["rel"] == rel {
			return fmt.Sprint(object["href"])
		}
	}
	return ""
}

// TestStatusEndsAfterRestart: what was under way when the process was killed ends after it
// starts again, and nothing is lost.
func TestStatusEndsAfterRestart(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t, func(o *sandbox.Options) { o.Factor = 1 })
	client := cloud.Member.Network(t)
	inner := id(t, client, "networks", "network", `{}`)
	subnet := id(t, client, "subnets", "subnet", `{"network_id": "`+inner+`", "cidr": "192.0.2.0/24", "ip_version": 4}`)
	router := id(t, client, "routers", "router", `{}`)
	added := call(t, client, http.MethodPut, "routers/"+router+"/add_router_interface", `{"subnet_id": "`+subnet+`"}`, 200)
	port := fmt.Sprint(added["port_id"])
	if status := get(call(t, client, http.MethodGet, "ports/"+port, "", 200), "port", "status"); status != "DOWN" {
		t.Errorf("got %v, want DOWN at first", status)
	}
	cloud.Restart(t)
	client = cloud.Member.Network(t)
	eventually(t, "the interface becomes ACTIVE", func() bool {
		return get(call(t, client, http.MethodGet, "ports/"+port, "", 200), "port", "status") == "ACTIVE"
	})
	externals := call(t, client, http.MethodGet, "networks?router:external=true", "", 200)
	if list, _ := externals["networks"].([]any); len(list) != 1 {
		t.Errorf("got %d external networks after a restart, want 1", len(list))
	}
}

func TestQuotaFault(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	client := cloud.Member.Network(t)
	if _, err := cloud.Faults.Add(faultinject.Rule{Kind: faultinject.Quota, Service: "network", Resource: "router", Times: 1}); err != nil {
		t.Fatal(err)
	}
	refused := call(t, client, http.MethodPost, "routers", `{"router": {}}`, http.StatusConflict)
	if get(refused, "NeutronError", "message") != "Quota exceeded for resources: ['router']." || get(refused, "NeutronError", "type") != "OverQuota" {
		t.Errorf("got %v", refused)
	}
	id(t, client, "routers", "router", `{}`)
}

// A trunk's sub ports live where its parent does.
func TestSubPortsFollowTheirTrunk(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	client := cloud.Member.Network(t)
	inner := id(t, client, "networks", "network", `{}`)
	parent := id(t, client, "ports", "port", `{"network_id": "`+inner+`"}`)
	sub := id(t, client, "ports", "port", `{"network_id": "`+inner+`"}`)
	trunk := id(t, client, "trunks", "trunk", `{"port_id": "`+parent+`", "sub_ports": [{"port_id": "`+sub+`", "segmentation_type": "vlan", "segmentation_id": 5}]}`)
	core := network.NewCore(cloud.Env)
	if err := cloud.Env.Store.Update(func(tx *store.Tx) error {
		_, err := core.Bind(tx, parent, network.Binding{DeviceID: "server", DeviceOwner: "compute:nova", HostID: "host"})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "trunk and sub port become ACTIVE", func() bool {
		return get(call(t, client, http.MethodGet, "trunks/"+trunk, "", 200), "trunk", "status") == "ACTIVE" &&
			get(call(t, client, http.MethodGet, "ports/"+sub, "", 200), "port", "status") == "ACTIVE"
	})
	call(t, client, http.MethodDelete, "trunks/"+trunk, "", http.StatusConflict)
	if err := cloud.Env.Store.Update(func(tx *store.Tx) error {
		core.Unbind(tx, parent)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	call(t, client, http.MethodDelete, "trunks/"+trunk, "", http.StatusNoContent)
}

func TestSubnetFromPool(t *testing.T) {
	t.Parallel()
	client := sandboxtest.Start(t).Member.Network(t)
	pool := id(t, client, "subnetpools", "subnetpool", `{"name": "p", "prefixes": ["10.8.0.0/23"], "default_prefixlen": 24}`)
	inner := id(t, client, "networks", "network", `{}`)
	for _, want := range []string{"10.8.0.0/24", "10.8.1.0/24"} {
		made := call(t, client, http.MethodPost, "subnets", `{"subnet": {"network_id": "`+inner+`", "ip_version": 4, "subnetpool_id": "`+pool+`"}}`, 201)
		if get(made, "subnet", "cidr") != want {
			t.Errorf("got %v, want %s", made, want)
		}
	}
	call(t, client, http.MethodPost, "subnets", `{"subnet": {"network_id": "`+inner+`", "ip_version": 4, "subnetpool_id": "`+pool+`"}}`, 500)
	call(t, client, http.MethodPost, "subnets", `{"subnet": {"network_id": "`+inner+`", "ip_version": 4, "subnetpool_id": "`+pool+`", "prefixlen": 4}}`, 400)
	call(t, client, http.MethodDelete, "subnetpools/"+pool, "", http.StatusConflict)
}

func TestPortForwarding(t *testing.T) {
	t.Parallel()
	client := sandboxtest.Start(t).Member.Network(t)
	inner := id(t, client, "networks", "network", `{}`)
	subnet := id(t, client, "subnets", "subnet", `{"network_id": "`+inner+`", "cidr": "192.0.2.0/24", "ip_version": 4}`)
	port := id(t, client, "ports", "port", `{"network_id": "`+inner+`"}`)
	externals, _ := call(t, client, http.MethodGet, "networks?name=public", "", 200)["networks"].([]any)
	public := fmt.Sprint(externals[0].(map[string]any)["id"])
	router := id(t, client, "routers", "router", `{"external_gateway_info": {"network_id": "`+public+`"}}`)
	call(t, client, http.MethodPut, "routers/"+router+"/add_router_interface", `{"subnet_id": "`+subnet+`"}`, 200)
	floating := id(t, client, "floatingips", "floatingip", `{"floating_network_id": "`+public+`"}`)
	path := "floatingips/" + floating + "/port_forwardings"
	body := `{"protocol": "tcp", "internal_port_id": "` + port + `", "internal_port": 80, "external_port": 8080}`
	one := id(t, client, path, "port_forwarding", body)
	call(t, client, http.MethodPost, path, `{"port_forwarding": `+body+`}`, http.StatusBadRequest)
	call(t, client, http.MethodDelete, "floatingips/"+floating, "", http.StatusConflict)
	call(t, client, http.MethodPut, "floatingips/"+floating, `{"floatingip": {"port_id": "`+port+`"}}`, http.StatusConflict)
	if seen := call(t, client, http.MethodGet, path+"/"+one, "", 200); get(seen, "port_forwarding", "external_port") != 8080.0 ||
		get(seen, "port_forwarding", "internal_ip_address") == "" {
		t.Errorf("got %v", seen)
	}
	if seen := call(t, client, http.MethodGet, "floatingips/"+floating, "", 200); get(seen, "floatingip", "router_id") != router {
		t.Errorf("got %v", seen)
	}
	call(t, client, http.MethodDelete, path+"/"+one, "", http.StatusNoContent)
	call(t, client, http.MethodDelete, "floatingips/"+floating, "", http.StatusNoContent)
}

// A change that is refused changes nothing, also what was said before the mistake.
func TestRefusedChangeOfARouter(t *testing.T) {
	t.Parallel()
	client := sandboxtest.Start(t).Admin.Network(t)
	externals, _ := call(t, client, http.MethodGet, "networks?name=public", "", 200)["networks"].([]any)
	public := fmt.Sprint(externals[0].(map[string]any)["id"])
	router := id(t, client, "routers", "router", `{"external_gateway_info": {"network_id": "`+public+`"}}`)
	call(t, client, http.MethodPut, "routers/"+router, `{"router": {"external_gateway_info": {"network_id": "`+public+`", "enable_snat": false},
		"routes": [{"destination": "198.51.100.0/24", "nexthop": "203.0.113.9"}]}}`, http.StatusBadRequest)
	if snat := get(call(t, client, http.MethodGet, "routers/"+router, "", 200), "router", "external_gateway_info", "enable_snat"); snat != true {
		t.Errorf("enable_snat is %v", snat)
	}
}

func TestWhatOnlyAdministratorsSee(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	client := cloud.Member.Network(t)
	for _, path := range []string{"agents", "segments", "network-ip-availabilities", "quotas"} {
		refused := call(t, client, http.MethodGet, path, "", http.StatusForbidden)
		if get(refused, "NeutronError", "type") != "PolicyNotAuthorized" {
			t.Errorf("%s: got %v", path, refused)
		}
	}
}
