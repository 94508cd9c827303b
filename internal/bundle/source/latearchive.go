package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/bundle"
)

// imageFolder is where machines have the archives of images that they import.
const imageFolder = "usr/share/slipway/images"

// lateArchive is a machine with one more archive of images: what changes often
// is put into a copy of a disk that is there already. That takes a few
// seconds; making the whole anew takes half a minute.
type lateArchive struct {
	plain
	// System is the recipe of the machine without it.
	System  string
	Archive string
	Images  []string
}

func (l lateArchive) needs() []string { return append([]string{l.System}, l.Images...) }

func (l lateArchive) make(ctx context.Context, j *job) (output, error) {
	system := j.inputs[l.System]
	j.step.Run("copying the disk")
	const image, archive = "machine.raw", "archive.tar"
	cmd := j.builder.command(ctx, "", "cp", "--sparse=always", "--reflink=auto", system.file, j.path(image))
	if err := j.builder.runCommand(cmd, nil); err != nil {
		return output{}, err
	}
	j.step.Run("adding " + l.Archive)
	items := make([]bundle.Item, len(l.Images))
	for i, name := range l.Images {
		items[i] = j.inputs[name].item
	}
	if err := writeImageArchive(ctx, j, j.path(archive), items); err != nil {
		return output{}, fmt.Errorf("archive %s: %w", l.Archive, err)
	}
	if err := insert(ctx, j, image, archive, path.Join(imageFolder, l.Archive+".tar")); err != nil {
		return output{}, fmt.Errorf("adding archive %s: %w", l.Archive, err)
	}
	contains := append(slices.Sorted(maps.Keys(system.contains)), l.Images...)
	return output{file: j.path(image), source: "debian " + j.builder.options.DebianSuite, packages: system.packages, properties: system.properties, contains: contains}, nil
}

// insert writes a file into a folder of a disk's root, and reads it back:
// debugfs succeeds whatever its commands do. All three lie in the job's folder
// and go by their names there, because debugfs splits its words at spaces.
func insert(ctx context.Context, j *job, image, file, target string) error {
	const commandFile, readBack = "commands", "read-back"
	if err := os.Chmod(j.path(file), 0o644); err != nil {
		return err
	}
	commands := fmt.Sprintf("cd /%s\nwrite %s %s\ndump /%s %s\n", path.Dir(target), file, path.Base(target), target, readBack)
	if err := os.WriteFile(j.path(commandFile), []byte(commands), 0o600); err != nil {
		return err
	}
	cmd := j.builder.command(ctx, j.dir, "debugfs", "-w", "-f", commandFile, inDisk(image))
	cmd.Env = j.builder.timeless()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("debugfs: %w: %s", err, said.String())
	}
	want, err := copyHashed(io.Discard, j.path(file))
	if err != nil {
		return err
	}
	got, err := copyHashed(io.Discard, j.path(readBack))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if got != want {
		return fmt.Errorf("debugfs wrote something else: %s", strings.TrimSpace(said.String()))
	}
	return os.Remove(j.path(readBack))
}
