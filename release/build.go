package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// build compiles the program for each platform, and for this machine, which runs
// it for its documents.
func (r *release) build(ctx context.Context) error {
	wanted := slices.Clone(r.targets)
	if !slices.Contains(wanted, host()) {
		wanted = append(wanted, host())
	}
	for _, p := range wanted {
		path := filepath.Join(r.work, p.os+"_"+p.arch, r.program)
		if err := r.compile(ctx, p, path); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		r.binaries[p] = path
	}
	return nil
}

// compile leaves out all that depends on the folder and on the machine: paths,
// the build id, the state of the repository. Version and commit are linked in.
func (r *release) compile(ctx context.Context, p platform, path string) error {
	versions := "-X " + r.versions + ".releaseVersion=" + r.version + " -X " + r.versions + ".releaseCommit=" + r.source.commit
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-tags=disable_grpc_modules", "-buildvcs=false", "-mod=readonly",
		"-ldflags=-s -w -buildid= "+versions, "-o", path, "./cmd/"+r.program)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, &said)
	}
	return nil
}
