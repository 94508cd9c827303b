package registry

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The codes of errors, from the specification.
const (
	codeManifest   = "MANIFEST_UNKNOWN"
	codeBlob       = "BLOB_UNKNOWN"
	codeName       = "NAME_UNKNOWN"
	codePagination = "PAGINATION_NUMBER_INVALID"
	codeRefused    = "UNSUPPORTED"
)

func (r *Registry) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/{$}", func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, struct{}{}) })
	mux.HandleFunc("GET /v2/_catalog", func(w http.ResponseWriter, req *http.Request) {
		page(w, req, slices.Sorted(maps.Keys(r.repositories)), func(names []string) any { return map[string]any{"repositories": names} })
	})
	mux.HandleFunc("GET /v2/{rest...}", r.named)
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet || req.Method == http.MethodHead {
			refuse(w, http.StatusNotFound, codeName, "this is a registry: its paths begin with /v2/")
			return
		}
		refuse(w, http.StatusMethodNotAllowed, codeRefused, "this registry can only be read")
	})
	return mux
}

// ServeHTTP is http.Handler's.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Docker-Distribution-API-Version", "registry/2.0")
	r.mux.ServeHTTP(w, req)
}

// named answers what has the name of an image before it, which may have slashes.
func (r *Registry) named(w http.ResponseWriter, req *http.Request) {
	parts := strings.Split(req.PathValue("rest"), "/")
	if len(parts) < 3 {
		refuse(w, http.StatusNotFound, codeName, "no image is named")
		return
	}
	name, kind, reference := strings.Join(parts[:len(parts)-2], "/"), parts[len(parts)-2], parts[len(parts)-1]
	manifests := r.repository(name, req.URL.Query().Get("ns"))
	switch {
	case manifests == nil:
		refuse(w, http.StatusNotFound, codeName, "the bundle has no image "+name)
	case kind == "manifests":
		found, ok := manifests[reference]
		if !ok {
			refuse(w, http.StatusNotFound, codeManifest, "the bundle has no "+reference+" of "+name)
			return
		}
		found.serve(w, req)
	case kind == "blobs":
		r.blob(w, req, reference)
	case kind == "tags" && reference == "list":
		page(w, req, tags(manifests), func(tags []string) any { return map[string]any{"name": name, "tags": tags} })
	default:
		refuse(w, http.StatusNotFound, codeName, "no "+kind+" of images are known here")
	}
}

func (m manifest) serve(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", m.mediaType)
	w.Header().Set("Docker-Content-Digest", m.digest)
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(m.raw))
}

// blob sends a file as it is, also a part of it; the kernel copies it.
func (r *Registry) blob(w http.ResponseWriter, req *http.Request, digest string) {
	if text, ok := r.texts[digest]; ok {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Docker-Content-Digest", digest)
		http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(text))
		return
	}
	path, ok := r.blobs[digest]
	if !ok {
		refuse(w, http.StatusNotFound, codeBlob, "no image of the bundle has "+digest)
		return
	}
	file, err := os.Open(path)
	if err != nil {
		refuse(w, http.StatusNotFound, codeBlob, "the bundle has lost "+digest)
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Docker-Content-Digest", digest)
	http.ServeContent(w, req, "", time.Time{}, file)
}

// tags are the names among the references, sorted.
func tags(manifests map[string]manifest) []string {
	names := []string{}
	for reference := range manifests {
		if !strings.Contains(reference, ":") {
			names = append(names, reference)
		}
	}
	slices.Sort(names)
	return names
}

// page answers with the part of a sorted list that the query asks for by n and
// last, and with a link to the next.
func page(w http.ResponseWriter, req *http.Request, all []string, document func([]string) any) {
	query := req.URL.Query()
	if last := query.Get("last"); last != "" {
		at, found := slices.BinarySearch(all, last)
		if found {
			at++
		}
		all = all[at:]
	}
	if text := query.Get("n"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			refuse(w, http.StatusBadRequest, codePagination, "n is no number of entries: "+text)
			return
		}
		if n < len(all) {
			all = all[:n]
			query.Set("last", all[n-1])
			w.Header().Set("Link", "<"+req.URL.Path+"?"+query.Encode()+`>; rel="next"`)
		}
	}
	write(w, http.StatusOK, document(all))
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	write(w, status, map[string]any{"errors": []map[string]string{{"code": code, "message": message}}})
}

func write(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document) // a client that went away is not waiting for it
}
