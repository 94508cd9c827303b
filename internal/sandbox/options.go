package sandbox

import (
	"log"
	"time"

	"k8s.io/utils/clock"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// DefaultListen is where the cloud is when nothing else is said: the same
// address after every start, so that clouds.yaml stays right.
const DefaultListen = "127.0.0.1:15000"

// Options are the settings of a cloud.
type Options struct {
	// Dir holds the state; it is made, mode 0700, when there is none.
	Dir string
	// Listen is a loopback address with a port; port 0 takes a free one.
	// Empty is DefaultListen.
	Listen string
	// Factor multiplies the time that operations take in a cloud; 0 makes
	// them immediate.
	Factor float64
	// Host stands behind servers, networks and volumes; nil is machine.None.
	Host machine.Host
	// Events takes what goes wrong inside; nil drops it.
	Events event.Sink
	// Clock is the time; nil is the real one.
	Clock clock.WithTicker
	// HashCost is bcrypt's cost of passwords; 0 is its default.
	HashCost int
	// TokenLife is how long a token is valid; 0 is one hour.
	TokenLife time.Duration
}

// Region is the name of the only region.
const Region = "RegionOne"

func (o Options) complete() Options {
	if o.Listen == "" {
		o.Listen = DefaultListen
	}
	if o.Host == nil {
		o.Host = machine.NewNone()
	}
	if o.Events == nil {
		o.Events = event.Discard{}
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// silent keeps net/http from printing about connections that clients drop.
type silent struct{}

func (silent) Write(p []byte) (int, error) { return len(p), nil }

func quietLog() *log.Logger { return log.New(silent{}, "", 0) }
