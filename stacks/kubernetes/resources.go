package kubernetes

import (
	"reflect"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"

	"github.com/slipway-sh/slipway/internal/bundle"
)

// Resources are the resources of this package, for the engine. The bundle may be nil if
// nothing is created, as in down; seeds are the local ones.
func Resources(folder *bundle.Folder, watch Watch, console Console, datastore Datastore, answered Answered, seeds *LocalSeeds) []infer.InferredResource {
	return []infer.InferredResource{
		infer.Resource(&k3s{controller[K3sInputs, K3sState]{k3sKind{watch, console, folder, datastore}}}),
		infer.Resource(&clusterAPI{controller[ClusterAPIInputs, ClusterAPIState]{clusterAPIKind{folder}}}),
		infer.Resource(&ownControllers{controller[ControllersInputs, ControllersState]{controllersKind{}}}),
		infer.Resource(&veleroAddon{controller[VeleroInputs, VeleroState]{veleroKind{folder}}}),
		infer.Resource(&monitoringAddon{controller[MonitoringInputs, MonitoringState]{monitoringKind{}}}),
		infer.Resource(&magnum{controller[MagnumInputs, MagnumState]{magnumKind{}}}),
		infer.Resource(&tenantConsole{controller[TenantConsoleInputs, TenantConsoleState]{tenantConsoleKind{}}}),
		infer.Resource(&workloadCluster{controller[ClusterInputs, ClusterState]{clusterKind{console, seeds, answered}}}),
		infer.Resource(&readyCluster{controller[ReadyClusterInputs, ReadyClusterState]{readyClusterKind{console, seeds}}}),
		infer.Resource(&localSeed{controller[LocalSeedInputs, LocalSeedState]{localSeedKind{seeds}}}),
		infer.Resource(&managementMove{controller[ManagementMoveInputs, ManagementMoveState]{managementMoveKind{seeds}}}),
	}
}

// inPlace compares inputs by their `pulumi` names; every difference is an update.
func inPlace(old, now any) infer.DiffResponse {
	response := infer.DiffResponse{DetailedDiff: map[string]p.PropertyDiff{}}
	before, after := reflect.ValueOf(old), reflect.ValueOf(now)
	for _, field := range reflect.VisibleFields(before.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("pulumi"), ",")
		if name == "" || field.Anonymous {
			continue
		}
		if !reflect.DeepEqual(before.FieldByIndex(field.Index).Interface(), after.FieldByIndex(field.Index).Interface()) {
			response.HasChanges = true
			response.DetailedDiff[name] = p.PropertyDiff{Kind: p.Update}
		}
	}
	return response
}

// outdated has a resource updated whose inputs are the same: a kubeconfig that is kept in its
// state is renewed elsewhere, and read again before the one here ends.
func outdated(response *infer.DiffResponse, output string) {
	response.HasChanges = true
	if response.DetailedDiff == nil {
		response.DetailedDiff = map[string]p.PropertyDiff{}
	}
	response.DetailedDiff[output] = p.PropertyDiff{Kind: p.Update}
}
