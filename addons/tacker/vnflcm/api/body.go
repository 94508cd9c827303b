package api

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-sh/slipway/addons/openstackapi"
	"github.com/slipway-sh/slipway/addons/tacker/request"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/view"
)

// body reads a request's body by its schema.
func (c *call) body(kind request.Operation, into any) ([]byte, error) {
	types := []string{"application/json"}
	if c.r.Method == http.MethodPatch {
		types = append(types, "application/merge-patch+json")
	}
	text, err := openstackapi.Body(c.r, types...)
	if err != nil {
		return nil, err
	}
	if text == nil {
		text = []byte("{}")
	}
	if err := request.Validate(kind, text); err != nil {
		return nil, refuse(http.StatusBadRequest, "%s", strings.Join(strings.Fields(err.Error()), " "))
	}
	if err := json.Unmarshal(text, into); err != nil {
		return nil, refuse(http.StatusBadRequest, "The body cannot be read: %v.", err)
	}
	return text, nil
}

// hidden are the members of bodies that are secrets.
func hidden() []string {
	return []string{"password", "bearer_token", "client_secret", "credential_receiver_token"}
}

// redact takes the secrets out of a body. Those of the first connection are kept apart:
// it is the one that is used.
func redact(text []byte) (*runtime.RawExtension, map[string][]byte, error) {
	var body view.Object
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, nil, refuse(http.StatusBadRequest, "The body cannot be read: %v.", err)
	}
	secrets := map[string][]byte{}
	if vims, ok := body["vimConnectionInfo"].(view.Object); ok && len(vims) > 0 {
		vim, _ := vims[slices.Sorted(maps.Keys(vims))[0]].(view.Object)
		access, _ := vim["accessInfo"].(view.Object)
		for _, name := range hidden() {
			if secret, ok := access[name].(string); ok {
				secrets[name] = []byte(secret)
			}
		}
	}
	strip(body)
	clean, err := json.Marshal(body)
	return &runtime.RawExtension{Raw: clean}, secrets, err
}

// strip deletes secrets wherever they are.
func strip(value any) {
	switch v := value.(type) {
	case view.Object:
		for _, name := range hidden() {
			delete(v, name)
		}
		for _, member := range v {
			strip(member)
		}
	case []any:
		for _, element := range v {
			strip(element)
		}
	}
}
