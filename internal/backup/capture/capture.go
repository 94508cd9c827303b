// Package capture reads from a management cluster what a backup must have: every
// object with its status, all as of one revision of the cluster.
package capture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/fault"
)

// pageBytes is how long the answer to one list call should be: pages get as many
// objects as fit, so that memory is bounded whatever their size.
const pageBytes = 4 << 20

// The number of objects of a page. Secrets of Helm releases have up to 1 MiB each.
const (
	firstPage = 25
	mostPage  = 1000
)

// attempts are how often reading starts again when the cluster has forgotten the
// revision, which etcd does after 5 minutes, before it is an error.
const attempts = 3

// Options say what is read.
type Options struct {
	// Groups are API groups besides those of Groups whose objects are read.
	Groups []string
	// Progress receives each kind; nil is nobody.
	Progress func(kind string, objects int)
}

// Result is what was read.
type Result struct {
	// Revision is the one resource version of all objects.
	Revision string
	// Kubernetes is the version of the API server.
	Kubernetes string
	// Controllers are the versions of Cluster API's providers by name, as clusterctl
	// keeps them in the cluster.
	Controllers map[string]string
	// Objects counts them.
	Objects int
	// Ended is when the reading ended, by this machine's clock.
	Ended time.Time
}

// Sink takes the objects. Begin starts again: what came before is void.
type Sink interface {
	Begin(ctx context.Context) error
	Add(ctx context.Context, o backup.Object) error
}

// Read reads the objects of a cluster into a sink: definitions, namespaces, Secrets
// and ConfigMaps, and all objects of the API groups that a management cluster is made
// of. All lists ask for one revision exactly, that of the first list, so that nothing
// can move in between.
func Read(ctx context.Context, config *rest.Config, o Options, into Sink) (Result, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "slipway"
	config.QPS, config.Burst = -1, -1 // priority and fairness of the server decides
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return Result{}, fmt.Errorf("making a Kubernetes client: %w", err)
	}
	version, err := client.ServerVersion()
	if err != nil {
		return Result{}, fmt.Errorf("asking the management cluster for its version: %w", err)
	}
	for attempt := 1; ; attempt++ {
		r := reader{client: client.RESTClient(), options: o, into: into, versions: map[string]string{}}
		result, err := r.read(ctx)
		result.Kubernetes = version.GitVersion
		switch {
		case err == nil:
			return result, nil
		case attempt == attempts && forgotten(err):
			return result, fault.New("management cluster", fmt.Errorf("reading its objects took longer, %d times, than it remembers a revision: %w", attempts, err),
				"run it when the API server has less to do, or nearer to it")
		case !forgotten(err):
			return result, fmt.Errorf("reading the management cluster: %w", err)
		}
	}
}

// forgotten reports whether the API server has compacted the revision away.
func forgotten(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// reader reads once, from one revision.
type reader struct {
	client   rest.Interface
	options  Options
	into     Sink
	revision string
	objects  int
	versions map[string]string
}

func (r *reader) read(ctx context.Context) (Result, error) {
	if err := r.into.Begin(ctx); err != nil {
		return Result{}, err
	}
	var custom []resource
	err := r.list(ctx, definitions(), func(o item) error {
		found, err := r.custom(o.raw)
		custom = append(custom, found...)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	for _, kind := range sorted(append(core(), custom...)) {
		look := func(item) error { return nil }
		if kind.group == "clusterctl.cluster.x-k8s.io" && kind.kind == "Provider" {
			look = r.provider
		}
		if err := r.list(ctx, kind, look); err != nil {
			return Result{}, err
		}
	}
	return Result{Revision: r.revision, Objects: r.objects, Controllers: r.versions, Ended: time.Now()}, nil
}

// page is a list as the API server sends it.
type page struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// list adds all objects of a kind at the revision; look sees each of them too.
func (r *reader) list(ctx context.Context, kind resource, look func(item) error) error {
	limit, next, count := firstPage, "", 0
	for {
		text, err := r.fetch(ctx, kind, limit, next)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.path, err)
		}
		var p page
		if err := json.Unmarshal(text, &p); err != nil {
			return fmt.Errorf("%s: %w", kind.path, err)
		}
		if r.revision == "" {
			r.revision = p.Metadata.ResourceVersion
		}
		if p.Metadata.ResourceVersion != r.revision {
			return fmt.Errorf("%s: the API server answered from revision %s instead of %s", kind.path, p.Metadata.ResourceVersion, r.revision)
		}
		for _, raw := range p.Items {
			added, err := r.add(ctx, kind, raw, look)
			if err != nil {
				return err
			}
			count += added
		}
		if next = p.Metadata.Continue; next == "" {
			break
		}
		if perObject := len(text)/max(len(p.Items), 1) + 1; perObject > 0 {
			limit = min(max(pageBytes/perObject, 1), mostPage, limit*4)
		}
	}
	if r.options.Progress != nil {
		r.options.Progress(kind.kind, count)
	}
	return nil
}

// fetch asks for one page. Without a revision yet it asks for the newest one.
func (r *reader) fetch(ctx context.Context, kind resource, limit int, next string) ([]byte, error) {
	request := r.client.Get().AbsPath(kind.path).SetHeader("Accept", "application/json").Param("limit", strconv.Itoa(limit))
	switch {
	case next != "":
		request = request.Param("continue", next)
	case r.revision != "":
		request = request.Param("resourceVersion", r.revision).Param("resourceVersionMatch", "Exact")
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	var status *apierrors.StatusError
	if errors.As(err, &status) && status.ErrStatus.Code == http.StatusGone {
		return nil, err
	}
	return text, err
}
