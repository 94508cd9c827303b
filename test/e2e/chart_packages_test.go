package e2e

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

// servePackages is the URL of a repository of apt with one package, slipway-proof,
// which brings /usr/share/slipway-proof.
func (p *project) servePackages() string {
	p.t.Helper()
	dir, tree := p.t.TempDir(), p.t.TempDir()
	const control = "Package: slipway-proof\nVersion: 1.0\nArchitecture: all\nMaintainer: Slipway <slipway@example.org>\nDescription: says that it is there\n"
	file := filepath.Join(dir, "slipway-proof.deb")
	p.write(filepath.Join(tree, "DEBIAN/control"), control)
	p.write(filepath.Join(tree, "usr/share/slipway-proof"), "installed\n")
	run(p.t, "dpkg-deb", "--root-owner-group", "--build", tree, file)
	text, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(filepath.Join(dir, "Packages"), fmt.Sprintf("%sFilename: ./slipway-proof.deb\nSize: %d\nSHA256: %x\n", control, len(text), sha256.Sum256(text)))
	return "http://" + p.serve(http.FileServer(http.Dir(dir)), nil)
}

// write writes a file that all may read, and the folders above it.
func (p *project) write(file, text string) {
	p.t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
