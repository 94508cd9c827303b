package source

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// modules holds a go.mod and a go.sum for each group of programs that are
// compiled together, under names that do not make them modules of this
// repository. Those of sharing select the same versions; the others pin
// upstream's own selection.
//
//go:embed modules
var modules embed.FS

// programs holds our own sources that are compiled within a group: what
// upstream does not publish as a module, or what needs to go beside it. The
// folder's name keeps it out of this repository's own module.
//
//go:embed _programs
var programs embed.FS

// moduleFingerprint covers everything that a group is compiled from besides
// the command line.
func moduleFingerprint(group string) string {
	hash := sha256.New()
	for _, suffix := range []string{".mod", ".sum"} {
		text, _ := modules.ReadFile("modules/" + group + suffix)
		hash.Write(text)
	}
	_ = fs.WalkDir(programs, "_programs/"+group, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil // a group without programs
		}
		text, _ := programs.ReadFile(name)
		fmt.Fprintf(hash, "%s %d\n", name, len(text))
		hash.Write(text)
		return nil
	})
	_ = json.NewEncoder(hash).Encode(patches()[group])
	return fmt.Sprintf("%x", hash.Sum(nil))
}

// sharing lists the groups that select the versions of this repository's own go.mod, and
// among each other the same: what they have in common is compiled once. Go counts a package
// as compiled only when its module is selected in the same version, also if a replacement
// gives both the same source, and when all that it imports is compiled so.
func sharing() []string {
	return []string{"tools", "cluster", "containerd", "coredns", "cri-tools", "etcd", "runc", "cni"}
}

// turn names what a group waits for: groups that share are compiled one after the other, with
// all processors. Side by side each would compile what they have in common.
func turn(group string) string {
	if slices.Contains(sharing(), group) {
		return "sharing"
	}
	return group
}

// workspace writes the group's module into a folder and returns it. It is
// called in the group's turn.
func (b *builder) workspace(ctx context.Context, group string) (string, error) {
	dir := b.work("modules", group)
	// Patched modules are named by their whole path: a folder that was copied is
	// made anew, or it would compile what is in the other one.
	stamp, complete := filepath.Join(dir, ".complete"), moduleFingerprint(group)+" "+dir
	if text, err := os.ReadFile(stamp); err == nil && string(text) == complete {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := b.writeWorkspace(ctx, dir, group); err != nil {
		return "", fmt.Errorf("preparing module %s: %w", group, err)
	}
	return dir, os.WriteFile(stamp, []byte(complete), 0o644)
}

// writeModule writes what names a group's modules.
func writeModule(dir, group string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for suffix, name := range map[string]string{".mod": "go.mod", ".sum": "go.sum"} {
		text, err := modules.ReadFile("modules/" + group + suffix)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) writeWorkspace(ctx context.Context, dir, group string) error {
	if err := writeModule(dir, group); err != nil {
		return err
	}
	own, err := fs.Sub(programs, "_programs/"+group)
	if err != nil {
		return err
	}
	if _, err := fs.Stat(own, "."); err == nil {
		if err := os.CopyFS(dir, own); err != nil {
			return err
		}
	}
	for _, p := range patches()[group] {
		if err := b.applyPatch(ctx, dir, p); err != nil {
			return err
		}
	}
	return nil
}

// moduleDir downloads a module of a workspace, checked against its go.sum, and
// returns its folder.
func (b *builder) moduleDir(ctx context.Context, workspace, module string) (string, error) {
	if _, err := b.capture(ctx, workspace, "go", "mod", "download", module); err != nil {
		return "", err
	}
	out, err := b.capture(ctx, workspace, "go", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(out), nil
}

// moduleVersion is the version that a group selects of a module, or of the fork
// that replaces one, from its go.mod; "" when it has none.
func moduleVersion(group, module string) string {
	text, _ := modules.ReadFile("modules/" + group + ".mod")
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 4 && fields[1] == "=>" && fields[2] == module {
			return fields[3]
		}
		if len(fields) >= 2 && fields[0] == module && strings.HasPrefix(fields[1], "v") {
			return fields[1]
		}
	}
	return ""
}
