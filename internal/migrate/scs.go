package migrate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/fault"
)

// SCS converts settings of SCS' k8s-cluster-api-provider: environment-*.tfvars and
// clusterctl.yaml, later files win. What is the management server's becomes the
// environment; what is the test cluster's becomes values for `slipway cluster create`.
func SCS(files []string, name string) (*Result, error) { return scs(files, name, "") }

// SCSCluster converts the settings of one of several clusters of a server, clusterctl.yaml. Notes
// name the file of the cluster's name, to which the caller writes the values: the one of the files
// that is no environment file.
func SCSCluster(file, cluster string) (*Result, error) { return scs([]string{file}, "", cluster) }

func scs(files []string, name, cluster string) (*Result, error) {
	settings := map[string]setting{}
	var wrong []error
	for _, file := range files {
		wrong = append(wrong, readSCS(file, settings))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	if s, ok := settings["prefix"]; ok && name == "" {
		name = label(fmt.Sprint(s.value))
	}
	if name == "" {
		name = "capi"
	}
	d := newDraft(name)
	values := "testcluster.yaml"
	if s, ok := settings["testcluster_name"]; ok {
		named := cmp.Or(label(fmt.Sprint(s.value)), "testcluster")
		cluster, values = cmp.Or(cluster, named), named+".yaml"
		d.note(Converted, "testcluster_name", s, "", "create it with: slipway cluster create "+cluster+" -f "+cluster+".yaml")
		delete(settings, "testcluster_name")
	}
	cluster = cmp.Or(cluster, "testcluster")
	own, theirs := map[string]setting{}, map[string]setting{}
	clusters := scsClusterRules()
	for key, s := range settings {
		if _, ok := clusters[key]; ok {
			theirs[key] = s
		} else {
			own[key] = s
		}
	}
	// There is no kind server that the clusters run on: an environment without a
	// management cluster is what SCS has.
	d.apply(own, scsRules(), scsFamilies())
	d.workload(theirs, clusters, cluster, values)
	return d.result()
}

// workload carries the settings of the cluster over to chart values in a file, which notes name by
// the cluster.
func (d *draft) workload(settings map[string]setting, rules map[string]rule, cluster, file string) {
	inner := newDraft(d.name)
	inner.apply(settings, rules, nil)
	group := map[string]any{"name": "workers"}
	if workers, ok := inner.spec["workers"].(map[string]any); ok {
		maps.Copy(group, workers)
		delete(inner.spec, "workers")
		inner.spec["nodeGroups"] = []any{group}
	}
	for _, n := range inner.notes {
		if n.To != "" {
			n.To = cluster + ".yaml: " + strings.Replace(strings.TrimPrefix(n.To, "spec."), "workers.", "nodeGroups[0].", 1)
		}
		d.notes = append(d.notes, n)
	}
	if len(inner.spec) > 0 {
		text, err := yaml.Marshal(inner.spec)
		if err == nil {
			d.files[file] = string(text)
		}
	}
}

// readSCS reads one file by its ending.
func readSCS(file string, settings map[string]setting) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fault.Usage("--file "+file, err, "name environment-*.tfvars or clusterctl.yaml")
	}
	values := map[string]any{}
	switch filepath.Ext(file) {
	case ".tfvars":
		if values, err = readTfvars(file, text); err != nil {
			return fault.Usage("--file "+file, err, "correct the file")
		}
	case ".yaml", ".yml":
		if err := yaml.Unmarshal(text, &values); err != nil {
			return fault.Usage("--file "+file, err, "correct the file")
		}
	default:
		return fault.Usage("--file "+file, errors.New("its name ends neither in .tfvars nor in .yaml"), "name environment-*.tfvars or clusterctl.yaml")
	}
	for name, value := range values {
		if today, old := scsNames()[name]; old {
			name = today
		}
		settings[name] = setting{value, file}
	}
	return nil
}

// readTfvars reads variables of OpenTofu. They are values, without expressions.
func readTfvars(file string, text []byte) (map[string]any, error) {
	parsed, problems := hclparse.NewParser().ParseHCL(text, file)
	if problems.HasErrors() {
		return nil, problems
	}
	attributes, problems := parsed.Body.JustAttributes()
	if problems.HasErrors() {
		return nil, problems
	}
	values := map[string]any{}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		value, problems := attributes[name].Expr.Value(&hcl.EvalContext{})
		if problems.HasErrors() {
			wrong = append(wrong, problems)
			continue
		}
		plain, err := ctyjson.Marshal(value, cty.DynamicPseudoType)
		if err == nil {
			var wrapped struct{ Value any }
			if err = json.Unmarshal(plain, &wrapped); err == nil {
				values[name] = wrapped.Value
			}
		}
		wrong = append(wrong, err)
	}
	return values, errors.Join(wrong...)
}
