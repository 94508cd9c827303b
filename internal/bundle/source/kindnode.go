package source

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// kindNode is the node image of local seeds: what a node of a cluster is, with the entry
// point and the units that kind's library counts on (Apache-2.0, from kind's own module),
// and Kubernetes' images, which are imported at boot.
type kindNode struct {
	machine
	// Module is the group that pins kind.
	Module string
}

// kindFiles are where the module has the files of its base image.
const kindFiles = "images/base/files"

// fromKind are the files that are taken from there. What is left out is configuration that
// the machine's own folders have.
func fromKind() []string {
	return []string{"etc/crictl.yaml", "etc/default/kubelet", "etc/sysctl.d/10-network-magic.conf", "etc/systemd/system/kubelet.service",
		"etc/systemd/system/kubelet.slice", "etc/systemd/system/kubelet.service.d/10-kubeadm.conf", "etc/systemd/system/kubelet.service.d/11-kind.conf",
		"etc/systemd/system/undo-mount-hacks.service", "kind/bin/create-kubelet-cgroup-v2.sh", "kind/bin/undo-mount-hacks.sh", "usr/local/bin/entrypoint"}
}

func (k kindNode) needs() []string {
	needs := []string{k.Base}
	for _, images := range k.Images {
		needs = append(needs, images...)
	}
	needs = slices.AppendSeq(needs, maps.Values(k.Programs))
	needs = slices.AppendSeq(needs, maps.Values(k.Archives))
	slices.Sort(needs)
	return needs
}

func (k kindNode) group() string { return k.Module }

func (k kindNode) fingerprint() string { return moduleFingerprint(k.Module) + k.machine.fingerprint() }

func (k kindNode) make(ctx context.Context, j *job) (output, error) {
	root, err := j.mkdir("root")
	if err != nil {
		return output{}, err
	}
	for _, part := range []struct {
		name string
		make func(context.Context, *job, string) error
	}{
		{"unpacking packages", k.unpack}, {"removing what a container lacks", k.prune}, {"copying programs", k.copyPrograms},
		{"copying kind's files", k.copyKind}, {"writing files", k.writeFiles}, {"making room for name servers", k.resolver}, {"enabling units", k.enable}, {"writing images", k.writeImages},
	} {
		j.step.Run(part.name)
		if err := part.make(ctx, j, root); err != nil {
			return output{}, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	j.step.Run("writing the image")
	layer, err := layerOf(func() (io.ReadCloser, error) { return streamTree(root), nil })
	if err != nil {
		return output{}, fmt.Errorf("layer: %w", err)
	}
	image, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return output{}, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return output{}, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, _ = strings.Cut(platform(), "/")
	file.Config = container{Entrypoint: []string{"/usr/local/bin/entrypoint", "/sbin/init"}}.config(j.name)
	// As kind's own image: systemd sees that it is in a container, and ends by this signal.
	file.Config.Env = append(file.Config.Env, "container=docker")
	file.Config.StopSignal = "SIGRTMIN+3"
	image, err = mutate.ConfigFile(image, file)
	return output{image: image, source: "debian " + j.builder.options.DebianSuite + ", module sigs.k8s.io/kind@" + moduleVersion(k.Module, "sigs.k8s.io/kind") + " " + kindFiles,
		packages: j.inputs[k.Base].packages, contains: k.needs()}, err
}

// pruned are what a container does not boot with, and the units that Debian enables: a node
// of kind starts few (images/base/Dockerfile there).
func pruned() []string {
	return []string{"boot/*", "vmlinuz*", "initrd.img*", "usr/lib/modules", "usr/lib/firmware", "etc/systemd/system/*.wants/*",
		"usr/lib/systemd/system/multi-user.target.wants/*", "usr/lib/systemd/system/local-fs.target.wants/*", "usr/lib/systemd/system/basic.target.wants/*",
		"usr/lib/systemd/system/sockets.target.wants/*udev*", "usr/lib/systemd/system/sockets.target.wants/*initctl*",
		"usr/lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service"}
}

func (kindNode) prune(_ context.Context, _ *job, root string) error {
	// Debian 12's /lib is a link to /usr/lib where usrmerge is installed, else a folder.
	for _, pattern := range pruned() {
		for _, pattern := range []string{pattern, strings.TrimPrefix(pattern, "usr/")} {
			names, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil {
				return err
			}
			for _, name := range names {
				if err := os.RemoveAll(name); err != nil {
					return err
				}
			}
		}
	}
	// What would register interpreters in the host's kernel, and old init scripts, which
	// systemd starts for every package that has one.
	if err := os.RemoveAll(filepath.Join(root, "etc/rc3.d")); err != nil {
		return err
	}
	return replaceByLink(filepath.Join(root, "etc/systemd/system/systemd-binfmt.service"), "/dev/null")
}

// copyKind copies kind's files out of its module.
func (k kindNode) copyKind(ctx context.Context, j *job, root string) error {
	workspace, err := j.builder.workspace(ctx, k.Module)
	if err != nil {
		return err
	}
	module, err := j.builder.moduleDir(ctx, workspace, "sigs.k8s.io/kind")
	if err != nil {
		return err
	}
	for _, name := range append(fromKind(), "LICENSES/kind") {
		from := filepath.Join(module, kindFiles, name)
		mode := fs.FileMode(0o644)
		if name == "LICENSES/kind" {
			from = filepath.Join(module, "LICENSE")
		} else if strings.Contains(name, "bin/") {
			mode = 0o755
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		to := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.RemoveAll(to); err != nil { // what is written to may be a link
			return err
		}
		if err := os.WriteFile(to, text, mode); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "etc/kubernetes/manifests"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "kind/version"), []byte(k.Version+"\n"), 0o644)
}

// resolver makes a file of what is a link on other machines: the runtime mounts over it.
func (kindNode) resolver(_ context.Context, _ *job, root string) error {
	name := filepath.Join(root, "etc/resolv.conf")
	if err := os.RemoveAll(name); err != nil {
		return err
	}
	return os.WriteFile(name, nil, 0o644)
}

// streamTree writes a folder as a tar, with nothing in it that differs between builds.
func streamTree(root string) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		tw := tar.NewWriter(w)
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || name == root {
				return err
			}
			return addTree(tw, root, name, entry)
		})
		w.CloseWithError(errors.Join(err, tw.Close()))
	}()
	return r
}

func addTree(tw *tar.Writer, root, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(name); err != nil {
			return err
		}
	}
	if info.Mode()&(fs.ModeSocket|fs.ModeDevice) != 0 {
		return nil // the runtime makes devices
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	inside, err := filepath.Rel(root, name)
	if err != nil {
		return err
	}
	header.Name = path.Clean(filepath.ToSlash(inside))
	if info.IsDir() {
		header.Name += "/"
	}
	header.ModTime, header.AccessTime, header.ChangeTime = time.Unix(0, 0), time.Time{}, time.Time{}
	header.Uname, header.Gname = "", ""
	if err := tw.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(tw, in)
	return err
}

// kindImages are what kubeadm's control plane runs.
func kindImages() []string {
	return []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "etcd", "coredns", "pause"}
}
