package config

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// SchemaID identifies the JSON Schema of environment files.
const SchemaID = "https://slipway.sh/schemas/v1alpha1/environment.schema.json"

// schema is the subset of JSON Schema that is needed here.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	ID          string             `json:"$id,omitempty"`
	Title       string             `json:"title,omitempty"`
	Ref         string             `json:"$ref,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        string             `json:"type,omitempty"`
	Default     any                `json:"default,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Const       *int               `json:"const,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	MinLength   int                `json:"minLength,omitempty"`
	MaxLength   int                `json:"maxLength,omitempty"`
	MinItems    int                `json:"minItems,omitempty"`
	Minimum     int                `json:"minimum,omitempty"`
	Maximum     int                `json:"maximum,omitempty"`
	AnyOf       []*schema          `json:"anyOf,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Names       *schema            `json:"propertyNames,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	// Additional is false for structures and a schema for maps.
	Additional any                `json:"additionalProperties,omitempty"`
	Defs       map[string]*schema `json:"$defs,omitempty"`
}

// Schema is the JSON Schema (draft 2020-12) of a complete environment file,
// indented. It accepts every file that Load accepts on its own. Rules that span
// several keys are checked by Load only.
func Schema() ([]byte, error) {
	docs, err := docstrings()
	if err != nil {
		return nil, err
	}
	g := &schemaMaker{docs: docs, defs: map[string]*schema{}}
	root := g.structure(reflect.TypeFor[Environment]())
	root.Schema, root.ID, root.Title = "https://json-schema.org/draft/2020-12/schema", SchemaID, "Slipway environment"
	root.Defs = g.defs
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the schema: %w", err)
	}
	return append(text, '\n'), nil
}

type schemaMaker struct {
	docs map[string]string
	defs map[string]*schema
}

func (g *schemaMaker) structure(t reflect.Type) *schema {
	s := &schema{Type: "object", Description: g.docs[t.Name()], Properties: map[string]*schema{}, Additional: false}
	for _, e := range entries(t) {
		property := g.value(e.typ, e.rules)
		property.Description = g.docs[t.Name()+"."+t.Field(e.index).Name]
		property.Default = e.value()
		s.Properties[e.name] = property
		if e.rules.required {
			s.Required = append(s.Required, e.name)
		}
	}
	return s
}

// value is the default of a key in JSON's types, nil for none.
func (e entry) value() any {
	var value any
	if err := yaml.Unmarshal([]byte(e.initial), &value); err != nil {
		panic(fmt.Sprintf("default of %s: %v", e.name, err))
	}
	return value
}

func (g *schemaMaker) value(t reflect.Type, r rules) *schema {
	switch {
	case isText(t):
		return textSchema(t)
	case t.Kind() == reflect.Pointer:
		return g.value(t.Elem(), r)
	case t.Kind() == reflect.Struct:
		if g.defs[t.Name()] == nil {
			g.defs[t.Name()] = &schema{} // ends recursion
			g.defs[t.Name()] = g.structure(t)
		}
		return &schema{Ref: "#/$defs/" + t.Name()}
	case t.Kind() == reflect.Slice:
		s := &schema{Type: "array", Items: g.value(t.Elem(), rules{enum: r.enum, format: r.format, required: true})}
		if r.required {
			s.MinItems = 1
		}
		return s
	case t.Kind() == reflect.Map:
		s := &schema{Type: "object", Additional: g.value(t.Elem(), rules{})}
		if len(r.keys) > 0 {
			s.Names = &schema{Enum: r.keys}
		}
		return s
	}
	return scalarSchema(t, r)
}

func scalarSchema(t reflect.Type, r rules) *schema {
	switch t.Kind() {
	case reflect.String:
		s := &schema{Type: "string", Enum: r.enum, MaxLength: r.maxLength, Pattern: patterns()[r.format]}
		if r.required {
			s.MinLength = 1
		}
		return s
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int:
		if r.zero {
			return &schema{Type: "integer", AnyOf: []*schema{{Const: new(int)}, {Minimum: r.min, Maximum: r.max}}}
		}
		return &schema{Type: "integer", Minimum: r.min, Maximum: r.max}
	}
	return &schema{} // anything
}

func textSchema(t reflect.Type) *schema {
	s := &schema{Type: "string"}
	switch t {
	case reflect.TypeFor[netip.Prefix]():
		s.Pattern = `^[0-9a-fA-F.:]+/[0-9]{1,3}$`
	case reflect.TypeFor[netip.Addr]():
		s.Pattern = `^[0-9a-fA-F.:]+$`
	case reflect.TypeFor[Duration]():
		s.Pattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$`
	}
	return s
}

// patterns are the formats, as far as a regular expression can express them.
func patterns() map[string]string {
	return map[string]string{
		"label": `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, "tag": `^[^,/]{1,60}$`, "variable": `^[A-Za-z_][A-Za-z0-9_]*$`,
		"httpURL": `^https?://`, "backend": `^(file|s3|https?)://.`, "path": `^/`, "identifier": `^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$`, "target": `^(file|swift|s3)://.`, "recipient": `^age1`, "signer": `^ed25519:[A-Za-z0-9_-]{43}$`,
	}
}
