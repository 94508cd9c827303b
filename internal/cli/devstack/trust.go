package devstack

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// answerTime bounds the wait for Keystone's answer, which needs no database.
const answerTime = 30 * time.Second

func newTrust(ui.Streams) *cobra.Command {
	keystone := false
	cmd := step("trust", "Check the certificates of tls-proxy",
		`Reports whether the authorities in SSL_BUNDLE_FILE can be trusted by, and whether the
certificate of the API is one of theirs. With --keystone, whether Keystone's is too.
Without tls-proxy nothing is checked.`, "  slipway devstack trust --keystone",
		func(ctx context.Context, s devstack.Settings) error {
			authorities, err := s.Authorities(time.Now())
			if err != nil {
				return err
			}
			if err := s.CheckCertificate(authorities, time.Now()); err != nil || !keystone {
				return err
			}
			return trusted(ctx, s, authorities)
		})
	cmd.Flags().BoolVar(&keystone, "keystone", false, "also connect to Keystone")
	return cmd
}

// trusted connects to Keystone as services, Cluster API and nodes of clusters do: they trust
// the authorities of SSL_BUNDLE_FILE alone. What it answers is not looked at.
func trusted(ctx context.Context, s devstack.Settings, authorities string) error {
	if !strings.HasPrefix(s.AuthURL, "https://") {
		return nil
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: devstack.Pool(authorities), MinVersion: tls.VersionTLS12}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.AuthURL, nil)
	if err != nil {
		return fault.Usage("KEYSTONE_SERVICE_URI", err, "give Keystone's URL")
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err == nil {
		return answer.Body.Close()
	}
	var refused *tls.CertificateVerificationError
	if !errors.As(err, &refused) {
		return fault.New("Keystone at "+s.AuthURL, err, "read journalctl -u devstack@keystone, and the log of the proxy, Apache")
	}
	by := "the authorities of the host"
	if s.CA != "" {
		by = "the authorities in SSL_BUNDLE_FILE " + s.CA
	}
	return fault.New("Keystone at "+s.AuthURL, fmt.Errorf("%s do not vouch for its certificate: %w", by, refused.Err),
		"add the certificate of the authority that signed Keystone's to SSL_BUNDLE_FILE: clusters trust nothing else")
}
