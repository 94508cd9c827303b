package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

	"github.com/slipway-sh/slipway/internal/bundle"
)

// runFile downloads one file and stores it, or the members of it, for each part.
func (p *puller) runFile(ctx context.Context, parts []*part) {
	pin := parts[0].pin
	url := p.mirrors.file(pin.URL)
	t := newTally(parts)
	t.say("downloading from " + redacted(url))
	path, err := p.download(ctx, url, pin.SHA256, t)
	whole := err == nil
	for _, one := range parts {
		err := err
		if err == nil {
			err = p.storeFile(ctx, one, path)
		}
		if err != nil {
			one.err = explain(ctx, one, redacted(url), err)
			whole = false
		}
	}
	if whole {
		removePartial(path)
	}
}

// storeFile puts the verified download, or the member wanted, into the folder.
func (p *puller) storeFile(ctx context.Context, one *part, path string) error {
	if one.pin.Member != "" {
		stored, err := p.storeMember(ctx, one.pin.Member, path)
		if err != nil {
			return err
		}
		return p.record(one, stored)
	}
	p.dropDamaged(ctx, one.pin.SHA256)
	stored, err := p.folder.PutFile(ctx, path)
	if err != nil {
		return err
	}
	if stored.SHA256 != one.pin.SHA256 { // the partial changed under us
		return &digestError{want: one.pin.SHA256, got: stored.SHA256}
	}
	return p.record(one, stored)
}

func (p *puller) storeMember(ctx context.Context, member, path string) (stored bundle.Digest, err error) {
	file, err := os.Open(path)
	if err != nil {
		return stored, err
	}
	defer file.Close()
	err = unpack(file, member, p.MaxBytes, func(r io.Reader) error {
		stored, err = p.folder.Put(ctx, r)
		return err
	})
	return stored, err
}

// download is one file on its way.
type download struct {
	*puller
	url, sha string
	partial  *partial
	tally    *tally
}

// download fetches a URL until a file with the digest is there, and returns its
// path. What arrived before an error stays for the next run, unless it is wrong.
func (p *puller) download(ctx context.Context, url, sha string, t *tally) (string, error) {
	have, err := openPartial(ctx, p.partials(), sha)
	if err != nil {
		return "", err
	}
	d := &download{p, url, sha, have, t}
	err = p.retry(ctx, t.wait, func() (int64, error) {
		err := d.attempt(ctx)
		return have.size, err
	})
	if err == nil {
		err = have.file.Sync()
	}
	if wrong := (*digestError)(nil); errors.As(err, &wrong) || have.size == 0 {
		have.discard()
		return "", err
	}
	return have.path, errors.Join(err, have.close())
}

// attempt asks for what is missing and appends it.
func (d *download) attempt(ctx context.Context) error {
	if d.partial.size > 0 && d.partial.sum() == d.sha {
		return nil // an earlier run ended between the last byte and the bundle
	}
	resp, err := d.request(ctx)
	if err != nil {
		return bare(err)
	}
	defer resp.Body.Close()
	resumed := d.partial.size > 0 && resp.StatusCode == http.StatusPartialContent
	total, err := d.begin(resp)
	if err != nil {
		return err
	}
	if total > d.MaxBytes {
		return &sizeError{"the file", total, d.MaxBytes}
	}
	d.tally.set(d.partial.size, total)
	body := io.LimitReader(counted{resp.Body, d.tally}, d.MaxBytes-d.partial.size+1)
	if _, err := io.Copy(d.partial, body); err != nil {
		return err
	}
	if d.partial.size > d.MaxBytes {
		return errors.Join(&sizeError{"the file", d.partial.size, d.MaxBytes}, d.partial.restart(""))
	}
	return d.verify(resp, resumed)
}

func (d *download) request(ctx context.Context) (*http.Response, error) {
	req, err := d.get(ctx, d.url)
	if err != nil {
		return nil, err
	}
	if d.partial.size > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.partial.size))
		if validator := d.partial.validator(); validator != "" {
			req.Header.Set("If-Range", validator)
		}
	}
	return d.client.Do(req)
}

// begin places the partial where the answer goes on, and returns the size of
// the whole file, 0 when the server does not say.
func (d *download) begin(resp *http.Response) (total int64, err error) {
	switch resp.StatusCode {
	case http.StatusOK:
		return max(resp.ContentLength, 0), d.partial.restart(validatorOf(resp.Header))
	case http.StatusPartialContent:
		var from, to int64
		given := resp.Header.Get("Content-Range")
		if n, _ := fmt.Sscanf(given, "bytes %d-%d/%d", &from, &to, &total); n < 2 || from != d.partial.size {
			return 0, d.again(fmt.Errorf("the server sent the range %q, not from %d on", given, d.partial.size))
		}
		return total, nil
	case http.StatusRequestedRangeNotSatisfiable:
		return 0, d.again(errors.New("the partial file does not fit the file on the server"))
	}
	return 0, &statusError{code: resp.StatusCode}
}

// again drops what is there, and makes the error one that is tried again.
func (d *download) again(err error) error {
	if dropped := d.partial.restart(""); dropped != nil {
		return dropped
	}
	return &networkError{err}
}

// verify compares the digest. When the start was there before, the start may
// be what is wrong: then it is fetched anew.
func (d *download) verify(resp *http.Response, resumed bool) error {
	got := d.partial.sum()
	if got == d.sha {
		return nil
	}
	wrong := &digestError{want: d.sha, got: got, html: isHTML(resp.Header)}
	if resumed {
		return d.again(wrong)
	}
	return wrong
}

// get makes a request for a file as it is: with a compressed transfer, offsets
// would mean other bytes.
func (p *puller) get(ctx context.Context, url string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "slipway")
	return req, nil
}

// validatorOf returns what If-Range may hold: a strong entity tag or a date
// (RFC 9110 section 13.1.5), else "".
func validatorOf(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return h.Get("Last-Modified")
}

func isHTML(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind == "text/html"
}
