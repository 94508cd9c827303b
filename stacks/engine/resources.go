package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Resource is a resource as the state has it.
type Resource struct {
	Type, Name, ID string
	// Outputs by property, secrets in the clear.
	Outputs map[string]any
}

// Text is an output as text, "" if it is none.
func (r Resource) Text(property string) string {
	text, _ := r.Outputs[property].(string)
	return text
}

// Resources lists what the state has, also after an Up that failed half-way; it
// is empty when there is no state. Who asks again soon gets the same answer, unless this
// engine has changed the state.
func (e *Engine) Resources(ctx context.Context) ([]Resource, error) {
	known, ok, changes := e.memory.recall()
	if ok {
		return known, nil
	}
	list, err := e.read(ctx)
	if err == nil {
		e.memory.keep(list, changes)
	}
	return list, err
}

// read reads the state.
func (e *Engine) read(ctx context.Context) ([]Resource, error) {
	text, err := e.pulumi(ctx, nil, "stack", "export", "--show-secrets", "--stack", e.options.Environment)
	if errors.Is(err, errNoStack) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	var state struct {
		Deployment struct {
			Resources []struct {
				URN, ID string
				Outputs map[string]any
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		return nil, errors.New("reading the state: it is not what the engine writes")
	}
	var list []Resource
	for _, r := range state.Deployment.Resources {
		parts := strings.Split(r.URN, "::") // urn:pulumi:stack::project::type::name
		if len(parts) != 4 {
			continue
		}
		list = append(list, Resource{Type: parts[2], Name: parts[3], ID: r.ID, Outputs: clear(r.Outputs)})
	}
	return list, nil
}

// signature marks a secret in a state (Pulumi's resource.SigKey).
const signature = "4dabf18193072939515e22adb298388d"

// IsSecret reports whether a value of a plan or a state is a secret, in its
// encrypted form.
func IsSecret(value any) bool {
	wrapped, ok := value.(map[string]any)
	return ok && wrapped[signature] != nil
}

// clear unwraps the secrets of a state that was exported with them.
func clear(outputs map[string]any) map[string]any {
	for name, value := range outputs {
		if !IsSecret(value) {
			continue
		}
		text, _ := value.(map[string]any)["plaintext"].(string)
		var plain any
		if json.Unmarshal([]byte(text), &plain) == nil {
			outputs[name] = plain
		}
	}
	return outputs
}

// Secrets returns the values of all secrets in the state, in the clear: what must not be
// in anything that leaves the machine. It is empty when there is no state.
func (e *Engine) Secrets(ctx context.Context) ([]string, error) {
	text, err := e.pulumi(ctx, nil, "stack", "export", "--show-secrets", "--stack", e.options.Environment)
	if errors.Is(err, errNoStack) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	var state any
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		return nil, errors.New("reading the state: it is not what the engine writes")
	}
	var all []string
	secretsIn(state, false, &all)
	return all, nil
}

// secretsIn collects the texts inside of secrets.
func secretsIn(value any, inside bool, all *[]string) {
	switch v := value.(type) {
	case map[string]any:
		if text, ok := v["plaintext"].(string); ok && IsSecret(value) {
			var plain any
			if json.Unmarshal([]byte(text), &plain) == nil {
				secretsIn(plain, true, all)
			}
			return
		}
		for _, inner := range v {
			secretsIn(inner, inside, all)
		}
	case []any:
		for _, inner := range v {
			secretsIn(inner, inside, all)
		}
	case string:
		if inside {
			*all = append(*all, v)
		}
	}
}
