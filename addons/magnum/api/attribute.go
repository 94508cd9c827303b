package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipway-sh/slipway/addons/magnum/literal"
	"github.com/slipway-sh/slipway/addons/openstackapi"
)

// kind is the type of an attribute.
type kind int

const (
	text      kind = iota
	reference      // text, or a number as text
	integer
	boolean
	stringMap  // values become text
	stringList //
	objectList // of objects
	uuidText
)

// attribute is a member of a resource's body: its type and what it allows.
// It is the schema of bodies and of JSON Patch.
type attribute struct {
	name string
	kind kind
	// min and max bound the length of text and the value of integers; max 0 is
	// none.
	min, max  int64
	pattern   *regexp.Regexp
	enum      []string
	mandatory bool
	// readOnly members are refused; ignored ones are accepted and not read.
	readOnly, ignored bool
}

// document holds the members of a body that were given: nil, string, int64,
// bool, map[string]string, []string or []map[string]any.
type document map[string]any

func (d document) text(name string) string {
	value, _ := d[name].(string)
	return value
}

// number returns the value of an integer, or fallback if it is absent or null.
func (d document) number(name string, fallback int64) int64 {
	if value, ok := d[name].(int64); ok {
		return value
	}
	return fallback
}

func (d document) flag(name string, fallback bool) bool {
	if value, ok := d[name].(bool); ok {
		return value
	}
	return fallback
}

func (d document) labels(name string) map[string]string {
	value, _ := d[name].(map[string]string)
	return value
}

// given reports whether a member has a value.
func (d document) given(name string) bool { return d[name] != nil }

// find looks an attribute up.
func find(attributes []attribute, name string) *attribute {
	i := slices.IndexFunc(attributes, func(a attribute) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return &attributes[i]
}

// jsonBody reads a JSON body; nil means that it is empty.
func (c *call) jsonBody() ([]byte, error) {
	return openstackapi.Body(c.r, "application/json", "text/javascript", "application/javascript")
}

// decode reads the body by a schema.
func (c *call) decode(attributes []attribute) (document, error) {
	body, err := c.jsonBody()
	if err != nil {
		return nil, err
	}
	if body == nil {
		body = []byte("{}")
	}
	return decodeDocument(body, attributes)
}

// unmarshal reads one JSON value with exact numbers and nothing after it.
func unmarshal(body []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return badRequest("The body is not valid JSON: %v.", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return badRequest("The body has more than one JSON value.")
	}
	return nil
}

func decodeDocument(body []byte, attributes []attribute) (document, error) {
	var raw any
	if err := unmarshal(body, &raw); err != nil {
		return nil, err
	}
	members, ok := raw.(map[string]any)
	if !ok {
		return nil, badRequest("The body must be a JSON object.")
	}
	result := document{}
	for name, value := range members {
		a := find(attributes, name)
		switch {
		case a == nil:
			return nil, badRequest("Unknown attribute: %s.", name)
		case a.readOnly:
			return nil, badRequest("The attribute %s is read-only.", name)
		case a.ignored:
			continue
		}
		var err error
		if result[name], err = a.convert(value); err != nil {
			return nil, err
		}
	}
	for _, a := range attributes {
		if a.mandatory && !result.given(a.name) {
			return nil, badRequest("The attribute %s is mandatory.", a.name)
		}
	}
	return result, nil
}

func (a *attribute) wrong(what string) error {
	return badRequest("Invalid input for attribute %s: it must be %s.", a.name, what)
}

// convert checks a JSON value and converts it to the attribute's type. null stays nil.
func (a *attribute) convert(value any) (any, error) {
	if value == nil {
		return nil, nil
	}
	switch a.kind {
	case integer:
		return a.integer(value)
	case boolean:
		return a.boolean(value)
	case stringMap:
		return a.stringMap(value)
	case stringList:
		return a.stringList(value)
	case objectList:
		return a.objectList(value)
	}
	return a.text(value)
}

func (a *attribute) text(value any) (any, error) {
	s, ok := value.(string)
	if number, isNumber := value.(json.Number); isNumber && a.kind == reference {
		s, ok = number.String(), true
	}
	length := int64(utf8.RuneCountInString(s))
	switch {
	case !ok:
		return nil, a.wrong("text")
	case length < a.min || a.max > 0 && length > a.max:
		return nil, a.wrong("between " + strconv.FormatInt(a.min, 10) + " and " + strconv.FormatInt(a.max, 10) + " characters")
	case strings.ContainsRune(s, 0):
		return nil, a.wrong("without NUL characters")
	case len(a.enum) > 0 && !slices.Contains(a.enum, s):
		return nil, a.wrong("one of " + strings.Join(a.enum, ", "))
	case a.pattern != nil && !a.pattern.MatchString(s):
		return nil, a.wrong("like " + a.pattern.String())
	case a.kind == uuidText:
		id, err := uuid.Parse(s)
		if err != nil {
			return nil, a.wrong("a UUID")
		}
		return id.String(), nil
	}
	return s, nil
}

func (a *attribute) integer(value any) (any, error) {
	var n int64
	var err error
	switch v := value.(type) {
	case json.Number:
		n, err = strconv.ParseInt(v.String(), 10, 64)
	case string:
		n, err = strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	default:
		err = strconv.ErrSyntax
	}
	most := a.max
	if most == 0 {
		most = math.MaxInt32
	}
	switch {
	case err != nil:
		return nil, a.wrong("an integer")
	case n < a.min:
		return nil, a.wrong("at least " + strconv.FormatInt(a.min, 10))
	case n > most:
		return nil, a.wrong("at most " + strconv.FormatInt(most, 10))
	}
	return n, nil
}

// boolean accepts what oslo's strict bool_from_string accepts.
func (a *attribute) boolean(value any) (any, error) {
	switch v := value.(type) {
	case bool:
		return v, nil
	case string:
		if b, ok := ParseBool(v); ok {
			return b, nil
		}
	case json.Number:
		if b, ok := ParseBool(v.String()); ok {
			return b, nil
		}
	}
	return nil, a.wrong("true or false")
}

// ParseBool reads a text as true or false as Magnum does; ok is false if it is neither.
func ParseBool(text string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "1", "t", "true", "on", "y", "yes":
		return true, true
	case "0", "f", "false", "off", "n", "no":
		return false, true
	}
	return false, false
}

