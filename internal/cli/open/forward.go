package open

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// forwarder leads requests to a path below the API server, and to no other.
type forwarder struct {
	api       *url.URL
	prefix    string
	transport http.RoundTripper
	proxy     *httputil.ReverseProxy
	// hosts are the names by which this machine's browser may ask.
	hosts map[string]bool
}

func newForwarder(config *rest.Config, prefix string, listen net.Addr) (*forwarder, error) {
	api, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a connection to the API server: %w", err)
	}
	_, port, err := net.SplitHostPort(listen.String())
	if err != nil {
		return nil, err
	}
	f := &forwarder{api: api, prefix: prefix, transport: transport, hosts: map[string]bool{listen.String(): true, "localhost:" + port: true}}
	f.proxy = &httputil.ReverseProxy{Rewrite: f.rewrite, ModifyResponse: f.answer, Transport: transport, FlushInterval: -1,
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

// rewrite leads a request on. A path cannot leave what the forwarder is for. The API server
// rewrites links of pages, so that they come with the prefix.
func (f *forwarder) rewrite(r *httputil.ProxyRequest) {
	asked := r.In.URL.Path
	if rest, has := strings.CutPrefix(asked, f.prefix+"/"); has {
		asked = rest
	}
	inside := path.Clean("/" + asked)
	if strings.HasSuffix(asked, "/") && inside != "/" {
		inside += "/"
	}
	r.Out.URL.Scheme, r.Out.URL.Host = f.api.Scheme, f.api.Host
	r.Out.URL.Path, r.Out.URL.RawPath = f.prefix+inside, ""
	r.Out.Host = f.api.Host
	// The login of the API server is the transport's; a browser has none to give.
	r.Out.Header.Del("Authorization")
	r.Out.Header.Del("Origin")
	for name := range r.Out.Header {
		if strings.HasPrefix(name, "Impersonate-") {
			r.Out.Header.Del(name)
		}
	}
}

// answer keeps other sites from reading, which Alertmanager lets, and redirects on the port.
func (f *forwarder) answer(r *http.Response) error {
	for name := range r.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			r.Header.Del(name)
		}
	}
	if to, err := r.Location(); err == nil && strings.HasPrefix(to.Path, f.prefix) {
		on := url.URL{Path: strings.TrimPrefix(to.Path, f.prefix), RawQuery: to.RawQuery}
		if on.Path == "" {
			on.Path = "/"
		}
		r.Header.Set("Location", on.String())
	}
	return nil
}

// firstTime bounds the first request.
const firstTime = 20 * time.Second

// answers tries the way before anybody is told of it.
func (f *forwarder) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, firstTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.api.Scheme+"://"+f.api.Host+f.prefix+"/", nil)
	if err != nil {
		return err
	}
	response, err := f.transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("it does not answer: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusServiceUnavailable || response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusBadGateway {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return errors.New("it does not answer: " + response.Status + ": " + strings.TrimSpace(string(text)))
	}
	return nil
}
