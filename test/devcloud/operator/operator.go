// Package operator is somebody who uses Slipway on a devcloud: tests run the program's
// commands in a folder of their own, and count in the databases what they leave.
package operator

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/test/devcloud/cloud"
)

// Operator has a folder with an environment.
type Operator struct {
	// T is the test that the operator works for; what fails ends it.
	T *testing.T
	// Cloud is the devcloud.
	Cloud *cloud.Cloud
	// Folder is the working directory of all commands.
	Folder  string
	program string
	rows    *cloud.Project // demo
}

// New is an operator on the devcloud of a folder, with a bundle and an empty folder.
func New(t *testing.T, devcloud, bundle string) *Operator {
	t.Helper()
	c, err := cloud.New(devcloud)
	if err != nil {
		t.Fatal(err)
	}
	program, err := Program()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.Project(t.Context(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	o := &Operator{T: t, Cloud: c, Folder: t.TempDir(), rows: rows}
	o.Use(program, bundle)
	return o
}

// Use is an operator who installs another Slipway, with its bundle, in the place of the one
// that was there.
func (o *Operator) Use(program, bundle string) {
	o.T.Helper()
	link := filepath.Join(o.Folder, "bundle")
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.T.Fatal(err)
	}
	if err := os.Symlink(bundle, link); err != nil {
		o.T.Fatal(err)
	}
	o.program = program
}

// Program is the Slipway of this checkout, by its absolute path.
func Program() (string, error) { return filepath.Abs("../../../bin/slipway") }

// InitSeed writes the environment file by `slipway init`, and takes the management
// cluster out of it: there the environment consists of the seed only.
func (o *Operator) InitSeed(name string) {
	o.T.Helper()
	o.Do("init", "--cloud", "devcloud", "--name", name)
	o.Edit(func(text string) string {
		before, rest, _ := strings.Cut(text, "  managementCluster:\n")
		_, after, found := strings.Cut(rest, "\n\n")
		if !found {
			o.T.Fatalf("slipway init wrote another file than the test knows:\n%s", text)
		}
		return before + after
	})
}

// Edit changes the environment file.
func (o *Operator) Edit(change func(string) string) {
	o.T.Helper()
	path := filepath.Join(o.Folder, "slipway.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		o.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(change(string(text))), 0o600); err != nil {
		o.T.Fatal(err)
	}
}

// Command is slipway with arguments, not started yet.
func (o *Operator) Command(args ...string) *exec.Cmd {
	return o.CommandContext(o.T.Context(), args...)
}

// CommandContext is Command that ends with the context.
func (o *Operator) CommandContext(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, o.program, args...)
	cmd.Dir = o.Folder
	cmd.Env = append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+o.Cloud.CloudsYAML())
	return cmd
}

// Do runs slipway and returns what it printed on its output.
func (o *Operator) Do(args ...string) string {
	o.T.Helper()
	cmd := o.Command(args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		o.T.Fatalf("slipway %s: %v\n%s\n%s", strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// Count is the number of a table's rows of the project.
func (o *Operator) Count(table string) string {
	o.T.Helper()
	rows, err := o.rows.Count(o.T.Context(), table)
	if err != nil {
		o.T.Fatal(err)
	}
	return rows
}

// Each are the numbers of rows of tables.
func (o *Operator) Each(tables []string) map[string]int {
	o.T.Helper()
	numbers := map[string]int{}
	for _, table := range tables {
		number, err := strconv.Atoi(o.Count(table))
		if err != nil {
			o.T.Fatal(err)
		}
		numbers[table] = number
	}
	return numbers
}

// Counts are the rows of all tables.
func (o *Operator) Counts() map[string]string {
	o.T.Helper()
	all, err := o.rows.Counts(o.T.Context())
	if err != nil {
		o.T.Fatal(err)
	}
	return all
}

// KillUp starts `slipway up` and kills the process when the seed's server is there.
func (o *Operator) KillUp(patience time.Duration) {
	o.T.Helper()
	cmd := o.Command("up", "--yes", "--progress", "plain")
	if err := cmd.Start(); err != nil {
		o.T.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it was killed
	defer cmd.Process.Kill()
	o.Eventually("the seed's server", patience, func() bool {
		return o.Count("nova.instances project_id = ? AND deleted = 0") == "1"
	})
}

// Eventually polls until the condition holds.
func (o *Operator) Eventually(what string, patience time.Duration, holds func() bool) {
	o.T.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		if holds() {
			return
		}
	}
	o.T.Fatalf("timed out waiting: %s", what)
}

// OpenStack runs Debian's client as the environment's user.
func (o *Operator) OpenStack(args ...string) string {
	o.T.Helper()
	cmd := o.Client(args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		o.T.Fatalf("openstack %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// Client is Debian's OpenStack client as the environment's user.
func (o *Operator) Client(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(o.T.Context(), "openstack", args...)
	cmd.Env = append(cmd.Environ(), "OS_CLIENT_CONFIG_FILE="+o.Cloud.CloudsYAML(), "OS_CLOUD=devcloud", "PYTHONWARNINGS=ignore")
	return cmd
}

// Transcript is the output of a process that continues.
type Transcript struct {
	lock sync.Mutex
	text bytes.Buffer
}

// Write adds output.
func (s *Transcript) Write(text []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.text.Write(text)
}

// String is the output until now.
func (s *Transcript) String() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.text.String()
}
