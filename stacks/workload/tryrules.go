package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
)

// request is one that a controller makes all the time. If access rules refuse it the
// controller does nothing, and says so in its log alone.
type request struct {
	service cloud.Service
	path    []string
}

// use is what a credential with access rules is for.
type use struct {
	// who makes the requests, key is where the rules are in the environment file.
	who, key string
	requests []request
}

// uses are those of the credentials, by their keys in the Secret.
func uses() map[string]use {
	return map[string]use{
		keyClouds: {"Cluster API", "spec.credential.accessRules",
			[]request{{cloud.Identity, []string{"auth", "tokens"}}, {cloud.Compute, []string{"servers"}}, {cloud.Network, []string{"networks"}}, {cloud.Image, []string{"images"}}}},
		keyCloudProvider: {"the cloud controller manager", "spec.credential.cloudProviderAccessRules",
			[]request{{cloud.Compute, []string{"servers"}}, {cloud.Network, []string{"ports"}}}},
	}
}

// tryRules logs in with a credential and makes the requests of those that it is for. The
// error has a fault for each service that refuses one.
func (u use) tryRules(ctx context.Context, clouds, authority []byte) error {
	opened, err := cloud.Open(ctx, cloud.Options{Cloud: "openstack", CloudsYAML: clouds, CABundle: authority})
	if err != nil {
		return err
	}
	defer opened.Close()
	opened.Provider.ReauthFunc = nil // another token would be refused as well
	var refused []error
	for _, r := range u.requests {
		client, err := opened.Client(r.service)
		if err != nil {
			return err
		}
		if err := r.make(ctx, client); refusedByRules(err) {
			refused = append(refused, u.refused(r, client))
		} else if err != nil {
			return opened.Fault("application credential for "+u.who, err)
		}
	}
	return errors.Join(refused...)
}

// make asks for one thing at most, and reads no answer.
func (r request) make(ctx context.Context, client *gophercloud.ServiceClient) error {
	address, headers := client.ServiceURL(r.path...)+"?limit=1", map[string]string{}
	if r.service == cloud.Identity {
		address, headers["X-Subject-Token"] = client.ServiceURL(r.path...), client.Token()
	}
	resp, err := client.Get(ctx, address, nil, &gophercloud.RequestOpts{MoreHeaders: headers, OkCodes: []int{http.StatusOK}, KeepResponseBody: true})
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// refusedByRules: services answer 401 to a valid token whose rules do not allow a request
// (keystonemiddleware's _auth_token), Keystone itself 403.
func refusedByRules(err error) bool {
	return gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) || gophercloud.ResponseCodeIs(err, http.StatusForbidden)
}

func (u use) refused(r request, client *gophercloud.ServiceClient) error {
	path := client.ServiceURL(r.path...)
	if parsed, err := url.Parse(path); err == nil {
		path = parsed.Path
	}
	return fault.Usage(u.key, fmt.Errorf("the %s API refuses GET %s with these rules, which %s needs", r.service, path, u.who),
		fmt.Sprintf("allow it: {service: %s, method: GET, path: \"/**\"}. If the rules do, or if you gave none, the service lacks service_type in [keystone_authtoken]: "+
			"ask its operator, or leave the rules and separate out", r.service))
}
