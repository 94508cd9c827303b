package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"go.yaml.in/yaml/v3"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
)

// TestReasonsOfFailures: each answer of a service has its own, and none shows more than its number.
func TestReasonsOfFailures(t *testing.T) {
	t.Parallel()
	answered := func(status int) error {
		return fmt.Errorf("asking: %w", gophercloud.ErrUnexpectedResponseCode{Actual: status, Body: []byte("10.0.0.7")})
	}
	for _, test := range []struct {
		err    error
		reason error
		text   string
	}{
		{answered(404), ErrNotFound, "flavor: not found"},
		{answered(401), ErrUnauthorized, "flavor: the token is not accepted"},
		{answered(403), ErrForbidden, "flavor: not permitted"},
		{answered(429), ErrUnavailable, "flavor: the service cannot be asked at the moment: it answered 429"},
		{answered(500), ErrUnavailable, "flavor: the service cannot be asked at the moment: it answered 500"},
		{answered(499), ErrRefused, "flavor: refused: it answered 499"},
		{errors.New("dial 10.0.0.7"), ErrUnavailable, "flavor: the service cannot be asked at the moment"},
		{fmt.Errorf("first: %w", &Error{Object: "image", Reason: ErrAmbiguous}), ErrAmbiguous, "image: more than one has this name"},
		{context.Canceled, context.Canceled, "context canceled"},
	} {
		if got := failed("flavor", test.err); !errors.Is(got, test.reason) || got.Error() != test.text {
			t.Errorf("%v: %q, want %q", test.err, got, test.text)
		}
	}
	if err := failed("flavor", nil); err != nil {
		t.Errorf("no failure: %v", err)
	}
}

// TestWhoMayMakeACredential: a restricted token must not, and one without a role that a cluster needs
// would make one that is worth nothing.
func TestWhoMayMakeACredential(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options CredentialOptions
		token   keystone.Token
		want    error
	}{
		"all roles":  {CredentialOptions{}, keystone.Token{}, nil},
		"one of two": {CredentialOptions{Roles: []string{"member", "creator"}}, keystone.Token{Roles: []string{"Member"}}, nil},
		"none":       {CredentialOptions{Roles: []string{"member"}}, keystone.Token{Roles: []string{"reader"}}, ErrNoRoles},
		"restricted": {CredentialOptions{}, keystone.Token{Restricted: true, Roles: []string{"member"}}, ErrRestricted},
	} {
		if err := test.options.MayMakeCredential(&test.token); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// TestLackedRoles are those that a cluster needs, a credential would carry, and the caller has not.
func TestLackedRoles(t *testing.T) {
	t.Parallel()
	token := &keystone.Token{Roles: []string{"member"}}
	for name, test := range map[string]struct {
		carried, needed []string
		want            bool
	}{
		"has it":          {[]string{"member"}, []string{"Member"}, false},
		"lacks it":        {[]string{"member", "Creator"}, []string{"member", "creator"}, true},
		"is not carried":  {[]string{"member"}, []string{"creator"}, false},
		"all are carried": {nil, []string{"creator"}, true},
		"needs none":      {nil, nil, false},
	} {
		if got := (CredentialOptions{Roles: test.carried}).Lacks(token, test.needed); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// identity is a Keystone that answers each method with a status and a body, and tells what it was
// asked for.
func identity(t *testing.T, answers map[string]string, status map[string]int) (*keystone.Token, *[]string) {
	t.Helper()
	requests := new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body) // a deletion has none
		*requests = append(*requests, r.Method+" "+r.URL.Path+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status[r.Method])
		fmt.Fprint(w, answers[r.Method])
	}))
	t.Cleanup(s.Close)
	return &keystone.Token{ID: "t", UserID: "u", Roles: []string{"member", "admin"}, Endpoints: map[string]string{"identity": s.URL + "/v3"}}, requests
}

