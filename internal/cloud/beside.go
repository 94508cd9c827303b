package cloud

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// Beside returns a client with the login's token for a service at a URL that may be
// missing from the catalog, such as a service that was started a moment ago.
// authority holds PEM certificates that are trusted in addition to the system's; it
// may be empty.
func (c *Cloud) Beside(s Service, endpoint string, authority []byte) (*gophercloud.ServiceClient, error) {
	trusted := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.Insecure} //nolint:gosec // clouds.yaml says so
	if err := trust(trusted, authority); err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig, transport.ResponseHeaderTimeout = trusted, time.Minute
	work := &retrier{most: maxRetries, wait: wait}
	p := &gophercloud.ProviderClient{UserAgent: c.Provider.UserAgent, IdentityBase: c.Provider.IdentityBase, IdentityEndpoint: c.Provider.IdentityEndpoint,
		HTTPClient: http.Client{Transport: transport}, RetryFunc: work.call, RetryBackoffFunc: work.limited, MaxBackoffRetries: maxRetries}
	p.UseTokenLock()
	p.CopyTokenFrom(c.Provider)
	p.ReauthFunc = func(ctx context.Context) error {
		if err := c.Provider.Reauthenticate(ctx, c.Provider.Token()); err != nil {
			return err
		}
		p.CopyTokenFrom(c.Provider)
		return nil
	}
	return &gophercloud.ServiceClient{ProviderClient: p, Type: string(s), Endpoint: gophercloud.NormalizeURL(endpoint)}, nil
}
