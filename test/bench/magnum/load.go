package magnum

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// load is how an address is asked: one call after the other, for as long as
// said, but at least so many times.
type load struct {
	token string
	least int
	most  time.Duration
}

// measured is what came of it.
type measured struct {
	calls, bytes   int
	p50, p99       time.Duration
	callsPerSecond float64
}

// run asks, and measures all calls but the first, which fills caches.
func (l load) run(ctx context.Context, url string) (measured, error) {
	if _, _, err := l.call(ctx, url); err != nil {
		return measured{}, err
	}
	var m measured
	var times []time.Duration
	begin := time.Now()
	for len(times) < l.least || time.Since(begin) < l.most {
		took, size, err := l.call(ctx, url)
		if err != nil {
			return m, err
		}
		times, m.bytes = append(times, took), size
	}
	m.calls, m.callsPerSecond = len(times), float64(len(times))/time.Since(begin).Seconds()
	slices.Sort(times)
	m.p50, m.p99 = times[len(times)/2], times[len(times)*99/100]
	return m, nil
}

func (l load) call(ctx context.Context, url string) (time.Duration, int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, 0, err
	}
	request.Header.Set("X-Auth-Token", l.token)
	request.Header.Set("OpenStack-API-Version", "container-infra 1.11")
	begin := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, 0, fmt.Errorf("asking: %w", err)
	}
	defer response.Body.Close()
	size, err := io.Copy(io.Discard, response.Body)
	took := time.Since(begin)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return took, int(size), err
}
