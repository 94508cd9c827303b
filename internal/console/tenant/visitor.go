package tenant

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/clusters"
	"github.com/gophercloud/gophercloud/v2/openstack/containerinfra/v1/nodegroups"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// visitor is somebody who has signed in, with a token and what was read by it. Nobody else
// sees any of it.
type visitor struct {
	o        *Options
	provider *gophercloud.ProviderClient
	// gone is set when the cloud does not take the token any more.
	gone atomic.Bool

	user, userID       string
	project, projectID string

	clusters *frame.Watch[[]clusters.Cluster]
	cluster  *frame.Family[description]

	mu     sync.Mutex
	magnum *gophercloud.ServiceClient
	// offered is what forms could offer at a time; checks while somebody types use it.
	offered   *choices
	offeredAt time.Time
}

// How old what a page shows may be, and how many clusters are remembered.
const (
	everyList     = 5 * time.Second
	everyCluster  = 3 * time.Second
	mostDescribed = 16
)

func (v *visitor) watch(ctx context.Context) {
	v.clusters = frame.NewWatch(ctx, everyList, v.listClusters)
	v.cluster = frame.NewFamily(mostDescribed, func(id string) *frame.Watch[description] {
		return frame.NewWatch(ctx, everyCluster, func(ctx context.Context) (description, error) { return v.describe(ctx, id) })
	})
}

// stale has everything read anew when somebody looks.
func (v *visitor) stale() {
	v.clusters.Stale()
	v.cluster.Each((*frame.Watch[description]).Stale)
}

// microversion has node groups, upgrades and counts of zero; Magnum has it since 2020.
const microversion = "1.10"

// api is the client of the Magnum API.
func (v *visitor) api() (*gophercloud.ServiceClient, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.magnum != nil {
		return v.magnum, nil
	}
	c := &gophercloud.ServiceClient{ProviderClient: v.provider, Endpoint: strings.TrimSuffix(strings.TrimSuffix(v.o.Magnum, "/"), "/v1") + "/v1/", Type: "container-infra"}
	if v.o.Magnum == "" {
		var err error
		if c, err = openstack.NewContainerInfraV1(v.provider, v.endpoint()); err != nil {
			return nil, v.failed(words.T("the Magnum API"), err)
		}
	}
	c.Microversion = microversion
	v.magnum = c
	return c, nil
}

func (v *visitor) endpoint() gophercloud.EndpointOpts {
	return gophercloud.EndpointOpts{Region: v.o.Region, Availability: gophercloud.Availability(v.o.Interface)}
}

// problem is why the cloud did not do something.
type problem struct {
	Status      int
	Detail, Fix words.Text
}

// explain is what the cloud says in an error, in its own words.
func explain(err error) problem {
	var answer gophercloud.ErrUnexpectedResponseCode
	var none *gophercloud.ErrEndpointNotFound
	var network *url.Error
	switch {
	case errors.As(err, &answer):
		p := problem{Status: answer.Actual, Detail: words.Said(cloud.Message(answer.Body))}
		if p.Detail == nil {
			p.Detail = words.T("the answer was %d %s", p.Status, http.StatusText(p.Status))
		}
		switch {
		case p.Status == http.StatusForbidden:
			p.Fix = words.T("ask your cloud's operator for a role that allows this")
		case p.Status >= http.StatusInternalServerError:
			p.Fix = later()
		}
		return p
	case errors.As(err, &none):
		return problem{Status: http.StatusBadGateway, Detail: words.T("the cloud's catalog has no endpoint of this service"), Fix: words.T("ask your cloud's operator if the service exists")}
	case errors.Is(err, context.DeadlineExceeded):
		return problem{Status: http.StatusBadGateway, Detail: words.T("there was no answer in time"), Fix: later()}
	case errors.As(err, &network): // without its address, which may be long
		return problem{Status: http.StatusBadGateway, Detail: words.T("no connection: %s", network.Err.Error()), Fix: later()}
	}
	return problem{Status: http.StatusBadGateway, Detail: words.Said(err.Error())}
}

func later() words.Text { return words.T("try again later; if this stays, tell your cloud's operator") }

// failed is an error of the cloud for the one who looks.
func (v *visitor) failed(object words.Text, err error) error {
	if err == nil {
		return nil
	}
	p := explain(err)
	if p.Status == http.StatusUnauthorized {
		v.gone.Store(true)
	}
	return &refusal{p, object, err}
}

// refusal is a problem that can be told by its status, and what it is about, if that is known.
type refusal struct {
	problem
	object words.Text
	cause  error
}

// Error is what the cloud says.
func (r *refusal) Error() string { return r.Why().String() }

// Why implements words.Says.
func (r *refusal) Why() words.Text { return words.List(": ", r.object, r.Detail) }

// Remedy implements words.Says.
func (r *refusal) Remedy() words.Text { return r.Fix }

// reason is why something failed, and what to do.
func reason(err error) (why, fix words.Text) {
	var ours words.Says
	if errors.As(err, &ours) {
		return ours.Why(), ours.Remedy()
	}
	return words.Said(err.Error()), nil
}

// Unwrap is the error of the library.
func (r *refusal) Unwrap() error { return r.cause }

// status is that of the cloud's answer in an error; 0 if there was none.
func status(err error) int {
	var r *refusal
	if errors.As(err, &r) {
		return r.Status
	}
	return 0
}

func (v *visitor) listClusters(ctx context.Context) ([]clusters.Cluster, error) {
	c, err := v.api()
	if err != nil {
		return nil, err
	}
	pages, err := clusters.ListDetail(c, nil).AllPages(ctx)
	if err != nil {
		return nil, v.failed(words.T("the Magnum API"), err)
	}
	all, err := clusters.ExtractClusters(pages)
	return all, v.failed(words.T("the Magnum API"), err)
}

// description is a cluster with its node groups.
type description struct {
	clusters.Cluster
	Groups []nodegroups.NodeGroup
}

func (v *visitor) describe(ctx context.Context, id string) (description, error) {
	c, err := v.api()
	if err != nil {
		return description{}, err
	}
	found, err := clusters.Get(ctx, c, id).Extract()
	if err != nil {
		return description{}, v.failed(words.T("the Magnum API"), err)
	}
	pages, err := nodegroups.List(c, found.UUID, nodegroups.ListOpts{}).AllPages(ctx)
	if err != nil {
		return description{}, v.failed(words.T("the Magnum API"), err)
	}
	groups, err := nodegroups.ExtractNodeGroups(pages)
	return description{*found, groups}, v.failed(words.T("the Magnum API"), err)
}
