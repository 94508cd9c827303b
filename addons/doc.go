// Package addons explains the folders below; it holds no code.
//
// An addon is what Slipway installs on a cluster: on the seed, on the
// management cluster or on a workload cluster. Each one is a folder with its Go
// code beside its chart or its manifests:
//
//   - clusterctl: Cluster API and its providers, and the move of their objects
//   - controllers: the chart that runs Slipway's own controllers, `slipway serve`
//   - addonprovider: installs Helm releases and manifests on workload clusters
//   - janitor: deletes what a deleted cluster left in OpenStack
//   - magnum: the Magnum-compatible API and its controllers
//   - monitoring: rules of alerts, and Prometheus for those who have none
//   - velero: Velero, for those who have it
//   - tacker: VNF packages by which OpenStack Tacker manages clusters, and the receiver of their credentials
//   - openstackcluster: the chart of a workload cluster
//
// Which version of what is installed says package component, which addons and
// bundles share.
package addons
