// Command k8s-keystone-auth tells a cluster's API server who a token of Keystone
// belongs to. The authenticator is cloud-provider-openstack's, as in its program
// of this name, with the same flags. Around it is a guard, because that program
// takes tokens of every project, and names and groups of Keystone as they are: in
// a cloud whose customers name their own groups, one of them is "system:masters".
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/cloud-provider-openstack/pkg/identity/keystone"
	"k8s.io/klog/v2"
)

func main() {
	config := keystone.NewConfig()
	flag.StringVar(&config.Address, "listen", "127.0.0.1:8443", "address and port to listen on")
	flag.StringVar(&config.CertFile, "tls-cert-file", "", "certificate to serve with")
	flag.StringVar(&config.KeyFile, "tls-private-key-file", "", "its key")
	flag.StringVar(&config.KeystoneURL, "keystone-url", "", "URL of Keystone")
	flag.StringVar(&config.KeystoneCA, "keystone-ca-file", "", "authorities of Keystone's certificate; the system's if empty")
	project := flag.String("project-id", "", "project whose tokens are accepted")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	if err := run(ctx, config, *project); err != nil {
		klog.ErrorS(err, "Answering token reviews")
		os.Exit(1)
	}
}

func run(ctx context.Context, config *keystone.Config, project string) error {
	if project == "" || config.KeystoneURL == "" {
		return errors.New("no project or no Keystone is named: give --project-id and --keystone-url; in a cluster's values they are openstackAuthUrl and projectId in addons.openstack.k8sKeystoneAuth.values")
	}
	// The authenticator takes nothing else.
	config.KeystoneURL = strings.TrimSuffix(strings.TrimRight(config.KeystoneURL, "/"), "/v3") + "/v3"
	mux := http.NewServeMux()
	mux.Handle("POST /webhook", guard{project: project, ask: newPool(config).ask})
	// Keystone may be away: a restart would not bring it back.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	server := &http.Server{Addr: config.Address, Handler: mux, ReadTimeout: 10 * time.Second, TLSConfig: &tls.Config{
		MinVersion: tls.VersionTLS12,
		// Read at each handshake, of which there are few: it may have been renewed.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(config.CertFile, config.KeyFile)
			return &pair, err
		},
	}}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.WithoutCancel(ctx)) })
	klog.InfoS("Answering token reviews", "address", config.Address, "keystone", config.KeystoneURL, "project", project)
	if err := server.ListenAndServeTLS("", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
