package router

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/addons/openstackapi"
)

// answerSize bounds an answer that is merged, in bytes: a page of 1,000 clusters has about 2 MiB.
const answerSize = 64 << 20

// answer is what a member said.
type answer struct {
	from   *Member
	status int
	header http.Header
	body   []byte
}

// passed are the headers of a request that the router asks members with. The rest is about the
// client's connection and body.
var passed = [...]string{"X-Auth-Token", "X-Service-Token", "OpenStack-API-Version", "X-Openstack-Request-Id", "Accept", "Origin"}

// at is the address of a path at a member.
func (m *Member) at(path, query string) *url.URL {
	u := *m.URL
	u.Path = "/" + strings.TrimLeft(u.Path, "/") // JoinPath makes a relative path of none
	u = *u.JoinPath(path)
	u.RawQuery = query
	return &u
}

// ask reads what is at a path below /v1 from a member as the caller.
func (c *call) ask(ctx context.Context, m *Member, path string, values url.Values) (*answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.at("/v1/"+path, values.Encode()).String(), nil)
	if err != nil {
		return nil, fmt.Errorf("asking management cluster %s: %w", m.Name, err)
	}
	for _, name := range passed {
		if given := c.r.Header.Values(name); len(given) > 0 {
			r.Header[http.CanonicalHeaderKey(name)] = given
		}
	}
	c.forwarded(r)
	response, err := c.s.transport(m).RoundTrip(r)
	if err != nil {
		return nil, away(m, err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(io.LimitReader(response.Body, answerSize))
	if err != nil {
		return nil, away(m, err)
	}
	if response.StatusCode == http.StatusUnauthorized {
		c.s.o.Tokens.Forget(c.token.ID)
	}
	if response.StatusCode >= http.StatusInternalServerError {
		return nil, away(m, fmt.Errorf("it answered %d: %.300s", response.StatusCode, body))
	}
	return &answer{from: m, status: response.StatusCode, header: response.Header, body: body}, nil
}

// askAll reads from members at the same time. Answers are in their order.
func (c *call) askAll(members []*Member, path string, values url.Values) ([]*answer, error) {
	answers := make([]*answer, len(members))
	group, ctx := errgroup.WithContext(c.ctx())
	for i, m := range members {
		group.Go(func() (err error) {
			answers[i], err = c.ask(ctx, m, path, values)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return answers, nil
}

// decode reads the document of an answer.
func (a *answer) decode(into any) error {
	if err := json.Unmarshal(a.body, into); err != nil {
		return away(a.from, fmt.Errorf("its answer cannot be read: %w", err))
	}
	return nil
}

// refused is a member's answer that is not what was asked for, as an error.
type refused struct{ *answer }

func (r refused) Error() string {
	return fmt.Sprintf("management cluster %s answered %d: %.300s", r.from.Name, r.status, r.body)
}

// refusal is an answer that is no success.
func (a *answer) refusal() error { return refused{a} }

// everyone are all members but one; nil leaves out none.
func (s *Server) everyone(but *Member) []*Member {
	var all []*Member
	for i := range s.o.Members {
		if m := &s.o.Members[i]; m != but {
			all = append(all, m)
		}
	}
	return all
}

// away is the answer while a member does not answer. Its name says to the operator where to look;
// a part of the answer would look like all.
func away(m *Member, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return openstackapi.Away("the management cluster "+m.Name+" does not answer", err)
}

// forward sends the request to a member as it is, and its answer back.
func (c *call) forward(m *Member) error {
	c.at = m.Name
	var failed error
	proxy := &httputil.ReverseProxy{
		Transport: c.s.transport(m),
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL = m.at(c.path, p.In.URL.RawQuery)
			p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
			p.SetXForwarded()
			c.forwarded(p.Out)
		},
		ModifyResponse: func(response *http.Response) error {
			if response.StatusCode == http.StatusUnauthorized && c.token != nil {
				c.s.o.Tokens.Forget(c.token.ID)
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	proxy.ServeHTTP(c.w, c.r)
	var large *http.MaxBytesError
	switch {
	case failed == nil:
		return nil
	case errors.As(failed, &large):
		return &openstackapi.Error{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("The body is larger than %d bytes.", large.Limit)}
	}
	return away(m, failed)
}

// forwarded tells a member the address that the client used, for its links. One that has a public
// endpoint needs none of it.
func (c *call) forwarded(r *http.Request) {
	base, err := url.Parse(c.base)
	if err != nil {
		return
	}
	r.Host = base.Host
	r.Header.Set("X-Forwarded-Host", base.Host)
	r.Header.Set("X-Forwarded-Proto", base.Scheme)
	r.Header.Del("X-Forwarded-Port")
	if base.Path != "" {
		r.Header.Set("X-Forwarded-Prefix", base.Path)
	}
}

// public asks the first member that answers what needs no token: the documents of versions, and
// what browsers ask before they ask.
func (c *call) public() (err error) {
	for _, m := range c.s.everyone(nil) {
		if err = c.forward(m); err == nil || c.ctx().Err() != nil {
			return err
		}
	}
	return err
}

// reply answers as a member did.
func (c *call) reply(a *answer) {
	h := c.w.Header()
	for name, given := range a.header {
		if name != "Content-Length" {
			h[name] = given
		}
	}
	c.w.WriteHeader(a.status)
	c.w.Write(a.body) //nolint:errcheck // the client is gone
}

// replyMerged answers with a document that was made of answers of members, with the headers of the
// first.
func (c *call) replyMerged(first *answer, document any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	c.reply(&answer{status: http.StatusOK, header: first.header, body: bytes.TrimSpace(text.Bytes())})
	return nil
}
