package source

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// patch changes a module before it is compiled, for what a module cannot
// express: upstream fills embedded folders by scripts, or depends on what no
// proxy serves.
type patch struct {
	Module string
	// Remove lists files, as path.Match patterns within the module.
	Remove []string
	// Write maps a file within the module to its text.
	Write map[string]string
	// Copy maps a file within the module to another file of it.
	Copy map[string]string
	// Replace changes text within files.
	Replace []replacement
}

// replacement is one change of a file; Old must be there, so that an upstream
// that changed is noticed.
type replacement struct{ File, Old, New string }

// patches lists the changed modules of each group.
func patches() map[string][]patch {
	return map[string][]patch{
		"cluster": {{
			// The Tencent Cloud SDK is not served; the backend is of no use on OpenStack.
			// The udp backend, for kernels without VXLAN, is in C on amd64. With cgo Go's own
			// packages are others, and what imports them would be compiled for flannel alone.
			Module: "github.com/flannel-io/flannel",
			Remove: []string{"pkg/backend/tencentvpc/*.go", "pkg/backend/udp/*_amd64.*"},
			Write:  map[string]string{"pkg/backend/tencentvpc/tencentvpc.go": "package tencentvpc\n"},
			Replace: []replacement{
				{"pkg/backend/udp/udp.go", "//go:build !amd64 && !windows\n// +build !amd64,!windows\n", "//go:build !windows\n"},
			},
		}, capoPatch()},
		"cert-manager": {{
			// The Venafi SDK is not served; our controller reports such issuers as
			// not ready, with that reason.
			Module: "github.com/cert-manager/cert-manager",
			Remove: []string{"pkg/controller/certificaterequests/venafi/*.go", "pkg/controller/certificatesigningrequests/venafi/*.go"},
			Write: map[string]string{
				"pkg/controller/certificaterequests/venafi/names.go":        "package venafi\n\nconst CRControllerName = \"certificaterequests-issuer-venafi\"\n",
				"pkg/controller/certificatesigningrequests/venafi/names.go": "package venafi\n\nconst CSRControllerName = \"certificatesigningrequests-issuer-venafi\"\n",
			},
		}},
		"coredns":    {corednsPatch()},
		"tools":      {k9sPatch()},
		"monitoring": {prometheusPatch()},
		"ingress":    traefikPatches(),
		"cilium":     ciliumPatches(),
		"k3s": {{
			// k3s writes these manifests at start; its own build script copies them here.
			Module: "github.com/k3s-io/k3s",
			Copy: map[string]string{
				"pkg/deploy/embed/ccm.yaml":          "manifests/ccm.yaml",
				"pkg/deploy/embed/coredns.yaml":      "manifests/coredns.yaml",
				"pkg/deploy/embed/rolebindings.yaml": "manifests/rolebindings.yaml",
				"pkg/deploy/embed/runtimes.yaml":     "manifests/runtimes.yaml",
			},
			Replace: append(importBeforePods(),
				// flannel's plugin is from the last release of CNI's plugins that had it
				// (recipes.go), which speaks CNI up to 0.4.0.
				replacement{"pkg/agent/flannel/setup_linux.go", `"cniVersion":"1.0.0"`, `"cniVersion":"0.4.0"`},
				replacement{"pkg/deploy/embed/coredns.yaml", "rancher/mirrored-coredns-coredns:1.13.1", componentRef("coredns")},
				// On a busy or emulated machine CoreDNS was started again every few minutes.
				replacement{"pkg/deploy/embed/coredns.yaml", "timeoutSeconds: 1\n", "timeoutSeconds: 10\n"},
			),
		}, kinePatch()},
	}
}

// applyPatch copies a module out of the read-only cache, changes it there and
// makes the workspace use the copy.
func (b *builder) applyPatch(ctx context.Context, dir string, p patch) error {
	original, err := b.moduleDir(ctx, dir, p.Module)
	if err != nil {
		return err
	}
	copied := filepath.Join(dir, "patched", path.Base(p.Module))
	if err := copyWritable(copied, original); err != nil {
		return err
	}
	if err := p.apply(copied); err != nil {
		return fmt.Errorf("patching %s: %w", p.Module, err)
	}
	_, err = b.capture(ctx, dir, "go", "mod", "edit", "-replace", p.Module+"="+copied)
	return err
}

func (p patch) apply(dir string) error {
	for _, pattern := range p.Remove {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("%s: nothing to remove", pattern)
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	for to, from := range p.Copy {
		text, err := os.ReadFile(filepath.Join(dir, from))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o644); err != nil {
			return err
		}
	}
	for name, text := range p.Write {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, r := range p.Replace {
		if err := r.apply(dir); err != nil {
			return err
		}
	}
	return nil
}

func (r replacement) apply(dir string) error {
	file := filepath.Join(dir, r.File)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), r.Old) {
		return fmt.Errorf("%s: %q is not there any more", r.File, r.Old)
	}
	return os.WriteFile(file, []byte(strings.ReplaceAll(string(text), r.Old, r.New)), 0o644)
}

// copyWritable copies a tree of the module cache, which is read-only.
func copyWritable(to, from string) error {
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(name, from))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
}
