package kubernetes

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	helmcli "helm.sh/helm/v3/pkg/cli"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/addons/clusterctl/move"
	"github.com/slipway-sh/slipway/addons/janitor"
	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/internal/kube"
)

// How long a cluster may take to come up, to roll out changes and to be deleted: the cloud
// boots its servers one after the other.
const (
	clusterTime = 90 * time.Minute
	removeTime  = 30 * time.Minute
)

// ChartID identifies a chart for ClusterInputs.Chart. Slipway's own chart is identified by
// its content, so that a Slipway with a different chart upgrades the cluster.
func ChartID(from *config.Chart) (string, error) {
	if from != nil {
		text, err := json.Marshal(from)
		return string(text), err
	}
	own, err := openstackcluster.Chart()
	if err != nil {
		return "", err
	}
	digest := helm.Digest(own)
	return own.Metadata.Version + "@" + hex.EncodeToString(digest[:8]), nil
}

// chartOf is the chart of a ChartID.
func chartOf(id string) (*chart.Chart, error) {
	var from config.Chart
	if json.Unmarshal([]byte(id), &from) != nil {
		return openstackcluster.Chart()
	}
	settings := &helmcli.EnvSettings{}
	options := action.ChartPathOptions{RepoURL: from.Repo, Version: from.Version}
	path, err := options.LocateChart(from.Name, settings)
	if err != nil {
		return nil, fmt.Errorf("fetching chart %s %s from %s: %w", from.Name, from.Version, from.Repo, err)
	}
	return loader.Load(path)
}

// release reconciles the cluster's Helm release. What an interrupted run made stays, because it
// may be machines already, and what somebody deleted is made again.
func release(ctx context.Context, on *kube.Cluster, config *rest.Config, in ClusterInputs, values map[string]any) error {
	status(ctx, "installing the Helm release")
	wanted, err := chartOf(in.Chart)
	if err != nil {
		return err
	}
	client, err := helm.New(config, in.Namespace, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	to := helm.Wanted{Name: in.Name, Chart: wanted, Values: values, Resume: true}
	last, err := client.Last(in.Name)
	if err != nil {
		return err
	}
	if last != nil {
		there, err := clusterapi.Exists(ctx, on.Dynamic, in.Namespace, in.Name)
		if err != nil {
			return err
		}
		if there {
			err = noteCredential(ctx, on, in, last.Config, values)
		} else { // the record would claim that all is there
			_, err = client.Repair(to, last)
		}
		if err != nil {
			return err
		}
	}
	// The failed revision is continued.
	tell := func(err error) {
		if kube.WebhookAway(err) {
			status(ctx, "installing the Helm release; the webhooks of Cluster API do not answer")
			return
		}
		status(ctx, "installing the Helm release; the Kubernetes API does not answer")
	}
	return on.Outlast(ctx, awayTime, kube.Away, tell, func(ctx context.Context) error {
		_, _, err := client.Ensure(ctx, to)
		return err
	})
}

// awayTime is how long the API, and the webhooks of Cluster API, may be away while a release is written:
// k3s, or a kubelet, of a seed that is busy or emulated starts programs again that do not answer in time.
const awayTime = 15 * time.Minute

// await waits until a cluster is as done says, and tells what consoles say of
// machines that do not become nodes.
func await(ctx context.Context, parent *kube.Cluster, in ClusterInputs, console Console, done func(clusterapi.Report) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, clusterTime, fmt.Errorf("it was not ready after %s", clusterTime))
	defer cancel()
	l := &listener{console: console, tell: func(text string) { status(ctx, text) }}
	var listening sync.WaitGroup
	listening.Go(func() { l.listen(ctx) })
	_, err := clusterapi.Await(ctx, parent.Dynamic, in.Namespace, in.Name, done, l.hear)
	cancel()
	listening.Wait()
	return l.explain(err)
}

// remove deletes the cluster and waits until it is gone from the cloud; then it deletes the
// release, whose charts keep what Cluster API must delete in order.
func (k clusterKind) remove(ctx context.Context, state ClusterState) error {
	in := state.ClusterInputs
	machine, err := in.reachNow(ctx)
	if err != nil {
		return fault.New("seed at "+in.Address, err, "run slipway down, which deletes all resources with the environment's ownership tag")
	}
	defer machine.Close()
	if in.Local != "" {
		seed, err := k.seeds.Find(ctx, in.Local, func(text string) { status(ctx, text) })
		if err != nil {
			return err
		}
		if seed == "" {
			return selfManaged(ctx, machine, state) // else it went with its seed
		}
	}
	at, err := locate(ctx, machine, k.seeds, in, ClusterState{}) // a seed that does not answer counts as gone
	if err != nil {
		return err
	}
	if at.place == move.Management {
		return errSelfManaged(in.Name)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, removeTime, fmt.Errorf("it still exists after %s", removeTime))
	defer cancel()
	if err := clusterapi.Delete(ctx, at.Kube.Dynamic, in.Namespace, in.Name, map[string]string{janitor.VolumesPolicyAnnotation: in.VolumesPolicy},
		func(r clusterapi.Report) { status(ctx, "deleting: "+r.Progress()) }); err != nil {
		return err
	}
	client, err := helm.New(at.Config, in.Namespace, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if _, err = client.Uninstall(in.Name, removeTime); err != nil {
		return err
	}
	return clusterapi.AwaitServerGroups(ctx, at.Kube.Dynamic, in.Namespace, in.Name)
}

// errSelfManaged is the error about a cluster that nothing but itself could delete.
func errSelfManaged(name string) error {
	return fault.New("cluster "+name, errors.New("it is self-managed and cannot delete itself"), "run slipway down, which deletes all resources with the environment's ownership tag")
}

// selfManaged is errSelfManaged if a cluster has its own objects.
func selfManaged(ctx context.Context, w Way, state ClusterState) error {
	if there, err := itselfHas(ctx, w, state.AdminKubeconfig, state.Namespace, state.Name); err == nil && there {
		return errSelfManaged(state.Name)
	}
	return nil
}
