package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/clusterapi"
)

// ReadyClusterInputs are the inputs of a complete cluster.
type ReadyClusterInputs struct {
	Login
	// Kubeconfig is that of the cluster that runs Cluster API, ServerID that cluster's
	// server.
	Kubeconfig string `pulumi:"kubeconfig" provider:"secret"`
	ServerID   string `pulumi:"serverID"`
	Name       string `pulumi:"name"`
	Namespace  string `pulumi:"namespace"`
	// AdminKubeconfig is that of the cluster itself, which may be self-managed.
	AdminKubeconfig string `pulumi:"adminKubeconfig" provider:"secret"`
	// Wanted changes with the cluster's chart and values, so that the cluster is
	// waited for again.
	Wanted string `pulumi:"wanted" provider:"secret"`
}

// ReadyClusterState is the state of a complete cluster.
type ReadyClusterState struct{ ReadyClusterInputs }

// ReadyCluster is a complete cluster. It counts as created when all nodes and addons are
// ready, and what runs on it has its credential. It is a separate resource because resources
// that need only one node are installed while the other control planes still join.
type ReadyCluster struct{ pulumi.CustomResourceState }

// NewReadyCluster adds the wait for a cluster, created with refs, to the program.
func NewReadyCluster(ctx *pulumi.Context, name string, refs ClusterRefs, cluster *Cluster, options ...pulumi.ResourceOption) (*ReadyCluster, error) {
	properties := refs.properties()
	properties["kubeconfig"] = pulumi.ToSecret(refs.Kubeconfig)
	properties["serverID"] = refs.ServerID
	properties["name"] = pulumi.String(refs.Name)
	properties["namespace"] = pulumi.String(refs.Namespace)
	properties["adminKubeconfig"] = pulumi.ToSecret(cluster.AdminKubeconfig)
	properties["wanted"] = pulumi.ToSecret(refs.Values.ToStringOutput().ApplyT(func(values string) string {
		digest := sha256.Sum256([]byte(refs.Chart + "\n" + values))
		return hex.EncodeToString(digest[:])
	}))
	r := &ReadyCluster{}
	return r, ctx.RegisterResource("slipway:kubernetes:ReadyCluster", name, properties, r, options...)
}

func (s ReadyClusterState) inputs() ReadyClusterInputs { return s.ReadyClusterInputs }

type readyCluster struct {
	controller[ReadyClusterInputs, ReadyClusterState]
}

// Annotate names the resource's type.
func (*readyCluster) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "ReadyCluster") }

type readyClusterKind struct {
	console Console
	seeds   *LocalSeeds
}

func (readyClusterKind) object(in ReadyClusterInputs) string { return "cluster " + in.Name }

func (readyClusterKind) id(in ReadyClusterInputs) string { return in.Namespace + "/" + in.Name }

func (readyClusterKind) blank(in ReadyClusterInputs) ReadyClusterState { return ReadyClusterState{in} }

func (k readyClusterKind) settle(ctx context.Context, in ReadyClusterInputs) (ReadyClusterState, error) {
	machine, err := in.reach(ctx)
	if err != nil {
		return k.blank(in), err
	}
	defer machine.Close()
	cluster := ClusterInputs{Login: in.Login, Kubeconfig: in.Kubeconfig, Name: in.Name, Namespace: in.Namespace}
	at, err := locate(ctx, machine, k.seeds, cluster, ClusterState{AdminKubeconfig: in.AdminKubeconfig})
	if err != nil {
		return k.blank(in), err
	}
	give, err := handOutOf(ctx, machine, at, in)
	if err != nil {
		return k.blank(in), err
	}
	// Nodes may not become ready before.
	whole := func(r clusterapi.Report) bool { return give.done(ctx) && r.Ready() }
	if err := await(ctx, at.Kube, cluster, k.console, whole); err != nil {
		return k.blank(in), give.explain(err)
	}
	return k.blank(in), give.end(ctx)
}
