package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/catalog"
)

// modify changes what an instance is called, and the token of its connection. Nothing happens
// to its machines.
type modify struct{}

func (modify) start(context.Context, *job) error { return nil }

// process tries another token before the instance gets it. The operation begins here, not with
// start, as SOL003 has it.
func (modify) process(ctx context.Context, j *job) (string, error) {
	if j.op.Spec.Secret == "" {
		return "", nil
	}
	return "", j.admitted(ctx)
}

func (modify) undo(context.Context, *job) (string, error) { return "", nil }

func (modify) finish(ctx context.Context, j *job, completed bool) error {
	if !completed {
		return nil
	}
	var body struct {
		Name        *string `json:"vnfInstanceName"`
		Description *string `json:"vnfInstanceDescription"`
	}
	if err := json.Unmarshal(j.op.Spec.Params.Raw, &body); err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	s := &j.instance.Status
	if body.Name != nil {
		s.Name = *body.Name
	}
	if body.Description != nil {
		s.Description = *body.Description
	}
	if j.op.Spec.Secret != "" {
		s.VIMSecret = j.op.Spec.Secret
	}
	for name, into := range map[string]**runtime.RawExtension{"metadata": &s.Metadata, "extensions": &s.Extensions, "vnfConfigurableProperties": &s.Properties} {
		if err := merge(into, member(j.op.Spec.Params, name)); err != nil {
			return fmt.Errorf("changing %s: %w", name, err)
		}
	}
	if j.params.VNFDID == "" || j.params.VNFDID == s.VNFDID {
		return nil
	}
	content, err := catalog.Load(ctx, j.o.Client, j.params.VNFDID, j.op.Spec.ProjectID, true)
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, "%v", err)
	}
	catalog.Identify(&s.Identity, content)
	return nil
}

// merge is a JSON merge patch (RFC 7396).
func merge(into **runtime.RawExtension, patch *runtime.RawExtension) error {
	if patch == nil {
		return nil
	}
	var old, change any
	if *into != nil {
		if err := json.Unmarshal((*into).Raw, &old); err != nil {
			return err
		}
	}
	if err := json.Unmarshal(patch.Raw, &change); err != nil {
		return err
	}
	text, err := json.Marshal(merged(old, change))
	*into = &runtime.RawExtension{Raw: text}
	return err
}

func merged(old, change any) any {
	members, ok := change.(map[string]any)
	if !ok {
		return change
	}
	result, ok := old.(map[string]any)
	if !ok {
		result = map[string]any{}
	}
	for name, value := range members {
		if value == nil {
			delete(result, name)
		} else {
			result[name] = merged(result[name], value)
		}
	}
	return result
}
