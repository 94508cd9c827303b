package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// source is the commit that a release is made of. Its time is that of every
// file (https://reproducible-builds.org/docs/source-date-epoch/).
type source struct {
	commit string
	time   time.Time
}

func readSource(ctx context.Context, root string, dirty bool) (source, error) {
	changes, err := output(ctx, root, "git", "status", "--porcelain")
	if err != nil {
		return source{}, fmt.Errorf("reading the repository: %w", err)
	}
	if changes != "" && !dirty {
		return source{}, fmt.Errorf("there are changes that are not committed:\n%s\ncommit them, or accept them with DIRTY=1", changes)
	}
	head, err := output(ctx, root, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return source{}, fmt.Errorf("reading the commit: %w", err)
	}
	commit, epoch, _ := strings.Cut(head, " ")
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("reading the commit's time: %w", err)
	}
	return source{commit, time.Unix(seconds, 0).UTC()}, nil
}

// output runs a command and returns what it prints, without the last line's end.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	text, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimRight(string(text), "\n"), err
}

// clone copies the commit of a repository into another folder.
func clone(ctx context.Context, from, to string) error {
	cmd := exec.CommandContext(ctx, "git", "clone", "--quiet", "--no-hardlinks", from, to)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cloning %s: %w", from, err)
	}
	return nil
}
