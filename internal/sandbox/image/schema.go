package image

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

type object = map[string]any

func schemaRoutes() []api.Route {
	container := func(name, one string, of object) object {
		return object{"name": name, "properties": object{
			name:     object{"type": "array", "items": of},
			"first":  object{"type": "string"},
			"next":   object{"type": "string"},
			"schema": object{"type": "string"},
		}, "links": []any{object{"rel": "first", "href": "{first}"}, object{"rel": "next", "href": "{next}"},
			object{"rel": "describedby", "href": "{schema}"}}}
	}
	documents := map[string]object{"image": imageSchema(), "member": memberSchema(), "task": taskSchema()}
	for many, one := range map[string]string{"images": "image", "members": "member", "tasks": "task"} {
		documents[many] = container(many, one, documents[one])
	}
	var routes []api.Route
	for name, document := range documents {
		routes = append(routes, api.Route{Pattern: "GET /v2/schemas/" + name, Role: api.Token,
			Handle: func(c *api.Call) error { return c.Reply(http.StatusOK, document) }})
	}
	return routes
}

// kind is an attribute of a JSON type, which may be null.
func kind(description, of string) object {
	return object{"type": []string{"null", of}, "description": description}
}

// only is an attribute that clients cannot set.
func only(attribute object) object {
	attribute["readOnly"] = true
	return attribute
}

func bounded(attribute object) object {
	attribute["maxLength"] = 255
	return attribute
}

func oneOf(description string, words []string, null bool) object {
	values := make([]any, 0, len(words)+1)
	if null {
		values = append(values, nil)
	}
	for _, word := range words {
		values = append(values, word)
	}
	attribute := object{"type": "string", "description": description, "enum": values}
	if null {
		attribute["type"] = []string{"null", "string"}
	}
	return attribute
}

func number(description string) object {
	return object{"type": "integer", "minimum": 0, "maximum": 1<<31 - 1, "description": description}
}

func plain(of, description string) object { return object{"type": of, "description": description} }

func imageSchema() object {
	statuses := []string{"queued", "saving", "active", "killed", "deleted", "uploading", "importing", "pending_delete", "deactivated"}
	uuid := plain("string", "Identifier of the image")
	uuid["pattern"] = "^([0-9a-fA-F]){8}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){12}$"
	return object{"name": "image", "additionalProperties": object{"type": "string"},
		"links": []any{object{"rel": "self", "href": "{self}"}, object{"rel": "enclosure", "href": "{file}"},
			object{"rel": "describedby", "href": "{schema}"}},
		"properties": object{
			"id":               uuid,
			"name":             bounded(kind("Name of the image", "string")),
			"owner":            bounded(kind("Project that owns the image", "string")),
			"status":           only(oneOf("Status of the image", statuses, false)),
			"visibility":       oneOf("Who can see the image", visibilities(), false),
			"container_format": oneOf("Format of the container", containerFormats(), true),
			"disk_format":      oneOf("Format of the disk", diskFormats(), true),
			"min_disk":         number("Disk that the image needs to boot, in GB"),
			"min_ram":          number("Memory that the image needs to boot, in MB"),
			"protected":        plain("boolean", "Whether the image cannot be deleted"),
			"os_hidden":        plain("boolean", "Whether lists leave the image out"),
			"tags":             object{"type": "array", "items": bounded(object{"type": "string"}), "description": "Tags of the image"},
			"size":             only(kind("Size of the file in bytes", "integer")),
			"virtual_size":     only(kind("Size of the disk in bytes", "integer")),
			"checksum":         only(kind("MD5 of the bytes", "string")),
			"os_hash_algo":     only(kind("Algorithm of os_hash_value", "string")),
			"os_hash_value":    only(kind("Hash of the bytes in hexadecimal digits", "string")),
			"created_at":       only(plain("string", "When the image was created")),
			"updated_at":       only(plain("string", "When the image was last changed")),
			"direct_url":       only(plain("string", "Address of the bytes in their store")),
			"self":             only(plain("string", "Path of the image")),
			"file":             only(plain("string", "Path of the bytes")),
			"schema":           only(plain("string", "Path of this schema")),
			"stores":           only(plain("string", "Stores that have the bytes")),
			"locations": object{"type": "array", "description": "Addresses of the bytes", "items": object{"type": "object",
				"required": []string{"url", "metadata"}, "properties": object{"url": object{"type": "string"}, "metadata": object{"type": "object"}}}},
		}}
}

func memberSchema() object {
	return object{"name": "member", "properties": object{
		"image_id":   plain("string", "Image that is shared"),
		"member_id":  plain("string", "Project that it is shared with"),
		"status":     oneOf("Answer of the project", []string{"pending", "accepted", "rejected"}, false),
		"created_at": plain("string", "When the member was added"),
		"updated_at": plain("string", "When the member was last changed"),
		"schema":     only(plain("string", "Path of this schema")),
	}}
}

func taskSchema() object {
	statuses := []string{"pending", "processing", "success", "failure"}
	return object{"name": "task", "properties": object{
		"id":         plain("string", "Identifier of the task"),
		"type":       oneOf("Kind of the task", []string{"import", "api_image_import"}, false),
		"status":     oneOf("Status of the task", statuses, false),
		"input":      kind("What the task was asked to do", "object"),
		"result":     kind("What the task made", "object"),
		"owner":      plain("string", "Project that owns the task"),
		"message":    plain("string", "Why the task failed"),
		"image_id":   plain("string", "Image that the task is about"),
		"request_id": plain("string", "Request that began the task"),
		"user_id":    plain("string", "User who began the task"),
		"expires_at": kind("When the task is forgotten", "string"),
		"created_at": plain("string", "When the task was created"),
		"updated_at": plain("string", "When the task was last changed"),
		"self":       only(plain("string", "Path of the task")),
		"schema":     only(plain("string", "Path of this schema")),
	}}
}
