package receiver

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// Tacker registers VIMs with its API v1, which its API v2 reads too.
type Tacker struct {
	// Client is of the service nfv-orchestration.
	Client *gophercloud.ServiceClient
	// Helm lets Tacker install charts on the clusters.
	Helm bool
	// Project is that of the login; "" is not known. An administrator sees the VIMs of all, of
	// which some may have the same name.
	Project string
}

// ServiceType is that of Tacker in Keystone's catalog.
const ServiceType = "nfv-orchestration"

// NewTacker finds Tacker in the catalog.
func NewTacker(provider *gophercloud.ProviderClient, endpoints gophercloud.EndpointOpts, helm bool) (*Tacker, error) {
	endpoints.ApplyDefaults(ServiceType)
	at, err := provider.EndpointLocator(endpoints)
	if err != nil {
		return nil, fmt.Errorf("finding Tacker (%s) in the catalog: %w", ServiceType, err)
	}
	t := &Tacker{Client: &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: gophercloud.NormalizeURL(strings.TrimSuffix(strings.TrimSuffix(at, "/"), "/v1.0")), Type: ServiceType}, Helm: helm}
	if granted, ok := provider.GetAuthResult().(interface {
		ExtractProject() (*tokens.Project, error)
	}); ok {
		if project, err := granted.ExtractProject(); err == nil && project != nil {
			t.Project = project.ID
		}
	}
	return t, nil
}

type vim struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Project     string `json:"tenant_id"`
	URL         string `json:"auth_url"`
}

// find returns the project's VIMs of a name.
func (t *Tacker) find(ctx context.Context, name string) ([]vim, error) {
	var list struct {
		VIMs []vim `json:"vims"`
	}
	if _, err := t.Client.Get(ctx, t.Client.ServiceURL("v1.0", "vims")+"?name="+url.QueryEscape(name), &list, nil); err != nil {
		return nil, fmt.Errorf("listing VIMs: %w", err)
	}
	return slices.DeleteFunc(list.VIMs, func(v vim) bool {
		return v.Name != name || t.Project != "" && v.Project != "" && v.Project != t.Project
	}), nil
}

// Register makes the VIM, or gives it a new credential. Tacker keeps the address of a VIM for
// ever, so one of another address is replaced.
func (t *Tacker) Register(ctx context.Context, v VIM) error {
	found, err := t.find(ctx, v.Name)
	if err != nil {
		return err
	}
	access := map[string]any{"bearer_token": v.BearerToken, "ssl_ca_cert": v.Authority}
	if len(found) > 0 && found[0].URL != v.Endpoint {
		if err := t.remove(ctx, found[:1]); err != nil {
			return err
		}
		found = nil
	}
	if len(found) > 0 {
		changes := map[string]any{"auth_cred": access}
		if found[0].Description != v.Description {
			changes["description"] = v.Description
		}
		if _, err := t.Client.Put(ctx, t.Client.ServiceURL("v1.0", "vims", found[0].ID), map[string]any{"vim": changes}, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}}); err != nil {
			return fmt.Errorf("updating VIM %s: %w", v.Name, err)
		}
		return nil
	}
	content := map[string]any{"name": v.Name, "description": v.Description, "type": "kubernetes", "auth_url": v.Endpoint, "auth_cred": access,
		"vim_project": map[string]any{"name": "default"}, "is_default": false}
	if t.Helm {
		content["extra"] = map[string]any{"use_helm": true}
	}
	if _, err := t.Client.Post(ctx, t.Client.ServiceURL("v1.0", "vims"), map[string]any{"vim": content}, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusCreated}}); err != nil {
		return fmt.Errorf("registering VIM %s: %w", v.Name, err)
	}
	return nil
}

// Description is that of the VIM of a name; "" if there is none.
func (t *Tacker) Description(ctx context.Context, name string) (string, error) {
	found, err := t.find(ctx, name)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].Description, nil
}

// Remove deletes the VIM; one that is gone already is no error.
func (t *Tacker) Remove(ctx context.Context, name string) error {
	found, err := t.find(ctx, name)
	if err != nil {
		return err
	}
	return t.remove(ctx, found)
}

func (t *Tacker) remove(ctx context.Context, found []vim) error {
	for _, v := range found {
		_, err := t.Client.Delete(ctx, t.Client.ServiceURL("v1.0", "vims", v.ID), nil)
		if err != nil && !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return fmt.Errorf("deleting VIM %s: %w", v.Name, err)
		}
	}
	return nil
}
