package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/certs"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kubeversion"
)

// ClusterInputs are the inputs of a cluster that Cluster API creates.
type ClusterInputs struct {
	Login
	// Kubeconfig is that of the cluster that runs Cluster API.
	Kubeconfig string `pulumi:"kubeconfig" provider:"secret"`
	// ServerID is the server of that cluster; on a new server everything is created
	// and waited for again.
	ServerID string `pulumi:"serverID"`
	// Name and Namespace are those of the Cluster and of its Helm release.
	Name      string `pulumi:"name"`
	Namespace string `pulumi:"namespace"`
	// Chart is the version and digest of our chart, or the repository, name and
	// version of another chart, as JSON.
	Chart string `pulumi:"chart"`
	// Values are the chart's values as JSON. They contain the cloud credential.
	Values string `pulumi:"values" provider:"secret"`
	// Version is the Kubernetes version in the values. A plan knows it even if it
	// does not know the values, which contain the ID of an image to be uploaded.
	Version string `pulumi:"kubernetesVersion,optional"`
	// VolumesPolicy is what happens to volumes of workloads when the cluster is
	// deleted: "delete" or "keep".
	VolumesPolicy string `pulumi:"volumesPolicy"`
}

// ClusterState is the state of a cluster.
type ClusterState struct {
	ClusterInputs
	// AdminKubeconfig is the administrator's kubeconfig of the cluster.
	AdminKubeconfig string `pulumi:"adminKubeconfig" provider:"secret"`
}

// Cluster is a cluster in a program. It counts as created when its API answers and pods
// find a node. ReadyCluster waits for all of it.
type Cluster struct {
	pulumi.CustomResourceState
	AdminKubeconfig pulumi.StringOutput `pulumi:"adminKubeconfig"`
}

// ClusterRefs are the inputs of NewCluster.
type ClusterRefs struct {
	LoginRefs
	Kubeconfig, ServerID                           pulumi.StringInput
	Name, Namespace, Chart, Version, VolumesPolicy string
	Values                                         pulumi.StringInput
}

// NewCluster adds a cluster to the program.
func NewCluster(ctx *pulumi.Context, name string, refs ClusterRefs, options ...pulumi.ResourceOption) (*Cluster, error) {
	properties := refs.properties()
	properties["kubeconfig"] = pulumi.ToSecret(refs.Kubeconfig)
	properties["serverID"] = refs.ServerID
	properties["name"] = pulumi.String(refs.Name)
	properties["namespace"] = pulumi.String(refs.Namespace)
	properties["chart"] = pulumi.String(refs.Chart)
	properties["values"] = pulumi.ToSecret(refs.Values)
	if refs.Version != "" {
		properties["kubernetesVersion"] = pulumi.String(refs.Version)
	}
	properties["volumesPolicy"] = pulumi.String(refs.VolumesPolicy)
	r := &Cluster{}
	options = append(options, pulumi.AdditionalSecretOutputs([]string{"adminKubeconfig"}))
	return r, ctx.RegisterResource("slipway:kubernetes:Cluster", name, properties, r, options...)
}

func (s ClusterState) inputs() ClusterInputs { return s.ClusterInputs }

type workloadCluster struct {
	controller[ClusterInputs, ClusterState]
}

// Annotate names the resource's type.
func (*workloadCluster) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "Cluster") }

// WireDependencies marks the secrets.
func (*workloadCluster) WireDependencies(f infer.FieldSelector, _ *ClusterInputs, s *ClusterState) {
	f.OutputField(&s.AdminKubeconfig).AlwaysSecret()
}

// Diff refuses a version that Kubernetes cannot be upgraded to, before anything is
// changed (row S-66).
func (c *workloadCluster) Diff(ctx context.Context, r infer.DiffRequest[ClusterInputs, ClusterState]) (infer.DiffResponse, error) {
	from, to := versionIn(r.State.Values), cmp.Or(versionIn(r.Inputs.Values), r.Inputs.Version)
	if from != "" && to != "" {
		if err := kubeversion.CheckUpgrade(from, to); err != nil {
			return infer.DiffResponse{}, fault.Usage("cluster "+r.State.Name, err, "upgrade by one minor version at a time, each with a node image of that version: set "+
				"spec.managementCluster.kubernetesVersion, or use a bundle with that version")
		}
	}
	if was, now := tagsIn(r.State.Values), tagsIn(r.Inputs.Values); r.State.Values != "" && r.Inputs.Values != "" && !slices.Equal(was, now) {
		return infer.DiffResponse{}, fault.Usage("spec.tags", fmt.Errorf("they would change on cluster %s from %q to %q, and Cluster API's OpenStack provider refuses that", r.State.Name, was, now),
			"set spec.tags as they were")
	}
	if err := sameGroups(r.State.ClusterInputs, r.Inputs); err != nil {
		return infer.DiffResponse{}, err
	}
	response, err := c.controller.Diff(ctx, r)
	if err == nil && certs.ClusterKubeconfigDue(r.State.AdminKubeconfig, time.Now()) {
		outdated(&response, "adminKubeconfig")
	}
	return response, err
}

