package config

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// published compiles the schema with the rules of the draft that it names.
func published(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(SchemaID, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(SchemaID)
	if err != nil {
		t.Fatalf("the schema is not valid: %v", err)
	}
	return schema
}

func TestSchemaAndLoaderAgree(t *testing.T) {
	t.Parallel()
	schema := published(t)
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text  string
		valid bool
	}{
		"least":             {head, true},
		"everything":        {string(full), true},
		"no name":           {"apiVersion: slipway.sh/v1alpha1\nkind: Environment\n", false},
		"unknown key":       {head + "spec: {clowd: x}\n", false},
		"number as text":    {head + "spec: {cloud: 1.30}\n", false},
		"wrong word":        {head + "spec: {volumesPolicy: retain}\n", false},
		"wrong provider":    {head + "spec: {clusterAPI: {providers: {capo: {}}}}\n", false},
		"MTU of zero":       {head + "spec: {seed: {network: {mtu: 0}}}\n", true},
		"MTU too small":     {head + "spec: {seed: {network: {mtu: 900}}}\n", false},
		"no ranges":         {head + "spec: {seed: {access: {sshCIDRs: []}}}\n", true},
		"rule for nobody":   {head + "spec: {seed: {access: {rules: [{port: 1, cidrs: []}]}}}\n", false},
		"state of a server": {head + "spec: {state: {backend: \"https://gitlab.example/api/v4/projects/1/terraform/state/prod\"}}\n", true},
		"provider ..":       {head + "spec: {managementCluster: {}, console: {webSSO: [{name: a, protocol: openid, identityProvider: ..}]}}\n", false},
		"long name":         {strings.Replace(head, "prod", strings.Repeat("x", MaxNameLength+1), 1), false},
	} {
		var value any
		if err := yaml.Unmarshal([]byte(test.text), &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != test.valid {
			t.Errorf("%s: the schema says %v", name, err)
		}
		if _, err := Parse(Source{"testdata/a.yaml", []byte(test.text)}); (err == nil) != test.valid {
			t.Errorf("%s: the loader says %v", name, err)
		}
	}
}

// Full names every key, so that a key that is not shown, read back or
// described would be missed.
func TestFullExampleNamesEveryKey(t *testing.T) {
	t.Parallel()
	l, err := Load("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	values, err := l.Values()
	if err != nil {
		t.Fatal(err)
	}
	var given []string
	for _, v := range values {
		given = append(given, normal(v.Path))
		if v.Origin == "default" {
			t.Errorf("%s is a default", v.Path)
		}
	}
	for _, path := range leaves() {
		if !slices.ContainsFunc(given, func(g string) bool { return g == path || strings.HasPrefix(g, path+"[") }) && !excluded(path) {
			t.Errorf("%s is not in the example, or not shown", path)
		}
	}
}

// excluded are keys that exclude another of the example.
func excluded(path string) bool {
	return slices.Contains([]string{"spec.seed.network.existing", "spec.seed.network.subnet", "spec.seed.provisioningNetwork", "spec.seed.floatingIP.pool", "spec.state.passphraseEnv", "spec.backup.schedule.cron", "spec.backup.drill.every"}, path)
}

// leaves are the paths that have nothing below them.
func leaves() []string {
	all := paths(typeOfEnvironment, nil)
	var ends []string
	for i, path := range all {
		if i+1 == len(all) || !strings.HasPrefix(all[i+1], path+".") && !strings.HasPrefix(all[i+1], path+"[].") {
			ends = append(ends, path)
		}
	}
	return ends
}

func TestShownEnvironmentLoadsTheSame(t *testing.T) {
	t.Parallel()
	l, err := Load("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := l.YAML(true)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("flavor: m1.large # testdata/full.yaml:")) {
		t.Errorf("no origin on\n%s", text)
	}
	again, err := Parse(Source{"again.yaml", text})
	if err != nil {
		t.Fatalf("the shown environment does not load: %v", err)
	}
	second, err := again.YAML(false)
	if err != nil {
		t.Fatal(err)
	}
	first, err := l.YAML(false)
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("shown\n%s\nagain\n%s (%v)", first, second, err)
	}
}

// proves: F07
func TestValuesTellLayersAndDefaults(t *testing.T) {
	t.Parallel()
	l := mustParse(t, head+"spec:\n  cloud: one\n", "spec:\n  cloud: two\n")
	values, err := l.Values()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Value{
		"spec.cloud":         {"spec.cloud", "two", "b.yaml:2"},
		"metadata.name":      {"metadata.name", "prod", "a.yaml:3"},
		"spec.volumesPolicy": {"spec.volumesPolicy", "delete", "default"},
	} {
		if !slices.Contains(values, want) {
			t.Errorf("%s: no %v in %v", path, want, values)
		}
	}
}

func TestReferenceIsNotStale(t *testing.T) {
	t.Parallel()
	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	page, err := Reference()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"environment.schema.json": string(schema), "environment.md": page} {
		if got, err := os.ReadFile(filepath.Join("../../docs/reference", name)); err != nil || string(got) != want {
			t.Errorf("docs/reference/%s is not what the types say (%v): run make reference", name, err)
		}
	}
}

func TestEveryKeyIsDescribed(t *testing.T) {
	t.Parallel()
	page, err := Reference()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "|") && strings.HasSuffix(line, "|  |") {
			t.Errorf("no description in %s", line)
		}
	}
	for _, path := range leaves() {
		if key := path[strings.LastIndex(path, ".")+1:]; !strings.Contains(page, "| `"+strings.TrimSuffix(key, "[]")+"` |") {
			t.Errorf("%s is not on the page", path)
		}
	}
}
