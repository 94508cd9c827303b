package look

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cloud"
)

const (
	// fresh is how long an answer serves: every service but Keystone is asked at most once
	// in that time for all clusters of a project together, Keystone once per credential.
	fresh = time.Minute
	// atOnce is how many clouds are asked at the same time in the background.
	atOnce = 8
)

// Cache remembers what clouds said. It is safe for concurrent use; create it with
// NewCache.
type Cache struct {
	now   func() time.Time
	fresh time.Duration
	room  chan struct{}
	// loginTime bounds one login.
	loginTime time.Duration
	// outages are Keystones that do not answer, which all credentials share.
	outages outages

	mu          sync.Mutex
	credentials map[string]*answer
	projects    map[string]*project
}

type answer struct {
	asking bool
	at     time.Time
	taken  *cause.Cloud
}

// project is what a project last said. Those who want the same wait for one answer.
type project struct {
	mu    sync.Mutex
	at    time.Time
	taken *cause.Cloud
}

// NewCache returns an empty cache; now is the clock.
func NewCache(now func() time.Time) *Cache {
	return &Cache{now: now, fresh: fresh, room: make(chan struct{}, atOnce), loginTime: loginTime, credentials: map[string]*answer{}, projects: map[string]*project{}}
}

// Every sets how long an answer serves, instead of a minute: for one cluster that
// somebody waits for.
func (c *Cache) Every(pause time.Duration) *Cache {
	c.fresh = pause
	return c
}

// Look returns what a credential's project last said, nil if nothing is known yet, and
// after how long to look again. It does not wait: what is not fresh is asked for in the
// background. key names the credential, and must change when that does.
func (c *Cache) Look(ctx context.Context, key string, o cloud.Options) (taken *cause.Cloud, again time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.credentials[key]
	if a == nil {
		c.forget()
		a = &answer{}
		c.credentials[key] = a
	}
	if left := c.fresh - c.now().Sub(a.at); left > 0 {
		return a.taken, left
	}
	if !a.asking {
		a.asking = true
		go c.ask(context.WithoutCancel(ctx), a, o)
	}
	if c.now().Sub(a.at) > 3*c.fresh {
		a.taken = nil // what was so long ago is not said of now
	}
	return a.taken, 2 * time.Second
}

// forget drops what credentials were told that nobody looks at any more: each time that one is
// replaced it has another key, and its answer is all that a project has.
func (c *Cache) forget() {
	maps.DeleteFunc(c.credentials, func(_ string, a *answer) bool { return !a.asking && c.now().Sub(a.at) > 3*c.fresh })
}

// ask fills an answer.
func (c *Cache) ask(ctx context.Context, a *answer, o cloud.Options) {
	c.room <- struct{}{}
	defer func() { <-c.room }()
	taken := c.Ask(ctx, o, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	a.asking, a.at, a.taken = false, c.now(), taken
}

// Ask asks now, and waits. closer chooses what is read one by one, from what the project
// says; nil means that no details are wanted. The answer is nil if the project cannot be
// read at all.
func (c *Cache) Ask(ctx context.Context, o cloud.Options, closer func(*cause.Cloud) cause.Details) *cause.Cloud {
	return c.AskAll(ctx, []Question{{Login: o, Closer: closer}})[0].Cloud
}

// Read returns what the project of a login says: what another credential of it read lately,
// or what it says now.
func (c *Cache) Read(ctx context.Context, opened *cloud.Cloud) (*cause.Cloud, error) {
	token, err := opened.Token()
	if err != nil {
		return nil, err
	}
	key := opened.Endpoint.Region + " " + opened.Provider.IdentityEndpoint + " " + token.ProjectID
	c.mu.Lock()
	p := c.projects[key]
	if p == nil {
		p = &project{}
		c.projects[key] = p
	}
	c.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken != nil && c.now().Sub(p.at) < c.fresh {
		return p.taken, nil
	}
	taken, err := Take(ctx, opened)
	if err != nil {
		return nil, err
	}
	p.at, p.taken = c.now(), taken
	return taken, nil
}
