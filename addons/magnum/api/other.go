package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/slipway-sh/slipway/addons/magnum/policy"
)

func otherRoutes() []route {
	const federation = "federations/{ident}"
	return []route{
		{http.MethodGet, "stats", minMinor, []string{"project_id", "type"}, getStats},
		{http.MethodGet, "mservices", minMinor, nil, listServices},
		{http.MethodPatch, "credentials/{cluster}", 12, nil, rotateCredential},
		{http.MethodGet, "federations", minMinor, pagingParams(), listFederations("federation:get_all")},
		{http.MethodGet, "federations/detail", minMinor, pagingParams(), listFederations("federation:detail")},
		{http.MethodPost, "federations", minMinor, nil, noFederation("federation:create")},
		{http.MethodGet, federation, minMinor, nil, noFederation("federation:get")},
		{http.MethodPatch, federation, minMinor, nil, noFederation("federation:update")},
		{http.MethodDelete, federation, minMinor, nil, noFederation("federation:delete")},
	}
}

// getStats counts clusters and their nodes, the control plane's included (facts
// 2.6).
func getStats(c *call) error {
	if err := c.allow("stats:get_all", c.mine()); err != nil {
		return err
	}
	if kind := c.values.Get("type"); c.values.Has("type") && !strings.EqualFold(kind, "cluster") {
		return badRequest("The type %s does not exist: choose cluster.", kind)
	}
	project := c.values.Get("project_id")
	if project == "" && !c.admin {
		project = c.caller.ProjectID
	}
	if project != "" {
		if err := c.allow("stats:get_all", policy.Target{ProjectID: project}); err != nil {
			return err
		}
	}
	clusters, nodes := 0, int32(0)
	for _, v := range c.s.o.Inventory.Clusters(project) {
		masters, workers := v.Counts()
		clusters, nodes = clusters+1, nodes+masters+workers
	}
	return c.reply(http.StatusOK, map[string]any{"clusters": clusters, "nodes": nodes})
}

// downAfter is how old a heartbeat may be.
const downAfter = 180 * time.Second

// listServices shows the controllers as the one conductor, by the Lease that
// their leader renews.
func listServices(c *call) error {
	if err := c.allow("magnum-service:get_all", c.mine()); err != nil {
		return err
	}
	lease := &coordinationv1.Lease{}
	err := c.s.o.Client.Get(c.ctx(), c.s.o.Lease, lease)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading the controllers' lease: %w", err)
	}
	return c.reply(http.StatusOK, map[string]any{"mservices": []any{serviceOf(lease, c.s.o.Now())}})
}

// serviceOf is a Lease as a service. Reports are the renewals since the present leader was elected:
// it renews at least every third of the lease's duration.
func serviceOf(lease *coordinationv1.Lease, now time.Time) document {
	d := document{"id": 1, "host": null(ptr.Deref(lease.Spec.HolderIdentity, "")), "binary": "magnum-conductor", "state": "down", "report_count": 0,
		"disabled": false, "disabled_reason": nil, "created_at": nil, "updated_at": nil}
	if lease.Name == "" {
		return d
	}
	d["created_at"] = created(lease)
	if renewed := lease.Spec.RenewTime; renewed != nil {
		every := max(ptr.Deref(lease.Spec.LeaseDurationSeconds, 15)/3, 1)
		first := ptr.Deref(lease.Spec.AcquireTime, *renewed)
		d["updated_at"], d["report_count"] = timeText(renewed.Time), 1+int64(renewed.Sub(first.Time).Seconds())/int64(every)
		if now.Sub(renewed.Time) < downAfter {
			d["state"] = "up"
		}
	}
	return d
}

// listFederations is empty: Magnum never had a back end for them.
func listFederations(rule string) func(*call) error {
	return func(c *call) error {
		if err := c.allow(rule, c.mine()); err != nil {
			return err
		}
		if _, err := c.limit(); err != nil {
			return err
		}
		return collection(c, "federations", []any{}, "")
	}
}

func noFederation(rule string) func(*call) error {
	return func(c *call) error {
		if err := c.allow(rule, c.mine()); err != nil {
			return err
		}
		if c.ident("ident") == "" {
			return refuse(http.StatusNotImplemented, "Federations are not supported.")
		}
		return notFound("Federation %s could not be found.", c.ident("ident"))
	}
}
