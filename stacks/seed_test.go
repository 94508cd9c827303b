package stacks_test

import (
	"context"

	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// onSeed stand for what needs a real machine: these tests are about the cloud,
// and its servers are records. The end-to-end tests have the real ones.
func onSeed() []infer.InferredResource {
	return []infer.InferredResource{infer.Resource(&k3s{}), infer.Resource(&clusterAPI{})}
}

type k3s struct{}

func (*k3s) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "K3s") }

func (*k3s) Create(_ context.Context, r infer.CreateRequest[kubernetes.K3sInputs]) (infer.CreateResponse[kubernetes.K3sState], error) {
	return infer.CreateResponse[kubernetes.K3sState]{ID: "k3s", Output: kubernetes.K3sState{K3sInputs: r.Inputs, Kubeconfig: "secret-kubeconfig"}}, nil
}

func (*k3s) Update(_ context.Context, r infer.UpdateRequest[kubernetes.K3sInputs, kubernetes.K3sState]) (infer.UpdateResponse[kubernetes.K3sState], error) {
	return infer.UpdateResponse[kubernetes.K3sState]{Output: kubernetes.K3sState{K3sInputs: r.Inputs, Kubeconfig: "secret-kubeconfig"}}, nil
}

type clusterAPI struct{}

func (*clusterAPI) Annotate(a infer.Annotator) { a.SetToken("kubernetes", "ClusterAPI") }

func (*clusterAPI) Create(_ context.Context, r infer.CreateRequest[kubernetes.ClusterAPIInputs]) (infer.CreateResponse[kubernetes.ClusterAPIState], error) {
	return infer.CreateResponse[kubernetes.ClusterAPIState]{ID: "cluster-api", Output: kubernetes.ClusterAPIState{ClusterAPIInputs: r.Inputs}}, nil
}

func (*clusterAPI) Update(_ context.Context, r infer.UpdateRequest[kubernetes.ClusterAPIInputs, kubernetes.ClusterAPIState]) (infer.UpdateResponse[kubernetes.ClusterAPIState], error) {
	return infer.UpdateResponse[kubernetes.ClusterAPIState]{Output: kubernetes.ClusterAPIState{ClusterAPIInputs: r.Inputs}}, nil
}
