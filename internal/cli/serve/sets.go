package serve

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/slipway-sh/slipway/addons/addonprovider"
	"github.com/slipway-sh/slipway/addons/causes"
	"github.com/slipway-sh/slipway/addons/janitor"
	"github.com/slipway-sh/slipway/addons/kubeletcerts"
	"github.com/slipway-sh/slipway/addons/noderemoval"
	"github.com/slipway-sh/slipway/addons/openstackcluster/prune"
	"github.com/slipway-sh/slipway/addons/upkeep"
)

// set is a group of controllers that are selected together and share a lease.
type set struct {
	name, what string
	flags      func(*pflag.FlagSet)
	// validate checks the values of the flags.
	validate func() error
	scheme   func(*runtime.Scheme) error
	// setup adds the controllers to a manager. The wrapper of the fence goes around their
	// transports to OpenStack and to workload clusters; a nil fence has none.
	setup func(m manager.Manager, g *barrier) error
}

func allSets() []set {
	return []set{addonSet(), janitorSet(), prunerSet(), causesSet(), magnumSet(), backupSet()}
}

// chartFolder is the folder of the bundle's charts in Slipway's image.
const chartFolder = "/usr/share/slipway/charts"

func addonSet() set {
	o := addonprovider.Options{}
	return set{
		name: "addon-provider", what: "reconciles HelmReleases and Manifests of addons.stackhpc.com on clusters, approves serving certificates of their kubelets, and takes nodes out of load balancers before they go",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.ChartsDir, "addon-charts", chartFolder, "folder of charts with an index.json; a missing folder counts as empty")
			f.StringVar(&o.CacheDir, "addon-cache", filepath.Join(os.TempDir(), "slipway-charts"), "cache folder for charts from repositories")
			f.Int64Var(&o.CacheSize, "addon-cache-size", 512<<20, "maximum size of the cache folder, in bytes")
			f.BoolVar(&o.Offline, "addon-offline", false, "do not use chart repositories, only the folders above")
			f.StringToStringVar(&o.Mirrors, "addon-mirror", nil, "mirror of chart repositories, by URL prefix: https://a=https://b")
			f.StringVar(&o.TrustBundleFile, "addon-trust-bundle", "", "PEM file of additional CA certificates for chart repositories")
			f.DurationVar(&o.DefaultTimeout, "addon-timeout", time.Hour, "how long a change of a release may take if the addon sets no timeout")
			f.DurationVar(&o.ResyncPeriod, "addon-resync", time.Hour, "how often releases are compared with the cluster; a negative value turns it off")
			f.DurationVar(&o.RetryDelay, "addon-retry-delay", 15*time.Second, "first delay before a retry; it doubles up to 10 minutes")
			f.IntVar(&o.MaxConcurrent, "addon-concurrency", 4, "how many releases are reconciled in parallel")
			f.IntVar(&o.MaxConcurrentPerCluster, "addon-concurrency-per-cluster", 2, "how many releases of one cluster are reconciled in parallel")
			f.IntVar(&o.HistoryMax, "addon-history", 10, "how many revisions of a release are kept")
			f.DurationVar(&o.RequestTimeout, "addon-request-timeout", 30*time.Second, "timeout of a single request to a cluster")
		},
		validate: func() error { return nil }, // Setup says what is missing
		scheme:   janitor.AddToScheme,
		setup: func(m manager.Manager, g *barrier) error {
			o.Clusters = o.Connections(g.wrap())
			return errors.Join(addonprovider.Setup(m, o), kubeletcerts.Setup(m, o.Clusters), noderemoval.Setup(m, o.Clusters))
		},
	}
}

func janitorSet() set {
	o := janitor.DefaultOptions()
	return set{
		name: "janitor", what: "deletes the OpenStack resources that a deleted cluster left behind",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.DefaultVolumesPolicy, "janitor-default-volumes-policy", o.DefaultVolumesPolicy, "volumes policy of clusters without the annotation: delete or keep")
			f.DurationVar(&o.RetryDelay, "janitor-retry-delay", o.RetryDelay, "longest delay between two attempts for one cluster")
			f.IntVar(&o.Workers, "janitor-workers", o.Workers, "how many clusters are reconciled in parallel")
			f.BoolVar(&o.DryRun, "janitor-dry-run", o.DryRun, "delete nothing; report on each deleted cluster what would be deleted")
		},
		validate: func() error { return o.Validate() },
		scheme:   janitor.AddToScheme,
		setup: func(m manager.Manager, g *barrier) error {
			o.Wrap = g.wrap()
			return janitor.Setup(m, o)
		},
	}
}

func prunerSet() set {
	return set{
		name: prune.Name, what: "deletes machine templates that are no longer referenced",
		flags:    func(*pflag.FlagSet) {},
		validate: func() error { return nil },
		scheme:   prune.AddToScheme,
		setup:    func(m manager.Manager, _ *barrier) error { return prune.Setup(m) }, // it writes to this cluster alone
	}
}

func causesSet() set {
	return set{
		name: causes.Name, what: "says why clusters are not available, and what ends or is used up, by events and metrics",
		flags:    func(*pflag.FlagSet) {},
		validate: func() error { return nil },
		scheme:   func(*runtime.Scheme) error { return nil },
		setup: func(m manager.Manager, g *barrier) error { // both read, and write events to this cluster alone
			return errors.Join(causes.Setup(m), upkeep.Setup(m, g.project()))
		},
	}
}
