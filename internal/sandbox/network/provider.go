package network

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// What carries networks: Geneve, as OVN has it, is the type of networks of
// projects, and takes 58 bytes of the underlay's MTU.
const (
	tenantType  = "geneve"
	underlayMTU = 1500
	geneveMTU   = underlayMTU - 58
)

func maxMTU(providerType string) int {
	switch providerType {
	case "flat", "vlan", "local":
		return underlayMTU
	case "vxlan":
		return underlayMTU - 50
	case "gre":
		return underlayMTU - 42
	}
	return geneveMTU
}

func invalid(format string, args ...any) error {
	return api.Errorf(http.StatusBadRequest, "InvalidInput", "Invalid input for operation: "+format+".", args...)
}

// setProvider chooses or checks how the network is carried.
func (n *Core) setProvider(r store.Reader, v *model.Network, in networkInput) error {
	segment := model.ProviderSegment{ProviderType: in.ProviderType.Or("")}
	pointer(in.Physical, &segment.Physical)
	pointer(in.Segmentation, &segment.Segmentation)
	if in.Segments.Set {
		if segment.ProviderType != "" || segment.Physical != nil || segment.Segmentation != nil {
			return api.Errorf(http.StatusBadRequest, "SegmentsSetInConjunctionWithProviders",
				"Segments and provider values cannot both be set.")
		}
		v.Segments = in.Segments.Value
		for i := range v.Segments {
			if err := n.completeSegment(r, &v.Segments[i]); err != nil {
				return err
			}
		}
	}
	if len(v.Segments) > 0 {
		segment = v.Segments[0]
	} else if err := n.completeSegment(r, &segment); err != nil {
		return err
	}
	if len(v.Segments) == 1 {
		v.Segments = nil
	}
	v.ProviderType, v.Physical, v.Segmentation = segment.ProviderType, segment.Physical, segment.Segmentation
	v.MTU = maxMTU(v.ProviderType)
	return nil
}

// completeSegment checks what was said of a segment and chooses the rest.
func (n *Core) completeSegment(r store.Reader, s *model.ProviderSegment) error {
	if s.ProviderType == "" {
		s.ProviderType = tenantType
		if s.Physical != nil {
			return invalid("network_type required")
		}
	}
	switch s.ProviderType {
	case "flat":
		if s.Physical == nil {
			return invalid("physical_network required for flat provider network")
		}
		if s.Segmentation != nil {
			return invalid("segmentation_id prohibited for flat provider network")
		}
	case "vlan":
		if s.Segmentation != nil && (*s.Segmentation < 1 || *s.Segmentation > 4094) {
			return invalid("segmentation_id out of range (1 through 4094)")
		}
	case "geneve", "vxlan", "gre":
		if s.Physical != nil {
			return invalid("provider:physical_network specified for %s network", s.ProviderType)
		}
	case "local":
		return nil
	default:
		return invalid("network_type value '%s' not supported", s.ProviderType)
	}
	if s.ProviderType != "flat" && s.Segmentation == nil {
		s.Segmentation = n.freeSegmentation(r, s.ProviderType)
	}
	return nil
}

// freeSegmentation is the lowest number that no network of the type has.
func (n *Core) freeSegmentation(r store.Reader, providerType string) *int {
	used := map[int]bool{}
	for segment := range n.model.Segments.All(r) {
		if segment.ProviderType == providerType && segment.Segmentation != nil {
			used[*segment.Segmentation] = true
		}
	}
	number := 1
	for used[number] {
		number++
	}
	return &number
}

// addSegments makes the records of a network's segments.
func (n *Core) addSegments(tx *store.Tx, v model.Network) {
	segments := v.Segments
	if len(segments) == 0 {
		segments = []model.ProviderSegment{{ProviderType: v.ProviderType, Physical: v.Physical, Segmentation: v.Segmentation}}
	}
	for _, s := range segments {
		n.model.Segments.Put(tx, model.NetworkSegment{NetworkMeta: n.newMeta("", owned{}), NetworkID: v.ID,
			ProviderType: s.ProviderType, Physical: s.Physical, Segmentation: s.Segmentation})
	}
}
