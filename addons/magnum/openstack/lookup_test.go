package openstack

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
)

const (
	anID      = "6c9f3a52-5c0e-4b9f-9a5c-1b1f4f6a2f10"
	anotherID = "6c9f3a52-5c0e-4b9f-9a5c-1b1f4f6a2f11"
)

// asked answers requests, each with its path and query, with a body or a status; what it has no
// answer for is not found.
func asked(t *testing.T, answers map[string]any) *keystone.Token {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.RequestURI()]
		status, refused := answer.(int)
		switch {
		case !ok:
			http.NotFound(w, r)
		case refused:
			w.WriteHeader(status)
		default:
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		}
	}))
	t.Cleanup(s.Close)
	return &keystone.Token{ID: "t", Endpoints: map[string]string{"compute": s.URL, "image": s.URL, "network": s.URL + "/v2.0"}}
}

type object = map[string]any

// listed is a list under its key of objects with these ids.
func listed(key string, ids ...string) object {
	list := []object{}
	for _, id := range ids {
		list = append(list, object{"id": id})
	}
	return object{key: list}
}

// TestImagesByIDOrName: an id may be the name of another; what Glance refuses is not looked for by
// name.
func TestImagesByIDOrName(t *testing.T) {
	t.Parallel()
	const byID, byName = "/v2/images/" + anID, "/v2/images?name=" + anID
	for name, test := range map[string]struct {
		ref     string
		answers map[string]any
		want    string
		err     error
	}{
		"its id":                {anID, map[string]any{byID: object{"id": anID}}, anID, nil},
		"a name like an id":     {anID, map[string]any{byName: listed("images", "x")}, "x", nil},
		"a name":                {"node", map[string]any{"/v2/images?name=node": listed("images", "x")}, "x", nil},
		"the name of two":       {"node", map[string]any{"/v2/images?name=node": listed("images", "x", "y")}, "", ErrAmbiguous},
		"the name of none":      {"node", map[string]any{"/v2/images?name=node": listed("images")}, "", ErrNotFound},
		"an id that is refused": {anID, map[string]any{byID: http.StatusForbidden, byName: listed("images", "x")}, "", ErrForbidden},
		"a list that is none":   {"node", map[string]any{"/v2/images?name=node": object{"images": "x"}}, "", ErrUnavailable},
		"a list that is not":    {"node", map[string]any{"/v2/images?name=node": http.StatusServiceUnavailable}, "", ErrUnavailable},
	} {
		got, err := (&Cloud{}).Image(t.Context(), asked(t, test.answers), test.ref)
		if got.ID != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: %q %v, want %q %v", name, got.ID, err, test.want, test.err)
		}
	}
}

// TestPropertiesOfImages are without blanks around them, and that of the distribution in lower case.
func TestPropertiesOfImages(t *testing.T) {
	t.Parallel()
	token := asked(t, map[string]any{"/v2/images?name=node": object{"images": []object{
		{"id": "x", "os_distro": " Ubuntu ", "kube_version": "v1.34.4", "magnum_driver": "k8s_capi_helm_v1", "architecture": 7}}}})
	got, err := (&Cloud{}).Image(t.Context(), token, "node")
	if want := (Image{"x", "ubuntu", "v1.34.4", "k8s_capi_helm_v1", ""}); err != nil || got != want {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
}

// TestFlavorsByIDOrName come in the order they were asked for; an id is stronger than a name.
func TestFlavorsByIDOrName(t *testing.T) {
	t.Parallel()
	list := object{"flavors": []object{{"id": "1", "name": "small", "ram": 2048, "vcpus": 1, "disk": 10}, {"id": "2", "name": "large", "ram": 8192, "vcpus": 4, "disk": 80},
		{"id": "3", "name": "twice"}, {"id": "4", "name": "twice"}, {"id": "small", "name": "other"}}}
	for name, test := range map[string]struct {
		refs []string
		want []Flavor
		err  error
	}{
		"a name and an id":  {[]string{"large", "1"}, []Flavor{{"2", 8192, 4, 80}, {"1", 2048, 1, 10}}, nil},
		"an id, and a name": {[]string{"small"}, []Flavor{{"small", 0, 0, 0}}, nil},
		"the name of two":   {[]string{"large", "twice"}, nil, ErrAmbiguous},
		"none of them":      {[]string{"none", "1"}, nil, ErrNotFound},
	} {
		got, err := (&Cloud{}).Flavors(t.Context(), asked(t, map[string]any{"/flavors/detail": list}), test.refs...)
		if !slices.Equal(got, test.want) || !errors.Is(err, test.err) {
			t.Errorf("%s: %+v %v, want %+v %v", name, got, err, test.want, test.err)
		}
	}
	if _, err := (&Cloud{}).Flavors(t.Context(), asked(t, map[string]any{"/flavors/detail": http.StatusUnauthorized}), "1"); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("a token that is not taken: %v", err)
	}
}

