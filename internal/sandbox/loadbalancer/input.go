package loadbalancer

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
)

// The states of a resource's provisioning and of its work.
const (
	active        = "ACTIVE"
	failed        = "ERROR"
	pendingCreate = "PENDING_CREATE"
	pendingUpdate = "PENDING_UPDATE"
	pendingDelete = "PENDING_DELETE"

	online    = "ONLINE"
	offline   = "OFFLINE"
	degraded  = "DEGRADED"
	noMonitor = "NO_MONITOR"
	draining  = "DRAINING"
)

// decodeIn reads the object under the key. Octavia refuses attributes that it
// does not know, or that an update may not change.
func decodeIn(c *api.Call, key string, into any) error {
	var raw json.RawMessage
	if err := c.DecodeIn(key, &raw); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil {
		return nil
	}
	var own *api.Error
	if errors.As(err, &own) {
		return own
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return invalid(wrong.Field, wrong.Value, "Wrong type. Expected '"+wrong.Type.String()+"', got '"+wrong.Value+"'")
	}
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		return api.BadRequest("Unknown attribute: %s", strings.Trim(name, `"`))
	}
	return api.BadRequest("Invalid input for field/attribute %s: %v", key, err)
}

// lifeInput are the attributes that every resource has.
type lifeInput struct {
	Name         api.Optional[string]   `json:"name"`
	Description  api.Optional[string]   `json:"description"`
	AdminStateUp api.Optional[bool]     `json:"admin_state_up"`
	Tags         api.Optional[[]string] `json:"tags"`
}

func (in lifeInput) apply(v *model.Life) error {
	set(&v.Name, in.Name, "")
	set(&v.Description, in.Description, "")
	set(&v.AdminStateUp, in.AdminStateUp, true)
	if in.Tags.Set {
		v.Tags = append([]string{}, in.Tags.Value...)
		slices.Sort(v.Tags) // as Octavia's database gives them, whose key they are
		v.Tags = slices.Compact(v.Tags)
	}
	for _, tag := range v.Tags {
		if tag == "" || len(tag) > 255 {
			return invalid("tags", tag, "Value should have 1 to 255 characters")
		}
	}
	if len(v.Name) > 255 {
		return invalid("name", v.Name, "Value should have a maximum character requirement of 255")
	}
	return nil
}

// newLife is a resource that is about to be made.
func (s *service) newLife(projectID string) model.Life {
	return model.Life{ID: model.NewID(), ProjectID: projectID, AdminStateUp: true, Tags: []string{}, CreatedAt: s.now(),
		ProvisioningStatus: pendingCreate, OperatingStatus: offline}
}

// touch marks a resource as being worked on.
func (s *service) touch(v *model.Life, status string) {
	now := s.now()
	v.ProvisioningStatus, v.UpdatedAt = status, &now
}

// set applies an attribute; null gives the default again.
func set[T any](target *T, in api.Optional[T], def T) {
	if in.Set {
		*target = in.Or(def)
	}
}

// setPointer applies an attribute that may be null.
func setPointer[T comparable](target **T, in api.Optional[T]) {
	if !in.Set {
		return
	}
	var zero T
	*target = nil
	if _, text := any(zero).(string); !in.Null && (!text || in.Value != zero) {
		*target = &in.Value
	}
}

func text(v *string) string {
	if v == nil {
		return ""
	}
	return *v
}

// ref is how resources name each other.
type ref struct {
	ID string `json:"id"`
}
