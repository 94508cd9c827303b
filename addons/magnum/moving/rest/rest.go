// Package rest reads what OpenStack's Magnum has through its REST API, for an
// operator who has an administrator's login and cannot reach the database. It
// makes the rows that package database makes. What the API keeps back is missing:
// certificate authorities with their keys, and trusts.
package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/internal/fault"
)

const (
	// object is what errors call the API.
	object = "Magnum's API"
	// fromDatabase is the way around what the API does not show.
	fromDatabase = "read Magnum's database instead: --from-database"
	// minMinor is the microversion 1.minMinor that shows groups without nodes
	// (Magnum's rest_api_version_history.rst).
	minMinor = 10
	// inParallel is how many node groups are read at once.
	inParallel = 8
)

// reader asks one endpoint.
type reader struct{ client *gophercloud.ServiceClient }

// Read reads the templates, quotas and clusters of all projects. Only an
// administrator of Magnum sees all of them: for others the error says so, because a
// part of them would look as if the rest were deleted. Errors of the client are not
// wrapped in a fault: the caller knows what must be removed from them.
func Read(ctx context.Context, client *gophercloud.ServiceClient) (*database.Database, error) {
	newest := *client
	newest.Microversion = "latest"
	r := &reader{&newest}
	version, err := r.version(ctx)
	if err != nil {
		return nil, err
	}
	var d database.Documents
	if d.Quotas, err = r.quotas(ctx); err != nil {
		return nil, err
	}
	if d.Templates, err = r.templates(ctx); err != nil {
		return nil, err
	}
	if d.Clusters, err = r.clusters(ctx); err != nil {
		return nil, err
	}
	if err := r.groups(ctx, &d); err != nil {
		return nil, err
	}
	return database.FromDocuments("API "+version, d)
}

// version is the newest version of the API. It refuses Slipway's own API, which the
// catalog leads to after the move.
func (r *reader) version(ctx context.Context) (string, error) {
	var root struct {
		Description string `json:"description"`
		Versions    []struct {
			Max string `json:"max_version"`
		} `json:"versions"`
	}
	address := strings.TrimSuffix(strings.TrimSuffix(r.client.Endpoint, "/"), "/v1") + "/"
	if _, err := r.client.Get(ctx, address, &root, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}}); err != nil {
		return "", err
	}
	if strings.Contains(root.Description, "Slipway") {
		return "", fault.New("endpoint "+r.client.Endpoint, errors.New("it is Slipway's own API, not OpenStack's Magnum"),
			"name Magnum's own endpoint with --from-api=URL")
	}
	if len(root.Versions) == 0 {
		return "", fault.New("endpoint "+r.client.Endpoint, errors.New("what answers is not Magnum's API"), "name Magnum's endpoint with --from-api=URL")
	}
	newest := root.Versions[0].Max
	minor, err := strconv.Atoi(strings.TrimPrefix(newest, "1."))
	if err != nil || minor < minMinor {
		return "", fault.New(object, fmt.Errorf("its newest version is %q; 1.%d or later is needed", newest, minMinor), "upgrade Magnum to 2023.2 or later")
	}
	return newest, nil
}

// quotas are readable for administrators alone.
func (r *reader) quotas(ctx context.Context) ([]database.Document, error) {
	all, err := r.list(ctx, "quotas", "quotas", url.Values{"all_tenants": {"true"}})
	if gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		return nil, fault.New(object, errors.New("the login is not an administrator of Magnum, so it does not see the clusters of other projects"),
			"name an entry of clouds.yaml with the role admin with --cloud")
	}
	return all, err
}

func (r *reader) templates(ctx context.Context) ([]database.Document, error) {
	all, err := r.list(ctx, "clustertemplates/detail", "clustertemplates", nil)
	if gophercloud.ResponseCodeIs(err, http.StatusInternalServerError) {
		return nil, fault.New(object, errors.New("it fails (500) when it lists the templates: it does so if one has a coe that it does not know any more, such as swarm"),
			"delete that template in the database, or "+fromDatabase)
	}
	number(all)
	return all, err
}

