// Package api is the REST API of Magnum v1, microversions 1.1 to 1.14, on the
// custom resources of package v1alpha1. Reads come from memory, writes go to
// the API server. The numbers in comments are sections of the list of facts
// that the endpoint is tested against.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/certificate"
	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/keystone"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/openstackapi"
)

// Tokens knows who calls.
type Tokens interface {
	Validate(ctx context.Context, token, serviceToken string) (*keystone.Token, error)
	ProjectExistsFor(ctx context.Context, token, id string) (bool, error)
	// Forget drops what is remembered of a token.
	Forget(token string)
}

// Lookup finds things in the cloud with the caller's token.
type Lookup interface {
	Image(ctx context.Context, t *keystone.Token, ref string) (openstack.Image, error)
	Flavors(ctx context.Context, t *keystone.Token, refs ...string) ([]openstack.Flavor, error)
	Keypair(ctx context.Context, t *keystone.Token, name string) error
	Network(ctx context.Context, t *keystone.Token, ref string, external bool) (string, error)
	Subnet(ctx context.Context, t *keystone.Token, ref, networkID string) (string, error)
	MakeCredential(ctx context.Context, t *keystone.Token, o openstack.CredentialOptions, name, description string) (openstack.Credential, error)
	CredentialRoles(ctx context.Context, t *keystone.Token, data map[string][]byte) ([]string, error)
	DropCredential(ctx context.Context, t *keystone.Token, credential openstack.Credential) error
}

// Replicas are the other servers on the same resources.
type Replicas interface {
	// Await waits until they show an object as it was written, or its deletion.
	Await(ctx context.Context, o client.Object, deleted bool)
}

// Options are what the server works with and how.
type Options struct {
	// Client reads and writes without a cache.
	Client client.Client
	// Inventory is what is read.
	Inventory *inventory.Inventory
	// Peers are waited for after a write; nil is none.
	Peers Replicas
	// Tokens and Cloud are the cloud.
	Tokens Tokens
	Cloud  Lookup
	// Policy decides.
	Policy *policy.Enforcer
	// Credentials is how clusters' credentials are made.
	Credentials openstack.CredentialOptions
	// Log gets the audit log and what goes wrong.
	Log *slog.Logger
	// Observe receives every answer, for metrics; nil is nobody. Route is the
	// pattern, so that it has few values.
	Observe func(method, route string, status int, took time.Duration)

	// AuthURL is Keystone's public address, for WWW-Authenticate.
	AuthURL string
	// PublicEndpoint is the address clients use, with or without /v1; empty is
	// what each request was sent to.
	PublicEndpoint string
	// TrustForwarded believes X-Forwarded-* and Forwarded; only behind a proxy.
	TrustForwarded bool
	// Origins may call from browsers; "*" is every origin.
	Origins []string
	// DisableFile turns the health check off while it exists.
	DisableFile string
	// MaxLimit is the longest page; 0 is 1000.
	MaxLimit int
	// MaxBody is the largest body in bytes; 0 is 112 KiB.
	MaxBody int64
	// RequestTime bounds a request; 0 is 45 seconds: a load balancer of Octavia ends a connection
	// that has no data for 50 (timeout_client_data, timeout_member_data).
	RequestTime time.Duration
	// MaxReads and MaxWrites are how many requests with a valid token are served at a time, QueueTime
	// how long others wait before they are answered 503. 0 is 128, 64 and 5 seconds. A project has
	// half of the places at most.
	MaxReads, MaxWrites int
	QueueTime           time.Duration

	// Quota is how many clusters a project may have that has no quota of its
	// own; 0 is 20.
	Quota int32
	// Drivers and rules of clusters.
	Rules Rules
	// Term is how long certificates are good; 0 is five years.
	Term time.Duration
	// Lease is the Lease by which the controllers elect a leader; GET
	// /mservices shows it.
	Lease types.NamespacedName
	// Now is the clock; nil is the machine's.
	Now func() time.Time
}

// Rules are what templates and clusters are checked by.
type Rules struct {
	// Driver is the name of the driver; "" is k8s_capi_helm_v1.
	Driver string
	// NetworkDriver is the CNI of templates that name none; "" is calico.
	NetworkDriver string
	// NetworkDrivers may be used; empty is calico and cilium.
	NetworkDrivers []string
	// Distros are the values of os_distro that can be built.
	Distros []string
	// Architecture is the processor of nodes, as Nova calls it: images that say another are
	// refused. "" is any.
	Architecture string
	// MinRAM in MiB and MinVCPUs are what a flavor needs.
	MinRAM, MinVCPUs int
	// RotateCA says that the controllers can rotate certificate authorities.
	RotateCA bool
	// BootVolumeSize in GB is that of clusters without the label; 0 is the
	// flavor's disk.
	BootVolumeSize int
}

func (r Rules) withDefaults() Rules {
	if r.Driver == "" {
		r.Driver = "k8s_capi_helm_v1"
	}
	if r.NetworkDriver == "" {
		r.NetworkDriver = "calico"
	}
	if len(r.NetworkDrivers) == 0 {
		r.NetworkDrivers = []string{"calico", "cilium"}
	}
	if len(r.Distros) == 0 {
		r.Distros = []string{"ubuntu", "ubuntu-focal", "debian", "flatcar", "rockylinux", "capi-kubeadm-cloudinit"}
	}
	return r
}

func (o Options) withDefaults() Options {
	o.Rules = o.Rules.withDefaults()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = func(string, string, int, time.Duration) {}
	}
	o.MaxLimit = fallback(o.MaxLimit, 1000)
	o.MaxBody = fallback(o.MaxBody, 112<<10)
	o.RequestTime = fallback(o.RequestTime, 45*time.Second)
	o.Quota = fallback(o.Quota, 20)
	o.Term = fallback(o.Term, certificate.Term)
	return o
}

func fallback[T comparable](value, other T) T {
	var zero T
	if value == zero {
		return other
	}
	return value
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	o         Options
	addresses openstackapi.Addresses
	mux       *http.ServeMux
	places    places
	// misses bounds the questions for what is not known here.
	misses flowcontrol.PassiveRateLimiter
	// lanes bound what is served at a time.
	lanes *openstackapi.Lanes
}

// New returns a server.
func New(o Options) (*Server, error) {
	if o.Client == nil || o.Inventory == nil || o.Tokens == nil || o.Cloud == nil || o.Policy == nil {
		return nil, errors.New("the server needs a client, an inventory, tokens, a cloud and a policy")
	}
	s := &Server{o: o.withDefaults(), misses: flowcontrol.NewTokenBucketPassiveRateLimiter(missRate, missBurst)}
	s.lanes = openstackapi.NewLanes(s.o.MaxReads, s.o.MaxWrites, s.o.QueueTime)
	var err error
	if s.addresses, err = openstackapi.NewAddresses(o.PublicEndpoint, "/v1", o.TrustForwarded); err != nil {
		return nil, err
	}
	s.mux = s.routes()
	return s, nil
}
