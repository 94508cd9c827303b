package image

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// The limits of a web-download.
const (
	maxFetch     = 64 << 30 // bytes
	fetchTimeout = time.Hour
	answerWithin = 30 * time.Second
)

// fetch opens the file at the address. The reader fails when the file is larger than maxFetch or
// takes longer than fetchTimeout.
func fetch(ctx context.Context, uri string) (io.ReadCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("downloading: %w", err)
	}
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: answerWithin}).DialContext,
		TLSHandshakeTimeout: answerWithin, ResponseHeaderTimeout: answerWithin, DisableKeepAlives: true,
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("downloading: %w", err)
	}
	download := &download{Reader: io.LimitReader(answer.Body, maxFetch+1), body: answer.Body, cancel: cancel}
	switch {
	case answer.StatusCode != http.StatusOK:
		_ = download.Close()
		return nil, fmt.Errorf("downloading %s: %s", uri, answer.Status)
	case answer.ContentLength > maxFetch:
		_ = download.Close()
		return nil, fmt.Errorf("downloading %s: %d bytes are more than %d", uri, answer.ContentLength, int64(maxFetch))
	}
	return download, nil
}

type download struct {
	io.Reader
	body   io.Closer
	cancel context.CancelFunc
	read   int64
}

// Read fails for a body that is too long, instead of cutting it off.
func (d *download) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if d.read += int64(n); d.read > maxFetch {
		return n, fmt.Errorf("downloading: more than %d bytes", int64(maxFetch))
	}
	return n, err
}

// Close discards what has not been read.
func (d *download) Close() error {
	d.cancel()
	return d.body.Close()
}
