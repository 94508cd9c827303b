package config

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
)

// Reference is the Markdown page that lists every key of the environment file. It
// is generated from the docstrings.
func Reference() (string, error) {
	docs, err := docstrings()
	if err != nil {
		return "", err
	}
	p := &page{docs: docs}
	p.text.WriteString("# Environment file\n\nEvery key of an environment file, `" + APIVersion + "`. To write, combine and check environment files, see " +
		"[environment-file.md](../guides/environment-file.md). As JSON Schema: [environment.schema.json](environment.schema.json).\n")
	p.structure(reflect.TypeFor[Environment](), nil)
	return p.text.String(), nil
}

type page struct {
	docs map[string]string
	text strings.Builder
}

// structure writes the table of one map, then those of the maps inside it.
func (p *page) structure(t reflect.Type, at []string) {
	title := strings.Join(at, ".")
	if title == "" {
		title = "The file"
	}
	fmt.Fprintf(&p.text, "\n## %s\n\n%s\n", title, p.docs[t.Name()])
	all := entries(t)
	if len(all) > 0 {
		p.text.WriteString("\n| key | type | default | |\n|---|---|---|---|\n")
	}
	for _, e := range all {
		initial := ""
		if value := e.value(); value != nil {
			text, _ := json.Marshal(value) // it was read from YAML, so it can be written
			initial = "`" + string(text) + "`"
		}
		if e.rules.required {
			initial = "required"
		}
		fmt.Fprintf(&p.text, "| `%s` | %s | %s | %s |\n", e.name, typeText(e.typ, e.rules), initial,
			strings.ReplaceAll(p.docs[t.Name()+"."+t.Field(e.index).Name], "|", `\|`))
	}
	for _, e := range all {
		if inner, suffix := within(e.typ); inner != nil {
			p.structure(inner, append(slices.Clone(at), e.name+suffix))
		}
	}
}

// within returns the structure inside a type, and how its path continues.
func within(t reflect.Type) (inner reflect.Type, suffix string) {
	for {
		switch {
		case isText(t):
			return nil, ""
		case t.Kind() == reflect.Struct:
			return t, suffix
		case t.Kind() == reflect.Pointer:
			t = t.Elem()
		case t.Kind() == reflect.Slice, t.Kind() == reflect.Map:
			t, suffix = t.Elem(), suffix+"[]"
		default:
			return nil, ""
		}
	}
}

func typeText(t reflect.Type, r rules) string {
	switch {
	case t == reflect.TypeFor[netip.Prefix]():
		return "CIDR"
	case t == reflect.TypeFor[netip.Addr]():
		return "IP address"
	case t == reflect.TypeFor[Duration]():
		return "duration"
	case t == reflect.TypeFor[File]():
		return "path"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeText(t.Elem(), r)
	case reflect.Slice:
		return "list of " + typeText(t.Elem(), r)
	case reflect.Map:
		return "map to " + typeText(t.Elem(), rules{})
	case reflect.Struct:
		return "map"
	case reflect.Interface:
		return "anything"
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return fmt.Sprintf("integer, %d to %d", r.min, r.max)
	}
	if len(r.enum) > 0 {
		return "`" + strings.Join(r.enum, "`, `") + "`"
	}
	return "text"
}
