package target

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/forecast"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/runlog"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// lookTime bounds how long clusters are asked for a forecast: a plan must not wait for what
// does not answer.
const lookTime = 45 * time.Second

// formerRuns is how many runs of the log are looked at for how long things take.
const formerRuns = 50

// foreseer makes one forecast.
type foreseer struct {
	t         *Target
	program   stacks.Environment
	plan      engine.Plan
	resources map[string]engine.Resource
	seed      *Seed
	forecast.Forecast
}

// Forecast says what a plan would replace, nil if there is no management cluster that was
// ready once or nothing would change. What cannot be looked at is told, and is no error.
func (t *Target) Forecast(ctx context.Context, program stacks.Environment, plan engine.Plan, quota []preflight.Need) (*forecast.Forecast, error) {
	if plan.Empty() || program.Config.Spec.ManagementCluster == nil {
		return nil, nil
	}
	list, err := t.Engine.Resources(ctx)
	if err != nil {
		return nil, err
	}
	f := &foreseer{t: t, program: program, plan: plan, resources: map[string]engine.Resource{},
		Forecast: forecast.Forecast{Clusters: []forecast.Cluster{}, Controllers: []forecast.Controller{}, Surge: []forecast.Need{}}}
	for _, r := range list {
		f.resources[r.Name] = r
	}
	if f.seed, err = t.Seed(ctx); err != nil || f.seed.Management == "" {
		return nil, nil //nolint:nilerr // nothing is there that could be replaced
	}
	f.seedServer()
	f.controllers()
	looking, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if err := f.clusters(looking); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f.surge(quota)
	own, tenants := f.Replaced()
	f.Duration = forecast.Take(own+tenants, f.runs(ctx), stacks.StepManagementCluster, stacks.StepManagementReady)
	return &f.Forecast, nil
}

// change is what the plan does to a step; nil is nothing.
func (f *foreseer) change(step string) *engine.Change {
	at := slices.IndexFunc(f.plan.Changes, func(c engine.Change) bool { return c.Name == step })
	if at < 0 {
		return nil
	}
	return &f.plan.Changes[at]
}

func (f *foreseer) seedServer() {
	c := f.change(stacks.StepSeed)
	if c == nil || c.Operation != engine.Replace {
		return
	}
	var why []string
	for _, p := range c.Properties {
		if p.Replaces {
			why = append(why, p.Path)
		}
	}
	f.Seed = "what differs: " + cmp.Or(strings.Join(why, ", "), "its image")
	if f.change(stacks.StepImage) != nil {
		f.Seed = "it gets another image"
	}
}

// controllers compares the versions in the state with those of the program.
func (f *foreseer) controllers() {
	add := func(on, name, from, to string) {
		if from != to {
			f.Controllers = append(f.Controllers, forecast.Controller{On: on, Name: name, Versions: forecast.Versions{From: from, To: to}})
		}
	}
	if f.change(stacks.StepK3s) != nil {
		add("seed", "k3s", f.resources[stacks.StepK3s].Text("release"), f.program.Equipment.Versions.K3s)
	}
	const onSeed, onManagement = "seed", "management cluster"
	wanted := kubernetes.ProviderVersions(f.program.Equipment.Versions)
	for _, one := range []struct{ on, step string }{{onSeed, stacks.StepClusterAPI}, {onManagement, stacks.StepManagementClusterAPI}} {
		if f.change(one.step) == nil {
			continue
		}
		was, _ := f.resources[one.step].Outputs["versions"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(wanted)) {
			from, _ := was[name].(string)
			add(one.on, name, from, wanted[name])
		}
	}
	for _, one := range []struct{ on, step, name string }{{onSeed, stacks.StepControllers, "addon provider and janitor"},
		{onManagement, stacks.StepManagementControllers, "addon provider and janitor"}, {onManagement, stacks.StepMagnum, "Magnum API"}} {
		if c := f.change(one.step); c != nil && c.Operation != engine.Delete {
			add(one.on, one.name, imageTag(f.resources[one.step].Text("image")), imageTag(f.program.Equipment.ControllersImage))
		}
	}
}

