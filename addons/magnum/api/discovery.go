package api

import "net/http"

// rootDocument answers GET /.
func rootDocument(c *call) error {
	return c.reply(http.StatusOK, map[string]any{
		"name": "OpenStack Magnum API", "description": "Kubernetes clusters for projects, made by Slipway.",
		"versions": []any{map[string]any{
			"id": "v1", "status": "CURRENT", "min_version": minor(minMinor).String(), "max_version": minor(maxMinor).String(),
			"links": []any{map[string]string{"rel": "self", "href": c.base + "/v1/"}},
		}},
	})
}

// v1Document answers GET /v1.
func v1Document(c *call) error {
	document := map[string]any{
		"id":          "v1",
		"media_types": []any{map[string]string{"base": "application/json", "type": "application/vnd.openstack.magnum.v1+json"}},
		"links": []any{
			map[string]string{"rel": "self", "href": c.base + "/v1/"},
			map[string]string{"rel": "describedby", "type": "text/html", "href": "https://docs.openstack.org/api-ref/container-infrastructure-management/"},
		},
		"nodegroups": c.links("clusters/{cluster_id}/nodegroups"),
	}
	for _, name := range []string{"clustertemplates", "clusters", "quotas", "certificates", "mservices", "stats", "federations", "credentials"} {
		document[name] = c.links(name + "/")
	}
	return c.reply(http.StatusOK, document)
}
