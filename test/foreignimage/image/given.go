package image

import (
	"context"
	"os"
	"path/filepath"
)

// GivenVariable names an image that was made before, so that tests do not make it again.
const GivenVariable = "SLIPWAY_FOREIGN_IMAGE"

// Given returns the image that GivenVariable names, else one that it makes in the folder.
func Given(ctx context.Context, dir string) (string, error) {
	if file := os.Getenv(GivenVariable); file != "" {
		return filepath.Abs(file)
	}
	file := filepath.Join(dir, "debian.raw")
	return file, Build(ctx, Options{File: file})
}
