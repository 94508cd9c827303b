package peer

import (
	"errors"
	"slices"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

var service = types.NamespacedName{Namespace: "slipway-system", Name: "replicas"}

func sliceOf(name string, port *string, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service.Name}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints, Ports: []discoveryv1.EndpointPort{{Name: port, Port: ptr.To[int32](8080)}}}
}

func at(address string, ready, serving *bool) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ready, Serving: serving}}
}

// TestReplicasBehindAService: those that serve are waited for, also while they shut down, and none
// of another Service, port or namespace.
func TestReplicasBehindAService(t *testing.T) {
	t.Parallel()
	yes, no, port := ptr.To(true), ptr.To(false), ptr.To(Port)
	elsewhere, other := sliceOf("a", port, at("10.0.0.8", yes, yes)), sliceOf("b", port, at("10.0.0.9", yes, yes))
	elsewhere.Namespace = "another"
	other.Labels[discoveryv1.LabelServiceName] = "another"
	reader := fake.NewClientBuilder().WithObjects(elsewhere, other,
		sliceOf("c", port, at("10.0.0.3", yes, yes), at("10.0.0.1", nil, nil), at("10.0.0.4", no, no)),
		sliceOf("d", port, at("fd00::1", no, yes), at("10.0.0.3", yes, yes)),
		sliceOf("g", port, discoveryv1.Endpoint{}),
		sliceOf("e", ptr.To("api"), at("10.0.0.5", yes, yes)), sliceOf("f", nil, at("10.0.0.6", yes, yes))).Build()
	got, err := Behind(reader, service).Find(t.Context())
	if want := []string{"10.0.0.1:8080", "10.0.0.3:8080", "[fd00::1]:8080"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	// A name that is wrong would let writes wait for nobody, silently.
	got, err = Behind(reader, types.NamespacedName{Namespace: service.Namespace, Name: "none"}).Find(t.Context())
	if !errors.Is(err, errNobody) || !strings.Contains(err.Error(), "slipway-system/none") || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
}
