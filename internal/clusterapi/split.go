package clusterapi

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// split sorts the objects of a namespace by cluster, in one pass: a namespace may have a
// thousand of them. What is of no cluster is left out.
func (o objects) split() map[string]objects {
	s := splitter{parts: map[string]objects{}, owner: map[named][]string{}}
	for _, cluster := range o[clusters] {
		name := cluster.GetName()
		s.parts[name] = objects{}
		s.add(name, "Cluster", cluster)
		s.expect(name, named{"OpenStackCluster", text(cluster, "spec", "infrastructureRef", "name")})
	}
	for resource, kind := range labelled() {
		for _, object := range o[resource] {
			label, spec := text(object, "metadata", "labels", Label), text(object, "spec", "clusterName")
			s.add(label, kind, object)
			if spec != label {
				s.add(spec, kind, object)
			}
		}
	}
	for _, below := range []string{"OpenStackCluster", "OpenStackMachine", "OpenStackServer"} {
		for _, object := range o[resourceOf(below)] {
			for _, name := range s.owner[named{below, object.GetName()}] {
				s.parts[name][resourceOf(below)] = append(s.parts[name][resourceOf(below)], object)
			}
		}
	}
	for _, event := range o[eventKind] {
		about := named{text(event, "involvedObject", "kind"), text(event, "involvedObject", "name")}
		for _, name := range s.owner[about] {
			s.parts[name][eventKind] = append(s.parts[name][eventKind], event)
		}
	}
	return s.parts
}

// named is an object of a namespace.
type named struct{ kind, name string }

type splitter struct {
	parts map[string]objects
	// owner are the clusters that an object is of.
	owner map[named][]string
}

// expect notes that an object is of a cluster, whether or not it is there.
func (s *splitter) expect(cluster string, object named) {
	if object.name != "" {
		s.owner[object] = append(s.owner[object], cluster)
	}
}

// add adds an object to a cluster, if there is the cluster.
func (s *splitter) add(cluster, kind string, object *unstructured.Unstructured) {
	part := s.parts[cluster]
	if part == nil {
		return
	}
	part[resourceOf(kind)] = append(part[resourceOf(kind)], object)
	s.expect(cluster, named{kind, object.GetName()})
	if kind == "Machine" {
		below := text(object, "spec", "infrastructureRef", "name")
		s.expect(cluster, named{"OpenStackMachine", below})
		s.expect(cluster, named{"OpenStackServer", below})
	}
}
