package monitoring

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

type ruleFile struct {
	Groups []struct {
		Rules []struct {
			Alert       string            `json:"alert"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

func parsed(t *testing.T) ruleFile {
	t.Helper()
	file := ruleFile{}
	for _, text := range [][]byte{Rules(), PlatformRules()} {
		one := ruleFile{}
		if err := yaml.UnmarshalStrict(onlyWhatIsRead(t, text), &one); err != nil {
			t.Fatal(err)
		}
		file.Groups = append(file.Groups, one.Groups...)
	}
	return file
}

// onlyWhatIsRead leaves out what the tests of promtool look at.
func onlyWhatIsRead(t *testing.T, text []byte) []byte {
	t.Helper()
	tree := map[string]any{}
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	for _, group := range tree["groups"].([]any) {
		delete(group.(map[string]any), "name")
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			delete(rule.(map[string]any), "expr")
			delete(rule.(map[string]any), "for")
		}
	}
	out, err := yaml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEachAlertHasAPageAndACase: whoever is woken finds what to do, and the alert is known
// to fire and to end.
func TestEachAlertHasAPageAndACase(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operations/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	fires, severities := map[string]bool{}, map[string]string{}
	for _, c := range cases() {
		fires[c.alert] = fires[c.alert] || len(c.fires) > 0 && (len(c.quiet) > 1 || c.severity == "none")
		severities[c.alert] = c.severity
	}
	count := 0
	for _, group := range parsed(t).Groups {
		for _, rule := range group.Rules {
			count++
			link := "https://github.com/slipway-sh/slipway/blob/main/docs/operations/alerts.md#" + strings.ToLower(rule.Alert)
			if rule.Annotations["runbook_url"] != link || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%s: annotations %v", rule.Alert, rule.Annotations)
			}
			if !strings.Contains(string(page), "\n## "+rule.Alert+"\n") {
				t.Errorf("%s has no section in docs/operations/alerts.md", rule.Alert)
			}
			if !fires[rule.Alert] {
				t.Errorf("%s: no case makes it fire and end", rule.Alert)
			}
			if rule.Labels["severity"] != severities[rule.Alert] {
				t.Errorf("%s: severity %q, its case says %q", rule.Alert, rule.Labels["severity"], severities[rule.Alert])
			}
		}
	}
	if sections := strings.Count(string(page), "\n## "); sections != count {
		t.Errorf("%d sections for %d alerts", sections, count)
	}
}

// TestObjects are the rules as they are in the file, and a reader of the metrics in all
// namespaces.
func TestObjects(t *testing.T) {
	t.Parallel()
	objects, err := Objects("there")
	if err != nil || len(objects) != 2 {
		t.Fatalf("%v, %v", objects, err)
	}
	groups, _, _ := unstructured.NestedSlice(objects[0].Object, "spec", "groups")
	if objects[0].GetKind() != KindRule || len(groups) != strings.Count(string(Rules()), "  - name: ") {
		t.Errorf("%s with %d groups", objects[0].GetKind(), len(groups))
	}
	every, _, _ := unstructured.NestedBool(objects[1].Object, "spec", "namespaceSelector", "any")
	if objects[1].GetKind() != KindMonitor || !every || objects[1].GetNamespace() != "there" {
		t.Errorf("%v", objects[1])
	}
}

// TestAlertsFireAndEnd by Prometheus' own tool, which `make prometheus` gets from Debian.
//
// proves: F53
func TestAlertsFireAndEnd(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("SLIPWAY_PROMETHEUS")
	if folder == "" {
		t.Skip("set SLIPWAY_PROMETHEUS to the folder that make prometheus makes")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "rules.yaml"), Rules())
	write(t, filepath.Join(dir, "platform.yaml"), PlatformRules())
	// Days of each minute would take a minute.
	files := map[string][]oneCase{}
	for _, c := range cases() {
		interval := "1m"
		if slices.Max(slices.Concat(c.fires, c.quiet)) > 1000 {
			interval = "10m"
		}
		files[interval] = append(files[interval], c)
	}
	commands := [][]string{{"check", "rules", "rules.yaml", "platform.yaml"}}
	for interval, some := range files {
		text, err := yaml.Marshal(promtoolFile(some, interval))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, interval+".yaml"), text)
		commands = append(commands, []string{"test", "rules", interval + ".yaml"})
	}
	for _, args := range commands {
		cmd := exec.CommandContext(t.Context(), filepath.Join(folder, "promtool"), args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// promtoolFile asks for each case and minute how many alerts of the name and labels fire, of
// rules that are evaluated at the interval.
func promtoolFile(all []oneCase, interval string) map[string]any {
	tests := []any{}
	for _, c := range all {
		series, asked := []any{}, []any{}
		for name, values := range c.series {
			series = append(series, map[string]any{"series": name, "values": values})
		}
		ask := func(minute int, want []any) {
			selector := strings.TrimSuffix(fmt.Sprintf("alertname=%q, alertstate=\"firing\", severity=%q, %s", c.alert, c.severity, c.labels), ", ")
			asked = append(asked, map[string]any{"expr": "count(ALERTS{" + selector + "})", "eval_time": fmt.Sprintf("%dm", minute), "exp_samples": want})
		}
		for _, minute := range c.fires {
			ask(minute, []any{map[string]any{"labels": "{}", "value": 1}})
		}
		for _, minute := range c.quiet {
			ask(minute, []any{})
		}
		tests = append(tests, map[string]any{"name": c.alert, "interval": "1m", "input_series": series, "promql_expr_test": asked})
	}
	return map[string]any{"rule_files": []any{"rules.yaml", "platform.yaml"}, "evaluation_interval": interval, "tests": tests}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
