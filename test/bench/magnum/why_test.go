package magnum

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/internal/cause/look"
	clitarget "github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/support"
	"github.com/slipway-sh/slipway/stacks/workload"
)

const (
	// whyVariable makes the test's binary explain all clusters of a kubeconfig's cluster.
	whyVariable = "SLIPWAY_BENCH_WHY"
	// whyTime is how long `slipway why` takes at most; what it did not see by then it names.
	whyTime = time.Minute
)

func TestMain(m *testing.M) {
	if kubeconfig := os.Getenv(whyVariable); kubeconfig != "" {
		if err := explain(kubeconfig, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// explained is what came of it.
type explained struct {
	// Clusters have an answer, Unseen of them one that lacks something.
	Clusters, Causes, Unseen int
	// Lacks is one thing that was not seen.
	Lacks string
	// Bytes is how long the text is.
	Bytes int
}

// example is what one of them lacks.
func (e explained) example() string {
	if e.Lacks == "" {
		return ""
	}
	return ", such as " + e.Lacks
}

// explain does what `slipway why` does on a management cluster, from the objects to
// the text. The command itself finds that by a seed, which a bench has none of.
func explain(kubeconfig string, out io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), whyTime)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	on, err := kube.New(config)
	if err != nil {
		return err
	}
	place := witness.Place{Name: "management", Client: on.Dynamic, Way: clitarget.Way(on, nil)}
	if place.Tenants, err = workload.Tenants(ctx, on.Dynamic, metav1.NamespaceAll); err != nil {
		return fmt.Errorf("reading the names of clusters: %w", err)
	}
	all, err := clusterapi.ReadAll(ctx, on.Dynamic, metav1.NamespaceAll)
	if err != nil {
		return fmt.Errorf("reading the clusters: %w", err)
	}
	now := time.Now()
	scenes := witness.Scenes(ctx, place, all, look.NewCache(time.Now), "", "", now)
	answers := support.Snapshots{Environment: environmentName, At: now, Scenes: scenes}.Explain("", "")
	e := explained{Clusters: len(answers.Answers), Causes: len(answers.Causes), Bytes: len(answers.Text())}
	for _, a := range answers.Answers {
		if len(a.Unseen) > 0 {
			e.Unseen++
			e.Lacks = fmt.Sprintf("%s: %s", a.Unseen[0].What, a.Unseen[0].Why)
		}
	}
	return json.NewEncoder(out).Encode(e)
}
