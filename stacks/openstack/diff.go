package openstack

import (
	"reflect"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
)

// diff compares two values of a struct field by field. The tag `diff` of a field says what
// a difference means: "replace" replaces the resource, "replace-known" does so if both
// values are known, "ignore" keeps the resource as it was created; without a tag it is
// changed in place. A replaced resource is deleted first, because the new one has the same
// name and ownership tag.
func diff(old, now any) p.DiffResponse {
	response := p.DiffResponse{DeleteBeforeReplace: true, DetailedDiff: map[string]p.PropertyDiff{}}
	a, b := reflect.ValueOf(old), reflect.ValueOf(now)
	for _, field := range reflect.VisibleFields(a.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("pulumi"), ",")
		meaning := field.Tag.Get("diff")
		if name == "" || meaning == "ignore" || same(a.FieldByIndex(field.Index), b.FieldByIndex(field.Index)) {
			continue
		}
		change := p.PropertyDiff{Kind: p.Update, InputDiff: true}
		if meaning == "replace-known" && (a.FieldByIndex(field.Index).IsZero() || b.FieldByIndex(field.Index).IsZero()) {
			continue
		}
		if meaning == "replace" || meaning == "replace-known" {
			change.Kind = p.UpdateReplace
		}
		response.HasChanges = true
		response.DetailedDiff[name] = change
	}
	return response
}

// same compares values; an empty list or map equals none.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Slice, reflect.Map:
		if a.Len() == 0 && b.Len() == 0 {
			return true
		}
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
