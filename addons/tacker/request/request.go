// Package request makes the bodies that a VNF manager gets for each step of a package's
// life cycle, and holds bodies against schemas (SOL003 as Tacker's v2 API takes it).
package request

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
)

//go:embed schema/*.json
var schemas embed.FS

// Operation is a kind of request.
type Operation string

// The operations that have a body.
const (
	Create      Operation = "create"
	Instantiate Operation = "instantiate"
	Scale       Operation = "scale"
	Change      Operation = "change_vnfpkg"
	Terminate   Operation = "terminate"
	Heal        Operation = "heal"
	Modify      Operation = "modify"
	Subscribe   Operation = "subscription"
)

// Options are what the requests say beside what the package says.
type Options struct {
	// VimID is a registered VIM; empty is the project's default.
	VimID string
	// Namespace is the cluster's on the management cluster.
	Namespace string
	// Receiver is the URL that gets the workload cluster's credential, with the token
	// and the authority of its certificate.
	Receiver, ReceiverToken, ReceiverCA string
}

// Body is a request's body.
type Body struct {
	// Name is that of its file, without .json.
	Name      string
	Operation Operation
	Content   map[string]any
}

// Validate holds a body against the operation's schema.
func Validate(operation Operation, text []byte) error {
	name := "schema/" + string(operation) + ".json"
	raw, err := schemas.ReadFile(name)
	if err != nil {
		return fmt.Errorf("reading schema: %w", err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("reading schema %s: %w", name, err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, document); err != nil {
		return fmt.Errorf("reading schema %s: %w", name, err)
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		return fmt.Errorf("compiling schema %s: %w", name, err)
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("reading body: %w", err)
	}
	if err := schema.Validate(body); err != nil {
		return fmt.Errorf("body of %s: %w", operation, err)
	}
	return nil
}

// All are the bodies for a package, valid.
func All(c *csar.Content, o Options) ([]Body, error) {
	s, err := c.Settings()
	if err != nil {
		return nil, err
	}
	params := o.params()
	bodies := []Body{
		{"create", Create, map[string]any{"vnfdId": c.ID, "vnfInstanceName": s.Name}},
		{"instantiate", Instantiate, o.instantiate(s, params)},
	}
	var units []any
	for _, unit := range s.Units {
		units = append(units, map[string]any{"vdu_id": unit.ID})
		if unit.Aspect == "" {
			continue
		}
		for _, way := range []string{"SCALE_OUT", "SCALE_IN"} {
			name := strings.ToLower(strings.ReplaceAll(way, "_", "-")) + "-" + unit.ID
			bodies = append(bodies, Body{name, Scale, map[string]any{"type": way, "aspectId": unit.Aspect, "numberOfSteps": 1}})
		}
	}
	change := map[string]any{"upgrade_type": "RollingUpdate", "vdu_params": units}
	if s.Variant == csar.Helm {
		change["helm_chart_path"] = s.Deploy[0]
	} else {
		change["lcm-kubernetes-def-files"] = s.Deploy
	}
	terminate := map[string]any{"terminationType": "FORCEFUL"}
	if o.Receiver != "" {
		terminate["additionalParams"] = o.credential()
	}
	bodies = append(bodies, Body{"change", Change, map[string]any{"vnfdId": c.ID, "additionalParams": change}}, Body{"terminate", Terminate, terminate})
	return bodies, validate(bodies)
}

func validate(bodies []Body) error {
	var wrong []error
	for _, b := range bodies {
		text, err := json.Marshal(b.Content)
		if err == nil {
			err = Validate(b.Operation, text)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("request %s: %w", b.Name, err))
		}
	}
	return errors.Join(wrong...)
}

// params are the additional parameters of an instantiation that no variant has alone.
func (o Options) params() map[string]any {
	all := map[string]any{}
	if o.Namespace != "" {
		all["namespace"] = o.Namespace
	}
	if o.Receiver != "" {
		for key, value := range o.credential() {
			all[key] = value
		}
	}
	return all
}

func (o Options) credential() map[string]any {
	all := map[string]any{"credential_receiver_url": o.Receiver, "credential_receiver_token": o.ReceiverToken}
	if o.ReceiverCA != "" {
		all["credential_receiver_ca"] = o.ReceiverCA
	}
	return all
}

func (o Options) instantiate(s csar.Settings, params map[string]any) map[string]any {
	kind := "ETSINFV.KUBERNETES.V_1"
	if s.Variant == csar.Helm {
		kind = "ETSINFV.HELM.V_3"
		names := map[string]any{}
		for _, unit := range s.Units {
			names[unit.ID] = map[string]any{"replica": "tacker." + unit.ID}
		}
		params["helm_chart_path"], params["helm_value_names"] = s.Deploy[0], names
	} else {
		params["lcm-kubernetes-def-files"] = s.Deploy
	}
	body := map[string]any{"flavourId": csar.Flavour, "instantiationLevelId": csar.DefaultLevel, "additionalParams": params}
	if o.VimID != "" {
		body["vimConnectionInfo"] = map[string]any{"vim1": map[string]any{"vimId": o.VimID, "vimType": kind}}
	}
	return body
}
