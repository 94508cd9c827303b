package images

import (
	"io"
	"net/http"
	"strings"
)

// cutter calls cut when some of an upload's bytes were sent.
type cutter struct {
	http.RoundTripper
	cut func()
}

func (c *cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/file") {
		r.Body = &cuttingBody{ReadCloser: r.Body, cut: c.cut}
	}
	return c.RoundTripper.RoundTrip(r)
}

type cuttingBody struct {
	io.ReadCloser
	n   int
	cut func()
}

func (b *cuttingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.n += n; b.n > 2<<20 {
		b.cut()
	}
	return n, err
}