// versionIn is the Kubernetes version in a chart's values; "" if there is none yet.
func versionIn(values string) string {
	var known struct {
		KubernetesVersion string `json:"kubernetesVersion"`
	}
	if json.Unmarshal([]byte(values), &known) != nil {
		return ""
	}
	return known.KubernetesVersion
}

// tagsIn are the tags in a chart's values. Their order counts, too.
func tagsIn(values string) []string {
	var known struct {
		Tags []string `json:"tags"`
	}
	if json.Unmarshal([]byte(values), &known) != nil {
		return nil
	}
	return known.Tags
}

// sameGroups refuses another policy of server groups that are there.
func sameGroups(was, now ClusterInputs) error {
	if json.Valid([]byte(now.Chart)) { // another chart makes none by these values
		return nil
	}
	var from, to map[string]any
	if json.Unmarshal([]byte(was.Values), &from) != nil || json.Unmarshal([]byte(now.Values), &to) != nil {
		return nil // not known yet
	}
	has, _, err := openstackcluster.ServerGroups(openstackcluster.Release{Name: was.Name, Namespace: was.Namespace, Values: from})
	if err != nil {
		return err
	}
	return openstackcluster.CheckServerGroups(openstackcluster.Release{Name: now.Name, Namespace: now.Namespace, Values: to}, has, "spec.managementCluster.values.")
}

// Answered is told of a cluster whose API answers, before its kubeconfig is in the state: before
// anybody else goes there. nil tells nobody.
type Answered func(ctx context.Context, on *kube.Cluster) error

type clusterKind struct {
	console  Console
	seeds    *LocalSeeds
	answered Answered
}

func (clusterKind) object(in ClusterInputs) string { return "cluster " + in.Name }

func (clusterKind) id(in ClusterInputs) string { return in.Namespace + "/" + in.Name }

func (clusterKind) blank(in ClusterInputs) ClusterState { return ClusterState{ClusterInputs: in} }

// settle creates the cluster, adopts an existing one with the name, or rolls out changed
// values.
func (k clusterKind) settle(ctx context.Context, in ClusterInputs) (ClusterState, error) {
	return k.update(ctx, k.blank(in), in)
}

// update settles the cluster where its objects are now.
func (k clusterKind) update(ctx context.Context, old ClusterState, in ClusterInputs) (ClusterState, error) {
	state := k.blank(in)
	var values map[string]any
	if err := json.Unmarshal([]byte(in.Values), &values); err != nil {
		return state, fmt.Errorf("reading the values: %w", err)
	}
	machine, err := in.reach(ctx)
	if err != nil {
		return state, err
	}
	defer machine.Close()
	at, err := locate(ctx, machine, k.seeds, in, old)
	if err != nil {
		return state, err
	}
	// Its controllers may come later than the addons that its release has.
	if err := at.Kube.Define(ctx, v1alpha1.Definitions()); err != nil {
		return state, err
	}
	if err := release(ctx, at.Kube, at.Config, in, values); err != nil {
		return state, err
	}
	if err := await(ctx, at.Kube, in, k.console, clusterapi.Report.Usable); err != nil {
		return state, err
	}
	kubeconfig, err := clusterapi.Kubeconfig(ctx, at.Kube.Typed, in.Namespace, in.Name)
	if err == nil {
		err = k.tell(ctx, machine, kubeconfig)
	}
	if err != nil {
		return state, err
	}
	state.AdminKubeconfig = kubeconfig
	return state, nil
}

// tellTime bounds the time for what is told of a new cluster, whose control planes may still
// join.
const tellTime = 5 * time.Minute

func (k clusterKind) tell(ctx context.Context, machine Way, kubeconfig string) error {
	if k.answered == nil {
		return nil
	}
	on, err := Reach(machine, kubeconfig)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, tellTime, fmt.Errorf("its API did not answer within %s", tellTime))
	defer cancel()
	return kube.Insist(ctx, kube.Busy, func(err error) { status(ctx, "retrying: "+err.Error()) }, func(ctx context.Context) error { return k.answered(ctx, on) })
}
