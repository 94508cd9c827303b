package openstackcluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/suggest"
)

// Check holds a user's values against the chart's schema and tells all
// mistakes at once: each is a fault with the path of the key as its object, and
// for a key that is not known the nearest one as its remedy. What the Magnum
// driver sends and what is below maps of free form is known.
func Check(values map[string]any) error {
	loaded, err := Chart()
	if err != nil {
		return err
	}
	// Over the defaults, as Helm does it: null takes a default away.
	merged, err := chartutil.CoalesceValues(loaded, values)
	if err != nil {
		return fmt.Errorf("merging values with the chart's: %w", err)
	}
	c, err := newChecker(loaded.Schema)
	if err != nil {
		return err
	}
	return c.check(merged)
}

// checker is a compiled schema and its text, in which known keys are looked up.
type checker struct {
	compiled *jsonschema.Schema
	document any
	printer  *message.Printer
}

const schemaName = "values.schema.json"

func newChecker(text []byte) (*checker, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("reading the schema of values: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaName, document); err != nil {
		return nil, fmt.Errorf("reading the schema of values: %w", err)
	}
	compiled, err := compiler.Compile(schemaName)
	if err != nil {
		return nil, fmt.Errorf("compiling the schema of values: %w", err)
	}
	return &checker{compiled, document, message.NewPrinter(language.English)}, nil
}

func (c *checker) check(values map[string]any) error {
	text, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("writing values as JSON: %w", err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("reading values as JSON: %w", err)
	}
	findings := map[string]error{}
	var invalid *jsonschema.ValidationError
	if err := c.compiled.Validate(instance); errors.As(err, &invalid) {
		c.collect(invalid, instance, findings)
	} else if err != nil {
		return fmt.Errorf("checking values: %w", err)
	}
	checkGroups(instance, findings)
	checkNetworks(values, findings)
	var all []error
	for _, path := range slices.Sorted(maps.Keys(findings)) {
		all = append(all, findings[path])
	}
	return errors.Join(all...)
}

// checkGroups says in words why the schema refuses the name of a node group: its health check
// would be that of the control plane, which would have none.
func checkGroups(instance any, findings map[string]error) {
	values, _ := instance.(map[string]any)
	groups, _ := values["nodeGroups"].([]any)
	for i, given := range groups {
		if group, _ := given.(map[string]any); group["name"] == "control-plane" {
			path := fmt.Sprintf("nodeGroups[%d].name", i)
			findings[path] = fault.Usage(path, errors.New("this name is reserved for the control plane"), "choose another one")
		}
	}
}

// collect gathers the mistakes below an error, one for each path.
func (c *checker) collect(e *jsonschema.ValidationError, instance any, findings map[string]error) {
	switch wrong := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		known := c.known(e.SchemaURL)
		for _, key := range wrong.Properties {
			path := strings.TrimPrefix(pathOf(e.InstanceLocation, instance)+"."+key, ".")
			findings[path] = fault.Usage(path, errors.New("unknown key"), c.suggest(key, known))
		}
		return
	case *kind.OneOf, *kind.AnyOf:
		for _, cause := range e.Causes {
			if !wrongType(cause, len(e.InstanceLocation)) {
				c.collect(cause, instance, findings)
				return
			}
		}
	}
	if len(e.Causes) > 0 {
		for _, cause := range e.Causes {
			c.collect(cause, instance, findings)
		}
		return
	}
	path := pathOf(e.InstanceLocation, instance)
	remedy := "see docs/guides/openstack-cluster-chart.md for the valid keys"
	if wrong, ok := e.ErrorKind.(*kind.Type); ok && slices.Contains(wrong.Want, "string") && (wrong.Got == "number" || wrong.Got == "boolean") {
		remedy = "put it in quotation marks"
	}
	findings[path] = fault.Usage(path, errors.New(e.ErrorKind.LocalizedString(c.printer)), remedy)
}

// wrongType reports whether one of several forms does not fit at all, because
// the value itself is of another type.
func wrongType(e *jsonschema.ValidationError, depth int) bool {
	for ; len(e.Causes) == 1; e = e.Causes[0] {
		continue
	}
	_, isType := e.ErrorKind.(*kind.Type)
	return isType && len(e.InstanceLocation) == depth
}

// pathOf writes a location as people do: nodeGroups[0].machineFlavor.
func pathOf(location []string, instance any) string {
	var path strings.Builder
	for _, step := range location {
		switch at := instance.(type) {
		case []any:
			fmt.Fprintf(&path, "[%s]", step)
			var index int
			if _, err := fmt.Sscan(step, &index); err == nil && index < len(at) {
				instance = at[index]
			}
		default:
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			path.WriteString(step)
			branch, _ := at.(map[string]any)
			instance = branch[step]
		}
	}
	return path.String()
}

// known lists the keys that a part of the schema knows.
func (c *checker) known(schemaURL string) []string {
	_, pointer, _ := strings.Cut(schemaURL, "#")
	part := c.document
	for step := range strings.SplitSeq(strings.Trim(pointer, "/"), "/") {
		switch at := part.(type) {
		case map[string]any:
			if step != "" {
				part = at[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
			}
		case []any:
			var index int
			if _, err := fmt.Sscan(step, &index); err != nil || index >= len(at) {
				return nil
			}
			part = at[index]
		}
	}
	return keys(part)
}

func keys(schema any) []string {
	part, _ := schema.(map[string]any)
	properties, _ := part["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

// suggest is the remedy for an unknown key: the nearest that is known there,
// else where a key of that name belongs, else the list of known ones.
func (c *checker) suggest(key string, known []string) string {
	if near := suggest.Nearest(key, known); near != "" {
		return "did you mean " + near + "?"
	}
	for _, path := range paths(c.document, nil) {
		if strings.TrimSuffix(path[strings.LastIndex(path, ".")+1:], "[]") == key {
			return key + " belongs at " + path
		}
	}
	return "known here: " + strings.Join(known, ", ")
}

// paths lists the path of every key below a schema, shortest first within each
// branch; elements of lists are [].
func paths(schema any, at []string) []string {
	part, _ := schema.(map[string]any)
	properties, _ := part["properties"].(map[string]any)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		path := append(slices.Clone(at), name)
		all = append(all, strings.Join(path, "."))
		all = append(all, paths(properties[name], path)...)
	}
	if items, ok := part["items"]; ok && len(at) > 0 {
		all = append(all, paths(items, append(slices.Clone(at[:len(at)-1]), at[len(at)-1]+"[]"))...)
	}
	return all
}
