package callback

import (
	"encoding/json"
	"slices"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// The types of notifications.
const (
	Occurrence = "VnfLcmOperationOccurrenceNotification"
	Created    = "VnfIdentifierCreationNotification"
	Deleted    = "VnfIdentifierDeletionNotification"
)

// filter is SOL003's LifecycleChangeNotificationsFilter. Empty members match everything.
type filter struct {
	Instances *struct {
		VNFDs    []string   `json:"vnfdIds"`
		IDs      []string   `json:"vnfInstanceIds"`
		Names    []string   `json:"vnfInstanceNames"`
		Products []provider `json:"vnfProductsFromProviders"`
	} `json:"vnfInstanceSubscriptionFilter,omitempty"`
	Types      []string                  `json:"notificationTypes"`
	Operations []v1alpha1.OperationType  `json:"operationTypes"`
	States     []v1alpha1.OperationState `json:"operationStates"`
}

type provider struct {
	Name     string `json:"vnfProvider"`
	Products []struct {
		Name     string `json:"vnfProductName"`
		Versions []struct {
			Software string   `json:"vnfSoftwareVersion"`
			VNFD     []string `json:"vnfdVersions"`
		} `json:"versions"`
	} `json:"vnfProducts"`
}

// Event is what may be notified: for an occurrence, its operation and state too.
type Event struct {
	Type      string
	Instance  *v1alpha1.VNFInstance
	Operation v1alpha1.OperationType
	State     v1alpha1.OperationState
}

// Matches reports whether a subscription is about an event.
func Matches(s *v1alpha1.VNFSubscription, e Event) bool {
	if s.Spec.ProjectID != e.Instance.Spec.ProjectID {
		return false
	}
	var f filter
	if s.Spec.Filter != nil {
		if err := json.Unmarshal(s.Spec.Filter.Raw, &f); err != nil {
			return false // it was checked before it was stored
		}
	}
	if !in(f.Types, e.Type) || e.Type == Occurrence && (!in(f.Operations, e.Operation) || !in(f.States, e.State)) {
		return false
	}
	if f.Instances == nil {
		return true
	}
	who := e.Instance.Status.Identity
	return in(f.Instances.VNFDs, who.VNFDID) && in(f.Instances.IDs, e.Instance.Name) && in(f.Instances.Names, who.Name) &&
		(len(f.Instances.Products) == 0 || slices.ContainsFunc(f.Instances.Products, func(p provider) bool { return p.matches(who) }))
}

func in[T comparable](list []T, value T) bool { return len(list) == 0 || slices.Contains(list, value) }

func (p provider) matches(who v1alpha1.Identity) bool {
	if p.Name != who.Provider {
		return false
	}
	if len(p.Products) == 0 {
		return true
	}
	for _, product := range p.Products {
		if product.Name != who.Product {
			continue
		}
		if len(product.Versions) == 0 {
			return true
		}
		for _, version := range product.Versions {
			if version.Software == who.SoftwareVersion && in(version.VNFD, who.VNFDVersion) {
				return true
			}
		}
	}
	return false
}
