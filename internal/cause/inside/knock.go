package inside

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cause"
)

// longestAnswer is how much of the answer of /readyz is read.
const longestAnswer = 64 << 10

// knock asks the API server whether it is ready. From the answer it takes the failing
// checks, the end of its certificate, and its clock.
func (a *asked) knock(ctx context.Context, client *http.Client, config *rest.Config) *cause.Unreachable {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(config.Host, "/")+"/readyz?verbose", nil)
	if err != nil {
		return &cause.Unreachable{Way: cause.WayNoName, Words: err.Error()}
	}
	before := time.Now()
	response, err := client.Do(request)
	if err != nil {
		if over := context.Cause(ctx); over != nil {
			err = fmt.Errorf("%w: %w", over, err)
		}
		return &cause.Unreachable{Way: way(err), Words: err.Error()}
	}
	defer response.Body.Close()
	middle := before.Add(time.Since(before) / 2)
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		a.Ahead = date.Add(time.Second / 2).Sub(middle).Round(time.Second) // the header has whole seconds
	}
	if response.TLS != nil && len(response.TLS.PeerCertificates) > 0 {
		a.Expires = response.TLS.PeerCertificates[0].NotAfter
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, longestAnswer)) // what came is judged
	switch {
	case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
		return &cause.Unreachable{Way: cause.WayLogin, Words: "its API answers " + response.Status + outdated(config)}
	case response.StatusCode != http.StatusOK:
		if a.Failing = failing(string(text)); len(a.Failing) == 0 {
			a.Failing = []string{"/readyz answers " + response.Status}
		}
	}
	return nil
}

// failing are the checks of /readyz that fail: lines such as "[-]etcd failed: reason withheld".
func failing(text string) []string {
	var checks []string
	for line := range strings.Lines(text) {
		if check, bad := strings.CutPrefix(strings.TrimSpace(line), "[-]"); bad {
			name, _, _ := strings.Cut(check, " ")
			checks = append(checks, name)
		}
	}
	return checks
}

// outdated says so if the certificate of the kubeconfig is over.
func outdated(config *rest.Config) string {
	block, _ := pem.Decode(config.CertData)
	if block == nil {
		return ""
	}
	own, err := x509.ParseCertificate(block.Bytes)
	if err != nil || own.NotAfter.After(time.Now()) {
		return ""
	}
	return ", and the certificate of the kubeconfig expired at " + own.NotAfter.UTC().Format(time.RFC3339)
}

// way reads the error of a call that had no answer.
func way(err error) cause.Way {
	var (
		invalid   x509.CertificateInvalidError
		unknown   x509.UnknownAuthorityError
		host      x509.HostnameError
		untrusted *tls.CertificateVerificationError
		name      *net.DNSError
	)
	text := strings.ToLower(err.Error())
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && !strings.Contains(text, "is before"):
		return cause.WayExpired
	case errors.As(err, &invalid), errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &untrusted):
		return cause.WayUntrusted
	case strings.Contains(text, "tls: expired certificate"), strings.Contains(text, "tls: bad certificate"), strings.Contains(text, "tls: unknown certificate"), strings.Contains(text, "tls: certificate required"):
		return cause.WayLogin // the server's words about ours
	case errors.Is(err, syscall.ECONNREFUSED), strings.Contains(text, "connection refused"):
		return cause.WayRefused // the latter through SSH
	case errors.As(err, &name), strings.Contains(text, "no such host"), strings.Contains(text, "name or service not known"):
		return cause.WayNoName
	}
	return cause.WayNoAnswer
}
