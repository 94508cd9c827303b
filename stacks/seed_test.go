package stacks_test

import (
	"context"

	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/slipway-sh/slipway/stacks/catalog"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// onSeed stand for what needs a real machine: these tests are about the cloud,
// and its servers are records. The end-to-end tests have the real ones. install is
// called while k3s is installed, unless it is nil.
func onSeed(install func()) []infer.InferredResource {
	return []infer.InferredResource{
		infer.Resource(&k3s{stand[kubernetes.K3sInputs, kubernetes.K3sState]{func(in kubernetes.K3sInputs) kubernetes.K3sState {
			if install != nil {
				install()
			}
			return kubernetes.K3sState{K3sInputs: in, Kubeconfig: "secret-kubeconfig"}
		}}}),
		infer.Resource(&localSeed{stand[kubernetes.LocalSeedInputs, kubernetes.LocalSeedState]{func(in kubernetes.LocalSeedInputs) kubernetes.LocalSeedState {
			return kubernetes.LocalSeedState{LocalSeedInputs: in}
		}}}),
		infer.Resource(&clusterAPI{stand[kubernetes.ClusterAPIInputs, kubernetes.ClusterAPIState]{func(in kubernetes.ClusterAPIInputs) kubernetes.ClusterAPIState {
			return kubernetes.ClusterAPIState{ClusterAPIInputs: in}
		}}}),
		infer.Resource(&controllers{stand[kubernetes.ControllersInputs, kubernetes.ControllersState]{func(in kubernetes.ControllersInputs) kubernetes.ControllersState {
			return kubernetes.ControllersState{ControllersInputs: in}
		}}}),
		infer.Resource(&cluster{stand[kubernetes.ClusterInputs, kubernetes.ClusterState]{func(in kubernetes.ClusterInputs) kubernetes.ClusterState {
			return kubernetes.ClusterState{ClusterInputs: in, AdminKubeconfig: "secret-kubeconfig"}
		}}}),
		infer.Resource(&readyCluster{stand[kubernetes.ReadyClusterInputs, kubernetes.ReadyClusterState]{func(in kubernetes.ReadyClusterInputs) kubernetes.ReadyClusterState {
			return kubernetes.ReadyClusterState{ReadyClusterInputs: in}
		}}}),
		infer.Resource(&managementMove{stand[kubernetes.ManagementMoveInputs, kubernetes.ManagementMoveState]{func(in kubernetes.ManagementMoveInputs) kubernetes.ManagementMoveState {
			return kubernetes.ManagementMoveState{ManagementMoveInputs: in, Objects: 40, Machines: map[string]string{}}
		}}}),
		infer.Resource(&magnum{stand[kubernetes.MagnumInputs, kubernetes.MagnumState]{func(in kubernetes.MagnumInputs) kubernetes.MagnumState {
			return kubernetes.MagnumState{MagnumInputs: in, Authority: "an authority"}
		}}}),
		infer.Resource(&tenantConsole{stand[kubernetes.TenantConsoleInputs, kubernetes.TenantConsoleState]{func(in kubernetes.TenantConsoleInputs) kubernetes.TenantConsoleState {
			return kubernetes.TenantConsoleState{TenantConsoleInputs: in, Authority: "the console's authority"}
		}}}),
		infer.Resource(&prometheus{stand[kubernetes.MonitoringInputs, kubernetes.MonitoringState]{func(in kubernetes.MonitoringInputs) kubernetes.MonitoringState {
			return kubernetes.MonitoringState{MonitoringInputs: in}
		}}}),
	}
}

// onMagnum stands for what needs the Magnum API.
func onMagnum() []infer.InferredResource {
	return []infer.InferredResource{
		infer.Resource(&templates{stand[catalog.ClusterTemplatesInputs, catalog.ClusterTemplatesState]{func(in catalog.ClusterTemplatesInputs) catalog.ClusterTemplatesState {
			return catalog.ClusterTemplatesState{ClusterTemplatesInputs: in}
		}}}),
	}
}

// stand is a resource that is there as soon as it is asked for.
type stand[I, S any] struct{ state func(I) S }

func (s stand[I, S]) Create(_ context.Context, r infer.CreateRequest[I]) (infer.CreateResponse[S], error) {
	return infer.CreateResponse[S]{ID: "stand", Output: s.state(r.Inputs)}, nil
}

func (s stand[I, S]) Update(_ context.Context, r infer.UpdateRequest[I, S]) (infer.UpdateResponse[S], error) {
	return infer.UpdateResponse[S]{Output: s.state(r.Inputs)}, nil
}

type k3s struct {
	stand[kubernetes.K3sInputs, kubernetes.K3sState]
}

func (*k3s) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "K3s") }

type localSeed struct {
	stand[kubernetes.LocalSeedInputs, kubernetes.LocalSeedState]
}

func (*localSeed) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "LocalSeed") }

type clusterAPI struct {
	stand[kubernetes.ClusterAPIInputs, kubernetes.ClusterAPIState]
}

func (*clusterAPI) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "ClusterAPI") }

type controllers struct {
	stand[kubernetes.ControllersInputs, kubernetes.ControllersState]
}

func (*controllers) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "Controllers") }

type cluster struct {
	stand[kubernetes.ClusterInputs, kubernetes.ClusterState]
}

func (*cluster) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "Cluster") }

type readyCluster struct {
	stand[kubernetes.ReadyClusterInputs, kubernetes.ReadyClusterState]
}

func (*readyCluster) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "ReadyCluster") }

type managementMove struct {
	stand[kubernetes.ManagementMoveInputs, kubernetes.ManagementMoveState]
}

func (*managementMove) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "ManagementMove") }

type magnum struct {
	stand[kubernetes.MagnumInputs, kubernetes.MagnumState]
}

func (*magnum) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "Magnum") }

type tenantConsole struct {
	stand[kubernetes.TenantConsoleInputs, kubernetes.TenantConsoleState]
}

func (*tenantConsole) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "TenantConsole") }

type prometheus struct {
	stand[kubernetes.MonitoringInputs, kubernetes.MonitoringState]
}

func (*prometheus) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "Monitoring") }

type templates struct {
	stand[catalog.ClusterTemplatesInputs, catalog.ClusterTemplatesState]
}

func (*templates) Annotate(a infer.Annotator) { a.SetToken("catalog", "ClusterTemplates") }
