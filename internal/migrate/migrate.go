// Package migrate writes environment files from the configuration of other tools: of
// azimuth-ops, and of SCS' k8s-cluster-api-provider. It reads files only, decrypts nothing,
// and reports every setting that it does not carry over.
package migrate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/config"
)

// Level says what became of a setting.
type Level string

// The levels.
const (
	// Converted settings are in the result.
	Converted Level = "converted"
	// Changed settings are in the result with another meaning, or must be checked.
	Changed Level = "check"
	// Dropped settings have no counterpart.
	Dropped Level = "no counterpart"
	// Secret settings are not carried over; the note says where the secret belongs.
	Secret Level = "secret"
)

// Note is what became of one setting.
type Note struct {
	Level   Level  `json:"level"`
	Setting string `json:"setting"`
	// Origin is the file of the setting.
	Origin string `json:"origin"`
	// To is the path in the environment file, if there is one.
	To   string `json:"to,omitempty"`
	Text string `json:"text,omitempty"`
}

// Result is an environment file, files that go beside it, and a note for each setting.
type Result struct {
	Name  string            `json:"name"`
	Files map[string]string `json:"files"`
	Notes []Note            `json:"notes"`
}

// setting is a value of the old configuration with its file.
type setting struct {
	value  any
	origin string
}

// draft collects a result. Paths of values are those below spec, with dots.
type draft struct {
	name   string
	spec   map[string]any
	values map[string]any // of a workload cluster
	files  map[string]string
	notes  []Note
}

func newDraft(name string) *draft {
	return &draft{name: name, spec: map[string]any{}, values: map[string]any{}, files: map[string]string{}}
}

// put sets a value at a path of nested maps.
func put(tree map[string]any, path string, value any) {
	parts := strings.Split(path, ".")
	for _, part := range parts[:len(parts)-1] {
		next, ok := tree[part].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[part] = next
		}
		tree = next
	}
	tree[parts[len(parts)-1]] = value
}

// has reports whether there is a value at a path.
func has(tree map[string]any, path string) bool {
	head, rest, nested := strings.Cut(path, ".")
	if !nested {
		return tree[head] != nil
	}
	next, ok := tree[head].(map[string]any)
	return ok && has(next, rest)
}

func (d *draft) note(level Level, name string, s setting, to, text string) {
	d.notes = append(d.notes, Note{Level: level, Setting: name, Origin: s.origin, To: to, Text: text})
}

// rule says where one setting goes.
type rule struct {
	// to is the path below spec; empty if there is no counterpart.
	to string
	// convert changes the value; nil leaves it as it is. ok false leaves the setting out,
	// because it has the value that means "none".
	convert func(any) (value any, ok bool, err error)
	// text says what to check, or why there is no counterpart.
	text string
}

// secretName matches names of settings whose values never leave their file.
var secretName = regexp.MustCompile(`(?i)(password|passphrase|secret|token|private_key|credential)`)

// apply carries settings over, by name, and notes every one.
func (d *draft) apply(settings map[string]setting, rules map[string]rule, families []family) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		s := settings[name]
		r, known := rules[name]
		switch {
		case secretName.MatchString(name) && (!known || r.to == ""):
			d.note(Secret, name, s, "", "it is not copied; see docs/guides/environment-file.md for where secrets belong")
		case !known:
			d.note(Dropped, name, s, "", reasonOf(name, families))
		case computed(s.value):
			d.note(Changed, name, s, specPath(r.to), fmt.Sprintf("it is computed, %v: write the value yourself", s.value))
		case r.to == "":
			d.note(Dropped, name, s, "", r.text)
		default:
			d.carry(name, s, r)
		}
	}
}

func (d *draft) carry(name string, s setting, r rule) {
	value, ok, err := s.value, s.value != nil && s.value != "", error(nil)
	if ok && r.convert != nil {
		value, ok, err = r.convert(value)
	}
	switch {
	case err != nil:
		d.note(Changed, name, s, specPath(r.to), fmt.Sprintf("%v: write the value yourself", err))
	case !ok:
		d.note(Converted, name, s, "", "it is empty or the default, and so left out")
	default:
		put(d.spec, r.to, value)
		level := Converted
		if r.text != "" {
			level = Changed
		}
		d.note(level, name, s, specPath(r.to), r.text)
	}
}

func specPath(to string) string {
	if to == "" {
		return ""
	}
	return "spec." + to
}

// family are settings with a common beginning that have no counterpart, and why.
type family struct{ prefix, text string }

func reasonOf(name string, families []family) string {
	for _, f := range families {
		if strings.HasPrefix(name, f.prefix) {
			return f.text
		}
	}
	return "Slipway does not know this setting"
}

// computed reports whether a value has an expression of Jinja, which only Ansible can
// compute.
func computed(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.Contains(v, "{{") || strings.Contains(v, "{%")
	case []any:
		return slices.ContainsFunc(v, computed)
	case map[string]any:
		for _, one := range v {
			if computed(one) {
				return true
			}
		}
	}
	return false
}

// file is the environment file.
func (d *draft) file(spec map[string]any) ([]byte, error) {
	text, err := yaml.Marshal(map[string]any{"apiVersion": config.APIVersion, "kind": config.Kind, "metadata": map[string]any{"name": d.name}, "spec": spec})
	if err != nil {
		return nil, fmt.Errorf("writing the environment file: %w", err)
	}
	return text, nil
}

// result checks the environment file as `slipway config validate` does, but for the file
// of certificates, which is not where it belongs yet.
func (d *draft) result() (*Result, error) {
	checked := maps.Clone(d.spec)
	delete(checked, "caBundle")
	text, err := d.file(checked)
	if err != nil {
		return nil, err
	}
	if _, err := config.Parse(config.Source{Name: config.DefaultFile, Text: text}); err != nil {
		return nil, fmt.Errorf("checking what was converted: %w", err)
	}
	if text, err = d.file(d.spec); err != nil {
		return nil, err
	}
	d.files[config.DefaultFile] = string(text)
	slices.SortStableFunc(d.notes, func(a, b Note) int { return strings.Compare(order(a), order(b)) })
	return &Result{Name: d.name, Files: d.files, Notes: d.notes}, nil
}

// order puts what needs attention last, next to the prompt of a terminal.
func order(n Note) string {
	return map[Level]string{Converted: "0", Dropped: "1", Secret: "2", Changed: "3"}[n.Level] + n.Setting
}

// label makes a name that an environment may have.
func label(text string) string {
	text = strings.Trim(regexp.MustCompile(`[^a-z0-9-]+`).ReplaceAllString(strings.ToLower(text), "-"), "-")
	return strings.TrimRight(text[:min(len(text), 30)], "-")
}
