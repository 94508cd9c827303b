package kube

import (
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/fault"
)

// skew is how much two clocks may differ before a refused login is put down to that.
const skew = 2 * time.Minute

// ExplainClock has clients of a configuration tell a wrong clock where an API server refuses the
// login because of it.
func ExplainClock(config *rest.Config) {
	config.Wrap(func(below http.RoundTripper) http.RoundTripper { return clocks{below} })
}

// clocks explains why a login is refused if the API server's clock is wrong, or ours: before its
// time and after it a certificate counts for nothing, and the server says "Unauthorized" alone.
type clocks struct{ below http.RoundTripper }

// RoundTrip makes the call.
func (c clocks) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.below.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	date, parseErr := http.ParseTime(response.Header.Get("Date"))
	behind := time.Since(date).Round(time.Second)
	if parseErr != nil || behind.Abs() < skew {
		return response, nil
	}
	_ = response.Body.Close()
	way := "behind"
	if behind < 0 {
		way = "ahead of"
	}
	return nil, fault.New("Kubernetes API of "+request.URL.Host, fmt.Errorf("it refuses the login, and its clock is %s %s this machine's", duration.HumanDuration(behind.Abs()), way),
		"set the clock that is wrong, and give its machine a time server (NTP) that it reaches; then run the same command again")
}

// CloseIdleConnections lets http.Client close its transport's connections.
func (c clocks) CloseIdleConnections() {
	if below, ok := c.below.(interface{ CloseIdleConnections() }); ok {
		below.CloseIdleConnections()
	}
}
