package environment

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/test/devcloud/cloud"
)

// project is an environment in a folder of its own, on the devcloud.
type project struct {
	t       *testing.T
	cloud   *cloud.Cloud
	program string
	folder  string
	rows    *cloud.Project // demo
}

// newProject writes the file by `slipway init`, and takes the management
// cluster out of it: nothing boots here.
func newProject(t *testing.T) *project {
	t.Helper()
	dir, bundle := os.Getenv("SLIPWAY_DEVCLOUD"), os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" || bundle == "" {
		t.Skip("SLIPWAY_DEVCLOUD names no devcloud, or SLIPWAY_BUNDLE no bundle: run make devcloud-test")
	}
	c, err := cloud.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs("../../../bin/slipway")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.Project(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, cloud: c, program: program, folder: t.TempDir(), rows: rows}
	if err := os.Symlink(bundle, filepath.Join(p.folder, "bundle")); err != nil {
		t.Fatal(err)
	}
	p.do("init", "--cloud", "devcloud", "--name", "real")
	p.edit(func(text string) string {
		before, rest, _ := strings.Cut(text, "  managementCluster:\n")
		_, after, found := strings.Cut(rest, "\n\n")
		if !found {
			t.Fatalf("slipway init wrote another file than the test knows:\n%s", text)
		}
		return before + after
	})
	return p
}

// edit changes the environment file.
func (p *project) edit(change func(string) string) {
	p.t.Helper()
	path := filepath.Join(p.folder, "slipway.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(change(string(text))), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.t.Context(), p.program, args...)
	cmd.Dir = p.folder
	cmd.Env = append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+p.cloud.CloudsYAML())
	return cmd
}

// do runs slipway and returns what it printed on its output.
func (p *project) do(args ...string) string {
	p.t.Helper()
	cmd := p.command(args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("slipway %s: %v\n%s\n%s", strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// count is the number of a table's rows of the project.
func (p *project) count(table string) string {
	p.t.Helper()
	rows, err := p.rows.Count(p.t.Context(), table)
	if err != nil {
		p.t.Fatal(err)
	}
	return rows
}

// each are the numbers of rows of tables.
func (p *project) each(tables []string) map[string]int {
	p.t.Helper()
	numbers := map[string]int{}
	for _, table := range tables {
		number, err := strconv.Atoi(p.count(table))
		if err != nil {
			p.t.Fatal(err)
		}
		numbers[table] = number
	}
	return numbers
}

// counts are the rows of all tables.
func (p *project) counts() map[string]string {
	p.t.Helper()
	all, err := p.rows.Counts(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// eventually polls until the condition holds.
func (p *project) eventually(what string, patience time.Duration, holds func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		if holds() {
			return
		}
	}
	p.t.Fatalf("timed out waiting: %s", what)
}
