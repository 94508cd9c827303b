// Package inside asks clusters themselves on behalf of the engine of causes: their API
// server, nodes, pods of the system and of addons, webhooks and leases. Only commands of
// operators use it; it is never part of what serves tenants.
package inside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cause"
)

const (
	// patience bounds all questions to one cluster.
	patience = 6 * time.Second
	// lists is how many objects one list may have.
	lists = 2000
)

// Ask asks a cluster, all questions at the same time and within a few seconds. from says
// from where: "the seed", "this machine". An API server that does not answer is told in
// the answer, and what could not be read in time is in Missing.
func Ask(ctx context.Context, config *rest.Config, from string) *cause.Inside {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %s", patience))
	defer cancel()
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1
	a := &asked{Inside: cause.Inside{At: time.Now(), Address: address(config), From: from}}
	calls, err := rest.HTTPClientFor(config)
	if err != nil {
		a.Unreachable = &cause.Unreachable{Way: cause.WayUntrusted, Words: err.Error()}
		return &a.Inside
	}
	defer utilnet.CloseIdleConnectionsFor(calls.Transport) // a thousand clusters would keep as many
	if why := a.knock(ctx, calls, config); why != nil {
		a.Unreachable = why
		return &a.Inside
	}
	client, err := kubernetes.NewForConfigAndClient(config, calls)
	if err != nil {
		a.Unreachable = &cause.Unreachable{Way: cause.WayNoAnswer, Words: err.Error()}
		return &a.Inside
	}
	a.client = client
	a.raw = func(ctx context.Context, path string) ([]byte, error) {
		return client.RESTClient().Get().AbsPath(path).DoRaw(ctx)
	}
	a.all(ctx)
	return &a.Inside
}

// address is host and port of a kubeconfig. Through another machine the server's name is
// not in the address that is dialled, and the address is the cluster's all the same.
func address(config *rest.Config) string {
	if u, err := url.Parse(config.Host); err == nil && u.Host != "" {
		return u.Host
	}
	return config.Host
}

// asked is an answer that grows.
type asked struct {
	cause.Inside
	client kubernetes.Interface
	// raw reads what client has no type for, by its path.
	raw func(ctx context.Context, path string) ([]byte, error)

	mu sync.Mutex
}

// all reads the lists, and then the details of what is not well.
func (a *asked) all(ctx context.Context) {
	var group sync.WaitGroup
	for what, read := range map[string]func(context.Context) error{cause.ListNodes: a.nodes, cause.ListPods: a.sick, cause.ListWarnings: a.warnings, cause.ListHooks: a.hooks,
		cause.ListAttachments: a.attachments, cause.ListRequests: a.requests, cause.ListSettings: a.network} {
		group.Go(func() { a.note(what, read(ctx)) })
	}
	group.Go(func() { a.version(ctx) })
	group.Wait()
	// The leases come last: they say when each node was there, with the nodes.
	a.note(cause.ListLeases, a.leases(ctx))
	a.words(ctx)
}

// note keeps why a list could not be read.
func (a *asked) note(what string, err error) {
	if err == nil {
		return
	}
	var more *cutError
	if errors.As(err, &more) { // what was read counts
		what += fmt.Sprintf(" beyond the first %d", lists)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Missing = append(a.Missing, cause.Unseen{What: what, Why: err.Error()})
}

// version asks without the client of discovery, which looks at no context.
func (a *asked) version(ctx context.Context) {
	if a.raw == nil {
		return
	}
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	if text, err := a.raw(ctx, "/version"); err == nil && json.Unmarshal(text, &v) == nil {
		a.Version = v.GitVersion
	}
}

// cutError is of a list that has more than was read.
type cutError struct{}

func (*cutError) Error() string { return "there are more than are read at once" }

// cut is the error for a list that goes on.
func cut(more string) error {
	if more == "" {
		return nil
	}
	return &cutError{}
}
