package keystone

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/sync/singleflight"
)

const (
	// callTime bounds one validation, so that a Keystone that hangs is a 503
	// and not a client's timeout.
	callTime = 10 * time.Second
	// mostTokens bounds the cache: about 2 KiB each.
	mostTokens = 16384
)

// Options are how tokens are validated.
type Options struct {
	// Identity is a client of Keystone whose user may validate tokens (role
	// service or admin). It is called until it succeeds once, so that the
	// server starts while Keystone is away.
	Identity func(context.Context) (*gophercloud.ServiceClient, error)
	// Remember is how long an answer is used again: the longest that a revoked
	// token is still accepted. 0 is a minute; Magnum's middleware takes five.
	Remember time.Duration
	// Region and Interface choose endpoints of the catalog; empty are any
	// region and "public".
	Region, Interface string
	// Now is the clock; nil is the machine's.
	Now func() time.Time
}

// Validator validates tokens. It is safe for concurrent use.
type Validator struct {
	o      Options
	flight singleflight.Group

	mu       sync.Mutex
	identity *gophercloud.ServiceClient
	known    map[[sha256.Size]byte]remembered
}

// remembered is an answer: a token, or nil for one that is not valid.
type remembered struct {
	token *Token
	until time.Time
}

// NewValidator returns a validator with an empty cache.
func NewValidator(o Options) *Validator {
	if o.Remember == 0 {
		o.Remember = time.Minute
	}
	if o.Interface == "" {
		o.Interface = "public"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Validator{o: o, known: map[[sha256.Size]byte]remembered{}}
}

// Validate returns what a token stands for: ErrInvalid when Keystone refuses
// it, ErrUnavailable when it could not be asked. With a service token whose
// user has the role service, a user's token is accepted for some time after
// it expired (Keystone's allow_expired_window), as long requests between
// services need it.
func (v *Validator) Validate(ctx context.Context, token, serviceToken string) (*Token, error) {
	late := false
	if serviceToken != "" {
		service, err := v.validate(ctx, serviceToken, false)
		if err != nil {
			return nil, err
		}
		late = service.HasRole("service")
	}
	return v.validate(ctx, token, late)
}

func (v *Validator) validate(ctx context.Context, id string, late bool) (*Token, error) {
	if id == "" {
		return nil, ErrInvalid
	}
	key := keyOf(id, late)
	if found, ok := v.recall(key, late); ok {
		return found.result()
	}
	result := v.flight.DoChan(string(key[:]), func() (any, error) {
		// The call belongs to all who wait for it, not to the first of them.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
		defer cancel()
		return v.ask(ctx, key, id, late)
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	case r := <-result:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(remembered).result()
	}
}

func (r remembered) result() (*Token, error) {
	if r.token == nil {
		return nil, ErrInvalid
	}
	return r.token, nil
}

func (v *Validator) recall(key [sha256.Size]byte, late bool) (remembered, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	found, ok := v.known[key]
	now := v.o.Now()
	if !ok || now.After(found.until) {
		return remembered{}, false
	}
	if found.token != nil && !late && !now.Before(found.token.ExpiresAt) {
		found.token = nil
	}
	return found, true
}

func (v *Validator) remember(key [sha256.Size]byte, token *Token) remembered {
	r := remembered{token: token, until: v.o.Now().Add(v.o.Remember)}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.known) >= mostTokens {
		v.forget()
	}
	v.known[key] = r
	return r
}

// Forget drops what is known of a token that a service refused, so that Keystone
// is asked about it again.
func (v *Validator) Forget(token string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, late := range []bool{false, true} {
		delete(v.known, keyOf(token, late))
	}
}

// keyOf is the key of an answer about a token; late is whether one is accepted
// that expired.
func keyOf(token string, late bool) [sha256.Size]byte {
	return sha256.Sum256([]byte(fmt.Sprint(late, token)))
}

// forget drops what is over, and if that is not enough any half.
func (v *Validator) forget() {
	now := v.o.Now()
	for key, r := range v.known {
		if now.After(r.until) {
			delete(v.known, key)
		}
	}
	for key := range v.known {
		if len(v.known) <= mostTokens/2 {
			return
		}
		delete(v.known, key)
	}
}

func (v *Validator) ask(ctx context.Context, key [sha256.Size]byte, id string, late bool) (any, error) {
	client, err := v.Identity(ctx)
	if err != nil {
		return nil, err
	}
	address := client.ServiceURL("auth", "tokens")
	if late {
		address += "?allow_expired=1"
	}
	var body answer
	response, err := client.Get(ctx, address, &body, &gophercloud.RequestOpts{
		MoreHeaders: map[string]string{"X-Subject-Token": id}, OkCodes: []int{http.StatusOK}})
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return v.remember(key, nil), nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	response.Body.Close()
	return v.remember(key, body.token(id, v.o.Region, v.o.Interface)), nil
}

// Identity is the service user's client of Keystone; ErrUnavailable when it
// cannot log in.
func (v *Validator) Identity(ctx context.Context) (*gophercloud.ServiceClient, error) {
	v.mu.Lock()
	client := v.identity
	v.mu.Unlock()
	if client != nil {
		return client, nil
	}
	client, err := v.o.Identity(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: the service user cannot log in: %w", ErrUnavailable, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.identity = client
	return client, nil
}

// ProjectExists asks Keystone as the service user, who must be an administrator for that.
func (v *Validator) ProjectExists(ctx context.Context, id string) (bool, error) {
	client, err := v.Identity(ctx)
	if err != nil {
		return false, err
	}
	return projectExists(ctx, client, id)
}

// ProjectExistsFor asks with the token of a caller: Keystone shows any project to
// administrators, but none of others to a user of the role service. What it does not show
// does not exist for the caller.
func (v *Validator) ProjectExistsFor(ctx context.Context, token, id string) (bool, error) {
	own, err := v.Identity(ctx)
	if err != nil {
		return false, err
	}
	caller := *own
	caller.ProviderClient = &gophercloud.ProviderClient{HTTPClient: own.ProviderClient.HTTPClient, UserAgent: own.ProviderClient.UserAgent}
	caller.ProviderClient.SetToken(token)
	exists, err := projectExists(ctx, &caller, id)
	if gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		return false, nil
	}
	return exists, err
}

func projectExists(ctx context.Context, client *gophercloud.ServiceClient, id string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	response, err := client.Get(ctx, client.ServiceURL("projects", id), nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}, KeepResponseBody: true})
	switch {
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound):
		return false, nil
	case err != nil:
		return false, errors.Join(ErrUnavailable, err)
	}
	return true, response.Body.Close()
}