// TestCredentialsCarryOnlyRolesOfClusters, and their secret is not told by accident.
func TestCredentialsCarryOnlyRolesOfClusters(t *testing.T) {
	t.Parallel()
	token, requests := identity(t, map[string]string{"POST": `{"application_credential": {"id": "c", "secret": "hidden"}}`}, map[string]int{"POST": 201})
	made, err := (&Cloud{}).MakeCredential(t.Context(), token, CredentialOptions{Roles: []string{"Member", "creator"}}, "shop", "of a cluster")
	if err != nil || made != (Credential{"c", "u", "hidden"}) {
		t.Errorf("%s %v", made.ID, err)
	}
	if got := (*requests)[0]; !strings.HasPrefix(got, "POST /v3/users/u/application_credentials ") || !strings.Contains(got, `"roles":[{"name":"member"}]`) {
		t.Errorf("asked %s", got)
	}
	if text := fmt.Sprintf("%v %+v %#v", made, made, made); strings.Contains(text, "hidden") {
		t.Errorf("the secret is told: %s", text)
	}
	refusing, _ := identity(t, nil, map[string]int{"POST": 403})
	if _, err := (&Cloud{}).MakeCredential(t.Context(), refusing, CredentialOptions{}, "shop", ""); !errors.Is(err, ErrForbidden) {
		t.Errorf("one that is refused: %v", err)
	}
}

// TestACredentialThatIsGoneIsDropped: only another answer is an error.
func TestACredentialThatIsGoneIsDropped(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{204: nil, 404: nil, 403: ErrForbidden, 503: ErrUnavailable} {
		token, requests := identity(t, nil, map[string]int{"DELETE": status})
		err := (&Cloud{}).DropCredential(t.Context(), token, Credential{ID: "c", UserID: "other"})
		if !errors.Is(err, want) || (*requests)[0] != "DELETE /v3/users/other/application_credentials/c " {
			t.Errorf("%d: %v after %q", status, err, *requests)
		}
	}
}

// TestSecretsOfClusters: clouds.yaml is of the cloud's public endpoints unless another interface is
// given, and there is an authority only if the cloud has one.
func TestSecretsOfClusters(t *testing.T) {
	t.Parallel()
	token := &keystone.Token{Endpoints: map[string]string{"identity": "https://keystone/v3"}}
	for name, test := range map[string]struct {
		options CredentialOptions
		face    string
		keys    int
	}{
		"plain":        {CredentialOptions{Region: "r"}, "public", 1},
		"all settings": {CredentialOptions{Region: "r", Interface: "internal", CACert: []byte("pem"), Insecure: true}, "internal", 2},
	} {
		data, err := test.options.SecretData(token, Credential{"c", "u", "hidden"})
		if err != nil || len(data) != test.keys || string(data["cacert"]) != string(test.options.CACert) {
			t.Errorf("%s: %d keys, %v", name, len(data), err)
		}
		var read struct{ Clouds map[string]map[string]any }
		if err := yaml.Unmarshal(data["clouds.yaml"], &read); err != nil {
			t.Fatal(err)
		}
		cloud := read.Clouds["openstack"]
		auth := map[string]any{"auth_url": "https://keystone/v3", "application_credential_id": "c", "application_credential_secret": "hidden"}
		if fmt.Sprint(cloud["auth"]) != fmt.Sprint(auth) || cloud["interface"] != test.face || cloud["region_name"] != "r" || cloud["verify"] != !test.options.Insecure {
			t.Errorf("%s: %v", name, cloud)
		}
	}
}

// TestRolesOfAClustersCredential are those of the token that it gets; a Secret that says no
// credential is not tried.
func TestRolesOfAClustersCredential(t *testing.T) {
	t.Parallel()
	good := `clouds: {openstack: {auth: {application_credential_id: c, application_credential_secret: s}}}`
	for name, test := range map[string]struct {
		clouds string
		status int
		want   error
	}{
		"good":           {good, 201, nil},
		"expired":        {good, 401, ErrUnauthorized},
		"without id":     {strings.Replace(good, "application_credential_id: c, ", "", 1), 201, ErrRefused},
		"without secret": {strings.Replace(good, ", application_credential_secret: s", "", 1), 201, ErrRefused},
		"no YAML":        {good + "]", 201, ErrRefused},
		"half YAML":      {good + "\nclouds: [s]", 201, ErrRefused},
	} {
		token, requests := identity(t, map[string]string{"POST": `{"token": {"roles": [{"name": "member"}, {"name": "creator"}]}}`}, map[string]int{"POST": test.status})
		roles, err := (&Cloud{}).CredentialRoles(t.Context(), token, map[string][]byte{"clouds.yaml": []byte(test.clouds)})
		if !errors.Is(err, test.want) || test.want == nil && !slices.Equal(roles, []string{"member", "creator"}) {
			t.Errorf("%s: %v %v", name, roles, err)
		}
		if (len(*requests) == 0) != (test.want == ErrRefused) {
			t.Errorf("%s: asked %q", name, *requests)
		}
	}
}
