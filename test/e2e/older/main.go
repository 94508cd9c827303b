// Command older makes a Slipway with older pins, and its bundle, for the test of
// upgrades: what is committed, with other versions in its catalogue.
package main

import (
	"bytes"
	"context"
	"embed"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// pins are the older versions. Kubernetes is compiled from its sources of then;
// its etcd, CoreDNS and pause have the names that its kubeadm asks for. They and the
// rest are older by their names only: they are compiled from what is pinned now.
func pins() map[string]string {
	all := map[string]string{"KubernetesVersion": "v1.33.5", "EtcdVersion": "v3.5.21", "CoreDNSVersion": "v1.12.0", "PauseVersion": "3.10",
		"CloudProviderVersion": "v1.33.1"}
	maps.Copy(all, seedPins())
	return all
}

// seedPins are those of the seed: nodes of clusters stay as they are, and nothing is compiled
// but names.
func seedPins() map[string]string {
	return map[string]string{"K3sVersion": "v1.34.0+k3s1", "ClusterAPIVersion": "v1.12.2", "CAPOVersion": "v0.14.1", "ORCVersion": "v2.3.0", "CertManagerVersion": "v1.21.1"}
}

// chart and olderChart are the version of the charts that go with CloudProvider.
const chart, olderChart = "version: 2.34.0", "version: 2.33.1"

// texts are what else is older: a file, what is in it and what takes its place.
func texts() [][3]string {
	const patched, after = `{"Chart.yaml", "appVersion: v1.34.0", `, `"k3s": {{`
	// The kubeadm of then writes IPv4 addresses in brackets, which URLs must not have
	// with the Go of now.
	const kubeadm = `"kubernetes": {{Module: "k8s.io/kubernetes", Replace: []replacement{{"cmd/kubeadm/app/preflight/checks.go", "len(testIP) == net.IPv6len", "testIP.To4() == nil"}}}},
		`
	return [][3]string{{"addons/openstackcluster/chart/values.yaml", chart, olderChart},
		{"internal/bundle/source/recipes_addons.go", patched, `{"Chart.yaml", "` + chart + `", "` + olderChart + `"}, ` + patched},
		{"internal/bundle/source/patch.go", after, kubeadm + after}}
}

// modules are the older module of Kubernetes' programs; their names keep them
// from making a module of this folder. Three of its parts are of the patch
// version before, which is what the module proxy has of them.
//
//go:embed kubernetes.mod kubernetes.sum
var modules embed.FS

func main() {
	dir := flag.String("dir", "older", "folder for its sources, bin/slipway and bundle")
	from := flag.String("bundle", "bundle", "bundle of which everything is taken that is the same")
	seed := flag.Bool("seed", false, "only what runs on a seed is older")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	change := pin
	if *seed {
		change = func(dir string) error { return pinVersions(dir, seedPins()) }
	}
	if err := build(ctx, *dir, *from, change); err != nil {
		fmt.Fprintln(os.Stderr, "older:", err)
		os.Exit(1)
	}
}

func build(ctx context.Context, dir, from string, change func(dir string) error) error {
	if err := export(ctx, dir); err != nil {
		return fmt.Errorf("exporting what is committed: %w", err)
	}
	if err := change(dir); err != nil {
		return fmt.Errorf("writing older pins: %w", err)
	}
	if err := run(ctx, dir, "go", "build", "-ldflags", "-s -w", "-o", "bin/slipway", "./cmd/slipway"); err != nil {
		return err
	}
	if err := link(filepath.Join(dir, "bundle"), from); err != nil {
		return fmt.Errorf("taking what is the same from %s: %w", from, err)
	}
	return run(ctx, dir, "bin/slipway", "bundle", "build", "--dir", "bundle")
}

// export writes the sources of the last commit into dir.
func export(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	archive, err := exec.CommandContext(ctx, "git", "archive", "HEAD").Output()
	if err != nil {
		return err
	}
	extract := exec.CommandContext(ctx, "tar", "--extract", "--directory", dir)
	extract.Stdin, extract.Stderr = bytes.NewReader(archive), os.Stderr
	return extract.Run()
}

func pin(dir string) error {
	if err := pinVersions(dir, pins()); err != nil {
		return err
	}
	for _, t := range texts() {
		path := filepath.Join(dir, t[0])
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.Contains(text, []byte(t[1])) {
			return fmt.Errorf("%s does not have %s", path, t[1])
		}
		if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte(t[1]), []byte(t[2])), 0o644); err != nil {
			return err
		}
	}
	return fs.WalkDir(modules, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := modules.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "internal", "bundle", "source", "modules", name), text, 0o644)
	})
}

// pinVersions writes versions into the catalogue.
func pinVersions(dir string, versions map[string]string) error {
	catalogue := filepath.Join(dir, "internal", "component", "versions.go")
	text, err := os.ReadFile(catalogue)
	if err != nil {
		return err
	}
	for name, version := range versions {
		line := regexp.MustCompile(`(?m)^(\t` + name + ` +=) "[^"]+"$`)
		if !line.Match(text) {
			return fmt.Errorf("%s does not name %s", catalogue, name)
		}
		text = line.ReplaceAll(text, []byte(`${1} "`+version+`"`))
	}
	return os.WriteFile(catalogue, text, 0o644)
}

// link makes a bundle of another one's blobs, with copies of what is written in
// place. One that is there is kept.
func link(to, from string) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, inside)
		switch {
		case entry.IsDir() && inside == ".work":
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case entry.Type() == fs.ModeSymlink:
			leads, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(leads, target)
		case strings.HasPrefix(inside, "blobs"+string(filepath.Separator)):
			return os.Link(path, target)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
}

func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running %s: %w", name, err)
	}
	return nil
}
