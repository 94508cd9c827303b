package api

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// attributes finds the fields of a struct by their JSON names, so that lists can filter and sort by
// every attribute of a resource.
func attributes(t reflect.Type) map[string][]int {
	found := map[string][]int{}
	if t.Kind() != reflect.Struct {
		return found
	}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" && field.IsExported() {
			found[name] = field.Index
		}
	}
	return found
}

// matches compares an attribute with the text of a query: a list matches when
// it contains the text, a null when the text is empty.
func matches(v reflect.Value, text string) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return text == "" || text == "null"
		}
		return matches(v.Elem(), text)
	case reflect.Bool:
		asked, err := strconv.ParseBool(strings.ToLower(text))
		return err == nil && asked == v.Bool()
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if matches(v.Index(i), text) {
				return true
			}
		}
		return false
	case reflect.Struct:
		if when, ok := v.Interface().(time.Time); ok {
			asked, err := time.Parse(time.RFC3339, text)
			return err == nil && asked.Equal(when)
		}
	}
	return fmt.Sprint(v.Interface()) == text
}

// compare orders two values of one attribute; null is first.
func compare(a, b reflect.Value) int {
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return -cmp.Compare(b2i(a.IsNil()), b2i(b.IsNil()))
		}
		return compare(a.Elem(), b.Elem())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return cmp.Compare(a.Int(), b.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return cmp.Compare(a.Uint(), b.Uint())
	case reflect.Float32, reflect.Float64:
		return cmp.Compare(a.Float(), b.Float())
	case reflect.Bool:
		return cmp.Compare(b2i(a.Bool()), b2i(b.Bool()))
	case reflect.String:
		return cmp.Compare(a.String(), b.String())
	case reflect.Struct:
		if x, ok := a.Interface().(time.Time); ok {
			return x.Compare(b.Interface().(time.Time))
		}
	}
	return cmp.Compare(fmt.Sprint(a.Interface()), fmt.Sprint(b.Interface()))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
