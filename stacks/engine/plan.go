package engine

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
)

// Operation is what a plan does with a resource.
type Operation string

// The operations of a plan.
const (
	Create  Operation = "create"
	Update  Operation = "update"
	Replace Operation = "replace"
	Delete  Operation = "delete"
	Same    Operation = "same"
)

// Plan is what an operation would do.
type Plan struct {
	// Changes are the resources that would not stay as they are.
	Changes []Change `json:"changes"`
	// Counts counts all resources by operation.
	Counts map[Operation]int `json:"counts"`
}

// Change is what would happen to one resource.
type Change struct {
	Operation Operation `json:"operation"`
	// Type is the resource's type as "openstack:Network".
	Type string `json:"type"`
	Name string `json:"name"`
	// ID is the thing's id in the cloud, if it has one.
	ID         string     `json:"id,omitempty"`
	Properties []Property `json:"properties,omitempty"`
	urn        string
}

// NotKnown stands for an input that another resource tells once it is made.
const NotKnown = "(known later)"

// Property is one input that differs. A secret is in its encrypted form ([IsSecret]).
type Property struct {
	Path string `json:"path"`
	Old  any    `json:"old,omitempty"`
	New  any    `json:"new,omitempty"`
	// Replaces says that this is why the resource cannot stay.
	Replaces bool `json:"replaces,omitempty"`
}

// Empty reports whether nothing would change.
func (p Plan) Empty() bool { return len(p.Changes) == 0 }

// newPlan keeps one change for each resource: the engine tells the steps of a
// replacement one by one.
func newPlan(steps []Change) Plan {
	plan := Plan{Changes: []Change{}, Counts: map[Operation]int{}}
	index := map[string]int{}
	for _, step := range steps {
		at, known := index[step.urn]
		switch {
		case !known && step.Operation != Same:
			index[step.urn] = len(plan.Changes)
			plan.Changes = append(plan.Changes, step)
		case !known:
			plan.Counts[Same]++
		case step.Operation == Replace:
			plan.Changes[at] = step
		}
	}
	for _, change := range plan.Changes {
		plan.Counts[change.Operation]++
	}
	return plan
}

func changeOf(m apitype.StepEventMetadata) Change {
	change := Change{Operation: operationOf(m.Op), Type: strings.TrimPrefix(m.Type, Provider+":"), Name: nameOf(m.URN), urn: m.URN}
	if m.Old != nil {
		change.ID = m.Old.ID
	}
	if change.Operation == Update || change.Operation == Replace {
		change.Properties = properties(m)
	}
	return change
}

func operationOf(op apitype.OpType) Operation {
	switch op {
	case apitype.OpCreate, apitype.OpImport:
		return Create
	case apitype.OpUpdate:
		return Update
	case apitype.OpReplace, apitype.OpCreateReplacement, apitype.OpDeleteReplaced, apitype.OpImportReplacement:
		return Replace
	case apitype.OpDelete:
		return Delete
	}
	return Same
}

// refreshed is what a reading found: gone, different or as it was.
func refreshed(m apitype.StepEventMetadata) Change {
	change := changeOf(m)
	change.Operation, change.Properties = Same, nil
	switch {
	case m.Op == apitype.OpDelete:
		change.Operation = Delete
	case m.Old != nil && m.New != nil:
		for _, path := range differing(m.Old.Outputs, m.New.Outputs) {
			change.Operation = Update
			change.Properties = append(change.Properties, Property{Path: path, Old: m.Old.Outputs[path], New: m.New.Outputs[path]})
		}
	}
	return change
}

func properties(m apitype.StepEventMetadata) []Property {
	var list []Property
	for path, diff := range m.DetailedDiff {
		p := Property{Path: path, Replaces: strings.HasSuffix(string(diff.Kind), "-replace")}
		if m.Old != nil {
			p.Old = m.Old.Inputs[path]
		}
		if m.New != nil {
			p.New = readable(m.New.Inputs[path])
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Property) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// readable replaces the engine's marks of unknown values, which mean nothing to a reader.
func readable(value any) any {
	switch v := value.(type) {
	case string:
		switch v {
		case plugin.UnknownStringValue, plugin.UnknownBoolValue, plugin.UnknownNumberValue, plugin.UnknownArrayValue, plugin.UnknownObjectValue:
			return NotKnown
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = readable(v[i])
		}
		return list
	case map[string]any:
		all := make(map[string]any, len(v))
		for key := range v {
			all[key] = readable(v[key])
		}
		return all
	}
	return value
}

func differing(old, now map[string]any) []string {
	keys := map[string]bool{}
	for key := range old {
		keys[key] = true
	}
	for key := range now {
		keys[key] = true
	}
	var list []string
	for key := range keys {
		if fmt.Sprint(old[key]) != fmt.Sprint(now[key]) {
			list = append(list, key)
		}
	}
	sort.Strings(list)
	return list
}
