package csar

import "slices"

// Descriptor is what a VNF manager acts on: who the VNF is, and how its units scale.
type Descriptor struct {
	Provider, Product, SoftwareVersion, Version string
	// Flavour is the deployment flavour.
	Flavour string
	// Levels are the scale levels of aspects on each instantiation level, DefaultLevel
	// that of requests without one.
	Levels       map[string]map[string]int
	DefaultLevel string
	Units        []Described
}

// Described is a unit (VDU) of a VNFD, whoever wrote it.
type Described struct {
	// ID is the vduId, Name its properties.name, Aspect that by which it scales; "" if
	// it does not.
	ID, Name, Aspect string
	// Initial is the number of instances on level 0, Step what each level adds, and
	// MaxLevel the last one.
	Initial, Step, MaxLevel int
}

// Count is the number of instances on a level.
func (u Described) Count(level int) int { return u.Initial + level*u.Step }

// MaxLevel is the last level of an aspect; false if there is no such aspect.
func (d Descriptor) MaxLevel(aspect string) (int, bool) {
	i := slices.IndexFunc(d.Units, func(u Described) bool { return u.Aspect == aspect })
	if aspect == "" || i < 0 {
		return 0, false
	}
	return d.Units[i].MaxLevel, true
}

// describe collects what has been checked.
func (c *checker) describe(identity node) Descriptor {
	p := identity.Properties
	d := Descriptor{Provider: p.Provider, Product: p.Product, SoftwareVersion: p.Software, Version: p.Version, Flavour: c.flavour, Levels: map[string]map[string]int{}}
	for _, unit := range c.units() {
		s := c.scale[unit]
		d.Units = append(d.Units, Described{ID: unit, Name: c.nodes[unit].Properties.Name, Aspect: s.aspect, Initial: c.first[unit], Step: s.step, MaxLevel: c.max[s.aspect]})
	}
	c.each("InstantiationLevels", func(_ string, p policy) {
		d.DefaultLevel = p.Properties.Default
		for level, of := range p.Properties.Levels {
			d.Levels[level] = map[string]int{}
			for aspect, at := range of.Scale {
				if at.Level != nil {
					d.Levels[level][aspect] = *at.Level
				}
			}
		}
	})
	return d
}
