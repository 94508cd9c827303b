package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Port is the name of the Service's port where replicas serve [Handler].
const Port = "metrics"

// errNobody is a Service with no replica behind it: not even the one that asks.
var errNobody = errors.New("no endpoint with a port " + Port + " serves")

// endpoints finds replicas by the EndpointSlices of a Service.
type endpoints struct {
	reader  client.Reader
	service types.NamespacedName
}

// Slices selects what [Behind] reads, for the options of a cache.
func Slices(service types.NamespacedName) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&discoveryv1.EndpointSlice{}: {Namespaces: map[string]cache.Config{
		service.Namespace: {LabelSelector: labels.SelectorFromSet(selector(service))}}}}
}

func selector(service types.NamespacedName) labels.Set {
	return labels.Set{discoveryv1.LabelServiceName: service.Name}
}

// Behind finds the replicas behind a Service by the EndpointSlices in a cache. Unlike DNS, which
// caches answers for up to 30 seconds, a watch tells of a new replica about when load balancers
// are told of it: until then, writes would not wait for it. Nor does it need the cluster's DNS,
// which a lost node may have had.
func Behind(reader client.Reader, service types.NamespacedName) Finder {
	return &endpoints{reader: reader, service: service}
}

// Find implements [Finder]. A replica that shuts down is among them as long as it serves: load
// balancers may still use it.
func (e *endpoints) Find(ctx context.Context) ([]string, error) {
	var list discoveryv1.EndpointSliceList
	if err := e.reader.List(ctx, &list, client.InNamespace(e.service.Namespace), client.MatchingLabels(selector(e.service))); err != nil {
		return nil, fmt.Errorf("reading EndpointSlices of the Service %s: %w", e.service, err)
	}
	var addresses []string
	for _, slice := range list.Items {
		addresses = append(addresses, serving(slice)...)
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("the Service %s: %w", e.service, errNobody)
	}
	slices.Sort(addresses) // an endpoint may be in two slices for a moment
	return slices.Compact(addresses), nil
}

func serving(slice discoveryv1.EndpointSlice) (addresses []string) {
	for _, port := range slice.Ports {
		if port.Name == nil || *port.Name != Port || port.Port == nil {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			// Unset is true. An endpoint has one address (discovery.k8s.io/v1).
			if ready := endpoint.Conditions.Serving; (ready == nil || *ready) && len(endpoint.Addresses) > 0 {
				addresses = append(addresses, net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*port.Port))))
			}
		}
	}
	return addresses
}
