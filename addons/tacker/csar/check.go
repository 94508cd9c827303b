package csar

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

const (
	vduType    = "tosca.nodes.nfv.Vdu.Compute"
	policyType = "tosca.policies.nfv."
)

// checker holds units, aspects, deltas, levels and targets against each other, as
// Tacker relies on them without looking.
type checker struct {
	*definition
	wrong []error
	// scale is the aspect and delta of each unit, first its initial number.
	scale map[string]scale
	first map[string]int
	max   map[string]int
}

type scale struct {
	aspect string
	step   int
}

func (c *checker) say(where, format string, args ...any) {
	c.wrong = append(c.wrong, broken(c.file+": "+where, format, args...))
}

// check returns every contradiction in the definitions.
func (d *definition) check(content *Content) error {
	c := &checker{definition: d, scale: map[string]scale{}, first: map[string]int{}, max: map[string]int{}}
	content.Units = d.units()
	c.names()
	c.scripts(content)
	c.targets()
	c.aspects()
	c.initial()
	c.deltas()
	c.profiles()
	c.levels()
	content.VNFD = c.describe(d.identity)
	return errors.Join(c.wrong...)
}

func (d *definition) units() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(d.nodes)) {
		if d.nodes[name].Type == vduType {
			all = append(all, name)
		}
	}
	return all
}

// each calls do for the policies of a type, by name.
func (c *checker) each(kind string, do func(name string, p policy)) {
	for _, name := range slices.Sorted(maps.Keys(c.policies)) {
		if c.policies[name].Type == policyType+kind {
			do(name, c.policies[name])
		}
	}
}

func (c *checker) names() {
	if len(c.units()) == 0 {
		c.say("node_templates", "there is no VDU")
	}
	owner := map[string]string{}
	for _, unit := range c.units() {
		name := c.nodes[unit].Properties.Name
		switch {
		case name == "":
			c.say(unit, "it has no properties.name, by which its Pods are found")
		case owner[name] != "":
			c.say(unit, "properties.name %s is also that of %s", name, owner[name])
		}
		owner[name] = unit
	}
}

// scripts checks that what an operation runs is in the package.
func (c *checker) scripts(content *Content) {
	vnf := c.nodes["VNF"]
	for _, operation := range slices.Sorted(maps.Keys(vnf.Interfaces["Vnflcm"])) {
		given, _ := vnf.Interfaces["Vnflcm"][operation].(map[string]any)
		name, _ := given["implementation"].(string)
		if name == "" {
			continue
		}
		if artifact, ok := vnf.Artifacts[name]; !ok {
			c.say("VNF.interfaces.Vnflcm."+operation, "there is no artifact %s", name)
		} else if content.Files[path.Join(path.Dir(c.file), artifact.File)] == nil {
			c.say("VNF.artifacts."+name, "file %s is not in the package", artifact.File)
		}
	}
}

// targets checks that policies are about units that exist.
func (c *checker) targets() {
	for _, name := range slices.Sorted(maps.Keys(c.policies)) {
		for _, target := range c.policies[name].Targets {
			if !slices.Contains(c.units(), target) {
				c.say(name, "its target %s is no VDU", target)
			}
		}
	}
}

func (c *checker) aspects() {
	c.each("ScalingAspects", func(name string, p policy) {
		for _, aspect := range slices.Sorted(maps.Keys(p.Properties.Aspects)) {
			a := p.Properties.Aspects[aspect]
			c.max[aspect] = a.Max
			if a.Max < 1 {
				c.say(name, "aspect %s: max_scale_level is %d, so nothing scales", aspect, a.Max)
			}
			if len(a.Deltas) != 1 {
				c.say(name, "aspect %s has %d step_deltas, and Tacker supports one", aspect, len(a.Deltas))
			}
		}
	})
}

func (c *checker) initial() {
	c.each("VduInitialDelta", func(name string, p policy) {
		for _, unit := range p.Targets {
			if _, twice := c.first[unit]; twice {
				c.say(name, "%s has another VduInitialDelta", unit)
			}
			c.first[unit] = -1
			if p.Properties.Initial.Number != nil {
				c.first[unit] = *p.Properties.Initial.Number
			}
			if c.first[unit] < 0 {
				c.say(name, "initial_delta has no number_of_instances")
			}
		}
	})
	for _, unit := range c.units() {
		if _, ok := c.first[unit]; !ok {
			c.say(unit, "it has no VduInitialDelta")
		}
	}
}

