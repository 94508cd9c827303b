// Command vet is go vet without what it learns from modules of others. Before go vet checks a package
// it parses and checks all that the package needs, to know which functions there format like Printf
// or never return: from nothing, minutes for 2,400 packages. This leaves those out, and runs
// go's own vet for the packages of this repository and for the standard library.
//
// What it cannot see is a wrong format in a call of such a function of another module. `make
// platforms` runs go vet with everything.
//
// The go command calls it: go vet -vettool=bin/vet ./...
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// original is the path of go's own vet. The Makefile sets it: go does not tell tools where it is.
var original string

func main() {
	err := run(original, os.Args[1:], os.Stdout, os.Stderr)
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		os.Exit(failed.ExitCode()) // it has said what it found
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "vet:", err)
		os.Exit(1)
	}
}

// run does what the go command asks of a vet: its version, its flags, or the check of a package,
// whose description is the last argument.
func run(original string, args []string, stdout, stderr io.Writer) error {
	if len(args) == 1 && args[0] == "-V=full" {
		// The go command keeps results under this text: it must not be that of go's own.
		_, err := fmt.Fprintf(stdout, "vet version %s without others\n", runtime.Version())
		return err
	}
	if n := len(args); n > 0 && strings.HasSuffix(args[n-1], ".cfg") {
		left, err := leftOut(args[n-1])
		if left || err != nil {
			return err
		}
	}
	vet := exec.Command(original, args...)
	vet.Stdout, vet.Stderr = stdout, stderr
	return vet.Run()
}

// leftOut writes that nothing is known about a package, if it is of another module and go wants only
// to learn about it. Who names such a package has it checked.
func leftOut(file string) (bool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	var p struct {
		VetxOnly               bool
		VetxOutput, ModulePath string
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return false, fmt.Errorf("%s: %w", file, err)
	}
	if !p.VetxOnly || p.ModulePath == "" || strings.HasPrefix(p.ModulePath, "github.com/slipway-sh/") {
		return false, nil
	}
	return true, os.WriteFile(p.VetxOutput, nil, 0o666)
}
