package faults

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

const secret = "credential shop-cloud-credentials"

// loginRefused is a login that failed in a way that the sandbox does not have.
func loginRefused(status int, words string) *cause.Cloud {
	return &cause.Cloud{Refused: &cause.Refusal{Status: status, Words: words}}
}

func identityCases() []planted {
	return []planted{
		{fault: "application credential revoked", reason: "credential-revoked", object: secret,
			run: func(w *world) string {
				id, user := w.credential(nil)
				if err := applicationcredentials.Delete(w.Context(), w.box.Member.Identity(w.T), user, id).ExtractErr(); err != nil {
					w.Fatal(err)
				}
				return ""
			}},
		{fault: "project disabled", reason: "credential-refused", object: secret,
			run: func(w *world) string {
				w.credential(nil)
				off := false
				must(projects.Update(w.Context(), w.box.Admin.Identity(w.T), w.project(), projects.UpdateOpts{Enabled: &off}).Extract())(w)
				return ""
			}},
		{fault: "Keystone down", reason: "keystone-down", object: secret,
			run: func(w *world) string {
				w.rule(faultinject.Rule{Kind: faultinject.API, Service: "identity", Method: "POST", Status: 500})
				return ""
			}},
		{fault: "CA of the cloud changed", reason: "cloud-ca-changed", object: secret,
			run: func(w *world) string {
				other := httptest.NewTLSServer(nil)
				w.Cleanup(other.Close)
				w.yaml, w.entry = fmt.Appendf(nil, "clouds: {sandbox: {auth: {auth_url: %s, username: u, password: p, project_name: p, user_domain_name: d, project_domain_name: d}}}", other.URL), "sandbox"
				return ""
			}},
		{fault: "application credential expired", reason: "credential-expired", object: secret, said: loginRefused(401, "The application credential has expired (401)")},
		{fault: "application credential expired, and Keystone does not say so", reason: "credential-refused", object: secret,
			run: func(w *world) string {
				soon := time.Now().Add(2 * time.Second)
				w.credential(&soon)
				time.Sleep(time.Until(soon.Add(1100 * time.Millisecond))) // Keystone counts seconds
				return ""
			}},
		{fault: "name of the cloud's API cannot be resolved", reason: "cloud-dns", object: secret, said: loginRefused(0, "dial tcp: lookup keystone.example on 10.0.0.2:53: no such host")},
		{fault: "application credential without a role", reason: "credential-without-role", object: "OpenStackServer shop-w1",
			run: func(w *world) string {
				w.rule(faultinject.Rule{Kind: faultinject.API, Service: "compute", Method: "POST", Path: "/v2.1/servers", Status: 403,
					Body: `{"forbidden": {"code": 403, "message": "Policy does not allow os_compute_api:servers:create to be performed."}}`})
				_, err := w.create(nil)
				return refused(w.wrong(err))
			}},
		{fault: "application credential without a role, met by the network", reason: "credential-without-role", object: "OpenStackCluster shop",
			objects: infrastructure("NetworkReady", "NetworkReconcileFailed", "failed to reconcile network: rule:create_network is disallowed by policy (403)"), said: &cause.Cloud{}},
		{fault: "access rule that does not allow a request", reason: "credential-without-access-rule", object: "OpenStackCluster shop",
			objects: infrastructure("NetworkReady", "NetworkReconcileFailed", "failed to reconcile network: Expected HTTP response code [201] when accessing [POST https://network.example/v2.0/networks], but got 401 instead: {\"error\": {\"message\": \"The request you have made requires authentication.\"}}"), said: &cause.Cloud{}},
		{fault: "no Keystone at auth_url", reason: "keystone-absent", object: secret,
			run: func(w *world) string {
				w.yaml = bytes.ReplaceAll(w.yaml, []byte("/identity"), []byte("/nowhere"))
				return ""
			}},
	}
}

// credential makes an application credential, and the cluster use it.
func (w *world) credential(expires *time.Time) (id, user string) {
	w.Helper()
	c := must(cloud.Open(w.Context(), cloud.Options{Cloud: "sandbox", CloudsYAML: w.yaml}))(w)
	defer c.Close()
	user = must(c.Token())(w).UserID
	made := must(applicationcredentials.Create(w.Context(), w.box.Member.Identity(w.T), user, applicationcredentials.CreateOpts{Name: "shop", ExpiresAt: expires}).Extract())(w)
	w.yaml, w.entry = fmt.Appendf(nil, "clouds: {openstack: {auth_type: v3applicationcredential, auth: {auth_url: %q, application_credential_id: %s, application_credential_secret: %q}}}",
		w.box.URL()+"/identity", made.ID, made.Secret), "openstack"
	return made.ID, user
}
