package image

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
)

// maxProperties and maxTags are Glance's default limits for one image.
const maxProperties, maxTags = 128, 128

func containerFormats() []string {
	return []string{"ami", "ari", "aki", "bare", "ovf", "ova", "docker", "compressed"}
}

func diskFormats() []string {
	return []string{"ami", "ari", "aki", "vhd", "vhdx", "vmdk", "raw", "qcow2", "vdi", "iso", "ploop"}
}

func visibilities() []string { return []string{"community", "public", "private", "shared"} }

// change sets the attributes of an image that a client sends.
type change struct {
	caller   *api.Principal
	image    *model.Image
	creating bool
}

func mismatch(format string, args ...any) error {
	return api.BadRequest("Provided object does not match schema 'image': %s", fmt.Sprintf(format, args...))
}

// fixed refuses attributes that only the service sets.
func fixed(name string) error {
	switch name {
	case "created_at", "updated_at", "status", "checksum", "size", "virtual_size", "direct_url", "self", "file",
		"schema", "os_hash_algo", "os_hash_value", "stores":
		return api.Forbidden("Attribute '%s' is read-only.", name)
	case "location", "locations", "deleted", "deleted_at":
		return api.Forbidden("Attribute '%s' is reserved.", name)
	}
	if strings.HasPrefix(name, "os_glance_") {
		return api.Forbidden("Attribute '%s' is reserved.", name)
	}
	return nil
}

// base reports whether every image has an attribute.
func base(name string) bool {
	switch name {
	case "id", "name", "owner", "visibility", "container_format", "disk_format", "min_disk", "min_ram", "protected",
		"os_hidden", "tags":
		return true
	}
	return fixed(name) != nil
}

// put sets one attribute or property.
func (e change) put(name string, value json.RawMessage) error {
	if err := fixed(name); err != nil {
		return err
	}
	v := e.image
	switch name {
	case "id":
		return e.putID(value)
	case "name":
		return text(name, value, &v.Name, nil)
	case "owner":
		return e.putOwner(value)
	case "visibility":
		return e.putVisibility(value)
	case "container_format":
		return e.putFormat(name, value, &v.ContainerFormat, containerFormats())
	case "disk_format":
		return e.putFormat(name, value, &v.DiskFormat, diskFormats())
	case "min_disk":
		return whole(name, value, &v.MinDisk)
	case "min_ram":
		return whole(name, value, &v.MinRAM)
	case "protected":
		return typed(name, value, "boolean", &v.Protected)
	case "os_hidden":
		return typed(name, value, "boolean", &v.Hidden)
	case "tags":
		return e.putTags(value)
	}
	return e.putProperty(name, value)
}

func (e change) putID(value json.RawMessage) error {
	if !e.creating {
		return api.Forbidden("Attribute 'id' is read-only.")
	}
	if err := text("id", value, &e.image.ID, nil); err != nil {
		return err
	}
	id, err := uuid.Parse(e.image.ID)
	if err != nil || id.String() != e.image.ID {
		return mismatch("'%s' does not match the pattern of a UUID: id", e.image.ID)
	}
	return nil
}

func (e change) putOwner(value json.RawMessage) error {
	owner := e.image.ProjectID
	if err := text("owner", value, &owner, nil); err != nil {
		return err
	}
	if owner != e.image.ProjectID && !e.caller.Admin() {
		if e.creating {
			return api.Forbidden("You are not permitted to create images owned by '%s'.", owner)
		}
		return api.Forbidden("You are not permitted to set owner on this image.")
	}
	e.image.ProjectID = owner
	return nil
}

func (e change) putVisibility(value json.RawMessage) error {
	before := e.image.Visibility
	if err := text("visibility", value, &e.image.Visibility, visibilities()); err != nil {
		return err
	}
	if e.image.Visibility == "public" && before != "public" && !e.caller.Admin() {
		return api.Forbidden("You are not authorized to complete publicize_image action.")
	}
	return nil
}

func (e change) putFormat(name string, value json.RawMessage, target *string, known []string) error {
	if !e.creating && e.image.Status != model.ImageQueued {
		return api.Forbidden("Attribute %s can be only replaced for a queued image.", name)
	}
	return text(name, value, target, known)
}

func (e change) putTags(value json.RawMessage) error {
	var tags []string
	if err := typed("tags", value, "array", &tags); err != nil {
		return err
	}
	e.image.Tags = nil
	for _, tag := range tags {
		if len(tag) > 255 {
			return mismatch("'%s' is too long: tags", tag)
		}
		if !slices.Contains(e.image.Tags, tag) {
			e.image.Tags = append(e.image.Tags, tag)
		}
	}
	return nil
}

func (e change) putProperty(name string, value json.RawMessage) error {
	var content *string
	if len(name) > 255 || name == "" {
		return mismatch("property names have 1 to 255 characters")
	}
	if err := typed(name, value, "string", &content); err != nil {
		return err
	}
	if e.image.Properties == nil {
		e.image.Properties = map[string]string{}
	}
	if content == nil {
		delete(e.image.Properties, name)
		return nil
	}
	e.image.Properties[name] = *content
	return nil
}

// check refuses more properties or tags than one image may have.
func (e change) check() error {
	if n := len(e.image.Properties); n > maxProperties {
		return exceeded("properties", n, maxProperties)
	}
	if n := len(e.image.Tags); n > maxTags {
		return exceeded("tags", n, maxTags)
	}
	return nil
}

func exceeded(what string, attempted, maximum int) error {
	return api.Errorf(http.StatusRequestEntityTooLarge, "",
		"The limit has been exceeded on the number of allowed image %s. Attempted: %d, Maximum: %d", what, attempted, maximum)
}

func typed[T any](name string, value json.RawMessage, kind string, into *T) error {
	if err := json.Unmarshal(value, into); err != nil || (kind != "string" && bytes.Equal(value, []byte("null"))) {
		return mismatch("%s is not of type '%s': %s", value, kind, name)
	}
	return nil
}

func text(name string, value json.RawMessage, into *string, known []string) error {
	var content *string
	if err := typed(name, value, "string", &content); err != nil {
		return err
	}
	if content == nil {
		*into = ""
		return nil
	}
	if len(*content) > 255 {
		return mismatch("'%s' is too long: %s", *content, name)
	}
	if known != nil && !slices.Contains(known, *content) {
		return mismatch("'%s' is not one of ['%s']: %s", *content, strings.Join(known, "', '"), name)
	}
	*into = *content
	return nil
}

func whole(name string, value json.RawMessage, into *int) error {
	if err := typed(name, value, "integer", into); err != nil {
		return err
	}
	if *into < 0 {
		return mismatch("%d is less than the minimum of 0: %s", *into, name)
	}
	if *into > 1<<31-1 {
		return mismatch("%d is greater than the maximum of 2147483647: %s", *into, name)
	}
	return nil
}
