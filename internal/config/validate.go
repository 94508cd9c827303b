package config

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-sh/slipway/internal/suggest"
)

// Validate returns all mistakes in an environment that was decoded without errors.
// It is pure: it reads no files and contacts no cloud. given reports whether the
// user, rather than a default, set the key at a path.
func Validate(e *Environment, given func(path string) bool) []Problem {
	v := &validator{given: given}
	v.walk(reflect.ValueOf(e).Elem(), nil, rules{})
	v.network(&e.Spec.Seed.Network)
	v.seed(&e.Spec.Seed)
	v.ranges(e)
	v.credential(e)
	v.state(&e.Spec.State)
	v.k3s(&e.Spec.Seed.K3s)
	v.management(e)
	v.magnum(e)
	v.console(e)
	v.monitoring(e)
	v.backup(e)
	v.role(e)
	v.localSeed(e)
	for host, registry := range e.Spec.Registries {
		v.registry(field.NewPath("spec", "registries").Key(host), host, registry)
	}
	return v.problems
}

type validator struct {
	given    func(path string) bool
	problems []Problem
}

func (v *validator) add(at *field.Path, remedy, cause string, args ...any) {
	v.problems = append(v.problems, Problem{Path: pathText(at), Cause: fmt.Sprintf(cause, args...), Remedy: remedy})
}

// walk checks each value on its own, by its field's rules.
func (v *validator) walk(value reflect.Value, at *field.Path, r rules) {
	t := value.Type()
	if r.required && value.IsZero() || r.required && t.Kind() == reflect.Slice && value.Len() == 0 {
		v.add(at, "", "this is required")
		return
	}
	switch {
	case isText(t):
		v.format(value, at, r)
	case t.Kind() == reflect.Pointer:
		if !value.IsNil() {
			v.walk(value.Elem(), at, rules{})
		}
	case t.Kind() == reflect.Struct:
		for _, e := range entries(t) {
			v.walk(value.Field(e.index), at.Child(e.name), e.rules)
		}
	case t.Kind() == reflect.Slice:
		r.required = true
		for i := range value.Len() {
			v.walk(value.Index(i), at.Index(i), r)
		}
	case t.Kind() == reflect.Map:
		v.keys(value, at, r)
	default:
		v.scalar(value, at, r)
	}
}

func (v *validator) keys(value reflect.Value, at *field.Path, r rules) {
	keys := value.MapKeys()
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
	for _, key := range keys {
		name := key.String()
		if len(r.keys) > 0 && !slices.Contains(r.keys, name) {
			remedy := "known here: " + strings.Join(r.keys, ", ")
			if near := suggest.Nearest(name, r.keys); near != "" {
				remedy = "did you mean " + near + "?"
			}
			v.add(at.Key(name), remedy, "unknown key %q", name)
			continue
		}
		if element := value.MapIndex(key); element.Kind() != reflect.Interface {
			v.walk(element, at.Key(name), rules{})
		}
	}
}

func (v *validator) scalar(value reflect.Value, at *field.Path, r rules) {
	switch value.Kind() {
	case reflect.Int:
		n := int(value.Int())
		if r.max > 0 && (n < r.min || n > r.max) && !(r.zero && n == 0) {
			v.add(at, "", "%d is not between %d and %d", n, r.min, r.max)
		}
	case reflect.String:
		text := value.String()
		if len(r.enum) > 0 && !slices.Contains(r.enum, text) {
			v.add(at, "use one of "+strings.Join(r.enum, ", "), "%q is not a valid value", text)
		}
		if r.maxLength > 0 && len(text) > r.maxLength {
			v.add(at, "", "%q has %d characters, at most %d are allowed", text, len(text), r.maxLength)
		}
		if text != "" {
			v.format(value, at, r)
		}
	}
}

// named is an address range with the key that sets it.
type named struct {
	at     *field.Path
	prefix netip.Prefix
}

// ranges refuses overlapping address ranges: there could be no routes between them.
func (v *validator) ranges(e *Environment) {
	seed := field.NewPath("spec", "seed")
	all := []named{{seed.Child("k3s", "podCIDR"), e.Spec.Seed.K3s.PodCIDR}, {seed.Child("k3s", "serviceCIDR"), e.Spec.Seed.K3s.ServiceCIDR}}
	if e.Spec.Seed.MakesNetwork() {
		all = append(all, named{seed.Child("network", "cidr"), e.Spec.Seed.Network.CIDR})
	}
	if m := e.Spec.ManagementCluster; m != nil {
		at := field.NewPath("spec", "managementCluster")
		// The seed's pods reach only the cluster's nodes, so its own ranges may be the same.
		cluster := []named{{at.Child("podCIDR"), m.PodCIDR}, {at.Child("serviceCIDR"), m.ServiceCIDR}}
		v.overlaps(append(cluster, all[2:]...))
	}
	v.overlaps(all)
}

func (v *validator) overlaps(all []named) {
	for i, one := range all {
		for _, other := range all[:i] {
			if one.prefix.IsValid() && other.prefix.IsValid() && one.prefix.Overlaps(other.prefix) {
				v.add(one.at, "choose ranges that do not overlap", "%s overlaps %s of %s", one.prefix, other.prefix, other.at)
			}
		}
	}
}
