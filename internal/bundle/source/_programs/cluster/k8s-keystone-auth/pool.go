package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"k8s.io/cloud-provider-openstack/pkg/identity/keystone"
)

const (
	// askTime bounds one question: the authenticator itself waits forever.
	askTime = 15 * time.Second
	// mostAtOnce bounds those that are asked at the same time.
	mostAtOnce = 16
	// lifetime is how long an authenticator is kept: the file with authorities may
	// be a new one.
	lifetime = 5 * time.Minute
)

// pool has authenticators. One answers one question at a time, because it keeps
// the token that it asks Keystone with.
type pool struct {
	config *keystone.Config
	room   chan struct{}

	mu   sync.Mutex
	idle []authenticator
}

type authenticator struct {
	*keystone.Auth
	made time.Time
}

func newPool(config *keystone.Config) *pool {
	return &pool{config: config, room: make(chan struct{}, mostAtOnce)}
}

// ask has one of the authenticators answer a review.
func (p *pool) ask(ctx context.Context, review []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTime, fmt.Errorf("Keystone did not answer within %s", askTime))
	defer cancel()
	select {
	case p.room <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-p.room }()
		text, err := p.answer(ctx, review)
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// answer takes an authenticator, or makes one, which asks Keystone for its versions.
func (p *pool) answer(ctx context.Context, review []byte) ([]byte, error) {
	one, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/webhook", bytes.NewReader(review))
	written := httptest.NewRecorder()
	one.Handler(written, request)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, one)
	// It says 401 with a review that says the same.
	if written.Code != http.StatusOK && written.Code != http.StatusUnauthorized {
		return nil, errors.New("the authenticator answers " + written.Body.String())
	}
	return written.Body.Bytes(), nil
}

func (p *pool) take(ctx context.Context) (authenticator, error) {
	if one, found := p.kept(); found {
		return one, nil
	}
	auth, err := keystone.NewKeystoneAuth(ctx, p.config)
	return authenticator{auth, time.Now()}, err
}

// kept is one that is not old; those that are go.
func (p *pool) kept() (authenticator, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		last := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if time.Since(last.made) < lifetime {
			return last, true
		}
	}
	return authenticator{}, false
}
