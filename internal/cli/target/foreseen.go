package target

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/forecast"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// clusters asks the management cluster and its parent.
func (f *foreseer) clusters(ctx context.Context) error {
	var workload []forecast.Cluster
	asked, stop := beside(ctx, func(ctx context.Context) (err error) { workload, err = f.workload(ctx); return err })
	defer stop()
	there, release, err := f.own(ctx)
	if err != nil {
		f.Unknown = append(f.Unknown, "how many machines the management cluster has: "+err.Error())
	}
	own, err := f.ownCluster(there, release)
	if err != nil {
		return err
	}
	f.Clusters = append(f.Clusters, own)
	if err := asked(); err != nil {
		f.Unknown = append(f.Unknown, "which workload clusters there are: "+err.Error())
	}
	f.Clusters = append(f.Clusters, workload...)
	return nil
}

// own reads the management cluster's machines by group, and the objects of its release,
// from where its objects are.
func (f *foreseer) own(ctx context.Context) (map[string]int, []*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	kubeconfig := f.seed.Kubeconfig
	if _, moved := f.resources[stacks.StepManagementMove]; moved {
		kubeconfig = f.seed.Management
	}
	if kubeconfig == "" {
		return nil, nil, errors.New("its parent has no kubeconfig in the state")
	}
	config, leave, err := f.seed.Reach(ctx, kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	on, err := kube.New(config)
	if err != nil {
		return nil, nil, err
	}
	var objects []*unstructured.Unstructured
	released, stop := beside(ctx, func(context.Context) (err error) { objects, err = f.release(config); return err })
	defer stop()
	reports, err := clusterapi.Read(ctx, on.Dynamic, stacks.ManagementNamespace)
	if err != nil {
		return nil, nil, err
	}
	there := map[string]int{}
	for _, report := range reports {
		if report.Name != f.t.Name() {
			continue
		}
		for _, m := range report.Machines {
			there[cmp.Or(strings.TrimPrefix(m.Group, f.t.Name()+"-"), forecast.ControlPlane)]++
		}
	}
	err = released()
	return there, objects, err
}

// release are the objects that Helm applied last.
func (f *foreseer) release(config *rest.Config) ([]*unstructured.Unstructured, error) {
	config = rest.CopyConfig(config)
	config.Timeout = lookTime // Helm's library asks without a context
	client, err := helm.New(config, stacks.ManagementNamespace, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	last, err := client.Last(f.t.Name())
	if err != nil || last == nil {
		return nil, err
	}
	return kube.Decode(strings.NewReader(last.Manifest))
}

// ownCluster is what happens to the management cluster.
func (f *foreseer) ownCluster(there map[string]int, before []*unstructured.Unstructured) (forecast.Cluster, error) {
	c := forecast.Cluster{Name: f.t.Name(), Management: true, Reason: "nothing of them changes"}
	for _, n := range there {
		c.Machines += n
	}
	now := map[string]any{}
	state := f.resources[stacks.StepManagementCluster]
	if json.Unmarshal([]byte(state.Text("values")), &now) != nil {
		return f.unknown(c, errors.New("the state does not have its values")), nil
	}
	image, changes := f.image(now)
	values, err := f.program.Foreseen(now, image)
	if err != nil {
		return c, err
	}
	c.Image = changes
	if from, to := version(now), version(values); from != to {
		c.Kubernetes = &forecast.Versions{From: from, To: to}
	}
	after, err := f.rendered(values)
	if err == nil && before == nil && state.Text("chart") == f.program.Equipment.Chart {
		before, err = f.rendered(now)
	}
	if err != nil || before == nil {
		return f.unknown(c, err), nil
	}
	c.Groups = forecast.Rollout(f.t.Name(), before, after, there)
	c.Machines = 0
	for _, g := range c.Groups {
		c.Machines, c.Replaced = c.Machines+g.Machines, c.Replaced+g.Replaced
		if g.Reason != "" {
			c.Reason = g.Reason
		}
	}
	return c, nil
}

// unknown is a management cluster of which it cannot be told what the change means.
func (f *foreseer) unknown(c forecast.Cluster, err error) forecast.Cluster {
	if f.change(stacks.StepManagementCluster) == nil {
		return c
	}
	c.AtMost, c.Reason = true, "its chart changes, and what it is made of now cannot be compared"
	if err != nil {
		c.Reason = "what it is made of cannot be compared: " + err.Error()
	}
	if c.Machines == 0 {
		m := f.program.Config.Spec.ManagementCluster
		c.Machines = m.ControlPlane.Count
		for _, g := range m.NodeGroups {
			c.Machines += g.Count
		}
	}
	c.Replaced = c.Machines
	return c
}

// rendered are the objects of the chart with values.
func (f *foreseer) rendered(values map[string]any) ([]*unstructured.Unstructured, error) {
	if f.program.Config.Spec.ManagementCluster.Chart != nil {
		return nil, errors.New("its chart is not Slipway's own")
	}
	text, err := openstackcluster.Render(openstackcluster.Release{Name: f.t.Name(), Namespace: stacks.ManagementNamespace, Values: values})
	if err != nil {
		return nil, err
	}
	return kube.Decode(strings.NewReader(text))
}

// image is the ID of the nodes' image after the change, and what changes of it.
func (f *foreseer) image(now map[string]any) (string, *forecast.Versions) {
	is, _ := now["machineImageId"].(string)
	if chosen := f.program.Choices.Management.ImageID; chosen != "" {
		if chosen == is {
			return is, nil
		}
		return chosen, &forecast.Versions{From: is, To: chosen}
	}
	c := f.change(stacks.StepNodeImage)
	if c == nil || c.Operation != engine.Replace && c.Operation != engine.Create {
		return is, nil
	}
	to := f.program.NodeImage.SHA256
	return "to-be-uploaded", &forecast.Versions{From: short(f.resources[stacks.StepNodeImage].Text("sha256")), To: short(cmp.Or(to, f.program.NodeImage.Listed))}
}

// short is as much of a digest as people compare.
func short(digest string) string { return digest[:min(len(digest), 12)] }

func version(values map[string]any) string {
	text, _ := values["kubernetesVersion"].(string)
	return text
}

// workload are the workload clusters on the management cluster. up writes none of their
// objects; a machine that is outdated is replaced by a change of the cluster's owner.
func (f *foreseer) workload(ctx context.Context) ([]forecast.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	config, leave, err := f.seed.Reach(ctx, f.seed.Management)
	if err != nil {
		return nil, err
	}
	defer leave()
	on, err := kube.New(config)
	if err != nil {
		return nil, err
	}
	reports, err := clusterapi.Read(ctx, on.Dynamic, metav1.NamespaceAll)
	if err != nil {
		return nil, err
	}
	var all []forecast.Cluster
	for _, r := range reports {
		if r.Namespace == stacks.ManagementNamespace && r.Name == f.t.Name() {
			continue
		}
		c := forecast.Cluster{Name: r.Namespace + "/" + r.Name, Machines: len(r.Machines), Reason: forecast.Kept}
		for _, p := range r.Parts {
			if p.Outdated {
				c.Reason = "its owner is changing it: " + p.Kind + " " + p.Name + " replaces machines, with or without this change"
			}
		}
		all = append(all, c)
	}
	return all, nil
}
