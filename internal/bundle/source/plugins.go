package source

import (
	"context"
	"path/filepath"
)

// pluginArchive is the archive of CNI plugins, laid out as upstream's release.
type pluginArchive struct {
	plain
	// Plugins maps the names of plugins to recipes.
	Plugins map[string]string
}

func (p pluginArchive) needs() []string { return container{Files: p.Plugins}.needs() }

func (p pluginArchive) make(_ context.Context, j *job) (output, error) {
	dir, err := j.mkdir("plugins")
	if err != nil {
		return output{}, err
	}
	for name, need := range p.Plugins {
		if err := copyProgram(filepath.Join(dir, name), j.input(need)); err != nil {
			return output{}, err
		}
	}
	file := j.path("cni-plugins.tgz")
	return output{file: file, source: container{Files: p.Plugins}.source(j)}, writeArchive(file, dir, "")
}