// imageTag is the last part of a reference.
func imageTag(reference string) string {
	reference = reference[strings.LastIndex(reference, "/")+1:]
	if _, tag, found := strings.Cut(reference, ":"); found {
		return tag
	}
	return reference
}

// clusters asks the management cluster and its parent.
func (f *foreseer) clusters(ctx context.Context) error {
	there, release, err := f.own(ctx)
	if err != nil {
		f.Unknown = append(f.Unknown, "how many machines the management cluster has: "+err.Error())
	}
	own, err := f.ownCluster(there, release)
	if err != nil {
		return err
	}
	f.Clusters = append(f.Clusters, own)
	workload, err := f.workload(ctx)
	if err != nil {
		f.Unknown = append(f.Unknown, "which workload clusters there are: "+err.Error())
	}
	f.Clusters = append(f.Clusters, workload...)
	return nil
}

// own reads the management cluster's machines by group, and the objects of its release,
// from where its objects are.
func (f *foreseer) own(ctx context.Context) (map[string]int, []*unstructured.Unstructured, error) {
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
	objects, err := f.release(config)
	return there, objects, err
}

// release are the objects that Helm applied last.
func (f *foreseer) release(config *rest.Config) ([]*unstructured.Unstructured, error) {
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
		return f.unknown(c, nil, there, errors.New("the state does not have its values")), nil
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
		return f.unknown(c, after, there, err), nil
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
func (f *foreseer) unknown(c forecast.Cluster, after []*unstructured.Unstructured, there map[string]int, err error) forecast.Cluster {
	if f.change(stacks.StepManagementCluster) == nil {
		return c
	}
	c.AtMost, c.Reason = true, "its chart changes, and what it is made of now cannot be compared"
	if err != nil {
		c.Reason = "what it is made of cannot be compared: " + err.Error()
	}
	for _, g := range forecast.Rollout(f.t.Name(), nil, after, there) {
		c.Groups = append(c.Groups, g)
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

// surge is what preflight found to be needed while machines are replaced, if any are.
func (f *foreseer) surge(quota []preflight.Need) {
	if own, _ := f.Replaced(); own == 0 {
		return
	}
	for _, n := range quota {
		if n.Surge > 0 {
			left := -1
			if n.Limit >= 0 {
				left = max(0, n.Limit-n.Used)
			}
			f.Surge = append(f.Surge, forecast.Need{Resource: words(n.Resource), Need: n.Surge, Left: left})
		}
	}
}

// words are the units of a quota for people.
func words(resource string) string {
	if unit, known := map[string]string{"ram": "MiB of memory", "gigabytes": "GiB of volumes"}[resource]; known {
		return unit
	}
	return resource
}

// runs are former runs of up with their events, the newest first. Without a log there are
// none.
func (f *foreseer) runs(ctx context.Context) (all []forecast.Run) {
	store, leave, err := runlog.Open(ctx, f.t.StateURL())
	if err != nil {
		return nil
	}
	defer leave() //nolint:errcheck // it was read
	records, err := runlog.List(ctx, store, f.t.Name(), formerRuns)
	if err != nil && len(records) == 0 {
		return nil
	}
	for _, r := range records {
		if strings.HasPrefix(r.Command, "slipway up") && r.Outcome == runlog.Succeeded {
			all = append(all, forecast.Run{ID: r.ID, Events: runlog.Events(ctx, store, f.t.Name(), r.ID)})
		}
	}
	return all
}

// WriteForecast prints a forecast as text; nil prints nothing.
func WriteForecast(w io.Writer, f *forecast.Forecast) {
	if f == nil {
		return
	}
	fmt.Fprintln(w, strings.Join(f.Lines(), "\n"))
}
