package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/slipway-sh/slipway/internal/fault"
)

func reader(text []byte) io.Reader {
	if text == nil {
		return nil
	}
	return bytes.NewReader(text)
}

// Export returns the state as JSON. Its secrets stay encrypted with the passphrase.
func (e *Engine) Export(ctx context.Context) ([]byte, error) {
	text, err := e.pulumi(ctx, nil, "stack", "export", "--stack", e.options.Environment)
	if err != nil {
		return nil, fmt.Errorf("exporting the state: %w", err)
	}
	return []byte(text), nil
}

// Import replaces the state with one from Export. One that is encrypted is refused without its
// passphrase: a new one would decrypt nothing.
func (e *Engine) Import(ctx context.Context, state []byte) error {
	if _, err := e.options.Passphrase(ctx, false); errors.Is(err, errNoPassphrase) && encrypted(state) {
		return fault.Usage("state", fmt.Errorf("it is encrypted, and its passphrase is not here: %w", err),
			"copy the passphrase from where the state was exported, by default the file .slipway/passphrase of that project folder, to where this environment reads it; see docs/operations/state.md")
	}
	if err := e.create(ctx); err != nil {
		return err
	}
	if _, err := e.pulumi(ctx, state, "stack", "import", "--stack", e.options.Environment); err != nil {
		return fmt.Errorf("importing the state: %w", err)
	}
	return nil
}

// encrypted reports whether a state names what its secrets are encrypted with. What is no state
// the engine refuses.
func encrypted(state []byte) bool {
	var of struct {
		Deployment struct {
			Secrets struct {
				Type string `json:"type"`
			} `json:"secrets_providers"`
		} `json:"deployment"`
	}
	return json.Unmarshal(state, &of) == nil && of.Deployment.Secrets.Type != ""
}

// Remove removes an empty state; it is no error if there is none.
func (e *Engine) Remove(ctx context.Context) error {
	_, err := e.pulumi(ctx, nil, "stack", "rm", "--yes", "--stack", e.options.Environment)
	if err != nil && !errors.Is(err, errNoStack) {
		return fmt.Errorf("removing the state: %w", err)
	}
	return nil
}

// Discard removes a state with all that it knows, and deletes nothing else. It is no error
// if there is none.
func (e *Engine) Discard(ctx context.Context) error {
	_, err := e.pulumi(ctx, nil, "stack", "rm", "--yes", "--force", "--stack", e.options.Environment)
	if err != nil && !errors.Is(err, errNoStack) {
		return fmt.Errorf("discarding the state: %w", err)
	}
	return nil
}

// Outputs returns what the program exported in the last Up, including secrets; it is
// empty if there was none.
func (e *Engine) Outputs(ctx context.Context) (map[string]any, error) {
	text, err := e.pulumi(ctx, nil, "stack", "output", "--json", "--show-secrets", "--stack", e.options.Environment)
	if errors.Is(err, errNoStack) {
		return map[string]any{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the outputs: %w", err)
	}
	outputs := map[string]any{}
	if err := json.Unmarshal([]byte(text), &outputs); err != nil {
		return nil, fmt.Errorf("reading the outputs: %w", err)
	}
	return outputs, nil
}

// Forget removes a resource from the state, by its name or its URN, without deleting the
// resource itself. It refuses if other resources depend on it, unless dependents is set,
// which forgets them too.
func (e *Engine) Forget(ctx context.Context, name string, dependents bool) error {
	urn, err := e.find(ctx, name)
	if err != nil {
		return err
	}
	args := []string{"state", "delete", urn, "--yes", "--stack", e.options.Environment}
	if dependents {
		args = append(args, "--target-dependents")
	}
	_, err = e.pulumi(ctx, nil, args...)
	if err != nil && strings.Contains(err.Error(), "depend on it") {
		first, _, _ := strings.Cut(err.Error(), "\n\n")
		return fault.New(name, errors.New(first), "forget those resources first, or use --dependents")
	}
	if err != nil {
		return fmt.Errorf("forgetting %s: %w", name, err)
	}
	return nil
}

// find returns the URN of a resource in the state.
func (e *Engine) find(ctx context.Context, name string) (string, error) {
	text, err := e.Export(ctx)
	if err != nil {
		return "", err
	}
	var state struct {
		Deployment struct {
			Resources []struct {
				URN string `json:"urn"`
			} `json:"resources"`
		} `json:"deployment"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return "", fmt.Errorf("reading the state: %w", err)
	}
	var names []string
	for _, r := range state.Deployment.Resources {
		if r.URN == name || nameOf(r.URN) == name {
			return r.URN, nil
		}
		names = append(names, nameOf(r.URN))
	}
	return "", fault.Usage(name, errors.New("there is no such resource in the state"), "name one of "+strings.Join(names, ", "))
}

// forgetPending drops the pending operations of a killed run. What they created is found
// again by its ownership tag, and what they were changing is compared again.
func (e *Engine) forgetPending(ctx context.Context) error {
	text, err := e.Export(ctx)
	if errors.Is(err, errNoStack) {
		return nil
	}
	if err != nil {
		return err
	}
	var state struct {
		Version    int                        `json:"version"`
		Deployment map[string]json.RawMessage `json:"deployment"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return fmt.Errorf("reading the state: %w", err)
	}
	if _, pending := state.Deployment["pending_operations"]; !pending {
		return nil
	}
	delete(state.Deployment, "pending_operations")
	repaired, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	if _, err := e.pulumi(ctx, repaired, "stack", "import", "--stack", e.options.Environment); err != nil {
		return fmt.Errorf("repairing the state: %w", err)
	}
	return nil
}
