// Package openstack holds the resources of an environment in OpenStack, one per file, each
// with how it is found again, created, changed, read and deleted. The code implements
// Pulumi's provider protocol (pulumi-go-provider) with gophercloud.
//
// Every resource carries the ownership tag of its environment and step (package owner).
// Create first looks for the tag and adopts what it finds, so that a killed run or a lost
// state does not lead to a second resource; a resource with our name but without our tag
// is refused.
package openstack

import (
	"github.com/gophercloud/gophercloud/v2"
	"github.com/pulumi/pulumi-go-provider/infer"
)

// Clients are the clients of one cloud's services.
type Clients interface {
	Compute() (*gophercloud.ServiceClient, error)
	Network() (*gophercloud.ServiceClient, error)
	Image() (*gophercloud.ServiceClient, error)
	Volume() (*gophercloud.ServiceClient, error)
	Identity() (*gophercloud.ServiceClient, error)
	LoadBalancer() (*gophercloud.ServiceClient, error)
	ObjectStore() (*gophercloud.ServiceClient, error)
	// Region is the region of the services; "" if the login names none.
	Region() string
	// OtherRegions reports whether the cloud has, or may have, others.
	OtherRegions() bool
}

// Resources are the resources of this package, for the engine. userID is the user of the
// clients' login; keys is the folder of private keys.
func Resources(clients Clients, userID, keys string, administrator Administrator) []infer.InferredResource {
	return []infer.InferredResource{
		infer.Resource(&network{controller[NetworkInputs, NetworkState]{networkKind{clients}}}),
		infer.Resource(&subnet{controller[SubnetInputs, SubnetState]{subnetKind{clients}}}),
		infer.Resource(&router{controller[RouterInputs, RouterState]{routerKind{clients}}}),
		infer.Resource(&routerInterface{controller[RouterInterfaceInputs, RouterInterfaceState]{interfaceKind{clients}}}),
		infer.Resource(&securityGroup{controller[SecurityGroupInputs, SecurityGroupState]{groupKind{clients}}}),
		infer.Resource(&sshKey{controller[SSHKeyInputs, SSHKeyState]{keyKind{keys}}}),
		infer.Resource(&keyPair{controller[KeyPairInputs, KeyPairState]{keyPairKind{clients}}}),
		infer.Resource(&port{controller[PortInputs, PortState]{portKind{clients}}}),
		infer.Resource(&volume{controller[VolumeInputs, VolumeState]{volumeKind{clients}}}),
		infer.Resource(&server{controller[ServerInputs, ServerState]{serverKind{clients}}}),
		infer.Resource(&floatingIP{controller[FloatingIPInputs, FloatingIPState]{floatingKind{clients}}}),
		infer.Resource(&image{controller[ImageInputs, ImageState]{imageKind{clients}}}),
		infer.Resource(&applicationCredential{controller[ApplicationCredentialInputs, ApplicationCredentialState]{credentialKind{clients, userID}}}),
		infer.Resource(&serviceProject{controller[ServiceProjectInputs, ServiceProjectState]{serviceProjectKind{administrator, clients}}}),
		infer.Resource(&serviceUser{controller[ServiceUserInputs, ServiceUserState]{serviceUserKind{administrator, clients}}}),
		infer.Resource(&catalogEntry{controller[CatalogEntryInputs, CatalogEntryState]{catalogKind{administrator: administrator, clients: clients}}}),
	}
}
