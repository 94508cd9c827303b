package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	inmemory "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime/client"
	"sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime/manager"
	"sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/api"
	"sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/etcd"
	"sigs.k8s.io/cluster-api/util/certs"
)

// cluster is one API server, and what the guests of its cluster have told it.
type cluster struct {
	host      string
	port      int64
	memory    inmemory.Client
	handler   http.Handler
	api, etcd authority
	booted    map[string]bool
	server    *http.Server

	mu           sync.Mutex
	certificates map[string]*tls.Certificate
}

// newCluster is a cluster that nobody serves yet; group is its name in memory.
func newCluster(host string, port int64, memory manager.Manager, group string) *cluster {
	resolve := func(string) (string, error) { return group, nil }
	kubernetes := api.NewAPIServerHandler(memory, logr.Discard(), resolve)
	members := etcd.NewEtcdServerHandler(memory, logr.Discard(), resolve)
	return &cluster{host: host, port: port, memory: memory.GetResourceGroup(group).GetClient(), booted: map[string]bool{}, certificates: map[string]*tls.Certificate{},
		handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
				members.ServeHTTP(w, r)
				return
			}
			kubernetes.ServeHTTP(w, r)
		})}
}

func (c *cluster) serving() bool { return c.server != nil }

// serve listens at the cluster's address.
func (c *cluster) serve() error {
	listener, err := net.Listen("tcp", net.JoinHostPort(c.host, strconv.FormatInt(c.port, 10)))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: c.handler, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{GetCertificate: c.certificate, MinVersion: tls.VersionTLS12}}
	c.server = server
	go func() { _ = server.ServeTLS(listener, "", "") }() // until it is closed
	return nil
}

func (c *cluster) close() {
	if c.server != nil {
		_ = c.server.Close()
	}
}

// certificate is that of a member of etcd, which is called by its pod's name, or that of the
// API server. A forwarded port of any pod ends at this server.
func (c *cluster) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name, by := "", &c.api
	if strings.HasPrefix(hello.ServerName, "etcd-") {
		name, by = hello.ServerName, &c.etcd
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if made := c.certificates[name]; made != nil {
		return made, nil
	}
	made, err := by.sign(name, c.host)
	if err == nil {
		c.certificates[name] = made
	}
	return made, err
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

func (a *authority) read(certificate, key []byte) (err error) {
	if a.certificate, err = certs.DecodeCertPEM(certificate); err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	if a.key, err = certs.DecodePrivateKeyPEM(key); err != nil {
		return fmt.Errorf("reading the key: %w", err)
	}
	return nil
}

// sign makes the certificate of a server with a name and an address.
func (a *authority) sign(name, address string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	names, subject := []string{"localhost"}, "kube-apiserver" // by which the control plane's controller knows it
	if name != "" {
		names, subject = append(names, name), name
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: subject}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames: names, IPAddresses: []net.IP{net.ParseIP(address), net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
