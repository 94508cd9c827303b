package lifecycle

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/api"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/callback"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/worker"
)

const (
	clientSecret  = "oauth2-secret-4711"
	basicPassword = "basic-password-4711"
	accessToken   = "access-token-4711"
)

// nfvo is a subscriber with a token server of its own.
type nfvo struct {
	*httptest.Server
	mu     sync.Mutex
	tests  int
	tokens int
	got    map[string][]object
	// away is how many notifications it refuses first.
	away int
}

func newNFVO(t *testing.T) *nfvo {
	t.Helper()
	n := &nfvo{got: map[string][]object{}}
	n.Server = httptest.NewTLSServer(n)
	n.Server.Config.ErrorLog = nil
	t.Cleanup(n.Close)
	return n
}

// ServeHTTP is the token server at /token, a callback with OAuth2 below /oauth2, with a
// password below /basic, and open elsewhere.
func (n *nfvo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	user, password, _ := r.BasicAuth()
	switch {
	case r.URL.Path == "/token":
		if user != "nfvm" || password != clientSecret || r.FormValue("grant_type") != "client_credentials" {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		n.tokens++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":60}`, accessToken)
		return
	case strings.HasPrefix(r.URL.Path, "/oauth2") && r.Header.Get("Authorization") != "Bearer "+accessToken,
		strings.HasPrefix(r.URL.Path, "/basic") && (user != "me" || password != basicPassword):
		w.WriteHeader(http.StatusUnauthorized)
		return
	case r.URL.Path == "/no":
		w.WriteHeader(http.StatusOK)
		return
	case r.URL.Path == "/elsewhere":
		http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
		return
	case r.Method == http.MethodGet:
		n.tests++
	default:
		if n.away > 0 {
			n.away--
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var d object
		if json.NewDecoder(r.Body).Decode(&d) != nil || r.Header.Get("Version") != "2.0.0" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		n.got[r.URL.Path] = append(n.got[r.URL.Path], d)
	}
	w.WriteHeader(http.StatusNoContent)
}

// said are the notifications at a path, as type or state.
func (n *nfvo) said(path string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for _, d := range n.got[path] {
		text := fmt.Sprint(d["notificationType"])
		if state, ok := d["operationState"]; ok {
			text = fmt.Sprint(d["operation"], " ", state, " ", d["notificationStatus"])
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func (n *nfvo) first(path string) object {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.got[path][0]
}

// trusting trusts the subscriber's certificate.
func (n *nfvo) trusting(t *testing.T) func(*worker.Options, *api.Options) {
	t.Helper()
	rules, err := callback.NewRules([]string{"127.0.0.1"}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: n.Certificate().Raw}))
	if err != nil {
		t.Fatal(err)
	}
	return func(o *worker.Options, _ *api.Options) { o.Caller = callback.NewCaller(rules) }
}

// subscriptions: the callback is tested, filters hold, everything is told in order, once
// the subscriber is back too, and secrets are in a Secret alone.
func subscriptions(t *testing.T, w *world) {
	n := newNFVO(t)
	d := w.open(t, "ddddddd1", n.trusting(t))
	oauth2 := object{"authType": []string{"OAUTH2_CLIENT_CREDENTIALS"}, "paramsOauth2ClientCredentials": object{"clientId": "nfvm", "clientPassword": clientSecret, "tokenEndpoint": n.URL + "/token"}}
	basic := object{"authType": []string{"BASIC"}, "paramsBasic": object{"userName": "me", "password": basicPassword}}
	all := d.do("POST", "subscriptions", object{"callbackUri": n.URL + "/oauth2/all", "authentication": oauth2}).want(201)
	if a := all.document(); a["authentication"] != nil || a["verbosity"] != "FULL" || all.header.Get("Location") != d.http.URL+"/vnflcm/v2/subscriptions/"+all.str("id") {
		t.Errorf("created %v at %s", a, all.header.Get("Location"))
	}
	filtered := object{"callbackUri": n.URL + "/basic/few", "verbosity": "SHORT", "authentication": basic, "filter": object{"notificationTypes": []string{"VnfLcmOperationOccurrenceNotification"},
		"operationTypes": []string{"SCALE"}, "operationStates": []string{"COMPLETED"}, "vnfInstanceSubscriptionFilter": object{"vnfProductsFromProviders": []any{object{"vnfProvider": "Example"}}}}}
	d.do("POST", "subscriptions", filtered).want(201)
	d.do("POST", "subscriptions", object{"callbackUri": n.URL + "/nobody", "filter": object{"vnfInstanceSubscriptionFilter": object{"vnfInstanceIds": []string{"another"}}}}).want(201)
	if n.tests != 3 || n.tokens == 0 {
		t.Errorf("%d tests, %d tokens", n.tests, n.tokens)
	}
	refusedSubscriptions(t, d, n)
	n.mu.Lock()
	n.away = 2
	n.mu.Unlock()
	p := w.onboard(t, build(t, "told", "1.34.4"))
	id := d.create(p.ID)
	eventually(t, "the creation", func() (bool, string) {
		return n.said("/oauth2/all") == "VnfIdentifierCreationNotification", n.said("/oauth2/all")
	})
	d.run(id, "instantiate", d.instantiation(p.Deploy), v1alpha1.Completed)
	d.run(id, "scale", object{"type": "SCALE_OUT", "aspectId": "workers_scale"}, v1alpha1.Completed)
	d.run(id, "terminate", object{"terminationType": "GRACEFUL"}, v1alpha1.Completed)
	want := "VnfIdentifierCreationNotification"
	for _, operation := range []string{"INSTANTIATE", "SCALE", "TERMINATE"} {
		want += fmt.Sprintf("; %[1]s STARTING START; %[1]s PROCESSING RESULT; %[1]s COMPLETED RESULT", operation)
	}
	eventually(t, "the notifications", func() (bool, string) { return n.said("/oauth2/all") == want, n.said("/oauth2/all") })
	d.do("DELETE", "vnf_instances/"+id, nil).want(204)
	eventually(t, "the deletion", func() (bool, string) {
		return n.said("/oauth2/all") == want+"; VnfIdentifierDeletionNotification", n.said("/oauth2/all")
	})
	n.contents(t, id, all.str("id"))
	d.noSecrets(clientSecret, basicPassword, accessToken)
	d.do("DELETE", "subscriptions/"+all.str("id"), nil).want(204)
	d.do("GET", "subscriptions/"+all.str("id"), nil).want(404)
}

// contents are what the filtered subscriber got, and what is in full and short ones.
func (n *nfvo) contents(t *testing.T, id, all string) {
	t.Helper()
	if got := n.said("/basic/few"); got != "SCALE COMPLETED RESULT" || n.said("/nobody") != "" {
		t.Errorf("filtered: %q, and %q", got, n.said("/nobody"))
	}
	if short := n.first("/basic/few"); short["affectedVnfcs"] != nil || short["verbosity"] != "SHORT" || short["vnfInstanceId"] != id {
		t.Errorf("short: %v", short)
	}
	n.mu.Lock()
	last := n.got["/oauth2/all"][3]
	n.mu.Unlock()
	if vnfcs, _ := last["affectedVnfcs"].([]any); len(vnfcs) != 8 || last["subscriptionId"] != all {
		t.Errorf("full: %v", last)
	}
}

func refusedSubscriptions(t *testing.T, d *door, n *nfvo) {
	t.Helper()
	for address, status := range map[string]int{n.URL + "/no": 422, n.URL + "/elsewhere": 422, n.URL + "/basic": 422, "https://127.0.0.1:1/": 422, "ftp://127.0.0.1/": 400, "http://example.org/": 400,
		"https://169.254.169.254/latest": 400, "https://10.96.0.1/": 400, "https://[::1]/": 400, "https://user:pw@127.0.0.1/": 400, "nothing": 400} {
		d.do("POST", "subscriptions", object{"callbackUri": address}).want(status)
	}
	wrong := object{"authType": []string{"OAUTH2_CLIENT_CREDENTIALS"}, "paramsOauth2ClientCredentials": object{"clientId": "nfvm", "clientPassword": "wrong-" + clientSecret, "tokenEndpoint": n.URL + "/token"}}
	d.do("POST", "subscriptions", object{"callbackUri": n.URL + "/oauth2/x", "authentication": wrong}).want(422, "token server answered 401")
	wrong["paramsOauth2ClientCredentials"].(object)["tokenEndpoint"] = "https://169.254.169.254/token"
	d.do("POST", "subscriptions", object{"callbackUri": n.URL + "/oauth2/x", "authentication": wrong}).want(400, "tokenEndpoint")
	for _, a := range []object{{"authType": []string{"BASIC"}}, {"authType": []string{"OAUTH2_CLIENT_CERT"}}, {"authType": []string{}}} {
		d.do("POST", "subscriptions", object{"callbackUri": n.URL + "/x", "authentication": a}).want(400)
	}
	d.do("POST", "subscriptions", object{"callbackUri": n.URL + "/x", "filter": object{"operationTypes": []string{"DANCE"}}}).want(400)
	if all := d.do("GET", "subscriptions", nil).want(200).documents(); len(all) != 3 {
		t.Errorf("%d subscriptions", len(all))
	}
}
