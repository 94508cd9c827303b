package cause

import (
	"cmp"
	"regexp"
	"strings"
)

const layerIdentity = "Keystone"

// gone are Keystone's words of something that a login needs and that does not exist.
var gone = regexp.MustCompile(`(?i)could not find (application credential|trust|user|project|domain)|application credential`)

// renewal is what gives a cluster a new credential. A finding says which of the two it is.
const renewal = "slipway cluster rotate-credential CLUSTER, or, for a cluster of the Magnum API, its owner openstack coe credential rotate CLUSTER"

// identityRules are about the cluster's credential and the way to Keystone.
func identityRules() []Rule {
	return []Rule{
		{ID: "credential-missing", Layer: layerIdentity, Ending: Outside, Meaning: "The Secret with the cluster's credential does not exist, or has no clouds.yaml.",
			Fix:  "give the cluster a credential again: run " + renewal,
			find: refused(func(r Refusal) bool { return r.Absent })},
		{ID: "credential-malformed", Layer: layerIdentity, Ending: Outside, Meaning: "The clouds.yaml of the cluster's credential cannot be used: it lacks something, or the entry that the cluster names.",
			Fix:  "correct clouds.yaml in the Secret that the words name, or give the cluster a credential again: run " + renewal,
			find: refused(func(r Refusal) bool { return r.Malformed || r.Status == 400 })},
		{ID: "credential-expired", Layer: layerIdentity, Ending: Outside, Meaning: "The application credential of the cluster has expired.",
			Fix:  "give the cluster a new credential: run " + renewal,
			find: refused(func(r Refusal) bool { return r.Status > 0 && has(r.Words, "expired") })},
		{ID: "credential-revoked", Layer: layerIdentity, Ending: Outside, Meaning: "Keystone does not know the application credential of the cluster any more: somebody revoked it, or its user, trust or project was deleted.",
			Fix: "see with openstack application credential list whether it exists; then run " + renewal,
			find: refused(func(r Refusal) bool {
				return r.Status == 404 && gone.MatchString(r.Words) || r.Status == 401 && !has(r.Words, "expired") && has(r.Words, "could not find", "revoked")
			})},
		// Keystone tells nobody why it refuses a login, unless insecure_debug is set
		// (keystone/exception.py, Unauthorized).
		{ID: "credential-refused", Layer: layerIdentity, Ending: Outside, Meaning: "Keystone refuses the login of the cluster and does not say why: the application credential has expired or its secret is wrong, or its user or project is disabled.",
			Fix:  "see with openstack application credential list when it expires and with openstack project show whether the project is enabled; then run " + renewal,
			find: refused(func(r Refusal) bool { return r.Status == 401 && !has(r.Words, "expired", "could not find", "revoked") })},
		{ID: "credential-without-role", Layer: layerIdentity, Ending: Outside, Meaning: "The application credential of the cluster lacks a role for what is needed.",
			Fix:   "give the user the role again with openstack role add; then run " + renewal,
			kinds: []string{"OpenStackCluster", "OpenStackMachine", "OpenStackServer", "ServerGroup"}, // other 403s are of registries and repositories
			find:  withoutRole,
			words: regexp.MustCompile(`(?i)policy does not allow|not authorized to perform|\b403\b.*forbidden|got 403 instead|rule:\S+ is disallowed`)},
		// Services answer so to a valid token whose access rules do not allow a request
		// (keystonemiddleware, _auth_token).
		{ID: "credential-without-access-rule", Layer: layerIdentity, Ending: Outside, Meaning: "A service refuses what Cluster API asks of it, although Keystone accepts the credential: its access rules do not allow the request.",
			Fix:   "allow it in spec.credential.accessRules of the environment file, or leave the rules out; then run slipway up and " + renewal,
			kinds: []string{"OpenStackCluster", "OpenStackMachine", "OpenStackServer", "ServerGroup"},
			words: regexp.MustCompile(`(?i)\bgot 401 instead|\b401\b.*unauthorized`), not: withoutLogin},
		{ID: "token-refused", Layer: layerIdentity, Ending: Outside, Operator: true, Meaning: "Services of the cloud refuse tokens that Keystone has just issued: their clocks differ from Keystone's, or they cannot ask it.",
			Fix:  "ask the cloud's operator about the clocks of the controllers, Keystone's keys for tokens, and the services' own login; everything resumes by itself then",
			find: unserved("401")},
		{ID: "keystone-absent", Layer: layerIdentity, Ending: Outside, Meaning: "There is no Keystone at the auth_url of the cluster's credential.",
			Fix:  "correct auth_url, or ask the cloud's operator where Keystone is",
			find: refused(func(r Refusal) bool { return r.Status == 404 && !gone.MatchString(r.Words) })},
		{ID: "keystone-down", Layer: layerIdentity, Ending: Outside, Meaning: "Keystone does not answer, or answers with an error of its own.",
			Fix:  "ask the cloud's operator about Keystone; everything resumes by itself when it is back",
			find: refused(Refusal.Silent)},
		{ID: "cloud-ca-changed", Layer: layerIdentity, Ending: Outside, Meaning: "The certificate of the cloud's API is not signed by the CA that the cluster trusts.",
			Fix: "set spec.caBundle to the cloud's present CA certificates, then run slipway up",
			find: refused(func(r Refusal) bool {
				return r.Status == 0 && !r.Malformed && has(r.Words, "x509", "certificate") && !has(r.Words, "certificate has expired")
			})},
		{ID: "cloud-certificate-expired", Layer: layerIdentity, Ending: Outside, Meaning: "The certificate of the cloud's API has expired, or the clock of who asks is wrong.",
			Fix:   "ask the cloud's operator to renew it; everything resumes by itself then. See the clock with date, and the certificate with openssl s_client -connect HOST:PORT",
			find:  refused(func(r Refusal) bool { return r.Status == 0 && !r.Malformed && has(r.Words, "certificate has expired") }),
			kinds: []string{"OpenStackCluster", "OpenStackMachine", "OpenStackServer", "ServerGroup", "Image"}, words: regexp.MustCompile(`x509: certificate has expired`)},
		{ID: "cloud-dns", Layer: layerIdentity, Ending: Outside, Meaning: "The name of the cloud's API cannot be resolved.",
			Fix:  "correct the name servers, or auth_url; test with getent hosts NAME",
			find: refused(func(r Refusal) bool { return r.Status == 0 && has(r.Words, "no such host") })},
	}
}

