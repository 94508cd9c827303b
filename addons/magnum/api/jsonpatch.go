package api

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// operation is one operation of a JSON Patch as Magnum accepts it: add, replace or remove, at a
// root attribute or at a key of a map.
type operation struct {
	op, root, key string
	value         any
}

// patchable is what a patch may do to a kind of objects.
type patchable struct {
	attributes []attribute
	// internal attributes cannot be changed, mandatory ones not removed.
	internal, mandatory []string
	// defaults are the values of removed attributes; others become nil.
	defaults document
}

// alwaysInternal are the attributes that are internal to every kind.
func alwaysInternal(more ...string) []string {
	return append([]string{"created_at", "updated_at", "id", "uuid", "links", "project_id", "user_id"}, more...)
}

// patchPath is upstream's ^(/[\w-]+)+$ with dots allowed, because labels may
// have them.
var patchPath = regexp.MustCompile(`^(/[\w.-]+)+$`)

// maxOperations bounds a patch.
const maxOperations = 256

// decodePatch reads the body as JSON Patch.
func (c *call) decodePatch() ([]operation, error) {
	body, err := c.jsonBody()
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, badRequest("The body must be a JSON Patch.")
	}
	return parsePatch(body)
}

func parsePatch(body []byte) ([]operation, error) {
	var raw any
	if err := unmarshal(body, &raw); err != nil {
		return nil, err
	}
	items, ok := raw.([]any)
	if !ok {
		return nil, badRequest("The body must be a JSON Patch: a list of operations.")
	}
	if len(items) > maxOperations {
		return nil, badRequest("A patch may have %d operations.", maxOperations)
	}
	var operations []operation
	for _, item := range items {
		o, err := parseOperation(item)
		if err != nil {
			return nil, err
		}
		operations = append(operations, o)
	}
	return operations, nil
}

func parseOperation(item any) (operation, error) {
	members, ok := item.(map[string]any)
	if !ok {
		return operation{}, badRequest("Each operation of a patch must be an object.")
	}
	for name := range members {
		if !slices.Contains([]string{"op", "path", "value"}, name) {
			return operation{}, badRequest("Unknown attribute in an operation: %s.", name)
		}
	}
	op, _ := members["op"].(string)
	path, _ := members["path"].(string)
	switch {
	case !slices.Contains([]string{"add", "replace", "remove"}, op):
		return operation{}, badRequest("Invalid input for attribute op: it must be add, replace or remove.")
	case !patchPath.MatchString(path):
		return operation{}, badRequest("Invalid input for attribute path: %q is no path such as /node_count.", path)
	case op != "remove" && members["value"] == nil:
		return operation{}, badRequest("The operation %s of %s needs a value.", op, path)
	}
	parts := strings.Split(path, "/")[1:]
	if len(parts) > 2 {
		return operation{}, badRequest("There is nothing at %s.", path)
	}
	o := operation{op: op, root: parts[0], value: members["value"]}
	if len(parts) == 2 {
		o.key = parts[1]
	}
	return o, nil
}

// apply returns the patched document.
func (p patchable) apply(before document, operations []operation) (document, error) {
	after := maps.Clone(before)
	for _, o := range operations {
		a := find(p.attributes, o.root)
		switch {
		case slices.Contains(p.internal, o.root):
			return nil, badRequest("'/%s' is an internal attribute and can not be updated.", o.root)
		case a == nil:
			return nil, badRequest("Adding, replacing or removing '/%s' is not possible: there is no such attribute.", o.root)
		case o.op == "remove" && o.key == "" && slices.Contains(p.mandatory, o.root):
			return nil, badRequest("'/%s' is a mandatory attribute and can not be removed.", o.root)
		}
		var err error
		if o.key != "" {
			after[o.root], err = o.applyKey(a, after[o.root])
		} else {
			after[o.root], err = p.applyRoot(o, a, after[o.root])
		}
		if err != nil {
			return nil, err
		}
	}
	return after, nil
}

func (p patchable) applyRoot(o operation, a *attribute, before any) (any, error) {
	if o.op == "remove" {
		return p.defaults[o.root], nil
	}
	if o.op == "add" && !empty(before) {
		return nil, badRequest("The attribute /%s has a value already: replace it.", o.root)
	}
	if a.readOnly {
		return nil, badRequest("'/%s' can not be updated.", o.root)
	}
	return a.convert(o.value)
}

// empty reports whether a value is Magnum's null.
func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]string:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

func (o operation) applyKey(a *attribute, before any) (any, error) {
	if a.kind != stringMap {
		return nil, badRequest("There is nothing at /%s/%s.", o.root, o.key)
	}
	old, _ := before.(map[string]string)
	after := maps.Clone(old)
	if after == nil {
		after = map[string]string{}
	}
	if _, ok := after[o.key]; !ok && o.op != "add" {
		return nil, badRequest("There is nothing at /%s/%s.", o.root, o.key)
	}
	if o.op == "remove" {
		delete(after, o.key)
		return after, nil
	}
	value, ok := scalar(o.value)
	if !ok {
		return nil, badRequest("The value of /%s/%s must be text, a number, true or false.", o.root, o.key)
	}
	after[o.key] = value
	return after, nil
}
