package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Amend gives resources of the state, by name, the properties that they have in another
// state of the same environment, so that the next Up compares with those. It returns how
// many differed. Only properties that are not secret can be given: another state may be
// encrypted otherwise.
func (e *Engine) Amend(ctx context.Context, former []byte, names, properties []string) (int, error) {
	text, err := e.Export(ctx)
	if err != nil {
		return 0, err
	}
	was, err := named(former, names)
	if err != nil {
		return 0, fmt.Errorf("reading the former state: %w", err)
	}
	var state map[string]any
	if err := json.Unmarshal(text, &state); err != nil {
		return 0, fmt.Errorf("reading the state: %w", err)
	}
	amended := 0
	deployment, _ := state["deployment"].(map[string]any)
	resources, _ := deployment["resources"].([]any)
	for _, one := range resources {
		resource, _ := one.(map[string]any)
		urn, _ := resource["urn"].(string)
		if from := was[urn]; from != nil && take(resource, from, properties) {
			amended++
		}
	}
	if amended == 0 {
		return 0, nil
	}
	if text, err = json.Marshal(state); err != nil {
		return 0, fmt.Errorf("writing the state: %w", err)
	}
	return amended, e.Import(ctx, text)
}

// named are the resources of a state with these names, by URN.
func named(state []byte, names []string) (map[string]map[string]any, error) {
	var read struct {
		Deployment struct {
			Resources []map[string]any `json:"resources"`
		} `json:"deployment"`
	}
	if json.Unmarshal(state, &read) != nil {
		return nil, errors.New("it is not what the engine writes")
	}
	found := map[string]map[string]any{}
	for _, r := range read.Deployment.Resources {
		if urn, _ := r["urn"].(string); slices.Contains(names, nameOf(urn)) {
			found[urn] = r
		}
	}
	return found, nil
}

// take copies properties from one resource to another, and reports whether any differed.
func take(to, from map[string]any, properties []string) bool {
	changed := false
	for _, part := range []string{"inputs", "outputs"} {
		old, _ := from[part].(map[string]any)
		now, _ := to[part].(map[string]any)
		for _, name := range properties {
			value, there := old[name]
			if now == nil || !there || IsSecret(value) || reflect.DeepEqual(now[name], value) {
				continue
			}
			now[name], changed = value, true
		}
	}
	return changed
}
