package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// kustomization is the YAML that a module's own kustomization makes, with the
// images of the catalogue.
type kustomization struct {
	moduleFile
}

// moduleFile is YAML that lies in a module. Path may be a pattern of several
// files, which are joined.
type moduleFile struct {
	// Module is the group that pins the version; From is the module.
	Module, From, Path string
	// Images maps the name of an image as it stands there, without tag, to the
	// component that takes its place.
	Images map[string]string
	// Terse leaves out the descriptions of fields, which are most of a definition.
	Terse bool `json:",omitempty"`
}

func (moduleFile) needs() []string       { return nil }
func (m moduleFile) group() string       { return m.Module }
func (m moduleFile) fingerprint() string { return moduleFingerprint(m.Module) + m.refs() }

// refs are the references put in, which change with the catalogue.
func (m moduleFile) refs() string {
	var refs []string
	for _, component := range slices.Sorted(maps.Values(m.Images)) {
		refs = append(refs, componentRef(component))
	}
	return strings.Join(refs, " ")
}

func (m moduleFile) source() string {
	return fmt.Sprintf("module %s@%s %s", m.From, moduleVersion(m.Module, m.From), m.Path)
}

// dir is the module's folder in the cache.
func (m moduleFile) dir(ctx context.Context, j *job) (string, error) {
	workspace, err := j.builder.workspace(ctx, m.Module)
	if err != nil {
		return "", err
	}
	return j.builder.moduleDir(ctx, workspace, m.From)
}

func (m moduleFile) make(ctx context.Context, j *job) (output, error) {
	dir, err := m.dir(ctx, j)
	if err != nil {
		return output{}, err
	}
	files, err := filepath.Glob(filepath.Join(dir, m.Path))
	if err != nil || len(files) == 0 {
		return output{}, fmt.Errorf("module %s has no file %s", m.From, m.Path)
	}
	var text bytes.Buffer
	for _, file := range files {
		part, err := os.ReadFile(file)
		if err != nil {
			return output{}, err
		}
		if len(files) > 1 && !bytes.HasPrefix(part, []byte("---")) {
			text.WriteString("---\n")
		}
		text.Write(part)
	}
	return m.write(j, text.Bytes())
}

func (k kustomization) make(ctx context.Context, j *job) (output, error) {
	dir, err := k.dir(ctx, j)
	if err != nil {
		return output{}, err
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(modernFS{filesys.MakeFsOnDisk()}, filepath.Join(dir, k.Path))
	if err != nil {
		return output{}, fmt.Errorf("kustomizing %s: %w", k.Path, err)
	}
	text, err := resources.AsYaml()
	if err != nil {
		return output{}, err
	}
	return k.write(j, text)
}

// modernFS rewrites deprecated fields of the kustomizations that it reads:
// kustomize would print a warning about them past our own output.
type modernFS struct{ filesys.FileSystem }

func (f modernFS) ReadFile(name string) ([]byte, error) {
	text, err := f.FileSystem.ReadFile(name)
	if err != nil || filepath.Base(name) != konfig.DefaultKustomizationFileName() {
		return text, err
	}
	var k types.Kustomization
	if err := k.Unmarshal(text); err != nil {
		return nil, err
	}
	if err := k.FixKustomizationPreMarshalling(f.FileSystem); err != nil {
		return nil, err
	}
	return yaml.Marshal(k)
}

// write puts in the catalogue's images and stores the text. Without images the
// text stays as upstream wrote it, to the byte.
func (m moduleFile) write(j *job, text []byte) (output, error) {
	if len(m.Images) > 0 {
		var err error
		if text, err = setImages(text, m.Images); err != nil {
			return output{}, err
		}
	}
	if m.Terse {
		var err error
		if text, err = terse(text); err != nil {
			return output{}, err
		}
	}
	file := j.path("manifest.yaml")
	return output{file: file, source: m.source()}, os.WriteFile(file, text, 0o644)
}

// setImages replaces images in every pod template, and makes nodes use the copy
// that they have: what is not in the bundle must not be pulled. An image that
// is not named, or a name that is not found, is an error: it would be pulled
// at run time.
func setImages(text []byte, images map[string]string) ([]byte, error) {
	nodes, err := (&kio.ByteReader{Reader: bytes.NewReader(text), OmitReaderAnnotations: true}).Read()
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, node := range nodes {
		if err := setPodImages(node, images, found); err != nil {
			return nil, fmt.Errorf("%s %s: %w", node.GetKind(), node.GetName(), err)
		}
	}
	for name := range images {
		if !found[name] {
			return nil, fmt.Errorf("no container uses the image %s", name)
		}
	}
	var out bytes.Buffer
	err = kio.ByteWriter{Writer: &out}.Write(nodes)
	return out.Bytes(), err
}

func setPodImages(node *yaml.RNode, images map[string]string, found map[string]bool) error {
	for _, list := range []string{"containers", "initContainers"} {
		containers, err := node.Pipe(yaml.Lookup("spec", "template", "spec", list))
		if err != nil || containers == nil {
			continue
		}
		err = containers.VisitElements(func(container *yaml.RNode) error {
			image, err := container.GetString("image")
			if err != nil {
				return err
			}
			component, ok := images[imageName(image)]
			if !ok {
				return fmt.Errorf("image %s is not in the bundle", image)
			}
			found[imageName(image)] = true
			return errors.Join(
				container.PipeE(yaml.SetField("image", yaml.NewStringRNode(componentRef(component)))),
				container.PipeE(yaml.SetField("imagePullPolicy", yaml.NewStringRNode("IfNotPresent"))))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// imageName is a reference without its tag or digest.
func imageName(ref string) string {
	ref, _, _ = strings.Cut(ref, "@")
	if colon := strings.LastIndex(ref, ":"); colon > strings.LastIndex(ref, "/") {
		return ref[:colon]
	}
	return ref
}