func (c *checker) deltas() {
	used := map[string]bool{}
	c.each("VduScalingAspectDeltas", func(name string, p policy) {
		aspect := p.Properties.Aspect
		if _, ok := c.max[aspect]; !ok {
			c.say(name, "there is no aspect %s", aspect)
		}
		used[aspect] = true
		step := c.step(name, p)
		for _, unit := range p.Targets {
			if other := c.scale[unit].aspect; other != "" {
				c.say(name, "%s scales by aspect %s already", unit, other)
			}
			c.scale[unit] = scale{aspect, step}
		}
	})
	for _, aspect := range slices.Sorted(maps.Keys(c.max)) {
		if !used[aspect] {
			c.say("aspect "+aspect, "no VduScalingAspectDeltas is about it")
		}
	}
}

// step is the delta that the aspect names.
func (c *checker) step(name string, p policy) int {
	wanted := ""
	c.each("ScalingAspects", func(_ string, of policy) {
		if a := of.Properties.Aspects[p.Properties.Aspect]; len(a.Deltas) > 0 {
			wanted = a.Deltas[0]
		}
	})
	number := p.Properties.Deltas[wanted].Number
	if wanted != "" && (number == nil || *number < 1) {
		c.say(name, "delta %s is missing or below 1", wanted)
		return 0
	}
	if number == nil {
		return 0
	}
	return *number
}

// profiles holds the numbers that scaling reaches against the least and most.
func (c *checker) profiles() {
	for _, unit := range c.units() {
		least, most := c.nodes[unit].Properties.Profile.Min, c.nodes[unit].Properties.Profile.Max
		if least == nil || most == nil {
			c.say(unit, "vdu_profile lacks min_number_of_instances or max_number_of_instances")
			continue
		}
		end := c.first[unit] + c.max[c.scale[unit].aspect]*c.scale[unit].step
		if *least > c.first[unit] || end > *most {
			c.say(unit, "it scales from %d to %d, and vdu_profile allows %d to %d", c.first[unit], end, *least, *most)
		}
	}
}

func (c *checker) levels() {
	found := false
	c.each("InstantiationLevels", func(name string, p policy) {
		found = true
		if _, ok := p.Properties.Levels[p.Properties.Default]; !ok {
			c.say(name, "default_level %q is none of the levels", p.Properties.Default)
		}
		for _, level := range slices.Sorted(maps.Keys(p.Properties.Levels)) {
			at := map[string]int{}
			for _, aspect := range slices.Sorted(maps.Keys(p.Properties.Levels[level].Scale)) {
				given := p.Properties.Levels[level].Scale[aspect].Level
				limit, ok := c.max[aspect]
				switch {
				case !ok:
					c.say(name, "level %s: there is no aspect %s", level, aspect)
				case given == nil || *given < 0 || *given > limit:
					c.say(name, "level %s: scale_level of %s is not between 0 and %d", level, aspect, limit)
				default:
					at[aspect] = *given
				}
			}
			c.numbers(level, at)
		}
	})
	if !found {
		c.say("policies", "there is no InstantiationLevels")
	}
}

// numbers checks the number of each unit on an instantiation level. Without one machine
// at least, Tacker ends the operation with an internal error.
func (c *checker) numbers(level string, at map[string]int) {
	total, said := 0, map[string]bool{}
	c.each("VduInstantiationLevels", func(name string, p policy) {
		number := p.Properties.Levels[level].Number
		if number == nil {
			c.say(name, "it has no level %s", level)
			return
		}
		for _, unit := range p.Targets {
			said[unit] = true
			total += *number
			if want := c.first[unit] + at[c.scale[unit].aspect]*c.scale[unit].step; *number != want {
				c.say(name, "level %s has %d instances of %s, and its scale level makes %d", level, *number, unit, want)
			}
		}
	})
	for _, unit := range c.units() {
		if !said[unit] {
			c.say(unit, "no VduInstantiationLevels says its number on level %s", level)
		}
	}
	if total < 1 {
		c.say("level "+level, "no VDU has an instance")
	}
}

// Summary is one line about a package.
func (c *Content) Summary() string {
	return fmt.Sprintf("%d files, VDUs %s", len(c.Files), strings.Join(c.Units, ", "))
}
