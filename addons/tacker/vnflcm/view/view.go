// Package view is how clients and subscribers see the resources: SOL003's documents as
// Tacker's v2 API has them. No secret is in what it reads.
package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// Root is the path of the API.
const Root = "/vnflcm/v2"

// Object is a document.
type Object = map[string]any

// Links makes the addresses of documents; Base is that of the server.
type Links struct{ Base string }

// Instance is the address of an instance.
func (l Links) Instance(id string) string { return l.Base + Root + "/vnf_instances/" + id }

// Operation is the address of an operation occurrence.
func (l Links) Operation(id string) string { return l.Base + Root + "/vnf_lcm_op_occs/" + id }

// Subscription is the address of a subscription.
func (l Links) Subscription(id string) string { return l.Base + Root + "/subscriptions/" + id }

func href(address string) Object { return Object{"href": address} }

// Time is a time in a document.
func Time(t metav1.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// ForInstance is a VnfInstance with its machines.
func (l Links) ForInstance(i *v1alpha1.VNFInstance, machines []v1alpha1.Machine) Object {
	s, self := i.Status, l.Instance(i.Name)
	d := Object{"id": i.Name, "vnfdId": s.VNFDID, "vnfProvider": s.Provider, "vnfProductName": s.Product, "vnfSoftwareVersion": s.SoftwareVersion,
		"vnfdVersion": s.VNFDVersion, "instantiationState": string(s.State)}
	put(d, "vnfInstanceName", s.Name)
	put(d, "vnfInstanceDescription", s.Description)
	raw(d, "metadata", s.Metadata)
	raw(d, "extensions", s.Extensions)
	raw(d, "vnfConfigurableProperties", s.Properties)
	raw(d, "vimConnectionInfo", s.VIM)
	links := Object{"self": href(self)}
	if s.State == v1alpha1.Instantiated {
		for name, path := range map[string]string{"terminate": "terminate", "scale": "scale", "heal": "heal"} {
			links[name] = href(self + "/" + path)
		}
		d["instantiatedVnfInfo"] = instantiated(i.Name, s, machines)
	} else {
		links["instantiate"] = href(self + "/instantiate")
		if s.Flavour != "" {
			d["instantiatedVnfInfo"] = Object{"flavourId": s.Flavour, "vnfState": "STOPPED"}
		}
	}
	d["_links"] = links
	return normal(d)
}

func instantiated(instance string, s v1alpha1.VNFInstanceStatus, machines []v1alpha1.Machine) Object {
	now, most := []Object{}, []Object{}
	limits := map[string]int32{}
	for _, t := range s.Targets {
		if t.Aspect != "" {
			limits[t.Aspect] = t.MaxLevel
		}
	}
	for _, aspect := range slices.Sorted(maps.Keys(limits)) {
		now = append(now, Object{"aspectId": aspect, "scaleLevel": s.Levels[aspect]})
		most = append(most, Object{"aspectId": aspect, "scaleLevel": limits[aspect]})
	}
	resources, infos := []Object{}, []Object{}
	for _, m := range machines {
		r := resource(m)
		if m.Node != "" {
			r["metadata"] = Object{"nodeName": m.Node}
		}
		resources = append(resources, r)
		infos = append(infos, Object{"id": m.Unit + "-" + m.Name, "vduId": m.Unit, "vnfcResourceInfoId": m.Name, "vnfcState": "STARTED"})
	}
	return Object{"flavourId": s.Flavour, "vnfState": "STARTED", "scaleStatus": now, "maxScaleLevels": most, "vnfcResourceInfo": resources, "vnfcInfo": infos,
		"metadata": deployed(instance, s)}
}

// deployed says what is deployed, in Tacker's words. helm_parameters are left out, as there.
func deployed(instance string, s v1alpha1.VNFInstanceStatus) Object {
	if s.Release == nil || len(s.Files) == 0 {
		return Object{"namespace": s.Namespace, "lcm-kubernetes-def-files": s.Files}
	}
	names := Object{}
	for unit, value := range s.Release.Names {
		names[unit] = Object{"replica": value}
	}
	return Object{"namespace": s.Namespace, "release_name": v1alpha1.ReleaseName(instance), "helm_chart_path": s.Files[0], "helm_value_names": names}
}

// resource is the part that vnfcResourceInfo and affectedVnfcs share.
func resource(m v1alpha1.Machine) Object {
	return Object{"id": m.Name, "vduId": m.Unit, "computeResource": Object{"resourceId": m.Server, "vimLevelResourceType": "Machine"}}
}

func put(d Object, name, text string) {
	if text != "" {
		d[name] = text
	}
}

func raw(d Object, name string, value *runtime.RawExtension) {
	if value != nil && len(value.Raw) > 0 {
		d[name] = json.RawMessage(value.Raw)
	}
}

// normal brings a document into the types of encoding/json, by which it is filtered.
func normal(d Object) Object {
	text, err := json.Marshal(d)
	var plain Object
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err != nil { // only what is no JSON in the resources
		return Object{"id": d["id"], "error": fmt.Sprintf("the resource is broken: %v", strings.TrimSpace(err.Error()))}
	}
	return plain
}
