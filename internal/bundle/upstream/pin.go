package upstream

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Pin fetches the components from upstream as they are now and returns an
// entry for each, for a file of the user's that Pull takes besides the pins of
// Slipway. This is trust on first use: what comes is looked at for its form,
// but nobody vouches for it. Nothing is stored. The entries of those that went
// well are returned with the error that joins the faults of the others.
func Pin(ctx context.Context, components []component.Component, o Options) (*component.Pins, error) {
	p, err := newPuller(o)
	if err != nil {
		return nil, err
	}
	var parts []*part
	group := errgroup.Group{}
	group.SetLimit(p.Jobs)
	for _, job := range planPins(components) {
		parts = append(parts, job...)
		group.Go(func() error {
			p.runPin(ctx, job)
			return nil
		})
	}
	_ = group.Wait()
	pins := component.NewPins()
	for _, one := range parts {
		if one.kept {
			pins.Set(one.pin)
		}
	}
	return pins, outcome(ctx, "pinning", parts)
}

// planPins groups members of the same archive.
func planPins(components []component.Component) (jobs [][]*part) {
	archives := map[string]int{}
	for _, c := range components {
		one := &part{Component: c}
		from, ok := c.Upstream()
		if !ok {
			one.err = fault.New(c.Name, errors.New("it is not published as a file"), building(c))
		}
		if i, ok := archives[from.URL]; ok && from.Member != "" {
			jobs[i] = append(jobs[i], one)
			continue
		}
		if from.Member != "" {
			archives[from.URL] = len(jobs)
		}
		jobs = append(jobs, []*part{one})
	}
	return jobs
}

func (p *puller) runPin(ctx context.Context, job []*part) {
	for _, one := range job {
		one.step = event.Start(p.Sink, one.Name, "reading from upstream")
		if one.err == nil {
			one.err = context.Cause(ctx)
		}
	}
	if job[0].err == nil {
		p.pinJob(ctx, job)
	}
	for _, one := range job {
		one.kept = one.err == nil
		one.step.End("pinned to "+one.pin.SHA256+one.pin.Digest, one.err)
	}
}

func (p *puller) pinJob(ctx context.Context, job []*part) {
	from, _ := job[0].Upstream()
	t := newTally(job)
	if from.Image != "" {
		p.pinImage(ctx, job[0], from, t)
		return
	}
	var expected string
	if from.Repository != "" {
		var err error
		if from.URL, expected, err = p.findChart(ctx, job[0].Version, from, t); err != nil {
			job[0].err = explain(ctx, job[0], redacted(p.mirrors.file(from.Repository)), err)
			return
		}
	}
	url := p.mirrors.file(from.URL)
	var seen content
	err := p.retry(ctx, t.wait, func() (_ int64, err error) {
		seen, err = p.look(ctx, url, job[0], from.Member != "", t)
		return 0, bare(err)
	})
	if err == nil && expected != "" && expected != seen.sha {
		err = &digestError{want: expected, got: seen.sha}
	}
	for _, one := range job {
		own, _ := one.Upstream()
		one.pin = component.Pin{Name: one.Name, Version: one.Version, URL: from.URL, SHA256: seen.sha, Member: own.Member}
		err := err
		if err == nil && own.Member != "" && !seen.members[own.Member] {
			err = &memberError{"the archive has no " + own.Member}
		}
		if err != nil {
			one.err = explain(ctx, one, redacted(url), err)
		}
	}
}

func (p *puller) pinImage(ctx context.Context, one *part, from component.Upstream, t *tally) {
	ref, err := p.reference(from.Image, "")
	where := from.Image
	if err == nil {
		where = ref.String()
		err = p.retry(ctx, t.wait, func() (int64, error) {
			found, _, err := p.lookUp(ctx, ref)
			if err != nil {
				return 0, registryError(err)
			}
			one.pin = component.Pin{Name: one.Name, Version: one.Version, Image: from.Image, Digest: found.Digest.String()}
			return 0, nil
		})
	}
	if err != nil {
		one.err = explain(ctx, one, where, err)
	}
}

// content is what look learned of a file.
type content struct {
	sha     string
	members map[string]bool
}

// look reads a file through and returns its digest and, for an archive, the
// names of its regular files.
func (p *puller) look(ctx context.Context, url string, one *part, archive bool, t *tally) (content, error) {
	req, err := p.get(ctx, url)
	if err != nil {
		return content{}, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return content{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return content{}, &statusError{code: resp.StatusCode}
	}
	t.set(0, max(resp.ContentLength, 0))
	hash := sha256.New()
	bounded := &io.LimitedReader{R: counted{resp.Body, t}, N: p.MaxBytes + 1}
	body := bufio.NewReader(io.TeeReader(bounded, hash))
	head, _ := body.Peek(512)
	if err := plausible(one.Kind, head); err != nil || isHTML(resp.Header) {
		return content{}, errors.Join(err, htmlError(resp.Header))
	}
	seen := content{members: map[string]bool{}}
	if archive {
		err = walk(body, p.MaxBytes, func(h *tar.Header, _ io.Reader) (bool, error) {
			seen.members[path.Clean(h.Name)] = h.Typeflag == tar.TypeReg && h.Size <= p.MaxBytes
			return true, nil
		}, nil)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, body) // the digest is of all bytes
	}
	if bounded.N <= 0 {
		err = &sizeError{"the file", p.MaxBytes + 1, p.MaxBytes}
	}
	seen.sha = hex.EncodeToString(hash.Sum(nil))
	return seen, err
}

// plausible refuses what cannot be the thing of that kind, such as the page of
// a portal: on first use there is no digest that would.
func plausible(kind bundle.Kind, head []byte) error {
	zipped := bytes.HasPrefix(head, []byte{0x1f, 0x8b})
	switch kind {
	case bundle.Binary:
		if !zipped && !bytes.HasPrefix(head, []byte("\x7fELF")) {
			return errors.New("the file is neither a program nor a gzip archive")
		}
	case bundle.Chart:
		if !zipped {
			return errors.New("the file is not a gzip archive")
		}
	default:
		if sniffed := http.DetectContentType(head); sniffed != "text/plain; charset=utf-8" {
			return fmt.Errorf("the file is %s, not YAML", sniffed)
		}
	}
	return nil
}

func htmlError(h http.Header) error {
	if isHTML(h) {
		return errors.New("the server sent text/html, a page instead of the file")
	}
	return nil
}
