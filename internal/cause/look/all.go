package look

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cloud"
)

const (
	// askAll bounds the questions to the clouds of all clusters together.
	askAll = 20 * time.Second
	// logins is how many credentials are tried at the same time: Keystone takes a few hundred
	// milliseconds to verify one.
	logins = 16
)

// Question is about the cloud of one cluster.
type Question struct {
	// Login is with the cluster's own credential, which shows whether that works.
	Login cloud.Options
	// Closer chooses what is read one by one, from what the project says; nil means nothing.
	Closer func(*cause.Cloud) cause.Details
}

// Reply is the answer to a question. Clusters of one project share its Cloud.
type Reply struct {
	// Cloud is nil if the project could not be asked.
	Cloud *cause.Cloud
	// Unseen is what was not asked, and why.
	Unseen []cause.Unseen
}

// visit is a login that several questions have, and what came of it.
type visit struct {
	login cloud.Options
	taken *cause.Cloud
	late  error
}

// open are the logins that are kept, one for each project: a thousand would hold as many
// connections.
type open struct {
	mu sync.Mutex
	of map[*cause.Cloud]*cloud.Cloud
}

// keep keeps a login, or closes it if the project has one.
func (o *open) keep(taken *cause.Cloud, c *cloud.Cloud) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if taken == nil || o.of[taken] != nil {
		c.Close()
		return
	}
	o.of[taken] = c
}

func (o *open) close() {
	for _, c := range o.of {
		c.Close()
	}
}

// AskAll asks now, within askAll, and waits. Each credential logs in once, and each project
// is read once, however many clusters have them; what is read one by one is bounded for each
// project. The first questions are asked first.
func (c *Cache) AskAll(ctx context.Context, questions []Question) []Reply {
	ctx, cancel := context.WithTimeoutCause(ctx, askAll, fmt.Errorf("the clouds of all clusters together took more than %s", askAll))
	defer cancel()
	byLogin := map[[sha256.Size]byte]*visit{}
	of := make([]*visit, len(questions))
	var visits []*visit
	for i, q := range questions {
		key := digest(q.Login)
		if byLogin[key] == nil {
			byLogin[key] = &visit{login: q.Login}
			visits = append(visits, byLogin[key])
		}
		of[i] = byLogin[key]
	}
	kept := &open{of: map[*cause.Cloud]*cloud.Cloud{}}
	defer kept.close()
	each(visits, logins, func(v *visit) { c.visit(ctx, v, kept) })
	details := details(ctx, questions, of, kept)
	replies := make([]Reply, len(questions))
	for i, v := range of {
		replies[i] = reply(v, details[v.taken], questions[i].Closer)
	}
	return replies
}

// each does something for all in parallel.
func each[T any](all []T, atOnce int, do func(T)) {
	var group sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for _, one := range all {
		room <- struct{}{}
		group.Go(func() {
			defer func() { <-room }()
			do(one)
		})
	}
	group.Wait()
}

// digest tells logins apart.
func digest(o cloud.Options) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", o.Cloud, o.Region, o.CloudsYAML, o.CABundle))
}

// visit logs in and reads the project, or has another credential's answer.
func (c *Cache) visit(ctx context.Context, v *visit, kept *open) {
	if v.late = context.Cause(ctx); v.late != nil {
		return
	}
	within, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	opened, err := c.login(within, v.login)
	if err != nil {
		if v.late = context.Cause(ctx); v.late == nil {
			v.taken = &cause.Cloud{Refused: Refusal(err)}
		}
		return
	}
	if v.taken, err = c.Read(within, opened); err != nil {
		v.late = err
	}
	kept.keep(v.taken, opened)
}

// loginTime is how long a login may take. It is shorter than the time of all questions, so that a
// Keystone that hangs is told as one that does not answer.
const loginTime = 15 * time.Second

// login logs in. That Keystone does not answer is asked once, for all its credentials.
func (c *Cache) login(ctx context.Context, o cloud.Options) (*cloud.Cloud, error) {
	found, err := cloud.Find(o)
	if err != nil {
		return nil, err
	}
	if err := c.outages.now(found.AuthURL(), c.now()); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, c.loginTime)
	defer cancel()
	opened, err := found.Open(within, o.UserAgent)
	if err == nil || ctx.Err() == nil { // who has no time left to ask knows nothing of Keystone
		c.outages.note(found.AuthURL(), c.now(), err)
	}
	return opened, err
}

// oneByOne is what is read with a call of its own.
const oneByOne = "consoles and load balancers one by one"

// reply is the answer to one question.
func reply(v *visit, d *detailed, closer func(*cause.Cloud) cause.Details) Reply {
	r := Reply{Cloud: v.taken}
	if v.late != nil {
		r.Unseen = append(r.Unseen, cause.Unseen{What: cause.TheCloud, Why: v.late.Error()})
	}
	if d == nil || closer == nil {
		return r
	}
	r.Cloud = d.cloud
	if d.late != nil {
		r.Unseen = append(r.Unseen, cause.Unseen{What: oneByOne, Why: d.late.Error()})
	}
	wanted := closer(v.taken)
	wanted.Consoles = wanted.Consoles[:min(len(wanted.Consoles), mostOfCluster)]
	if n := d.without(wanted.Consoles) + d.without(wanted.Balancers); n > 0 {
		r.Unseen = append(r.Unseen, cause.Unseen{What: oneByOne, Why: fmt.Sprintf("%d were not read, because at most %d of a project are; ask about this cluster alone", n, mostOfProject)})
	}
	return r
}
