package upstream

import (
	"net/http"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
)

// Options of Pull and Pin. The zero value of each but Pins has a use.
type Options struct {
	// Pins say what Pull accepts. A component without an entry is refused.
	Pins *component.Pins
	// Jobs is how many downloads are under way at once; 0 means 4.
	Jobs int
	// Transport carries every request, so its proxy and certificates apply; nil
	// means http.DefaultTransport. Plain HTTP is refused except to this machine.
	Transport http.RoundTripper
	// Keychain has the credentials of registries; nil means none.
	Keychain authn.Keychain
	// Mirrors say where to fetch from instead: a URL prefix ("https://dl.k8s.io")
	// has another, and a registry ("quay.io") has a registry, perhaps with a path.
	// The longest matching prefix wins. What is accepted and recorded stays the same.
	Mirrors map[string]string
	// Sink takes a step for each component; nil drops the events.
	Sink event.Sink
	// Backoff is the first pause between two attempts, doubled with each; 0
	// means a second.
	Backoff time.Duration
	// Stall is how long a server may send nothing; 0 means a minute.
	Stall time.Duration
	// MaxBytes bounds a download and an unpacked member; 0 means 2 GiB.
	MaxBytes int64
}

func (o Options) withDefaults() Options {
	if o.Pins == nil {
		o.Pins = component.NewPins()
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Keychain == nil {
		o.Keychain = authn.NewMultiKeychain() // knows nobody: anonymous
	}
	if o.Sink == nil {
		o.Sink = event.Discard{}
	}
	if o.Jobs < 1 {
		o.Jobs = 4
	}
	if o.Backoff <= 0 {
		o.Backoff = time.Second
	}
	if o.Stall <= 0 {
		o.Stall = time.Minute
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 2 << 30
	}
	return o
}

// puller does the work of one Pull or Pin.
type puller struct {
	Options
	folder   *bundle.Folder
	platform *v1.Platform
	mirrors  mirrors
	carrier  *carrier
	client   *http.Client
	checked  sync.Map // digest → *sync.Once, see dropDamaged
}

func newPuller(o Options) (*puller, error) {
	o = o.withDefaults()
	m, err := parseMirrors(o.Mirrors)
	if err != nil {
		return nil, err
	}
	c := &carrier{next: o.Transport, stall: o.Stall}
	return &puller{Options: o, mirrors: m, carrier: c, client: &http.Client{Transport: c},
		platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}, nil
}
