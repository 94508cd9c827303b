package source

import (
	"context"
	"fmt"
	"os/exec"
	"path"
	"strings"
)

// program is a Go program, compiled without path names and build times, so
// that the same inputs give the same bytes.
type program struct {
	// Module is the group of modules it is compiled in.
	Module string
	// Package is its import path, or "./name" for one of our own programs.
	Package string
	Tags    string
	// Variables are set by the linker, as "import/path.name=value". The word
	// @go@ stands for the version of the Go toolchain.
	Variables []string
	// Cgo compiles with C and links statically.
	Cgo bool
	// CFlags for cgo.
	CFlags string
	// Test compiles the tests of the package into the program.
	Test bool `json:",omitempty"`
}

const toolchainWord = "@go@"

func (program) needs() []string       { return nil }
func (p program) group() string       { return p.Module }
func (p program) fingerprint() string { return moduleFingerprint(p.Module) }

func (p program) make(ctx context.Context, j *job) (output, error) {
	dir, err := j.builder.workspace(ctx, p.Module)
	if err != nil {
		return output{}, err
	}
	out := j.path("out")
	if err := j.builder.compile(ctx, j, dir, p, out); err != nil {
		return output{}, err
	}
	return output{file: out, source: p.source()}, nil
}

// compile runs `go build`, reporting the packages that it has to compile.
func (b *builder) compile(ctx context.Context, j *job, dir string, p program, out string) error {
	cmd := b.goBuild(ctx, dir, p, out)
	count := 0
	return b.runCommand(cmd, func(line string) {
		if strings.ContainsAny(line, " :") {
			return // a message, not a package
		}
		count++
		b.progress.compiled(j.name, count)
		j.step.Run(fmt.Sprintf("%d packages compiled, now %s", count, line))
	})
}

func (b *builder) goBuild(ctx context.Context, dir string, p program, out string) *exec.Cmd {
	flags := "-s -w"
	for _, variable := range p.Variables {
		flags += " -X " + strings.ReplaceAll(variable, toolchainWord, b.toolchain)
	}
	tags := p.Tags
	cgo := "CGO_ENABLED=0"
	if p.Cgo {
		cgo = "CGO_ENABLED=1"
		flags += ` -extldflags "-static -Wl,--build-id=none"`
		tags += " netgo osusergo"
	}
	verb := []string{"build"}
	if p.Test {
		verb = []string{"test", "-c"}
	}
	// DWARF is not linked (-s -w); a compiler that does not make it needs an eighth less time.
	cmd := b.command(ctx, dir, "go", append(verb, "-v", "-trimpath", "-gcflags=all=-dwarf=false", "-buildvcs=false", "-mod=readonly",
		"-tags", tags, "-ldflags", flags, "-o", out, p.Package)...)
	cmd.Env = append(append([]string(nil), b.options.Env...), cgo)
	if p.CFlags != "" {
		cmd.Env = append(cmd.Env, "CGO_CFLAGS="+p.CFlags)
	}
	return cmd
}

// source is where the program comes from, for the bill of materials.
func (p program) source() string {
	if name, own := strings.CutPrefix(p.Package, "./"); own {
		return "slipway programs/" + path.Join(p.Module, name)
	}
	module := p.Package
	for module != "." && moduleVersion(p.Module, module) == "" {
		module = path.Dir(module)
	}
	source := fmt.Sprintf("module %s@%s", module, moduleVersion(p.Module, module))
	if rest := strings.TrimPrefix(p.Package, module); rest != "" {
		source += " " + strings.TrimPrefix(rest, "/")
	}
	return source
}
