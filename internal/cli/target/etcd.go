package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/etcd"
	"github.com/slipway-sh/slipway/internal/remote"
)

// kubeadm's files on a machine of a control plane, and the client URL of etcd there.
const (
	etcdAuthority   = "/etc/kubernetes/pki/etcd/ca.crt"
	etcdCertificate = "/etc/kubernetes/pki/etcd/healthcheck-client.crt"
	etcdKey         = "/etc/kubernetes/pki/etcd/healthcheck-client.key"
	etcdEndpoint    = "https://127.0.0.1:2379"
)

// Etcd connects to the etcd of the management cluster through one of its control plane's
// machines, with the client certificate that kubeadm made there. leave closes it.
func Etcd(ctx context.Context, s *Seed, c *cloud.Cloud, through *remote.Machine, serverID string) (client *etcd.Client, leave func(), err error) {
	machine, err := s.Node(ctx, c, through, serverID, "")
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			machine.Close()
		}
	}()
	files := map[string]string{}
	for _, path := range []string{etcdAuthority, etcdCertificate, etcdKey} {
		if files[path], err = machine.Run(ctx, "cat", path); err != nil {
			return nil, nil, fmt.Errorf("reading %s: %w", path, err)
		}
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !config.RootCAs.AppendCertsFromPEM([]byte(files[etcdAuthority])) {
		return nil, nil, errors.New(etcdAuthority + " contains no certificate")
	}
	pair, err := tls.X509KeyPair([]byte(files[etcdCertificate]), []byte(files[etcdKey]))
	if err != nil {
		return nil, nil, errors.New("etcd's client certificate and key do not fit") // the library's error could quote the key
	}
	config.Certificates = []tls.Certificate{pair}
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		return machine.DialContext(ctx, "tcp", address)
	}
	if client, err = etcd.DialBy(dial, etcdEndpoint, config, time.Minute); err != nil {
		return nil, nil, err
	}
	return client, func() { client.Close(); machine.Close() }, nil
}
