package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

// ReadFiles reads the manifests that an environment names. It returns one manifest for
// each image, with the settings that apply to it. The error lists every mistake of every
// file. Names and keys are unique across all files.
func ReadFiles(paths ...config.File) ([]*Manifest, error) {
	var all []*Manifest
	var errs []error
	from := map[string]string{}
	for _, path := range paths {
		m, err := readFile(string(path))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for n, i := range m.Spec.Images {
			for _, word := range []string{i.Key, i.Name} {
				if other, taken := from[word]; taken && other != string(path) {
					errs = append(errs, fault.Usage(fmt.Sprintf("%s: spec.images[%d]", path, n), fmt.Errorf("%q is also an image of %s", word, other), "keep one of them, or give this one a different name and key"))
					break
				}
				from[word] = string(path)
			}
			one := *m
			one.Spec.Images = []Image{i}
			all = append(all, &one)
		}
	}
	return all, errors.Join(errs...)
}

func readFile(path string) (*Manifest, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Usage(path, errors.New("the file does not exist"), "check the path in spec.images; it is relative to the environment file's folder")
	}
	if err != nil {
		return nil, fault.Usage(path, err, "name a readable file in spec.images")
	}
	return Parse(config.Source{Name: path, Text: text})
}
