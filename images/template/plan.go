package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Live is a template as Magnum has it.
type Live struct {
	UUID      string
	Name      string
	ProjectID string
	Hidden    bool
	Public    bool
	ImageID   string
	// Fields are all fields under Magnum's names.
	Fields map[string]any
}

// UnmarshalJSON keeps all fields.
func (l *Live) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &l.Fields); err != nil {
		return err
	}
	l.UUID, l.Name, l.ProjectID, l.ImageID = l.text("uuid"), l.text("name"), l.text("project_id"), l.text("image_id")
	l.Hidden, _ = l.Fields["hidden"].(bool)
	l.Public, _ = l.Fields["public"].(bool)
	return nil
}

func (l *Live) text(name string) string {
	text, _ := l.Fields[name].(string)
	return text
}

// marked says that a template is of a set.
func (l *Live) marked(mark string) bool {
	return slices.Contains(strings.Split(l.text("tags"), ","), mark)
}

func (l *Live) object() string { return fmt.Sprintf("cluster template %s (%s)", l.Name, l.UUID) }

// Step is what is done about a template.
type Step string

// The steps.
const (
	Keep    Step = "keep"
	Create  Step = "create"
	Update  Step = "update"
	Replace Step = "replace"
	Retire  Step = "retire"
)

// Difference is a field that Magnum has otherwise than the file wants.
type Difference struct {
	Field string `json:"field"`
	Has   any    `json:"has"`
	Wants any    `json:"wants"`
}

// Change is what is done about one template.
type Change struct {
	Name        string       `json:"name"`
	UUID        string       `json:"uuid,omitempty"`
	Step        Step         `json:"step"`
	Differences []Difference `json:"differences,omitempty"`
	Reason      string       `json:"reason,omitempty"`

	live *Live
	body map[string]any
}

// Plan decides what is done so that Magnum has the file's templates. Its error
// joins a fault for each template that cannot be made; the changes are the
// others'. It is pure.
func Plan(f *File, list []Live, records []images.Record, project string) ([]Change, error) {
	var changes []Change
	var errs []error
	claimed := map[string]bool{}
	for _, t := range f.Spec.Templates {
		body := f.desired(t)
		own := findOwn(f, list, body["name"].(string), project)
		if own != nil {
			claimed[own.UUID] = true
		}
		record, err := images.Resolve(records, project, t.Image)
		if err == nil {
			err = images.Gate(record, images.Wanted{KubernetesVersion: t.KubernetesVersion})
		}
		if err != nil {
			for _, one := range fault.All(err) {
				errs = append(errs, fmt.Errorf("cluster template %s: %w", body["name"], one))
			}
			continue
		}
		body["image_id"] = record.ID
		change, err := decide(f, body, own, records, project)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		changes = append(changes, change)
	}
	for _, l := range list {
		if l.ProjectID == project && l.marked(f.Mark()) && !claimed[l.UUID] {
			changes = append(changes, Change{Name: l.Name, UUID: l.UUID, Step: Retire, Reason: "not in the file", live: &l})
		}
	}
	return changes, errors.Join(errs...)
}

// findOwn is the project's template of the name: ours before others', shown
// before hidden.
func findOwn(f *File, list []Live, name, project string) *Live {
	var best *Live
	score := -1
	for _, l := range list {
		if l.Name != name || l.ProjectID != project {
			continue
		}
		s := 0
		if l.marked(f.Mark()) {
			s += 2
		}
		if !l.Hidden {
			s++
		}
		if s > score {
			best, score = &l, s
		}
	}
	return best
}

// always are the fields that Magnum lets change while clusters use a template.
func always(name string) bool { return name == "public" || name == "hidden" || name == "tags" }

func decide(f *File, body map[string]any, own *Live, records []images.Record, project string) (Change, error) {
	name := body["name"].(string)
	if own == nil {
		return Change{Name: name, Step: Create, Reason: "it does not exist", body: body}, nil
	}
	differences := compare(body, own, records, project)
	change := Change{Name: name, UUID: own.UUID, Step: Keep, Reason: "up to date", live: own, body: body}
	foreign := !own.marked(f.Mark())
	if foreign {
		differences = slices.DeleteFunc(differences, func(d Difference) bool { return d.Field == "tags" })
	}
	change.Differences = differences
	switch {
	case len(differences) == 0:
	case foreign:
		return change, fault.New(own.object(), fmt.Errorf("it was not created from this file, and differs in %s", fieldNames(differences)), "delete or rename it, or choose another name in the file")
	case !slices.ContainsFunc(differences, func(d Difference) bool { return !always(d.Field) }):
		change.Step, change.Reason = Update, "differs in "+fieldNames(differences)
	default:
		change.Step, change.Reason = Replace, "differs in "+fieldNames(differences)
	}
	return change, nil
}

func fieldNames(differences []Difference) string {
	var names []string
	for _, d := range differences {
		names = append(names, d.Field)
	}
	return strings.Join(names, ", ")
}

// compare lists the fields that differ, sorted. What the file does not say is
// left to Magnum.
func compare(body map[string]any, own *Live, records []images.Record, project string) []Difference {
	var all []Difference
	for _, name := range slices.Sorted(maps.Keys(body)) {
		has, wants := own.Fields[name], body[name]
		if name == "image_id" {
			if r, err := images.Resolve(records, project, own.ImageID); err == nil {
				has = r.ID
			}
		}
		if name == "tags" && own.marked(body[name].(string)) {
			continue
		}
		if !equal(has, wants) {
			all = append(all, Difference{name, has, wants})
		}
	}
	return all
}

// equal compares values as JSON has them; an absent map is an empty one.
func equal(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	empty := func(text []byte) bool { return string(text) == "null" || string(text) == "{}" }
	return string(x) == string(y) || empty(x) && empty(y)
}
