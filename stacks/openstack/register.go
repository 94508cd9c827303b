package openstack

import (
	"reflect"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// register adds a resource to the program: in are its constant inputs, refs those that come
// from other resources, by property name.
func register(ctx *pulumi.Context, kind string, in inputs, refs pulumi.Map, resource pulumi.CustomResource, options []pulumi.ResourceOption) error {
	properties := propertiesOf(in)
	for name, value := range refs {
		if value != nil {
			properties[name] = value
		}
	}
	return ctx.RegisterResource("slipway:openstack:"+kind, in.mark().Step, properties, resource, options...)
}

// propertiesOf returns the fields of a struct of inputs by their `pulumi` tags, without
// empty optional ones.
func propertiesOf(in any) pulumi.Map {
	properties := pulumi.Map{}
	value := reflect.ValueOf(in)
	for _, field := range reflect.VisibleFields(value.Type()) {
		name, options, _ := strings.Cut(field.Tag.Get("pulumi"), ",")
		of := value.FieldByIndex(field.Index)
		if name == "" || field.Anonymous || (options == "optional" && of.IsZero()) {
			continue
		}
		property := pulumi.Any(of.Interface())
		if field.Tag.Get("provider") == "secret" {
			properties[name] = pulumi.ToSecret(property)
			continue
		}
		properties[name] = property
	}
	return properties
}
