package source

import (
	"context"
	"path/filepath"
)

// cProgram is a C program that lies in a Go module, linked statically.
type cProgram struct {
	moduleFile
	Flags []string
}

func (c cProgram) make(ctx context.Context, j *job) (output, error) {
	dir, err := c.dir(ctx, j)
	if err != nil {
		return output{}, err
	}
	args := append([]string{"-Os", "-Wall", "-Werror", "-static", "-s", "-o", j.path("out")}, c.Flags...)
	cmd := j.builder.command(ctx, j.dir, "gcc", append(args, filepath.Join(dir, c.Path))...)
	if err := j.builder.runCommand(cmd, nil); err != nil {
		return output{}, err
	}
	return output{file: j.path("out"), source: c.source()}, nil
}
