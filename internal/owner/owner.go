// Package owner is how things in OpenStack say which environment they belong
// to: by tags where the API has them, else by metadata, else in the
// description, and always by name. Whatever is found by these marks is ours to
// change and to delete; nothing else is.
package owner

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// Tag is carried by everything that Slipway made and that has tags.
	Tag = "slipway"

	environmentTag = "slipway:env="
	stepTag        = "slipway:step="

	// EnvironmentKey and StepKey are the keys of metadata (servers, volumes)
	// and properties (images).
	EnvironmentKey = "slipway_env"
	StepKey        = "slipway_step"
)

// Mark says that a thing is what Step of Environment made. Both are lower-case
// RFC 1123 labels.
type Mark struct {
	Environment string
	Step        string
}

// New returns the mark of a step of an environment.
func New(environment, step string) Mark { return Mark{Environment: environment, Step: step} }

// Name is the name of the thing, such as "prod-seed". Key pairs have nothing
// else to be known by.
func (m Mark) Name() string { return m.Environment + "-" + m.Step }

// Tags are for networks, subnets, routers, ports, floating IPs, security
// groups, load balancers, images and servers. None has a comma or a slash,
// which Nova and Neutron refuse, and none is longer than 60 characters as
// Nova wants it, given names that package config accepts.
func (m Mark) Tags() []string { return append(EnvironmentTags(m.Environment), stepTag+m.Step) }

// Metadata is for servers, volumes and images, where tags are absent or need a
// later microversion.
func (m Mark) Metadata() map[string]string {
	return map[string]string{EnvironmentKey: m.Environment, StepKey: m.Step}
}

// Description is for what has neither tags nor metadata, such as application
// credentials.
func (m Mark) Description() string {
	return environmentTag + m.Environment + " " + stepTag + m.Step
}

// EnvironmentTags select everything of an environment in a list call: a thing
// that carries all of them belongs to it.
func EnvironmentTags(environment string) []string {
	return []string{Tag, environmentTag + environment}
}

// FromTags reads the mark of a thing with tags. ok is false for foreign
// things, also for those that carry only a part of the mark.
func FromTags(tags []string) (mark Mark, ok bool) {
	if !slices.Contains(tags, Tag) {
		return Mark{}, false
	}
	return read(tags)
}

// FromMetadata reads the mark of a thing with metadata or properties.
func FromMetadata(metadata map[string]string) (mark Mark, ok bool) {
	m := Mark{Environment: metadata[EnvironmentKey], Step: metadata[StepKey]}
	return m.complete()
}

// FromDescription reads the mark from a description, which may hold other
// words besides.
func FromDescription(description string) (mark Mark, ok bool) {
	return read(strings.Fields(description))
}

// Find reads the mark of a thing from the first of tags, metadata and
// description that has it.
func Find(tags []string, metadata map[string]string, description string) (mark Mark, ok bool) {
	if mark, ok = FromTags(tags); ok {
		return mark, ok
	}
	if mark, ok = FromMetadata(metadata); ok {
		return mark, ok
	}
	return FromDescription(description)
}

func read(words []string) (Mark, bool) {
	var m Mark
	for _, word := range words {
		if value, found := strings.CutPrefix(word, environmentTag); found {
			m.Environment = value
		}
		if value, found := strings.CutPrefix(word, stepTag); found {
			m.Step = value
		}
	}
	return m.complete()
}

func (m Mark) complete() (Mark, bool) {
	if m.Environment == "" || m.Step == "" {
		return Mark{}, false
	}
	return m, true
}

// CheckSteps refuses steps by which two environments could arrive at the same
// name: with the steps "seed" and "data-seed", environment "a" and environment
// "a-data" would both name a thing "a-data-seed".
func CheckSteps(steps ...string) error {
	for _, long := range steps {
		for _, short := range steps {
			if strings.HasSuffix(long, "-"+short) {
				return fmt.Errorf("step %s ends with step %s: names of different environments could be the same", long, short)
			}
		}
	}
	return nil
}
