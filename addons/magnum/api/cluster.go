package api

import (
	"net/http"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
)

func clusterRoutes() []route {
	return []route{
		{http.MethodGet, "clusters", minMinor, pagingParams(), listClusters("clusters", "cluster:get_all", inventory.Short)},
		{http.MethodGet, "clusters/detail", minMinor, pagingParams(), listClusters("clusters/detail", "cluster:detail", inventory.Full)},
		{http.MethodPost, "clusters", minMinor, nil, createCluster},
		{http.MethodGet, "clusters/{ident}", minMinor, nil, getCluster},
		{http.MethodPatch, "clusters/{ident}", minMinor, []string{"rollback"}, patchCluster},
		{http.MethodDelete, "clusters/{ident}", minMinor, nil, deleteCluster},
		{http.MethodPost, "clusters/{ident}/actions/resize", 7, nil, resizeCluster},
		{http.MethodPost, "clusters/{ident}/actions/upgrade", 7, nil, upgradeCluster},
	}
}

func listClusters(path, rule string, form inventory.Form) func(*call) error {
	return func(c *call) error {
		if err := c.allow(rule, c.mine()); err != nil {
			return err
		}
		project := c.caller.ProjectID
		if c.everywhere(rule + "_all_projects") {
			project = ""
		}
		items, next, err := page(c, c.s.o.Inventory.Clusters(project), clusterListing(path))
		if err != nil {
			return err
		}
		body := make([]byte, 0, 64+1024*len(items))
		body = append(body, `{"clusters":[`...)
		for i, v := range items {
			if i > 0 {
				body = append(body, ',')
			}
			body = c.appendCluster(body, v, form)
		}
		body = append(body, ']')
		if next != "" {
			body = appendText(append(body, `,"next":`...), next)
		}
		return c.replyText(http.StatusOK, append(body, '}'))
	}
}

func getCluster(c *call) error {
	v, err := c.cluster(c.ident("ident"), "cluster:get", c.everywhere("cluster:get_one_all_projects"))
	if err != nil {
		return err
	}
	body := c.appendCluster(nil, v, inventory.Full)
	if reasons := faults(v); reasons != nil {
		text, err := encode(reasons)
		if err != nil {
			return err
		}
		body = append(append(body[:len(body)-1], `,"faults":`...), text...)
		body = append(body, '}')
	}
	return c.replyText(http.StatusOK, body)
}

// deleteCluster marks a cluster for deletion; the controllers delete it, and its groups with it.
func deleteCluster(c *call) error {
	v, err := c.cluster(c.ident("ident"), "cluster:delete", c.everywhere("cluster:delete_all_projects"))
	if err != nil {
		return err
	}
	c.restoreCredential(v)
	if v.Cluster.DeletionTimestamp == nil {
		if err := c.remove(v.Cluster); err != nil {
			return err
		}
	}
	return c.gone()
}
