package devstack_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/regions"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/stacks/devstack/devstacktest"
)

// securedRegion is the region whose endpoints are those of the front. The services know each
// other by RegionOne, as behind DevStack's proxy.
const securedRegion = "RegionTLS"

// front is what tls-proxy puts before the services: it ends TLS, with a certificate of an
// authority that only SSL_BUNDLE_FILE has.
type front struct {
	d            *devstackHost
	certificates devstacktest.Certificates
	// ports are those of the services; the front's are 10000 above.
	ports []string

	mu sync.Mutex
	// served are the calls that the services answered.
	served []served
	// said are the errors of connections.
	said bytes.Buffer
}

// served is a call: the user agent, the address of the caller, and what was asked of which port.
type served struct{ program, from, call string }

// newFront serves each endpoint of a catalog, and gives the catalog a region for it.
func (d *devstackHost) newFront() *front {
	d.t.Helper()
	f := &front{d: d, certificates: devstacktest.NewCertificates(d.t, d.t.TempDir(), d.cloud.Address().String(), time.Now())}
	pair, err := tls.LoadX509KeyPair(f.certificates.Certificate, f.certificates.Certificate)
	d.must(err)
	for _, target := range f.region() {
		f.serve(target, pair)
	}
	return f
}

// region makes an endpoint of the front beside each of RegionOne, and returns the addresses of
// the services.
func (f *front) region() (targets []string) {
	f.d.t.Helper()
	identity := f.d.login(f.d.cloud.CloudsYAML(), "devcloud-admin").Identity(f.d.t)
	ctx := f.d.t.Context()
	in := func(ctx context.Context, region string) []endpoints.Endpoint {
		pages, err := endpoints.List(identity, endpoints.ListOpts{RegionID: region}).AllPages(ctx)
		f.d.must(err)
		all, err := endpoints.ExtractEndpoints(pages)
		f.d.must(err)
		return all
	}
	f.d.t.Cleanup(func() { // with those of the plugin, which stay until stack.sh makes the databases anew
		ctx := context.Background()
		for _, one := range in(ctx, securedRegion) {
			f.d.must(endpoints.Delete(ctx, identity, one.ID).ExtractErr())
		}
		f.d.must(regions.Delete(ctx, identity, securedRegion).ExtractErr())
	})
	for _, one := range in(ctx, "RegionOne") {
		target, path, _ := strings.Cut(strings.TrimPrefix(one.URL, "http://"), "/") // it may have %(project_id)s
		if !slices.Contains(targets, target) {
			targets = append(targets, target)
		}
		o := endpoints.CreateOpts{Availability: one.Availability, Name: one.Name, Region: securedRegion, ServiceID: one.ServiceID,
			URL: strings.TrimSuffix("https://"+f.secured(target)+"/"+path, "/")}
		_, err := endpoints.Create(ctx, identity, o).Extract()
		f.d.must(err)
	}
	return targets
}

// secured is where the front listens for a service.
func (f *front) secured(service string) string {
	f.d.t.Helper()
	host, port, err := net.SplitHostPort(service)
	f.d.must(err)
	if !slices.Contains(f.ports, port) {
		f.ports = append(f.ports, port)
	}
	return net.JoinHostPort(host, "1"+port)
}

func (f *front) serve(service string, pair tls.Certificate) {
	f.d.t.Helper()
	target, port := &url.URL{Scheme: "http", Host: service}, service[strings.LastIndex(service, ":")+1:]
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // links in answers lead to the front
			r.Out.Header.Set("X-Forwarded-Proto", "https")
		},
		ModifyResponse: func(answer *http.Response) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if by := answer.Request; answer.StatusCode < http.StatusBadRequest {
				f.served = append(f.served, served{by.UserAgent(), by.RemoteAddr, by.Method + " " + port + by.URL.Path})
			}
			return nil
		},
	}
	listener := f.d.listen(f.secured(service))
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		ErrorLog: log.New(f, "", 0)}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	f.d.t.Cleanup(func() {
		server.Close()
		<-ended
	})
}

// Write takes what servers say about connections.
func (f *front) Write(text []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.said.Write(text)
}

// login says whether a program, by its user agent, got a token at an address.
func (f *front) login(program, from string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.served, func(s served) bool {
		return strings.HasPrefix(s.program, program) && strings.HasPrefix(s.from, from) && strings.HasPrefix(s.call, "POST 5000/v3/auth/tokens")
	})
}

// answered says whether a program, by its user agent, got an answer at an address.
func (f *front) answered(program, from string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.served, func(s served) bool { return strings.HasPrefix(s.program, program) && strings.HasPrefix(s.from, from) })
}

// callers are those that the services answered, for who looks for a cause.
func (f *front) callers() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := map[string]int{}
	for _, s := range f.served {
		from, _, _ := net.SplitHostPort(s.from)
		found[from+" "+s.program]++
	}
	var lines []string
	for _, caller := range slices.Sorted(maps.Keys(found)) {
		lines = append(lines, fmt.Sprintf("%6d answers to %s", found[caller], caller))
	}
	return strings.Join(lines, "\n") + "\n" + f.said.String()
}

// site is the devcloud behind the front, as DevStack's clouds.yaml tells of it with tls-proxy.
func (f *front) site(plain site) site {
	f.d.t.Helper()
	text, err := os.ReadFile(plain.clouds)
	f.d.must(err)
	var file struct {
		Clouds map[string]map[string]any `json:"clouds"`
	}
	f.d.must(yaml.Unmarshal(text, &file))
	plain.keystone = "https://" + f.secured(plain.host+":5000") + "/v3"
	for _, entry := range file.Clouds {
		entry["cacert"], entry["region_name"] = f.certificates.Bundle, securedRegion
		entry["auth"].(map[string]any)["auth_url"] = plain.keystone
	}
	text, err = yaml.Marshal(file)
	f.d.must(err)
	plain.clouds = filepath.Join(f.d.t.TempDir(), "clouds.yaml")
	f.d.must(os.WriteFile(plain.clouds, text, 0o600))
	plain.admin, plain.member = f.d.login(plain.clouds, "devstack-admin"), f.d.login(plain.clouds, "devstack")
	plain.variables = append(plain.variables, "ENABLED_SERVICES=key,n-api,tempest,tls-proxy", "SERVICE_PROTOCOL=https", "REGION_NAME="+securedRegion)
	return plain
}

// only lets pods reach the services by the front alone.
func (f *front) only(pods string) {
	f.d.t.Helper()
	for _, port := range f.ports {
		rule := []string{"PREROUTING", "-s", pods, "-p", "tcp", "--dport", port, "-j", "DROP"}
		f.d.inNetwork(append([]string{"iptables", "-w", "-t", "mangle", "-A"}, rule...)...)
		f.d.t.Cleanup(func() { f.d.inNetwork(append([]string{"iptables", "-w", "-t", "mangle", "-D"}, rule...)...) })
	}
}
