package overview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// grouped are the lines of the table for people: what is well a line for each
// kind, what is not with all there is to say.
func (r Overview) grouped(now time.Time) [][]string {
	return slices.Concat(r.resourceLines(), r.seedLines(now), r.clusterLines(now), r.backupLines(now))
}

// resourceLines are the resources of the cloud, those that are well by type.
func (r Overview) resourceLines() [][]string {
	var lines, odd [][]string
	for _, group := range byType(r.Resources) {
		var names, states []string
		for _, t := range group {
			if Judge(t) != Well {
				odd = append(odd, []string{t.Type, t.Name, t.State})
				continue
			}
			names = append(names, t.Name)
			if !slices.Contains(states, t.State) {
				states = append(states, t.State)
			}
		}
		switch len(names) {
		case 0:
			continue
		case 1:
			lines = append(lines, []string{group[0].Type, names[0], states[0]})
		default:
			lines = append(lines, []string{group[0].Type, fmt.Sprintf("%d: %s", len(names), shortened(strings.Join(names, ", "), mostOfNames)), strings.Join(states, ", ")})
		}
	}
	return append(lines, odd...)
}

// byType are resources by type, in their order.
func byType(resources []openstack.Resource) [][]openstack.Resource {
	var groups [][]openstack.Resource
	for _, t := range resources {
		if n := len(groups); n > 0 && groups[n-1][0].Type == t.Type {
			groups[n-1] = append(groups[n-1], t)
			continue
		}
		groups = append(groups, []openstack.Resource{t})
	}
	return groups
}

// mostOfNames is how many characters of the names of a group are shown.
const mostOfNames = 30

func shortened(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}

// seedLines are what runs on the seed.
func (r Overview) seedLines(now time.Time) [][]string {
	var lines [][]string
	available := 0
	for _, c := range r.Seed {
		if c.Kind != kindNode && c.Ready {
			available++
			continue
		}
		lines = append(lines, rows([]Component{c}, now)...)
	}
	if available > 0 {
		lines = append(lines, []string{"Deployment", fmt.Sprintf("%d on the seed", available), "available"})
	}
	return lines
}

// mostClusters is how many clusters that are ready have a line of their own.
const mostClusters = 20

// clusterLines are the clusters: one line for each that is ready, and of the
// others the parts that are not.
func (r Overview) clusterLines(now time.Time) [][]string {
	var lines, trees [][]string
	ready := 0
	for _, c := range r.Clusters {
		where := " (on the " + c.On + ")"
		if c.Ready() {
			if ready++; ready <= mostClusters {
				lines = append(lines, readyLine(c.Report, where, now))
			}
			continue
		}
		short := c.Report
		short.Parts = slices.DeleteFunc(slices.Clone(short.Parts), func(p clusterapi.Part) bool { return p.Ready && p.Level > 0 })
		trees = append(trees, target.Tree(short, where, now, target.MostOfCause)...)
	}
	if more := ready - mostClusters; more > 0 {
		lines = append(lines, []string{"Cluster", fmt.Sprintf("%d more", more), "Available"})
	}
	return append(lines, trees...)
}

func readyLine(c clusterapi.Report, where string, now time.Time) []string {
	state := fmt.Sprintf("control plane %s, workers %s", c.ControlPlane, c.Workers)
	releases, _ := c.Count("HelmRelease")
	sets, _ := c.Count("Manifests")
	if n := releases + sets; n > 0 {
		state += ", " + counted(n, "addon")
	}
	since := ""
	if len(c.Parts) > 0 && !c.Parts[0].Since.IsZero() {
		since = "since " + duration.HumanDuration(now.Sub(c.Parts[0].Since))
	}
	return []string{"Cluster", c.Name + where, state, since}
}