// requestID is what only the cloud's operator can use; it stays in the evidence.
var requestID = regexp.MustCompile(`, request req-[\w-]+`)

// refused is a hit if the login with the cluster's credential failed in a way.
func refused(way func(Refusal) bool) func(*scene) []hit {
	return func(v *scene) []hit {
		if v.Cloud == nil || v.Cloud.Refused == nil || !way(*v.Cloud.Refused) {
			return nil
		}
		r := *v.Cloud.Refused
		object := Ref{Kind: "credential", Name: cmp.Or(text(v.infrastructure, "spec", "identityRef", "name"), v.Cloud.Login)}
		source := layerIdentity
		if r.Absent {
			source = "Kubernetes"
		}
		return []hit{{object: v.under(v.infra(), object), cause: requestID.ReplaceAllString(r.Words, ""), since: v.Now, source: source, evidence: []string{r.Words}}}
	}
}

// has reports whether a text contains one of several words, in any case.
func has(words string, any ...string) bool {
	words = strings.ToLower(words)
	for _, one := range any {
		if strings.Contains(words, one) {
			return true
		}
	}
	return false
}

// withoutLogin takes words of a refused request back if the login itself does not work, or was
// not tried: then other rules know more.
func withoutLogin(v *scene, _ complaint, _ string) bool {
	return v.Cloud == nil || v.Cloud.Refused != nil
}

// withoutRole is a hit if Keystone refuses the login for want of a role, or if services that
// every cluster needs do.
func withoutRole(v *scene) []hit {
	if hits := refused(func(r Refusal) bool { return r.Status == 403 })(v); len(hits) > 0 {
		return hits
	}
	return unserved("403")(v)
}

// unserved is a hit if both Nova and Neutron answer with a status, though Keystone lets the
// credential in. One of them alone is none: a credential may be restricted.
func unserved(status string) func(*scene) []hit {
	return func(v *scene) []hit {
		if v.Cloud == nil || v.Cloud.Refused != nil {
			return nil
		}
		var words []string
		for _, u := range v.Cloud.Missing {
			if (u.What == ListServers || u.What == ListPorts) && strings.Contains(u.Why, status) {
				words = append(words, requestID.ReplaceAllString(oneLine(u.Why), ""))
			}
		}
		if len(words) < 2 {
			return nil
		}
		object := Ref{Kind: "credential", Name: cmp.Or(text(v.infrastructure, "spec", "identityRef", "name"), v.Cloud.Login)}
		return []hit{{object: v.under(v.infra(), object), cause: "Nova and Neutron refuse it: " + words[0], source: "Nova and Neutron", evidence: words}}
	}
}
