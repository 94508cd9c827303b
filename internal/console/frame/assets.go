// Package frame is what the pages of both consoles are made of: the frame around a page, its
// looks, the stream that keeps an open page new, and readings that no page waits for.
package frame

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/slipway-sh/slipway/internal/console/words"
)

// files are the pages, and what they load. htmx.min.js and hx-sse.min.js are as the npm
// package htmx.org 4.0.1 has them; a test holds their digests.
//
//go:embed templates assets
var files embed.FS

// Assets serves the files below /assets/. Their addresses have the digest of all of them, so
// a browser may keep them until the program changes.
type Assets struct {
	version string
	files   map[string][]byte
}

func loadAssets() (Assets, error) {
	a := Assets{files: map[string][]byte{}}
	sum := sha256.New()
	err := fs.WalkDir(files, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		a.files[path.Base(name)] = text
		sum.Write(text)
		return err
	})
	a.version = hex.EncodeToString(sum.Sum(nil))[:12]
	return a, err
}

// ServeHTTP serves one file.
func (a Assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".htmx": "text/plain; charset=utf-8"}
	name := strings.TrimPrefix(r.URL.Path, "/assets/")
	text, there := a.files[name]
	if !there {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kinds[path.Ext(name)])
	if r.URL.RawQuery == a.version {
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	_, _ = w.Write(text)
}

// parse reads the templates in a language: each page with the frame, the parts that pages share,
// and the file site.html, which is what the pages of one console have in common.
func parse(pages fs.FS, names []string, in *words.Language) (map[string]*template.Template, error) {
	common, err := template.New("").Funcs(functions(in)).ParseFS(files, "templates/shell.html", "templates/parts.html")
	if err == nil {
		common, err = common.ParseFS(pages, "templates/site.html")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the templates: %w", err)
	}
	made := map[string]*template.Template{}
	for _, name := range names {
		page, err := common.Clone()
		if err == nil {
			page, err = page.ParseFS(pages, "templates/"+name+".html")
		}
		if err != nil {
			return nil, fmt.Errorf("reading the template %s: %w", name, err)
		}
		made[name] = page
	}
	return made, nil
}
