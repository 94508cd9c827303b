package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/pkg/v3/resource/stack"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

// TestPulumiStillChecksWhatItReads: the library that checks projects, states and schemas of
// providers is not the one that Pulumi asks for.
func TestPulumiStillChecksWhatItReads(t *testing.T) {
	t.Parallel()
	project := func(text string) error { return workspace.ValidateProject(decoded(t, text)) }
	deployment := func(text string) error {
		return stack.ValidateUntypedDeployment(&apitype.UntypedDeployment{Version: 3, Deployment: json.RawMessage(text)})
	}
	provider := func(text string) error { return schema.MetaSchema.Validate(decoded(t, text)) }
	for name, c := range map[string]struct {
		check       func(string) error
		text, wrong string
	}{
		"project":                   {project, `{"name": "slipway", "runtime": "go"}`, ""},
		"runtime that is a number":  {project, `{"name": "slipway", "runtime": 5}`, "#/runtime: "},
		"type that does not exist":  {project, `{"name": "slipway", "runtime": "go", "config": {"a/b": {"type": "word"}}}`, "#/config/a~1b/type: "},
		"state":                     {deployment, `{"manifest": {"time": "2026-01-02T03:04:05Z", "magic": "", "version": ""}, "resources": [{"urn": "urn:pulumi:a::b::c::d", "custom": false, "type": "c"}]}`, ""},
		"switch that is a word":     {deployment, `{"manifest": {"time": "2026-01-02T03:04:05Z", "magic": "", "version": ""}, "resources": [{"urn": "urn:pulumi:a::b::c::d", "custom": "no", "type": "c"}]}`, "/deployment/resources/0/custom"},
		"schema":                    {provider, `{"name": "slipway", "resources": {"slipway:index:Network": {"properties": {"name": {"type": "string"}}}}}`, ""},
		"resource without a module": {provider, `{"name": "slipway", "resources": {"Network": {}}}`, "/Network"},
	} {
		err := c.check(c.text)
		if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		}
	}
}

func decoded(t *testing.T, text string) (value map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
