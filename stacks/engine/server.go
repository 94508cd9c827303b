package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi-go-provider/middleware/schema"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
)

// maxMessage is the maximum size of the engine's messages in bytes, as in Pulumi's servers.
const maxMessage = 400 << 20

// server serves the resources to the engine. It runs in this process, so that the cloud's
// clients and credentials stay in it.
type server struct {
	grpc     *grpc.Server
	listener net.Listener
}

func (e *Engine) serve(failures *failures) (*server, error) {
	var resources []infer.InferredResource
	if e.options.Resources != nil {
		resources = e.options.Resources()
	}
	provider := failures.wrap(infer.Provider(infer.Options{
		Metadata:  schema.Metadata{DisplayName: "Slipway"},
		Resources: resources,
		ModuleMap: map[tokens.ModuleName]tokens.ModuleName{},
	}))
	service, err := p.RawServer(Provider, "1.0.0", provider)(nil)
	if err != nil {
		return nil, fmt.Errorf("creating the provider: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the engine: %w", err)
	}
	s := &server{
		grpc:     grpc.NewServer(grpc.MaxRecvMsgSize(maxMessage)),
		listener: ownOnly{listener},
	}
	pulumirpc.RegisterResourceProviderServer(s.grpc, service)
	go func() { _ = s.grpc.Serve(s.listener) }() // ends with Stop
	return s, nil
}

func (s *server) port() string { return strconv.Itoa(s.listener.Addr().(*net.TCPAddr).Port) }

// Stop ends the server and its open calls.
func (s *server) Stop() { s.grpc.Stop() }

// failures keeps the original errors of resources. Passed between processes, they would
// become text without cause and remedy.
type failures struct {
	mu    sync.Mutex
	order []resource.URN
	byURN map[resource.URN]error
}

func (f *failures) add(ctx context.Context, urn resource.URN, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byURN == nil {
		f.byURN = map[resource.URN]error{}
	}
	if _, known := f.byURN[urn]; !known {
		f.order = append(f.order, urn)
	}
	f.byURN[urn] = err
}

// of returns the error of one resource, nil if it had none.
func (f *failures) of(urn resource.URN) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byURN[urn]
}

// all joins the errors in the order in which they came, each once.
func (f *failures) all() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	seen := map[string]bool{}
	for _, urn := range f.order {
		if err := f.byURN[urn]; !seen[err.Error()] {
			seen[err.Error()] = true
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// wrap lets a provider's errors be kept.
func (f *failures) wrap(provider p.Provider) p.Provider {
	create, update, read, remove, check, diff := provider.Create, provider.Update, provider.Read, provider.Delete, provider.Check, provider.Diff
	provider.Create = func(ctx context.Context, r p.CreateRequest) (p.CreateResponse, error) {
		response, err := create(ctx, r)
		f.add(ctx, r.Urn, err)
		return response, err
	}
	provider.Update = func(ctx context.Context, r p.UpdateRequest) (p.UpdateResponse, error) {
		response, err := update(ctx, r)
		f.add(ctx, r.Urn, err)
		return response, err
	}
	provider.Read = func(ctx context.Context, r p.ReadRequest) (p.ReadResponse, error) {
		response, err := read(ctx, r)
		f.add(ctx, r.Urn, err)
		return response, err
	}
	provider.Delete = func(ctx context.Context, r p.DeleteRequest) error {
		err := remove(ctx, r)
		f.add(ctx, r.Urn, err)
		return err
	}
	provider.Check = func(ctx context.Context, r p.CheckRequest) (p.CheckResponse, error) {
		response, err := check(ctx, r)
		f.add(ctx, r.Urn, err)
		return response, err
	}
	provider.Diff = func(ctx context.Context, r p.DiffRequest) (p.DiffResponse, error) {
		response, err := diff(ctx, r)
		f.add(ctx, r.Urn, err)
		return response, err
	}
	return provider
}
