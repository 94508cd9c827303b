package cloud

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed image
var imageFiles embed.FS

// digest tells one content of folders from another.
func digest(more string, from ...fs.FS) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, more)
	for _, f := range from {
		err := fs.WalkDir(f, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(f, path)
			fmt.Fprintf(hash, "%s %d\n%s", path, len(text), text)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}

// current tells whether the folder has been made, from what the digest tells.
func (c *Cloud) current(name, digest string) bool {
	text, err := os.ReadFile(c.path(name + ".made"))
	return err == nil && string(text) == digest
}

// remake makes a folder from nothing and notes the digest of what it was made of.
func (c *Cloud) remake(name, digest string, fill func(folder string) error) error {
	if c.current(name, digest) {
		return nil
	}
	folder, note := c.path(name), c.path(name+".made")
	if err := errors.Join(removeFile(note), os.RemoveAll(folder), os.MkdirAll(folder, 0o755)); err != nil {
		return fmt.Errorf("emptying %s: %w", folder, err)
	}
	if err := fill(folder); err != nil {
		return err
	}
	return os.WriteFile(note, []byte(digest), 0o644)
}

func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// makeImage installs Debian and the packages unless that has been done.
func (c *Cloud) makeImage(ctx context.Context) error {
	sum, err := digest(c.lists(), imageFiles)
	if err != nil {
		return err
	}
	return c.remake("image", sum, func(folder string) error {
		c.Tell("installing Debian's packages (once, a few minutes; log in %s)", c.path("logs", "image.log"))
		if err := c.install(ctx, folder); err != nil {
			return err
		}
		return compareVersions(folder, c.kinds("versions", "", "horizon-versions", "tacker-versions", "clusters-versions"))
	})
}

// lists are the files that name the packages.
func (c *Cloud) lists() string {
	return strings.Join(c.kinds("packages", "machines", "horizon", "tacker", "clusters"), " ")
}

// unpacked are the files that name packages of which only the files are wanted.
func (c *Cloud) unpacked() string {
	return strings.Join(c.kinds("unpacked", "", "horizon-unpacked", "", ""), " ")
}

// kinds are the files of the image for what every cloud has, and for what this one has besides.
func (c *Cloud) kinds(every, machines, horizon, tacker, clusters string) []string {
	files := []string{every + ".txt"}
	if c.Machines && machines != "" {
		files = append(files, machines+".txt")
	}
	if c.Horizon {
		files = append(files, horizon+".txt")
	}
	if c.Tacker != "" && tacker != "" {
		files = append(files, tacker+".txt")
	}
	if c.Clusters && clusters != "" {
		files = append(files, clusters+".txt")
	}
	return files
}

func (c *Cloud) install(ctx context.Context, folder string) error {
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		return errors.New("mmdebstrap is not installed: run make deps")
	}
	scripts, err := os.MkdirTemp("", "devcloud-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scripts)
	if err := os.CopyFS(scripts, imageFiles); err != nil {
		return fmt.Errorf("unpacking the image's scripts: %w", err)
	}
	args := []string{filepath.Join(scripts, "image", "build.sh"), folder, c.lists(), c.unpacked()}
	if c.Mirror != "" {
		args = append(args, c.Mirror)
	}
	return c.logged(exec.CommandContext(ctx, "sh", args...), "image")
}

// logged runs a command whose output goes to a file of the logs.
func (c *Cloud) logged(cmd *exec.Cmd, name string) error {
	if err := os.MkdirAll(c.path("logs"), 0o755); err != nil {
		return fmt.Errorf("making the folder of logs: %w", err)
	}
	path := c.path("logs", name+".log")
	log, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("logging: %w", err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w; the end of %s:\n%s", name, err, path, tail(path))
	}
	return nil
}

// tail is the end of a log.
func tail(path string) []byte {
	text, _ := os.ReadFile(path)
	return text[max(0, len(text)-2000):]
}

// compareVersions refuses packages of other upstream versions than the files
// name; Debian's own revisions, the security updates, may differ.
func compareVersions(folder string, files []string) error {
	var wanted strings.Builder
	for _, f := range files {
		text, err := imageFiles.ReadFile("image/" + f)
		if err != nil {
			return err
		}
		wanted.Write(text)
	}
	var wrong []string
	for line := range strings.Lines(wanted.String()) {
		name, version, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || name == "#" {
			continue
		}
		out, err := exec.Command("dpkg-query", "--admindir="+filepath.Join(folder, "var/lib/dpkg"), "-W", "-f", "${Version}", name).Output()
		if err != nil {
			return fmt.Errorf("asking for the version of %s: %w", name, err)
		}
		if got := upstream(string(out)); got != version {
			wrong = append(wrong, fmt.Sprintf("%s is %s, not %s", name, got, version))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("packages of other versions than image/%s, which may be changed when the tests pass with them: %s",
			strings.Join(files, " and "), strings.Join(wrong, ", "))
	}
	return nil
}

// upstream is a version of Debian without epoch and revision.
func upstream(version string) string {
	if _, after, found := strings.Cut(version, ":"); found {
		version = after
	}
	if last := strings.LastIndex(version, "-"); last > 0 {
		version = version[:last]
	}
	return version
}