// TestNetworksByIDOrName: an external one must be one, and an id that leads to none may be a name.
func TestNetworksByIDOrName(t *testing.T) {
	t.Parallel()
	const path = "/v2.0/networks?"
	for name, test := range map[string]struct {
		ref      string
		external bool
		answers  map[string]any
		want     string
		err      error
	}{
		"its id":                {anID, false, map[string]any{path + "id=" + anID: listed("networks", anID)}, anID, nil},
		"a name like an id":     {anID, false, map[string]any{path + "id=" + anID: listed("networks"), path + "name=" + anID: listed("networks", "x")}, "x", nil},
		"a name":                {"lan", false, map[string]any{path + "name=lan": listed("networks", "x")}, "x", nil},
		"an external one":       {"lan", true, map[string]any{path + "name=lan": listed("networks", "x"), path + "name=lan&router:external=True": listed("networks", "e")}, "e", nil},
		"the name of two":       {"lan", false, map[string]any{path + "name=lan": listed("networks", "x", "y")}, "", ErrAmbiguous},
		"an id that is refused": {anID, false, map[string]any{path + "id=" + anID: http.StatusForbidden, path + "name=" + anID: listed("networks", "x")}, "", ErrForbidden},
		"a name that is":        {"lan", false, map[string]any{path + "name=lan": http.StatusForbidden}, "", ErrForbidden},
	} {
		got, err := (&Cloud{}).Network(t.Context(), asked(t, test.answers), test.ref, test.external)
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: %q %v, want %q %v", name, got, err, test.want, test.err)
		}
	}
}

// TestSubnetsOfANetwork: only its own are looked for, if one is given.
func TestSubnetsOfANetwork(t *testing.T) {
	t.Parallel()
	token := asked(t, map[string]any{
		"/v2.0/subnets?id=" + anID:                            listed("subnets", anID),
		"/v2.0/subnets?name=lan":                              listed("subnets", "x", "y"),
		"/v2.0/subnets?name=lan&network_id=" + anotherID:      listed("subnets", "y"),
		"/v2.0/subnets?name=refused&network_id=" + anotherID:  http.StatusForbidden,
		"/v2.0/subnets?id=" + anID + "&network_id=" + "other": listed("subnets"),
		"/v2.0/subnets?name=" + anID + "&network_id=other":    listed("subnets"),
	})
	for name, test := range map[string]struct {
		ref, network, want string
		err                error
	}{
		"its id": {anID, "", anID, nil}, "the name of two": {"lan", "", "", ErrAmbiguous}, "that of one on the network": {"lan", anotherID, "y", nil},
		"refused": {"refused", anotherID, "", ErrForbidden}, "the id of one on another network": {anID, "other", "", ErrNotFound},
	} {
		got, err := (&Cloud{}).Subnet(t.Context(), token, test.ref, test.network)
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: %q %v, want %q %v", name, got, err, test.want, test.err)
		}
	}
}

// TestMTUOfANetwork is what Neutron has, and none where it tells none.
func TestMTUOfANetwork(t *testing.T) {
	t.Parallel()
	token := asked(t, map[string]any{"/v2.0/networks/a": object{"network": object{"id": "a", "mtu": 1450}}, "/v2.0/networks/b": object{"network": object{"id": "b"}}})
	for id, want := range map[string]int{"a": 1450, "b": 0} {
		if got, err := (&Cloud{}).NetworkMTU(t.Context(), token, id); got != want || err != nil {
			t.Errorf("%s: %d %v, want %d", id, got, err, want)
		}
	}
	if _, err := (&Cloud{}).NetworkMTU(t.Context(), token, "c"); !errors.Is(err, ErrNotFound) {
		t.Errorf("of none: %v", err)
	}
}

// TestListsAreReadToTheirEnd: what is on the second page is found as well.
func TestListsAreReadToTheirEnd(t *testing.T) {
	t.Parallel()
	first, second := listed("images"), listed("images", "x")
	first["images"], first["next"] = []object{{"id": "w"}}, "/v2/images?name=node&marker=w"
	token := asked(t, map[string]any{"/v2/images?name=node": first, "/v2/images?name=node&marker=w": second})
	if _, err := (&Cloud{}).Image(t.Context(), token, "node"); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("two images on two pages: %v", err)
	}
	if _, err := (&Cloud{}).Image(t.Context(), asked(t, map[string]any{"/v2/images?name=node": first}), "node"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a second page that is not there: %v", err)
	}
}

// TestServicesThatAreNotInTheCatalog cannot be asked, which is no fault of what was looked for.
func TestServicesThatAreNotInTheCatalog(t *testing.T) {
	t.Parallel()
	cloud, none := &Cloud{}, &keystone.Token{ID: "t"}
	_, image := cloud.Image(t.Context(), none, "x")
	_, flavors := cloud.Flavors(t.Context(), none, "x")
	_, network := cloud.Network(t.Context(), none, "x", true)
	_, mtu := cloud.NetworkMTU(t.Context(), none, "x")
	_, subnet := cloud.Subnet(t.Context(), none, "x", "")
	_, credential := cloud.MakeCredential(t.Context(), none, CredentialOptions{}, "x", "")
	_, roles := cloud.CredentialRoles(t.Context(), none, nil)
	for service, errs := range map[string][]error{
		"image": {image}, "compute": {flavors, cloud.Keypair(t.Context(), none, "x")}, "network": {network, mtu, subnet},
		"identity": {credential, roles, cloud.DropCredential(t.Context(), none, Credential{ID: "c"})},
	} {
		for _, err := range errs {
			if !errors.Is(err, ErrUnavailable) || !strings.HasSuffix(err.Error(), "the catalog has no endpoint of type "+service) {
				t.Errorf("%s: %v", service, err)
			}
		}
	}
}
