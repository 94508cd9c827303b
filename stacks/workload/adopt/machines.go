package adopt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
)

// objects are rendered ones by kind and name.
type objects map[string]*unstructured.Unstructured

func (o objects) named(kind, name string) *unstructured.Unstructured { return o[kind+" "+name] }

// render is what Slipway's chart makes of values.
func (c *Cluster) render(values map[string]any) (string, objects, error) {
	text, err := openstackcluster.Render(openstackcluster.Release{Name: c.Name, Namespace: c.Namespace, Values: copied(values)})
	if err != nil {
		return "", nil, err
	}
	all, err := documents(text)
	if err != nil {
		return "", nil, err
	}
	byName := objects{}
	for _, o := range all {
		byName[nameOf(o)] = o
	}
	return text, byName, nil
}

// digest is the chart's structure.hash of what a machine is made of.
func digest(version any, spec, bootstrap any) string {
	text, err := json.Marshal([]any{version, spec, bootstrap})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:8]
}

// kept is the value adopted: the objects that machines have, for as long as the values say
// what they say now, and the addons.
func (c *Cluster) kept(own objects, made []*unstructured.Unstructured) map[string]any {
	adopted := map[string]any{}
	for _, o := range own {
		switch o.GetKind() {
		case "KubeadmControlPlane":
			if live := c.seen.plane; live.GetName() == o.GetName() {
				template := text(o, infrastructure("machineTemplate")...)
				adopted["controlPlane"] = map[string]any{
					"digest":            digest(part(o, "spec", "version"), part(own.named("OpenStackMachineTemplate", template), "spec"), part(o, "spec", "kubeadmConfigSpec")),
					"machineTemplate":   text(live, infrastructure("machineTemplate")...),
					"kubeadmConfigSpec": part(live, "spec", "kubeadmConfigSpec"),
				}
			}
		case "MachineDeployment":
			if live := c.seen.deployments[o.GetName()]; live != nil {
				template, config := text(o, infrastructure("template")...), text(o, configuration()...)
				put(adopted, []string{"nodeGroups", groupOf(o)}, map[string]any{
					"digest": digest(part(o, "spec", "template", "spec", "version"), part(own.named("OpenStackMachineTemplate", template), "spec"),
						part(own.named("KubeadmConfigTemplate", config), "spec")),
					"machineTemplate": text(live, infrastructure("template")...),
					"configTemplate":  text(live, configuration()...),
				})
			}
		}
	}
	if addons := c.addons(own, made); len(addons) > 0 {
		adopted["addons"] = addons
	}
	return adopted
}

// groupOf is the node group of a MachineDeployment of the chart.
func groupOf(o *unstructured.Unstructured) string {
	for key, value := range o.GetLabels() {
		if len(key) > len("/node-group") && key[len(key)-len("/node-group"):] == "/node-group" {
			return value
		}
	}
	return o.GetName()
}

func infrastructure(below string) []string {
	return []string{"spec", below, "spec", "infrastructureRef", "name"}
}

func configuration() []string {
	return []string{"spec", "template", "spec", "bootstrap", "configRef", "name"}
}

// part is a part of an object, nil if it is not there.
func part(o *unstructured.Unstructured, path ...string) any {
	if o == nil {
		return nil
	}
	value, _, err := unstructured.NestedFieldCopy(o.Object, path...)
	if err != nil {
		return nil
	}
	return value
}

// compare renders Slipway's chart and compares what it makes with what there is. What
// would replace a machine is a problem.
func (s Site) compare(ctx context.Context, c *Cluster, made []*unstructured.Unstructured) error {
	const remedy = "correct the value with helm upgrade and the release's own chart"
	_, own, err := c.render(c.values)
	if err != nil {
		c.problem("Slipway's chart cannot render its values: "+err.Error(), remedy)
		return nil
	}
	c.values[valueAdopted] = c.kept(own, made)
	text, final, err := c.render(c.values)
	if err != nil {
		c.problem("Slipway's chart cannot render its values: "+err.Error(), remedy)
		return nil
	}
	c.machinesOf(final)
	c.leftovers(text, final, made)
	if err := s.templates(ctx, c, own); err != nil {
		return err
	}
	return s.others(ctx, c, final)
}

// machinesOf refuses what would replace, make or delete machines.
func (c *Cluster) machinesOf(final objects) {
	const remedy = "Slipway cannot manage it without replacing machines: leave it to its chart, or build it again"
	wanted := map[string]bool{}
	for _, key := range sortedKeys(final) {
		o := final[key]
		var live *unstructured.Unstructured
		switch o.GetKind() {
		case "KubeadmControlPlane":
			live = c.seen.plane
			if live.GetName() != o.GetName() {
				c.roll(replicas(live), fmt.Sprintf("its control plane is %s, and Slipway's chart calls it %s", live.GetName(), o.GetName()), remedy)
				continue
			}
		case "MachineDeployment":
			wanted[o.GetName()] = true
			if live = c.seen.deployments[o.GetName()]; live == nil {
				c.roll(replicas(o), "Slipway's chart would make "+nameOf(o)+", which is not there", remedy)
				continue
			}
		default:
			continue
		}
		for _, one := range rolling(o, live) {
			c.roll(c.size(o.GetName(), o.GetKind()), fmt.Sprintf("machines would be replaced: %s has %s %s, and Slipway's chart makes %s",
				nameOf(o), one.path, shown(o, one.path, one.has), shown(o, one.path, one.want)), remedy)
		}
	}
	for _, name := range sortedKeys(c.seen.deployments) {
		if !wanted[name] {
			o := c.seen.deployments[name]
			c.roll(replicas(o), nameOf(o)+" is not in its release: somebody made it by hand", "delete it, or add its group to the release's values with helm upgrade")
		}
	}
}

// rolling are the fields of a control plane or a group that replace or scale machines, or
// that cannot be changed, where they differ.
func rolling(want, live *unstructured.Unstructured) []unlike {
	var all []unlike
	paths := [][]string{{"spec", "replicas"}, {"spec", "version"}, {"spec", "kubeadmConfigSpec"}, infrastructure("machineTemplate")}
	if want.GetKind() == "MachineDeployment" {
		paths = [][]string{{"spec", "replicas"}, {"spec", "selector"}, {"spec", "template", "spec", "version"}, {"spec", "template", "spec", "failureDomain"},
			infrastructure("template"), configuration()}
	}
	for _, path := range paths {
		wanted, has := part(want, path...), part(live, path...)
		if path[len(path)-1] == "replicas" && wanted == nil {
			continue // an autoscaler says it
		}
		name := ""
		for _, step := range path {
			name = below(name, step)
		}
		found := within(name, wanted, has)
		if len(found) == 0 {
			found = within(name, has, wanted)
			for i := range found {
				found[i].want, found[i].has = found[i].has, found[i].want
			}
		}
		all = append(all, found...)
	}
	return all
}
