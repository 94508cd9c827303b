package open

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"
)

// forwarder leads requests of this machine's browser to a program.
type forwarder struct {
	transport http.RoundTripper
	proxy     *httputil.ReverseProxy
	// hosts are the names by which this machine's browser may ask.
	hosts map[string]bool
}

// newForwarder leads to a program by a transport that reaches nothing else.
func newForwarder(transport http.RoundTripper, listen net.Addr) (*forwarder, error) {
	_, port, err := net.SplitHostPort(listen.String())
	if err != nil {
		return nil, err
	}
	f := &forwarder{transport: transport, hosts: map[string]bool{listen.String(): true, "localhost:" + port: true}}
	f.proxy = &httputil.ReverseProxy{Rewrite: rewrite, ModifyResponse: closed, Transport: transport, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "the way to the management cluster does not work: "+err.Error(), http.StatusBadGateway)
		}}
	return f, nil
}

// ServeHTTP refuses what another site, or another name for this machine, asks for.
func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	if !f.hosts[r.Host] || origin != "" && !f.hosts[strings.TrimPrefix(origin, "http://")] || r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		http.Error(w, "this port is for this machine only", http.StatusForbidden)
		return
	}
	f.proxy.ServeHTTP(w, r)
}

// rewrite keeps the host that the browser asked for, so that redirects lead back to the port.
func rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme, r.Out.URL.Host = "http", r.In.Host
	r.Out.Host = r.In.Host
}

// closed keeps other sites from reading, which Alertmanager lets.
func closed(r *http.Response) error {
	for name := range r.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			r.Header.Del(name)
		}
	}
	return nil
}

// firstTime bounds the first request.
const firstTime = 20 * time.Second

// answers tries the way before anybody is told of it.
func (f *forwarder) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, firstTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/", nil)
	if err != nil {
		return err
	}
	response, err := f.transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("it does not answer: %w", err)
	}
	return response.Body.Close()
}
