package image

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) infoRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2/info/import", Role: api.Token, Handle: s.importInfo},
		{Pattern: "GET /v2/info/stores", Role: api.Token, Handle: s.stores},
		{Pattern: "GET /v2/info/stores/detail", Role: api.Admin, Handle: s.storesDetail},
		{Pattern: "GET /v2/info/usage", Role: api.Reader, Handle: s.usage},
		{Pattern: "GET /versions", Role: api.Public, Handle: listVersions},
	}
}

func (s *service) importInfo(c *api.Call) error {
	return c.Reply(http.StatusOK, map[string]any{"import-methods": map[string]any{
		"description": "Import methods available.", "type": "array", "value": importMethods()}})
}

func fileStore() map[string]any {
	return map[string]any{"id": storeID, "description": "Files of the sandbox", "default": "true"}
}

func (s *service) stores(c *api.Call) error {
	return c.Reply(http.StatusOK, map[string]any{"stores": []any{fileStore()}})
}

func (s *service) storesDetail(c *api.Call) error {
	detail := fileStore()
	detail["type"], detail["weight"], detail["properties"] = "file", 0, map[string]any{}
	return c.Reply(http.StatusOK, map[string]any{"stores": []any{detail}})
}

// usage answers with the limits of the project and how much of them it uses.
func (s *service) usage(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		used := map[string]int{}
		var size, staged int64
		for v := range s.model.Image.ImagesOf.Each(r, c.Principal.ProjectID) {
			used["image_count_total"]++
			if v.Size != nil {
				size += *v.Size
			}
			if v.Staged != nil {
				staged += *v.Staged
			}
			if v.Status == model.ImageSaving || v.Status == model.ImageUploading || v.Status == model.ImageImporting {
				used["image_count_uploading"]++
			}
		}
		used["image_size_total"], used["image_stage_total"] = int(size>>20), int(staged>>20)
		usage := map[string]any{}
		for name, limit := range s.limits().Limits(r, c.Principal.ProjectID) {
			usage[name] = map[string]int{"limit": limit, "usage": used[name]}
		}
		return c.Reply(http.StatusOK, map[string]any{"usage": usage})
	})
}

func listVersions(c *api.Call) error {
	v := versions()
	v.Status = http.StatusOK
	return v.Routes()[0].Handle(c)
}
