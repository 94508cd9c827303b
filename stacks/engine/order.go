package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Order is what each step comes after, by the names of the steps: what the state knows of
// resources that are there, and of those that a run is making. It is empty without a state.
func (e *Engine) Order(ctx context.Context) (map[string][]string, error) {
	text, err := e.pulumi(ctx, nil, "stack", "export", "--stack", e.options.Environment)
	if errors.Is(err, errNoStack) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	return orderIn([]byte(text))
}

// orderIn reads a state as Export has it.
func orderIn(text []byte) (map[string][]string, error) {
	type made struct {
		URN          string
		Dependencies []string
	}
	var state struct {
		Deployment struct {
			Resources []made
			Pending   []struct{ Resource made } `json:"pending_operations"`
		}
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, errors.New("reading the state: it is not what the engine writes")
	}
	all := state.Deployment.Resources
	for _, one := range state.Deployment.Pending {
		all = append(all, one.Resource)
	}
	order := map[string][]string{}
	for _, r := range all {
		after := []string{}
		for _, urn := range r.Dependencies {
			after = append(after, nameOf(urn))
		}
		order[nameOf(r.URN)] = after
	}
	return order, nil
}
