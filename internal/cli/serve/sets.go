package serve

import (
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/slipway-sh/slipway/addons/addonprovider"
	"github.com/slipway-sh/slipway/addons/janitor"
	"github.com/slipway-sh/slipway/addons/openstackcluster/prune"
)

// set is a group of controllers that are chosen and led together.
type set struct {
	name, what string
	flags      func(*pflag.FlagSet)
	// validate checks what the flags were set to.
	validate func() error
	scheme   func(*runtime.Scheme) error
	setup    func(manager.Manager) error
}

func allSets() []set { return []set{addonSet(), janitorSet(), prunerSet(), magnumSet()} }

// chartFolder is where Slipway's image has the bundle's charts.
const chartFolder = "/usr/share/slipway/charts"

func addonSet() set {
	o := addonprovider.Options{}
	return set{
		name: "addon-provider", what: "keeps HelmReleases and Manifests of addons.stackhpc.com on clusters",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.ChartsDir, "addon-charts", chartFolder, "folder of charts with an index.json; one that does not exist has none")
			f.StringVar(&o.CacheDir, "addon-cache", filepath.Join(os.TempDir(), "slipway-charts"), "folder for charts that are fetched from repositories")
			f.Int64Var(&o.CacheSize, "addon-cache-size", 512<<20, "bound of that folder, in bytes")
			f.BoolVar(&o.Offline, "addon-offline", false, "use no chart repositories, only the folders above")
			f.StringToStringVar(&o.Mirrors, "addon-mirror", nil, "take repositories that begin with the left from the right instead: https://a=https://b")
			f.StringVar(&o.TrustBundleFile, "addon-trust-bundle", "", "file of certificates that chart repositories are trusted by besides")
			f.DurationVar(&o.DefaultTimeout, "addon-timeout", time.Hour, "how long a change of a release may take where the addon does not say")
			f.DurationVar(&o.ResyncPeriod, "addon-resync", time.Hour, "how often releases are compared with what is on the cluster; negative is never")
			f.DurationVar(&o.RetryDelay, "addon-retry-delay", 15*time.Second, "first pause after a failure; it doubles up to 10 minutes")
			f.IntVar(&o.MaxConcurrent, "addon-concurrency", 4, "releases that are worked on at a time")
			f.IntVar(&o.MaxConcurrentPerCluster, "addon-concurrency-per-cluster", 2, "the same for one cluster")
			f.IntVar(&o.HistoryMax, "addon-history", 10, "revisions of a release that are kept")
			f.DurationVar(&o.RequestTimeout, "addon-request-timeout", 30*time.Second, "how long a single request to a cluster may take")
		},
		validate: func() error { return nil }, // Setup says what is missing
		scheme:   janitor.AddToScheme,
		setup:    func(m manager.Manager) error { return addonprovider.Setup(m, o) },
	}
}

func janitorSet() set {
	o := janitor.DefaultOptions()
	return set{
		name: "janitor", what: "removes from OpenStack what a deleted cluster left there",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&o.DefaultVolumesPolicy, "janitor-default-volumes-policy", o.DefaultVolumesPolicy, "what happens to volumes of clusters without the annotation: delete or keep")
			f.DurationVar(&o.RetryDelay, "janitor-retry-delay", o.RetryDelay, "longest pause between two attempts for one cluster")
			f.IntVar(&o.Workers, "janitor-workers", o.Workers, "how many clusters are looked at side by side")
			f.BoolVar(&o.DryRun, "janitor-dry-run", o.DryRun, "delete nothing; report on each deleted cluster what would be")
		},
		validate: func() error { return o.Validate() },
		scheme:   janitor.AddToScheme,
		setup:    func(m manager.Manager) error { return janitor.Setup(m, o) },
	}
}

func prunerSet() set {
	return set{
		name: prune.Name, what: "deletes templates of machines that nothing refers to any more",
		flags:    func(*pflag.FlagSet) {},
		validate: func() error { return nil },
		scheme:   prune.AddToScheme,
		setup:    prune.Setup,
	}
}
