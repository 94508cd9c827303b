package network

import (
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// segmentView is a segment as administrators see it.
type segmentView struct {
	model.NetworkSegment
	shown
}

func (n *Core) segments() resource[model.NetworkSegment, segmentView] {
	return resource[model.NetworkSegment, segmentView]{
		core: n, one: "segment", many: "segments", path: "/v2.0/segments", table: n.model.Segments,
		meta: func(v *model.NetworkSegment) *model.NetworkMeta { return &v.NetworkMeta },
		missing: func(id string) error {
			return api.Errorf(http.StatusNotFound, "SegmentNotFound", "Segment %s could not be found.", id)
		},
		view: func(_ store.Reader, _ *api.Principal, v model.NetworkSegment) segmentView {
			return segmentView{v, show(v.NetworkMeta)}
		},
		create: n.createSegment, update: n.updateSegment, remove: n.deleteSegment,
		readers: api.Admin, writers: api.Admin, noTags: true,
	}
}

type segmentChange struct {
	Name        api.Optional[string] `json:"name"`
	Description api.Optional[string] `json:"description"`
}

func (in segmentChange) apply(v *model.NetworkSegment) error {
	in.Name.Apply(&v.Name)
	in.Description.Apply(&v.Description)
	return lengths(v.Name, v.Description)
}

func (n *Core) createSegment(tx *store.Tx, p *api.Principal, raw json.RawMessage) (model.NetworkSegment, error) {
	var in struct {
		segmentChange
		NetworkID    api.Optional[string] `json:"network_id"`
		ProviderType api.Optional[string] `json:"network_type"`
		Physical     api.Optional[string] `json:"physical_network"`
		Segmentation api.Optional[int]    `json:"segmentation_id"`
	}
	var v model.NetworkSegment
	if err := decodeInto(raw, &in, reflect.TypeFor[segmentView](), http.MethodPost); err != nil {
		return v, err
	}
	if err := errorOr(require("network_id", in.NetworkID.Value != ""), require("network_type", in.ProviderType.Value != "")); err != nil {
		return v, err
	}
	network, err := n.networks().find(tx, p, in.NetworkID.Value)
	if err != nil {
		return v, err
	}
	segment := model.ProviderSegment{ProviderType: in.ProviderType.Value}
	pointer(in.Physical, &segment.Physical)
	pointer(in.Segmentation, &segment.Segmentation)
	if err := n.completeSegment(tx, &segment); err != nil {
		return v, err
	}
	v = model.NetworkSegment{NetworkMeta: n.newMeta("", owned{}), NetworkID: network.ID,
		ProviderType: segment.ProviderType, Physical: segment.Physical, Segmentation: segment.Segmentation}
	if err := in.apply(&v); err != nil {
		return v, err
	}
	n.model.Segments.Put(tx, v)
	n.noteSegments(tx, network.ID, "")
	return v, nil
}

// noteSegments keeps in a network what its segments are; one does not count.
func (n *Core) noteSegments(tx *store.Tx, networkID, without string) {
	var all []model.ProviderSegment
	for segment := range n.model.SegmentsOfNetwork.Each(tx, networkID) {
		if segment.ID != without {
			all = append(all, model.ProviderSegment{ProviderType: segment.ProviderType, Physical: segment.Physical, Segmentation: segment.Segmentation})
		}
	}
	n.model.Networks.Change(tx, networkID, func(network *model.Network) {
		network.Segments = all
		if len(all) == 1 {
			network.Segments = nil
			network.ProviderType, network.Physical, network.Segmentation = all[0].ProviderType, all[0].Physical, all[0].Segmentation
		}
		n.touch(&network.NetworkMeta)
	})
}

func (n *Core) updateSegment(_ *store.Tx, _ *api.Principal, old model.NetworkSegment, raw json.RawMessage) (model.NetworkSegment, error) {
	var in segmentChange
	if err := decodeInto(raw, &in, reflect.TypeFor[segmentView](), http.MethodPut); err != nil {
		return old, err
	}
	v := old
	return v, in.apply(&v)
}

func (n *Core) deleteSegment(tx *store.Tx, _ *api.Principal, v model.NetworkSegment) error {
	for subnet := range n.model.SubnetsOfNetwork.Each(tx, v.NetworkID) {
		if text(subnet.SegmentID) == v.ID {
			return conflict("SegmentInUse", "Segment '%s' cannot be deleted: The segment is still associated with subnet(s) [%s].", v.ID, subnet.ID)
		}
	}
	if n.model.SegmentsOfNetwork.Count(tx, v.NetworkID) == 1 {
		return conflict("SegmentInUse", "Segment '%s' cannot be deleted: It is the only segment of network %s.", v.ID, v.NetworkID)
	}
	n.noteSegments(tx, v.NetworkID, v.ID)
	return nil
}
