package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/addons/magnum/router"
	"github.com/slipway-sh/slipway/internal/fault"
)

// memberConnections is how many idle connections to a management cluster are kept: about as many as
// requests that are served at a time.
const memberConnections = 128

const memberFix = "give name=URL, such as east=https://10.0.0.5:9511"

// membership is which management clusters are behind one API.
type membership struct {
	given, closed []string
	// own is the name of the management cluster whose API this process serves; "" is none.
	own       string
	authority string
}

func (m *membership) flags(f *pflag.FlagSet, what string) {
	f.StringArrayVar(&m.given, "member", nil, what+", as name=URL of its Magnum API; give it once for each, and keep names as they are")
	f.StringSliceVar(&m.closed, "closed", nil, "names of management clusters that get no new projects")
	f.StringVar(&m.authority, "member-ca", "", "PEM file of additional CA certificates of the management clusters' APIs")
}

// read reads the flags. The own management cluster is the first.
func (m *membership) read() (members []router.Member, err error) {
	var wrong []error
	var names []string
	add := func(name string, u *url.URL) {
		names = append(names, name)
		members = append(members, router.Member{Name: name, URL: u, Closed: slices.Contains(m.closed, name)})
	}
	if m.own != "" {
		add(m.own, nil)
	}
	for _, given := range m.given {
		name, address, _ := strings.Cut(given, "=")
		u, err := url.Parse(strings.TrimSuffix(strings.TrimRight(address, "/"), "/v1"))
		switch {
		case name == "" || err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			wrong = append(wrong, fault.Usage("--member "+given, errors.New("it is not a name and a URL"), memberFix))
		case slices.Contains(names, name):
			wrong = append(wrong, fault.Usage("--member "+given, fmt.Errorf("%s is given twice", name), "give each management cluster a name of its own"))
			continue
		}
		add(name, u)
	}
	for _, name := range m.closed {
		if len(m.given) > 0 && !slices.Contains(names, name) {
			wrong = append(wrong, fault.Usage("--closed "+name, errors.New("no management cluster has that name"), "give one of "+strings.Join(names, ", ")))
		}
	}
	return members, errors.Join(wrong...)
}

// transport is what reaches management clusters; cloud is the file of --cloud-ca, "" is none.
func (m *membership) transport(cloud string) (*http.Transport, error) {
	trusted, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("reading this machine's CA certificates: %w", err)
	}
	var wrong []error
	for _, from := range [][2]string{{"--member-ca", m.authority}, {"--cloud-ca", cloud}} {
		if from[1] == "" {
			continue
		}
		text, err := os.ReadFile(from[1])
		if err == nil && !trusted.AppendCertsFromPEM(text) {
			err = errors.New("it has no certificate")
		}
		if err != nil {
			wrong = append(wrong, fault.Usage(from[0], err, "give a PEM file of certificates"))
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
	transport.MaxIdleConnsPerHost, transport.MaxIdleConns = memberConnections, 0
	return transport, errors.Join(wrong...)
}
