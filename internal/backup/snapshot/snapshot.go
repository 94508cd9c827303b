// Package snapshot is what a backup of a management cluster contains, without storage, encryption or cloud clients.
package snapshot

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Snapshot is the state of one management cluster at one moment.
type Snapshot struct {
	// Environment is the name of the environment (metadata.name of its file).
	Environment string `json:"environment"`
	// Taken is when reading ended.
	Taken time.Time `json:"taken"`
	// Generation counts the rebuilds of the environment: the fence (see recover). The first is 0.
	Generation int `json:"generation"`
	// Revision is the resource version from which all objects were read.
	Revision string `json:"revision,omitempty"`
	// Slipway and Kubernetes are versions; Controllers are those of providers by name ("cluster-api": "v1.12.3").
	Slipway     string            `json:"slipway"`
	Kubernetes  string            `json:"kubernetes"`
	Controllers map[string]string `json:"controllers,omitempty"`
	// File is the environment file, State the state of the engine as `slipway state export` writes it.
	File  []byte `json:"file,omitempty"`
	State []byte `json:"state,omitempty"`
	// StatePassphrase decrypts the secrets in State: it is lost with the machine that Slipway ran on.
	StatePassphrase []byte `json:"statePassphrase,omitempty"`
	// Objects are all that recover must bring back, with status, UIDs and owner references as they were:
	// CustomResourceDefinitions, namespaces, objects of Cluster API's graph, Magnum's and the addon provider's resources,
	// Secrets, ConfigMaps, Helm releases. Sorted by group, kind, namespace and name.
	Objects []*unstructured.Unstructured `json:"-"`
	// Etcd is a snapshot of the management cluster's etcd, as etcdutl restores it; Datastore
	// is the archive of the seed's datastore (package datastore). Both may be empty.
	Etcd      []byte `json:"-"`
	Datastore []byte `json:"-"`
	// Applied is what slipway up applied on the management cluster: its controllers with
	// all that goes with them (package undo). It may be empty.
	Applied []byte `json:"-"`
	// Cloud is what the project had at that moment.
	Cloud Inventory `json:"cloud"`
}

// Inventory lists the resources of the projects of the management cluster and of all its clusters that it could see.
type Inventory struct {
	Servers       []Resource `json:"servers,omitempty"`
	Volumes       []Resource `json:"volumes,omitempty"`
	LoadBalancers []Resource `json:"loadBalancers,omitempty"`
	FloatingIPs   []Resource `json:"floatingIPs,omitempty"`
	Ports         []Resource `json:"ports,omitempty"`
	// Missing are the lists that the cloud did not give, each with the cause. A kind
	// that is missing is unknown, not empty.
	Missing []string `json:"missing,omitempty"`
}

// MissingOfCluster begins what is Missing of the project of a workload cluster, whose
// "namespace/name" and cause follow.
const MissingOfCluster = "the project of cluster "

// Resource is one resource in the cloud.
type Resource struct {
	ID, Name, Project, Status string
	// Address is of floating IPs and ports.
	Address string `json:",omitempty"`
}
