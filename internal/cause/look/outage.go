package look

import (
	"sync"
	"time"
)

// outage is how long it is taken for granted that a Keystone which did not answer does not
// answer. Each login that tries it again takes seconds, and a Keystone that comes back needs
// no thousand of them at once.
const outage = 10 * time.Second

// outages remember which Keystones do not answer.
type outages struct {
	mu sync.Mutex
	by map[string]down
}

// down is how a Keystone did not answer, and when.
type down struct {
	at  time.Time
	err error
}

// now is why the Keystone at an address need not be asked now; nil if it has to be.
func (o *outages) now(address string, now time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if d, known := o.by[address]; known && now.Sub(d.at) < outage {
		return d.err
	}
	return nil
}

// note notes how a login ended.
func (o *outages) note(address string, now time.Time, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil || !Refusal(err).Silent() {
		delete(o.by, address)
		return
	}
	if o.by == nil {
		o.by = map[string]down{}
	}
	o.by[address] = down{now, err}
}
