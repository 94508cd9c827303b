package release

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	helm "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

// Client changes one release on one cluster. Only one goroutine may use it.
type Client struct {
	// Name and Namespace are those of the release.
	Name, Namespace string
	// Timeout bounds each wait.
	Timeout time.Duration
	// History is how many revisions are kept.
	History int
	// Progress receives what is being done and waited for.
	Progress func(string)
	// Workerless reports whether the cluster is to have no workers; what needs workers is then not
	// waited for. nil means never.
	Workerless func(context.Context) bool

	cluster *target.Cluster
	place   *target.Place
	getter  *getter
}

// NewClient returns a client for a release. The caller holds the place; the client gives it up
// while it waits.
func NewClient(cluster *target.Cluster, place *target.Place, namespace, name string) *Client {
	return &Client{Name: name, Namespace: namespace, Timeout: time.Hour, History: 10, Progress: func(string) {},
		cluster: cluster, place: place, getter: newGetter(cluster, namespace)}
}

// State is what the labels of a release's records say.
type State struct {
	// Revision is 0 if there is no release.
	Revision int
	Status   helm.Status
	// Digest covers what the release was made from; it is empty for releases that others made.
	Digest string
	record string
}

// Deployed reports whether the newest revision is deployed.
func (s State) Deployed() bool { return s.Status == helm.StatusDeployed }

func secrets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
}

// State reads only the labels of the release's records, not the records.
func (c *Client) State(ctx context.Context) (State, error) {
	records, err := c.cluster.Metadata.Resource(secrets()).Namespace(c.Namespace).
		List(ctx, metav1.ListOptions{LabelSelector: "owner=helm,name=" + c.Name})
	if err != nil {
		return State{}, fmt.Errorf("listing records of release %s/%s: %w", c.Namespace, c.Name, err)
	}
	var newest State
	for _, record := range records.Items {
		revision, err := strconv.Atoi(record.Labels["version"])
		if err != nil || revision <= newest.Revision {
			continue
		}
		newest = State{revision, helm.Status(record.Labels["status"]), record.Labels[v1alpha1.DigestLabel], record.Name}
	}
	return newest, nil
}

// mark labels the newest record of a release that others made with a digest.
func (c *Client) mark(ctx context.Context, state State, digest string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, v1alpha1.DigestLabel, digest)
	_, err := c.cluster.Metadata.Resource(secrets()).Namespace(c.Namespace).
		Patch(ctx, state.record, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("labelling record of release %s/%s: %w", c.Namespace, c.Name, err)
	}
	return nil
}

// configuration is that of the SDK's actions. outgoing reports which manifests are being removed or
// replaced; nil means none.
func (c *Client) configuration(ctx context.Context, outgoing func(string) bool) *action.Configuration {
	client := kube.New(c.getter)
	client.Namespace = c.Namespace
	client.Log = func(string, ...any) {}
	cfg := &action.Configuration{
		RESTClientGetter: c.getter,
		KubeClient: &waiter{Client: client, ctx: ctx, place: c.place, typed: c.cluster.Typed, progress: c.Progress, forget: c.getter.forget,
			outgoing: outgoing, workerless: c.Workerless},
		Releases: storage.Init(driver.NewSecrets(c.cluster.Typed.CoreV1().Secrets(c.Namespace))),
		Log:      func(string, ...any) {},
	}
	cfg.Releases.MaxHistory = c.History
	return cfg
}
