// Package policy decides who may do what, by rules in oslo.policy's language. The rules
// are upstream's names and Magnum's defaults, or those of another service; an
// operator's policy file overrides any of them.
package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	goslo "github.com/databus23/goslo.policy"
	"go.yaml.in/yaml/v3"
)

// Caller is who asks.
type Caller struct {
	UserID, ProjectID, DomainID string
	// Roles are the names of the token's roles.
	Roles []string
}

// Target is whose object it is about.
type Target struct {
	// ProjectID owns the object; for lists and creations it is the caller's.
	ProjectID string
	// UserID made the object.
	UserID string
}

// Enforcer decides. It is safe for concurrent use.
type Enforcer struct {
	rules *goslo.Enforcer
}

// New returns an enforcer of the default rules with the rules of a policy file
// (YAML or JSON: a mapping of names to rules) over them; an empty file is none.
// A rule that does not parse, that refers to one that does not exist, or to
// itself, is an error, because oslo.policy would deny everybody at run time.
func New(file []byte) (*Enforcer, error) { return Of("Magnum", Defaults(), file) }

// Of is New for the default rules of another service.
func Of(service string, rules map[string]string, file []byte) (*Enforcer, error) {
	over := map[string]string{}
	if err := yaml.Unmarshal(file, &over); err != nil {
		return nil, fmt.Errorf("reading rules: %w", err)
	}
	if unknown := strangers(over, rules); len(unknown) > 0 {
		return nil, fmt.Errorf("%s: %s has no such rule", strings.Join(unknown, ", "), service)
	}
	maps.Copy(rules, over)
	lines := strings.NewReplacer("\r", " ", "\n", " ")
	for name, text := range rules {
		// oslo.policy: an empty rule is always true, and lines may end anywhere.
		rules[name] = cmp.Or(strings.TrimSpace(lines.Replace(text)), "@")
	}
	if err := checkSyntax(rules); err != nil {
		return nil, fmt.Errorf("parsing rules: %w", err)
	}
	if err := checkReferences(rules); err != nil {
		return nil, err
	}
	enforcer, err := goslo.NewEnforcer(rules)
	if err != nil {
		return nil, fmt.Errorf("parsing rules: %w", err)
	}
	enforcer.AddCheck("role", func(c goslo.Context, _, match string) bool {
		return slices.ContainsFunc(c.Roles, func(role string) bool { return strings.EqualFold(role, match) })
	})
	return &Enforcer{enforcer}, nil
}

// strangers are names with a resource of Magnum that Magnum does not have, in
// order; other names are building blocks of the operator's own.
func strangers(over, rules map[string]string) []string {
	resources := map[string]bool{}
	for name := range rules {
		if resource, _, ok := strings.Cut(name, ":"); ok {
			resources[resource] = true
		}
	}
	var unknown []string
	for name := range over {
		resource, _, ok := strings.Cut(name, ":")
		if _, known := rules[name]; ok && !known && resources[resource] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// Allowed reports whether rule allows caller to act on target.
func (e *Enforcer) Allowed(rule string, caller Caller, target Target) bool {
	c := goslo.Context{
		Auth:  map[string]string{"user_id": caller.UserID, "project_id": caller.ProjectID, "domain_id": caller.DomainID, "is_admin": "False"},
		Roles: caller.Roles,
		Request: map[string]string{"project_id": target.ProjectID, "user_id": target.UserID,
			"target.project_id": target.ProjectID, "target.user_id": target.UserID},
	}
	if e.rules.Enforce("context_is_admin", c) {
		c.Auth["is_admin"] = "True"
	}
	return e.rules.Enforce(rule, c)
}

// Admin reports whether the caller is an administrator of the service.
func (e *Enforcer) Admin(caller Caller) bool {
	return e.Allowed("context_is_admin", caller, Target{})
}

// checkReferences looks for rules that refer to nothing or in a circle, which
// would end the process by its stack.
func checkReferences(rules map[string]string) error {
	reference := regexp.MustCompile(`rule:([^\s()]+)`)
	state := map[string]int{} // 1 on the way, 2 done
	var visit func(name string) error
	visit = func(name string) error {
		text, ok := rules[name]
		switch {
		case !ok:
			return errors.New("does not exist but is referred to")
		case state[name] == 1:
			return errors.New("refers to itself")
		case state[name] == 2:
			return nil
		}
		state[name] = 1
		for _, match := range reference.FindAllStringSubmatch(text, -1) {
			if err := visit(match[1]); err != nil {
				return fmt.Errorf("%s → %w", match[1], err)
			}
		}
		state[name] = 2
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if err := visit(name); err != nil {
			return fmt.Errorf("rule %s → %w", name, err)
		}
	}
	return nil
}
