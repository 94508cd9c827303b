package loadbalancer

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// find returns a record that the caller owns, or the 404 of its kind.
func find[T any](c *api.Call, r store.Reader, table *store.Table[T], kind, id string, project func(T) string) (T, error) {
	record, ok := table.Get(r, id)
	if !ok || (c != nil && !c.Principal.Owns(project(record))) {
		var none T
		return none, api.NotFound("%s %s not found.", kind, id)
	}
	return record, nil
}

// immutable is what children answer while their load balancer is busy or in
// error.
func immutable(id string) error {
	return api.Conflict("Load Balancer %s is immutable and cannot be updated.", id)
}

func forbidden() error {
	return api.Forbidden("Policy does not allow this request to be performed.")
}

func validation(format string, args ...any) error {
	return api.BadRequest("Validation failure: %s", fmt.Sprintf(format, args...))
}

func invalid(field string, value any, rule string) error {
	return api.BadRequest("Invalid input for field/attribute %s. Value: '%v'. %s", field, value, rule)
}

// missingPart is for a resource that another one names: 400, not 404.
func missingPart(kind, id string) error { return api.BadRequest("%s %s not found.", kind, id) }

// unsupported is what a provider answers that cannot do what is asked.
func unsupported(provider, message string) error {
	return api.Errorf(http.StatusNotImplemented, "", "Provider '%s' does not support a requested option: %s", provider, message)
}

func required(field string) error { return invalid(field, "None", "Mandatory field missing.") }

func oneOf(field, value string, allowed []string) error {
	if value == "" {
		return required(field)
	}
	if !slices.Contains(allowed, value) {
		return invalid(field, value, "Value should be one of: "+strings.Join(slices.Sorted(slices.Values(allowed)), ", "))
	}
	return nil
}

func between(field string, value, low, high int) error {
	if value < low {
		return invalid(field, value, fmt.Sprintf("Value should be greater or equal to %d", low))
	}
	if value > high {
		return invalid(field, value, fmt.Sprintf("Value should be lower or equal to %d", high))
	}
	return nil
}

func address(field, value string) error {
	if _, err := netip.ParseAddr(value); err != nil {
		return invalid(field, value, "Value should be IPv4 or IPv6 format")
	}
	return nil
}

// firstError returns the first that is one.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
