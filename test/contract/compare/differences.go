package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// difference is a test that passes on the sandbox and fails on the real cloud.
type difference struct {
	Test   string `json:"test"`
	Reason string `json:"reason"`
}

func readDifferences(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []difference
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	reasons := map[string]string{}
	for _, d := range list {
		if d.Test == "" || d.Reason == "" || reasons[d.Test] != "" {
			return nil, fmt.Errorf("%s: test %q has no reason, or two", path, d.Test)
		}
		reasons[d.Test] = d.Reason
	}
	return reasons, nil
}

// judge tells which tests are not as the explanations say.
func judge(sandbox, cloud results, explained map[string]string) []string {
	var wrong []string
	for _, name := range sandbox.leaves() {
		wrong = append(wrong, name+" fails on the sandbox: "+sandbox[name].said())
	}
	differ := map[string]bool{}
	for _, name := range cloud.leaves() {
		differ[name] = true
		if explained[name] == "" {
			wrong = append(wrong, name+" fails on the cloud only, without a reason: "+cloud[name].said())
		}
	}
	for name := range explained {
		if !differ[name] {
			wrong = append(wrong, name+" is explained and does not fail on the cloud")
		}
	}
	for name := range sandbox {
		if _, ran := cloud[name]; !ran && !strings.Contains(name, "/") {
			wrong = append(wrong, name+" did not run on the cloud")
		}
	}
	slices.Sort(wrong)
	return wrong
}

// names are how the page calls the areas, in its order.
var names = [...]struct{ area, service string }{
	{"identity", "Keystone"}, {"compute", "Nova"}, {"network", "Neutron"}, {"image", "Glance"}, {"volume", "Cinder"}, {"object", "Swift"},
}

// tabulate writes what the two runs have in common and where they differ.
func tabulate(areas map[string]string, sandbox, cloud results, explained map[string]string) string {
	var text strings.Builder
	text.WriteString("| service | tests | same on both | differ |\n|---|--:|--:|--:|\n")
	total := [3]int{}
	for _, n := range names {
		count := [3]int{}
		for name, area := range areas {
			if _, ran := sandbox[name]; area != n.area || !ran {
				continue
			}
			count[0]++
			if sandbox[name].action == cloud[name].action {
				count[1]++
			} else {
				count[2]++
			}
		}
		fmt.Fprintf(&text, "| %s | %d | %d | %d |\n", n.service, count[0], count[1], count[2])
		for i, v := range count {
			total[i] += v
		}
	}
	fmt.Fprintf(&text, "| all | %d | %d | %d |\n\n| test | why the real cloud differs |\n|---|---|\n", total[0], total[1], total[2])
	differ := cloud.leaves()
	slices.Sort(differ)
	for _, name := range differ {
		reason := explained[name]
		if reason == "" {
			reason = "**not explained**"
		}
		fmt.Fprintf(&text, "| %s | %s |\n", name, reason)
	}
	return text.String()
}

// The table stands in the page between these lines.
const (
	opening = "<!-- the two clouds: written by test/contract/compare -->\n"
	closing = "<!-- end of the two clouds -->\n"
)

// writeTable compares the page's table with this one, or replaces it.
func writeTable(path, table string, update bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(text, []byte(opening))
	_, after, ends := bytes.Cut(rest, []byte(closing))
	if !found || !ends {
		return fmt.Errorf("%s has no place for the table: the lines %q and %q", path, opening, closing)
	}
	page := slices.Concat(before, []byte(opening), []byte(table), []byte(closing), after)
	switch {
	case bytes.Equal(page, text):
		return nil
	case !update:
		return fmt.Errorf("the table in %s is of other runs: write it by -update", path)
	}
	return os.WriteFile(path, page, 0o644)
}
