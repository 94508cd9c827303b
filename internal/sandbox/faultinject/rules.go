package faultinject

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// ErrNotFound says that there is no rule with an id.
var ErrNotFound = errors.New("no such fault rule")

// Rules are the rules in force. They have a file and a lock of their own, so
// that they can be asked inside a transaction of the model.
type Rules struct {
	mu    sync.Mutex
	path  string
	rules []*Rule
}

// Occasion is a call or an event that a rule may make fail. Names are the names of its resources.
type Occasion struct {
	Kind                  Kind
	Service, Method, Path string
	Names                 []string
}

// Open reads the rules in the file at path, which need not exist; an empty
// path keeps them in memory only.
func Open(path string) (*Rules, error) {
	r := &Rules{path: path}
	if path == "" {
		return r, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading fault rules: %w", err)
	}
	if err := json.Unmarshal(text, &r.rules); err != nil {
		return nil, fmt.Errorf("reading fault rules in %s: %w", path, err)
	}
	return r, nil
}

// Add puts a rule in force and returns it with its id; counts begin at 0.
func (r *Rules) Add(rule Rule) (Rule, error) {
	if rule.Kind == "" {
		rule.Kind = API
	}
	if err := rule.Validate(); err != nil {
		return Rule{}, err
	}
	rule.ID, rule.Calls, rule.Hits = uuid.NewString()[:8], 0, 0
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rules = append(r.rules, &rule)
	return rule, r.save()
}

// List returns the rules with their counts, in the order of adding.
func (r *Rules) List() []Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Rule, 0, len(r.rules))
	for _, rule := range r.rules {
		list = append(list, *rule)
	}
	return list
}

// Remove removes a rule; its error is ErrNotFound.
func (r *Rules) Remove(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.rules, func(rule *Rule) bool { return rule.ID == id })
	if i < 0 {
		return fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	r.rules = slices.Delete(r.rules, i, i+1)
	return r.save()
}

// Clear removes every rule.
func (r *Rules) Clear() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rules = nil
	return r.save()
}

// Hit reports whether a rule of the kind makes this fail: service is the type of the service that
// asks, names are the names of the resources.
func (r *Rules) Hit(kind Kind, service string, names ...string) bool {
	_, hit := r.Check(Occasion{Kind: kind, Service: service, Names: names})
	return hit
}

// Check returns the first rule that makes the occasion fail. Every rule that matches counts it.
func (r *Rules) Check(c Occasion) (Rule, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first *Rule
	counted := false
	for _, rule := range r.rules {
		if !rule.matches(c) {
			continue
		}
		counted = true
		if rule.count() && first == nil {
			first = rule
		}
	}
	if counted {
		_ = r.save() // counts that cannot be kept are no reason to fail the call
	}
	if first == nil {
		return Rule{}, false
	}
	return *first, true
}

// Any reports whether a rule of the kind exists; with it, callers avoid finding names when there is
// none.
func (r *Rules) Any(kind Kind) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.rules, func(rule *Rule) bool { return rule.Kind == kind })
}

func (r *Rules) save() error {
	if r.path == "" {
		return nil
	}
	text, err := json.MarshalIndent(r.rules, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding fault rules: %w", err)
	}
	if err := os.WriteFile(r.path+".new", text, 0o600); err != nil {
		return fmt.Errorf("writing fault rules: %w", err)
	}
	if err := os.Rename(r.path+".new", r.path); err != nil {
		return fmt.Errorf("writing fault rules: %w", err)
	}
	return nil
}
