package source

import (
	"path"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/charts"
	"github.com/slipway-sh/slipway/internal/component"
)

// chartFolder is where the image of Slipway has the bundle's charts.
const chartFolder = "/usr/share/slipway/charts"

// ownRecipes make the image of Slipway's own controllers: the binary, and the
// charts that they install, so that clusters need no chart repository.
func ownRecipes() map[string]recipe {
	data := map[string]string{path.Join(chartFolder, charts.IndexFile): indexName}
	var names []string
	for _, c := range component.All() {
		if c.Kind == bundle.Chart {
			data[path.Join(chartFolder, path.Base(c.Path))] = c.Name
			names = append(names, c.Name)
		}
	}
	return map[string]recipe{
		programName: ownProgram{},
		indexName:   chartIndex{Charts: names},
		component.SlipwayImage: container{Base: baseStatic, Files: map[string]string{"/usr/bin/slipway": programName}, Data: data,
			Entrypoint: []string{"/usr/bin/slipway"}, User: nonRoot + ":" + nonRoot},
	}
}