func (r *reader) clusters(ctx context.Context) ([]database.Document, error) {
	all, err := r.list(ctx, "clusters/detail", "clusters", nil)
	number(all)
	for _, c := range all {
		if stack, renamed := c["cluster_id"]; renamed { // from 1.13 on
			c["stack_id"] = stack
		}
	}
	return all, err
}

// groups reads the node groups of all clusters. A cluster that was deleted meanwhile
// is left out.
func (r *reader) groups(ctx context.Context, d *database.Documents) error {
	groups, gone := make([][]database.Document, len(d.Clusters)), make([]bool, len(d.Clusters))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(inParallel)
	for i, c := range d.Clusters {
		work.Go(func() error {
			var err error
			groups[i], err = r.groupsOf(ctx, text(c, "uuid"))
			if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
				gone[i], err = true, nil
			}
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	var left []database.Document
	for i, c := range d.Clusters {
		if !gone[i] {
			left = append(left, c)
			d.Groups = append(d.Groups, groups[i]...)
		}
	}
	d.Clusters = left
	return nil
}

// groupsOf reads the node groups of a cluster: lists lack half of the fields. A group that was
// deleted meanwhile is left out; if that are all, the cluster was.
func (r *reader) groupsOf(ctx context.Context, cluster string) ([]database.Document, error) {
	path := "clusters/" + url.PathEscape(cluster) + "/nodegroups"
	listed, err := r.list(ctx, path, "nodegroups", nil)
	if err != nil {
		return nil, err
	}
	var all []database.Document
	var gone error
	for _, g := range listed {
		var whole database.Document
		_, err := r.client.Get(ctx, r.client.ServiceURL(path, url.PathEscape(text(g, "uuid"))), &whole, ok())
		switch {
		case gophercloud.ResponseCodeIs(err, http.StatusNotFound):
			gone = err
		case err != nil:
			return nil, err
		default:
			all = append(all, whole)
		}
	}
	if len(all) == 0 {
		return nil, gone
	}
	return all, nil
}

// text is a field that is a string, else empty.
func text(d database.Document, field string) string {
	var value string
	if json.Unmarshal(d[field], &value) != nil {
		return ""
	}
	return value
}

func ok() *gophercloud.RequestOpts { return &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}} }

func unreadable(path string, err error) error {
	return fault.New(object, fmt.Errorf("its answer to %s cannot be read: %w", path, err), fromDatabase)
}

// list reads all pages. Their links are not followed: behind a proxy Magnum writes
// addresses that only itself can reach.
func (r *reader) list(ctx context.Context, path, key string, query url.Values) ([]database.Document, error) {
	var all []database.Document
	asked := url.Values{"sort_key": {"id"}, "sort_dir": {"asc"}}
	maps.Copy(asked, query)
	for {
		var page map[string]json.RawMessage
		if _, err := r.client.Get(ctx, r.client.ServiceURL(path)+"?"+asked.Encode(), &page, ok()); err != nil {
			return nil, err
		}
		var items []database.Document
		if err := json.Unmarshal(page[key], &items); err != nil {
			return nil, unreadable(path, err)
		}
		all = append(all, items...)
		if len(items) == 0 || text(page, "next") == "" {
			return all, nil
		}
		marker := marker(items[len(items)-1])
		if marker == asked.Get("marker") {
			return nil, unreadable(path, errors.New("its pages do not end"))
		}
		asked.Set("marker", marker)
	}
}

// marker is what the next page begins after: a UUID, or the id of a quota.
func marker(last database.Document) string {
	if uuid := text(last, "uuid"); uuid != "" {
		return uuid
	}
	return string(last["id"])
}

// number gives ids: the API does not show those of clusters and templates, but lists
// by them. The second of creation rises like them, is lower than every id of
// Slipway's, and stays when another row is deleted.
func number(all []database.Document) {
	last := int64(0)
	for _, d := range all {
		last++
		if at, err := time.Parse(time.RFC3339, text(d, "created_at")); err == nil {
			last = max(last, at.Unix())
		}
		d["id"] = json.RawMessage(strconv.FormatInt(last, 10))
	}
}