func (a *attribute) stringMap(value any) (any, error) {
	if s, ok := value.(string); ok {
		parsed, err := literal.Parse(s)
		if err != nil {
			return nil, badRequest("Invalid input for attribute %s: %v.", a.name, err)
		}
		value = parsed
	}
	members, ok := value.(map[string]any)
	if !ok {
		return nil, a.wrong("an object")
	}
	result := map[string]string{}
	for key, member := range members {
		s, ok := scalar(member)
		if !ok || key == "" {
			return nil, badRequest("Invalid input for attribute %s: the value of %q must be text, a number, true or false.", a.name, key)
		}
		result[key] = s
	}
	return result, nil
}

// scalar is a value of JSON or of a literal as text.
func scalar(value any) (string, bool) {
	switch v := value.(type) {
	case json.Number:
		return v.String(), true
	case string, bool, int64, float64:
		return literal.Text(v), true
	}
	return "", false
}

func (a *attribute) stringList(value any) (any, error) {
	items, ok := value.([]any)
	if !ok {
		return nil, a.wrong("a list")
	}
	result := []string{}
	for _, item := range items {
		s, ok := scalar(item)
		if !ok {
			return nil, a.wrong("a list of text")
		}
		result = append(result, s)
	}
	return result, nil
}

func (a *attribute) objectList(value any) (any, error) {
	if s, ok := value.(string); ok {
		parsed, err := literal.Parse(s)
		if err != nil {
			return nil, badRequest("Invalid input for attribute %s: %v.", a.name, err)
		}
		value = parsed
	}
	items, ok := value.([]any)
	if !ok {
		return nil, a.wrong("a list")
	}
	return items, nil
}
