package objectstore

import (
	"maps"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

// listTime is how times are in listings.
const listTime = "2006-01-02T15:04:05.000000"

// metaOf collects the metadata that a request's headers carry under a prefix
// ("X-Container-Meta-"), by the rest of the name.
func metaOf(h http.Header, prefix string) map[string]string {
	meta := map[string]string{}
	for name, values := range h {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" {
			meta[rest] = values[0]
		}
	}
	return meta
}

// merge applies the metadata of a request for an account or a container: an
// empty value, or a header X-Remove-…, removes.
func merge(meta map[string]string, h http.Header, kind string) (map[string]string, error) {
	merged := map[string]string{}
	maps.Copy(merged, meta)
	for name, value := range metaOf(h, "X-"+kind+"-Meta-") {
		merged[name] = value
		if value == "" {
			delete(merged, name)
		}
	}
	for name := range metaOf(h, "X-Remove-"+kind+"-Meta-") {
		delete(merged, name)
	}
	return merged, checkMeta(merged)
}

func checkMeta(meta map[string]string) error {
	total := 0
	for name, value := range meta {
		if len(name) > 128 {
			return api.BadRequest("Metadata name too long: %s", name)
		}
		if len(value) > 256 {
			return api.BadRequest("Metadata value longer than 256: %s", name)
		}
		total += len(name) + len(value)
	}
	if len(meta) > 90 || total > 4096 {
		return api.BadRequest("Too many metadata items, or their size is over 4096")
	}
	return nil
}

func writeMeta(h http.Header, prefix string, meta map[string]string) {
	for name, value := range meta {
		h.Set(prefix+name, value)
	}
}

// stamp is a time in seconds since 1970, as in X-Timestamp.
func stamp(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMicro())/1e6, 'f', 5, 64)
}

// httpTime rounds up, so that "not modified since" is never wrong.
func httpTime(t time.Time) time.Time {
	return t.Add(time.Second - time.Microsecond).Truncate(time.Second)
}

// detectType guesses a content type by the name, as Python's mimetypes does:
// without a character set.
func detectType(name string) string {
	if kind, _, err := mime.ParseMediaType(mime.TypeByExtension(path.Ext(name))); err == nil {
		return kind
	}
	return "application/octet-stream"
}

func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "1", "yes", "on", "t", "y":
		return true
	}
	return false
}

// wantsJSON reports whether a listing is to be JSON: by the query's format,
// or what is accepted.
func wantsJSON(c *api.Call) bool {
	if format := c.Query("format"); format != "" {
		return format == "json"
	}
	return strings.Contains(c.Request.Header.Get("Accept"), "application/json")
}

// answer writes headers that are set and no body.
func answer(c *api.Call, status int) error {
	if status != http.StatusNoContent {
		c.Writer.Header().Set("Content-Length", "0")
	}
	c.Writer.Header().Set("Content-Type", "text/html; charset=UTF-8")
	c.Writer.WriteHeader(status)
	return nil
}
