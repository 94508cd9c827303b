package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"syscall"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/fault"
)

// digestError says that other bytes came than are pinned.
type digestError struct {
	want, got string
	html      bool
	text      string // of the registry client, which names both digests
}

func (e *digestError) Error() string {
	if e.text != "" {
		return e.text
	}
	text := fmt.Sprintf("expected sha256:%s, received sha256:%s", e.want, e.got)
	if e.html {
		text += "; the server sent text/html, a page instead of the file"
	}
	return text
}

// sizeError says that something is larger than Options.MaxBytes allows.
type sizeError struct {
	what       string
	got, limit int64
}

func (e *sizeError) Error() string {
	return fmt.Sprintf("%s has %d bytes or more, but at most %d are allowed", e.what, e.got, e.limit)
}

// accepted returns the pin of a component, or the fault that it has none.
func (p *puller) accepted(c component.Component) (component.Pin, error) {
	pin, ok := p.Pins.Pin(c.Name)
	from, published := c.Upstream()
	object := c.Name
	if published {
		object += " from " + from.String()
	}
	pinning := fmt.Sprintf("pin it with `slipway bundle pin %s`", c.Name)
	switch {
	case !ok && !published:
		return pin, fault.New(object, errors.New("not pinned: it is not published as a file"), building(c))
	case !ok && c.Unbuildable != "":
		return pin, fault.New(object, fmt.Errorf("not pinned: no digest of %s is known", c.Version), pinning)
	case !ok:
		return pin, fault.New(object, fmt.Errorf("not pinned: no digest of %s is known", c.Version), building(c)+", or "+pinning)
	case pin.Version != c.Version:
		return pin, fault.New(object, fmt.Errorf("the pin is for version %s, but the catalogue has %s", pin.Version, c.Version), pinning+" again")
	case (c.Kind == bundle.Image) != (pin.Image != ""):
		return pin, fault.New(object, fmt.Errorf("the pin %s does not fit kind %s", pin.Source(), c.Kind), pinning+" again")
	}
	return pin, nil
}

func building(c component.Component) string {
	return fmt.Sprintf("build it from source with `slipway bundle build --only %s`", c.Name)
}

// explain makes the fault of a part that failed. When the context ended, that
// is the cause, and not the part's.
func explain(ctx context.Context, one *part, where string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fault.New(one.Name+" from "+where, err, remedy(one, err))
}

func remedy(one *part, err error) string {
	var wrong *digestError
	var status *statusError
	var size *sizeError
	var member *memberError
	var platform *platformError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &wrong):
		return "check the mirror or proxy, then run the same command again; the download was discarded"
	case errors.As(err, &status):
		return remedyStatus(status.code)
	case errors.As(err, &size), errors.As(err, &member), errors.As(err, &platform):
		return "correct its entry in the pins file, or " + building(one.Component)
	case errors.As(err, &certificate):
		return "add the CA of the proxy or mirror to the trusted CAs of your machine; certificates are always verified"
	case errors.Is(err, errPlainHTTP):
		return "give a mirror with HTTPS with --mirror"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free space there, or choose another folder with --dir; completed items are kept"
	}
	if network := (*networkError)(nil); errors.As(err, &network) {
		return "check the network and the proxy, or give a mirror with --mirror; run the same command again to resume"
	}
	return "run the same command again; completed items are kept"
}

func remedyStatus(code int) string {
	switch {
	case code == http.StatusNotFound || code == http.StatusGone:
		return "check that the mirror has it; if you use no mirror, upstream withdrew it: build it from source"
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return "check the credentials for this server, and whether a proxy refuses it, or name a mirror with --mirror"
	case code == http.StatusProxyAuthRequired:
		return "give the credentials of the proxy in its URL"
	case temporary(code):
		return "run the same command again later to resume"
	}
	return "check the URL and the mirror"
}
