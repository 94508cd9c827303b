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
// state of the same environment, so that the next Up compares with those; what they did not
// have there they lose. It returns how many differed. Secrets are given if both states are
// encrypted with the same key, else they stay.
func (e *Engine) Amend(ctx context.Context, former []byte, names, properties []string) (int, error) {
	text, err := e.Export(ctx)
	if err != nil {
		return 0, err
	}
	was, key, err := named(former, names)
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
	secrets := reflect.DeepEqual(deployment["secrets_providers"], key)
	for _, one := range resources {
		resource, _ := one.(map[string]any)
		urn, _ := resource["urn"].(string)
		if from := was[urn]; from != nil && take(resource, from, properties, secrets) {
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

// named are the resources of a state with these names, by URN, and what its secrets are
// encrypted with.
func named(state []byte, names []string) (map[string]map[string]any, any, error) {
	var read struct {
		Deployment struct {
			Secrets   any              `json:"secrets_providers"`
			Resources []map[string]any `json:"resources"`
		} `json:"deployment"`
	}
	if json.Unmarshal(state, &read) != nil {
		return nil, nil, errors.New("it is not what the engine writes")
	}
	found := map[string]map[string]any{}
	for _, r := range read.Deployment.Resources {
		if urn, _ := r["urn"].(string); slices.Contains(names, nameOf(urn)) {
			found[urn] = r
		}
	}
	return found, read.Deployment.Secrets, nil
}

// take copies properties from one resource to another, secret ones if secrets is set, and
// reports whether any differed.
func take(to, from map[string]any, properties []string, secrets bool) bool {
	changed := false
	for _, part := range []string{"inputs", "outputs"} {
		old, _ := from[part].(map[string]any)
		now, _ := to[part].(map[string]any)
		for _, name := range properties {
			value, there := old[name]
			if now == nil || reflect.DeepEqual(now[name], value) || !secrets && (IsSecret(value) || IsSecret(now[name])) {
				continue
			}
			if changed = true; there {
				now[name] = value
			} else {
				delete(now, name)
			}
		}
	}
	return changed
}
