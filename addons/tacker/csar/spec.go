package csar

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Spec is what a package is made of; the file that users write.
type Spec struct {
	// Name is the package's; of a raw package, the cluster's too.
	Name string `json:"name"`
	// Namespace is where a raw package's objects are; the name if empty.
	Namespace string `json:"namespace,omitempty"`
	// Provider, Product and Version identify the VNF.
	Provider string `json:"provider,omitempty"`
	Product  string `json:"product,omitempty"`
	Version  string `json:"version,omitempty"`
	// Values are those of the chart openstack-cluster.
	Values map[string]any `json:"values,omitempty"`
	// Scaling is how far node groups, and the control plane as "controlPlane", scale.
	Scaling map[string]Scaling `json:"scaling,omitempty"`
}

// Scaling is the range of a unit. Empty members have defaults.
type Scaling struct {
	Min  *int `json:"min,omitempty"`
	Max  *int `json:"max,omitempty"`
	Step *int `json:"step,omitempty"`
}

// ControlPlane is the vduId of the control plane.
const ControlPlane = "controlPlane"

// ParseSpec reads a spec strictly. The name is what errors call the text.
func ParseSpec(name string, text []byte) (Spec, error) {
	var s Spec
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return s, fault.Usage(name, err, "see docs/guides/tacker.md for the keys")
	}
	return s, nil
}

// check returns all mistakes of a workload cluster's spec at once.
func (s *Spec) check() error {
	all := []error{s.identify("capi-workload")}
	wrong := func(path, what, remedy string) {
		all = append(all, fault.Usage(path, errors.New(what), remedy))
	}
	if s.Namespace == "" {
		s.Namespace = s.Name
	} else if !label.MatchString(s.Namespace) {
		wrong("namespace", "this is not the name of a namespace", "use small letters, digits and dashes, at most 63")
	}
	for _, secret := range []string{"clouds", "registryAuth"} {
		if s.Values[secret] != nil {
			wrong("values."+secret, "a package must not hold a secret: everyone who may read the package reads it", "make a Secret in the cluster's namespace, and for clouds name it as values.cloudCredentialsSecretName")
		}
	}
	if s.Values["cloudCredentialsSecretName"] == nil {
		wrong("values.cloudCredentialsSecretName", "it is missing", "name a Secret with clouds.yaml in the cluster's namespace on the management cluster")
	}
	if s.Values["kubernetesVersion"] == nil {
		wrong("values.kubernetesVersion", "it is missing", "give the version in the machine image, such as 1.34.4")
	}
	all = append(all, under("values.", openstackcluster.Check(s.Values)))
	return errors.Join(all...)
}

// label is the name of an object or a namespace.
var label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// identify fills in who the VNF is, and checks its name.
func (s *Spec) identify(product string) error {
	for _, member := range []struct {
		at    *string
		value string
	}{{&s.Provider, "Slipway"}, {&s.Product, product + "-" + s.Name}, {&s.Version, "1.0"}} {
		if *member.at == "" {
			*member.at = member.value
		}
	}
	if len(s.Name) > 40 || !label.MatchString(s.Name) {
		return fault.Usage("name", fmt.Errorf("%q is not a name", s.Name), "use small letters, digits and dashes, at most 40")
	}
	return nil
}

// under puts a prefix before the objects of usage faults.
func under(prefix string, err error) error {
	var all []error
	for _, one := range fault.All(err) {
		if f := (*fault.Fault)(nil); errors.As(one, &f) {
			one = fault.Usage(prefix+f.Object, f.Err, f.Remedy)
		}
		all = append(all, one)
	}
	return errors.Join(all...)
}

// units are the control plane and the node groups of the chart's whole values.
func (s *Spec) units(values map[string]any) ([]Unit, error) {
	var all []Unit
	var wrong []error
	known := map[string]bool{ControlPlane: true}
	plane, _ := values["controlPlane"].(map[string]any)
	add := func(id, resource, path string, count any, least, step int) {
		u, err := s.Scaling[id].unit(id, resource, path, number(count), least, step)
		all, wrong = append(all, u), append(wrong, err)
	}
	add(ControlPlane, "control-plane", "values.controlPlane.machineCount", plane["machineCount"], 1, 2)
	groups, _ := values["nodeGroups"].([]any)
	defaults, _ := values["nodeGroupDefaults"].(map[string]any)
	for i, given := range groups {
		group, _ := given.(map[string]any)
		name, _ := group["name"].(string)
		path := fmt.Sprintf("values.nodeGroups[%d].", i)
		if fmt.Sprint(group["autoscale"]) == "true" || group["autoscale"] == nil && fmt.Sprint(defaults["autoscale"]) == "true" {
			wrong = append(wrong, fault.Usage(path+"autoscale", errors.New("the autoscaler and the VNF manager would both set the number of machines"), "leave autoscale out"))
		}
		count := group["machineCount"]
		if count == nil {
			count = defaults["machineCount"]
		}
		known[name] = true
		add(name, "group-"+name, path+"machineCount", count, 0, 1)
	}
	for _, id := range slices.Sorted(maps.Keys(s.Scaling)) {
		if !known[id] {
			wrong = append(wrong, fault.Usage("scaling."+id, errors.New("there is no such node group"), "name one of "+strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
		}
	}
	return all, errors.Join(wrong...)
}

// defaultMax is to where a node group scales.
const defaultMax = 10

// unit makes a unit of its range: level 0 is the least number of machines.
func (r Scaling) unit(id, resource, path string, count, least, step int) (Unit, error) {
	from, to := min(1, count), max(count, defaultMax)
	if id == ControlPlane {
		to = max(count, 5)
	}
	for _, given := range []struct{ at, value *int }{{&from, r.Min}, {&to, r.Max}, {&step, r.Step}} {
		if given.value != nil {
			*given.at = *given.value
		}
	}
	var wrong []error
	say := func(object, format string, args ...any) {
		wrong = append(wrong, fault.Usage(object, fmt.Errorf(format, args...), "give min ≤ count ≤ max, with whole steps between them"))
	}
	at := "scaling." + id
	switch {
	case step < 1:
		say(at+".step", "%d is no step", step)
	case from < least:
		say(at+".min", "%d is below %d", from, least)
	case count < from || count > to:
		say(path, "%d is not between min %d and max %d", count, from, to)
	case (count-from)%step != 0:
		say(path, "%d is not min %d and whole steps of %d", count, from, step)
	case (to-from)%step != 0:
		say(at+".max", "%d is not min %d and whole steps of %d", to, from, step)
	case id == ControlPlane && (from%2 == 0 || step%2 != 0):
		say(at, "etcd needs an odd number of control planes: min %d, step %d", from, step)
	default:
		return Unit{ID: id, Resource: resource, Description: "Machines of " + id, Initial: from, Step: step, Level: (count - from) / step, MaxLevel: (to - from) / step}, nil
	}
	return Unit{ID: id}, errors.Join(wrong...)
}

// number reads a count of YAML or of values that Helm has merged.
func number(value any) int {
	switch n := value.(type) {
	case float64:
		return int(n)
	case int64:
		return int(n)
	case int:
		return n
	}
	return 0
}
