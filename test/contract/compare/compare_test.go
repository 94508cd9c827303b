package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func events(t *testing.T, lines ...string) results {
	t.Helper()
	var text strings.Builder
	for _, line := range lines {
		action, name, _ := strings.Cut(line, " ")
		text.WriteString(`{"Action":"run","Test":"` + name + `"}` + "\n")
		text.WriteString(`{"Action":"output","Test":"` + name + `","Output":"    x_test.go:7: said\n"}` + "\n")
		if action != "never" {
			text.WriteString(`{"Action":"` + action + `","Test":"` + name + `"}` + "\n")
		}
	}
	r, err := readResults(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestJudge(t *testing.T) {
	t.Parallel()
	good := events(t, "pass TestA", "pass TestA/x", "pass TestB")
	for name, test := range map[string]struct {
		sandbox, cloud results
		explained      map[string]string
		want           []string
	}{
		"same":                    {good, good, nil, nil},
		"unexplained":             {good, events(t, "pass TestA", "fail TestB"), nil, []string{"TestB fails on the cloud only, without a reason: 7: said"}},
		"explained":               {good, events(t, "pass TestA", "fail TestB"), map[string]string{"TestB": "why"}, nil},
		"never ended":             {good, events(t, "pass TestA", "never TestB"), nil, []string{"TestB fails on the cloud only"}},
		"explained for nothing":   {good, good, map[string]string{"TestB": "why"}, []string{"TestB is explained and does not fail"}},
		"subtest":                 {good, events(t, "fail TestA", "fail TestA/x", "pass TestB"), map[string]string{"TestA/x": "why"}, nil},
		"not run":                 {good, events(t, "pass TestA"), nil, []string{"TestB did not run"}},
		"the sandbox is at fault": {events(t, "fail TestA"), events(t, "pass TestA"), nil, []string{"TestA fails on the sandbox"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := judge(test.sandbox, test.cloud, test.explained)
			if len(got) != len(test.want) {
				t.Fatalf("got %q, want %q", got, test.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], test.want[i]) {
					t.Errorf("got %q, want %q", got[i], test.want[i])
				}
			}
		})
	}
}

func TestTheTableIsWrittenIntoThePage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("before\n"+opening+"old\n"+closing+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	table := tabulate(map[string]string{"TestA": "identity", "TestB": "volume"}, events(t, "pass TestA", "pass TestB"),
		events(t, "pass TestA", "fail TestB"), map[string]string{"TestB": "no service for backups"})
	if err := writeTable(path, table, false); err == nil {
		t.Error("another table is taken for the same")
	}
	if err := writeTable(path, table, true); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n", "| Keystone | 1 | 1 | 0 |", "| Cinder | 1 | 0 | 1 |", "| all | 2 | 1 | 1 |", "| TestB | no service for backups |", closing + "after\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if err := writeTable(path, table, false); err != nil {
		t.Error(err)
	}
}

func TestEveryExplanationIsOfATest(t *testing.T) {
	t.Parallel()
	explained, err := readDifferences("../differences.yaml")
	if err != nil {
		t.Fatal(err)
	}
	areas, err := readAreas("..")
	if err != nil {
		t.Fatal(err)
	}
	for name := range explained {
		if top, _, _ := strings.Cut(name, "/"); areas[top] == "" {
			t.Errorf("%s is explained and is no test of the suite", name)
		}
	}
}
