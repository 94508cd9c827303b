package settings

import (
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/cert-manager/cert-manager/internal/apis/config/shared"
	"github.com/cert-manager/cert-manager/pkg/util/feature"
)

// LeaderElection binds the flags of leader election.
func LeaderElection(fs *pflag.FlagSet, c *shared.LeaderElectionConfig) {
	fs.BoolVar(&c.Enabled, "leader-elect", c.Enabled,
		"Work only while holding a lease, so that of several replicas one works.")
	fs.StringVar(&c.Namespace, "leader-election-namespace", c.Namespace,
		"Namespace of the lease.")
	fs.DurationVar(&c.LeaseDuration, "leader-election-lease-duration", c.LeaseDuration,
		"How long a lease that is not renewed keeps others from taking it.")
	fs.DurationVar(&c.RenewDeadline, "leader-election-renew-deadline", c.RenewDeadline,
		"How long the holder tries to renew the lease before it stops working; at most the lease duration.")
	fs.DurationVar(&c.RetryPeriod, "leader-election-retry-period", c.RetryPeriod,
		"Time between two attempts to take or to renew the lease.")
}

// Metrics binds the flags of the metrics endpoint and of its TLS.
func Metrics(fs *pflag.FlagSet, address *string, c *shared.TLSConfig) {
	fs.StringVar(address, "metrics-listen-address", *address,
		"Host and port of the metrics endpoint.")
	fs.StringVar(&c.Filesystem.CertFile, "metrics-tls-cert-file", c.Filesystem.CertFile,
		"File with the certificate of the metrics endpoint.")
	fs.StringVar(&c.Filesystem.KeyFile, "metrics-tls-private-key-file", c.Filesystem.KeyFile,
		"File with the private key of the metrics endpoint.")
	fs.DurationVar(&c.Dynamic.LeafDuration, "metrics-dynamic-serving-leaf-duration", c.Dynamic.LeafDuration,
		"How long a generated certificate of the metrics endpoint is valid.")
	fs.StringVar(&c.Dynamic.SecretNamespace, "metrics-dynamic-serving-ca-secret-namespace", c.Dynamic.SecretNamespace,
		"Namespace of the secret with the CA for generated certificates.")
	fs.StringVar(&c.Dynamic.SecretName, "metrics-dynamic-serving-ca-secret-name", c.Dynamic.SecretName,
		"Name of the secret with the CA for generated certificates.")
	fs.StringSliceVar(&c.Dynamic.DNSNames, "metrics-dynamic-serving-dns-names", c.Dynamic.DNSNames,
		"DNS names of generated certificates.")
	fs.StringSliceVar(&c.CipherSuites, "metrics-tls-cipher-suites", c.CipherSuites,
		"Cipher suites of the metrics endpoint, Go's own by default. Known: "+strings.Join(cliflag.TLSCipherPossibleValues(), ","))
	fs.StringVar(&c.MinTLSVersion, "metrics-tls-min-version", c.MinTLSVersion,
		"Lowest TLS version of the metrics endpoint, Go's own by default. Known: "+strings.Join(cliflag.TLSPossibleVersions(), ", "))
}

// Profiling binds the flags of the profiler.
func Profiling(fs *pflag.FlagSet, enabled *bool, address *string) {
	fs.BoolVar(enabled, "enable-profiling", *enabled, "Serve Go's profiler.")
	fs.StringVar(address, "profiler-address", *address,
		"Host and port of the profiler. It must not be reachable by others.")
}

// FeatureGates binds --feature-gates. The program's package of features has to
// be linked in, as it is what registers them.
func FeatureGates(fs *pflag.FlagSet, gates *map[string]bool) {
	fs.Var(cliflag.NewMapStringBool(gates), "feature-gates",
		"Features to turn on or off, name=true or name=false. Known:\n"+strings.Join(feature.DefaultFeatureGate.KnownFeatures(), "\n"))
}
