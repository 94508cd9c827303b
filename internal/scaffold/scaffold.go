// Package scaffold writes a first environment file for a cloud: what was found,
// what was chosen of it, and why.
package scaffold

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	_ "embed"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/preflight"
)

//go:embed slipway.yaml.tmpl
var text string

// Choice is a setting that was chosen, with the reason.
type Choice struct {
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Why     string `json:"why"`
}

// page is what the template shows.
type page struct {
	Name, Cloud                                           string
	External                                              Choice
	Externals, Flavors, Images, Types, Zones, VolumeZones []string
	Providers                                             []string
	Flavor, Image                                         Choice
	NetworkCIDR                                           string
	CIDRWhy                                               string
	MagnumAdmin                                           string
	ControlPlanes                                         int
}

// File is a commented environment file for the project of a snapshot, and the
// choices in it. It loads and validates. magnumAdmin is who puts the Magnum API
// into the catalog; without one the API is not part of the environment.
func File(name, magnumAdmin string, controlPlanes int, s *cloud.Snapshot) ([]byte, []Choice, error) {
	draft, err := config.Parse(config.Source{Name: config.DefaultFile, Text: fmt.Appendf(nil, "apiVersion: %s\nkind: %s\nmetadata: {name: %q}\n", config.APIVersion, config.Kind, name)})
	if err != nil {
		return nil, nil, err
	}
	result := preflight.Run(preflight.Input{Environment: draft.Environment, Snapshot: s, Now: time.Now()})
	p := page{Name: name, MagnumAdmin: magnumAdmin, ControlPlanes: controlPlanes, Cloud: s.Cloud, Types: s.VolumeTypes, Zones: s.Zones[cloud.ComputeZones], VolumeZones: s.Zones[cloud.VolumeZones], Providers: s.Providers}
	p.External = external(s, &p)
	p.Flavor = flavor(s, result, &p)
	p.Image = image(s, &p)
	network := freeRange(s)
	p.NetworkCIDR, p.CIDRWhy = network.Value, network.Why
	var out bytes.Buffer
	t := template.Must(template.New("slipway.yaml").Funcs(template.FuncMap{"list": list, "quote": quote}).Parse(text))
	if err := t.Execute(&out, p); err != nil {
		return nil, nil, fmt.Errorf("writing the environment file: %w", err)
	}
	return out.Bytes(), []Choice{p.External, p.Flavor, p.Image, network}, nil
}

func external(s *cloud.Snapshot, p *page) Choice {
	for _, n := range s.Networks {
		if n.External {
			p.Externals = append(p.Externals, n.Name)
		}
	}
	slices.Sort(p.Externals)
	c := Choice{Setting: "spec.externalNetwork"}
	switch len(p.Externals) {
	case 0:
		c.Why = "the project sees none"
	case 1:
		c.Value, c.Why = p.Externals[0], "it is the only one"
	default:
		c.Value, c.Why = p.Externals[0], "it is the first by name of several: check that it is the right one"
	}
	return c
}

func flavor(s *cloud.Snapshot, r preflight.Result, p *page) Choice {
	for _, f := range s.Flavors {
		p.Flavors = append(p.Flavors, fmt.Sprintf("%s (%d vCPU, %d MiB, %d GB)", f.Name, f.VCPUs, f.RAM, f.Disk))
	}
	c := Choice{Setting: "spec.seed.flavor", Value: r.Choices.FlavorName, Why: "it has the least memory of the flavors with 2 vCPUs, 8 GiB and 20 GB of disk"}
	if c.Value == "" {
		c.Why = "none has 2 vCPUs, 8 GiB and 20 GB of disk"
	}
	return c
}

func image(s *cloud.Snapshot, p *page) Choice {
	for _, i := range s.Images {
		if i.Status == "active" {
			p.Images = append(p.Images, i.Name)
		}
	}
	slices.Sort(p.Images)
	p.Images = slices.Compact(p.Images)
	return Choice{Setting: "spec.seed.image", Why: "the bundle's own image is uploaded once; it contains k3s"}
}

func list(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	const most = 20
	if len(all) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(clean(all[:most]), ", "), len(all)-most)
	}
	return strings.Join(clean(all), ", ")
}

// clean keeps names of others from ending the comment that they stand in.
func clean(all []string) []string {
	var lines []string
	for _, one := range all {
		lines = append(lines, strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
				return ' '
			}
			return r
		}, one))
	}
	return lines
}

// quote writes a name as YAML in double quotes, whose escapes JSON's and
// Go's are a part of.
func quote(text string) string { return fmt.Sprintf("%q", text) }
