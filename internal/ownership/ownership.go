// Package ownership says which environment a resource in OpenStack belongs to:
// by tags where the API has them, else by metadata, else in the description, and
// always by name. Slipway changes and deletes what it finds this way, and nothing
// else.
package ownership

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

const (
	// Tag is on every resource that Slipway made and that has tags.
	Tag = "slipway"

	environmentTag = "slipway:env="
	stepTag        = "slipway:step="

	// EnvironmentKey and StepKey are the keys of metadata (servers, volumes)
	// and properties (images).
	EnvironmentKey = "slipway_env"
	StepKey        = "slipway_step"
)

// Owner is the step of an environment that made a resource. Both are lower-case
// RFC 1123 labels.
type Owner struct {
	Environment string
	Step        string
}

// New returns the owner of what a step of an environment makes.
func New(environment, step string) Owner { return Owner{Environment: environment, Step: step} }

// Name is the name of the resource, such as "prod-seed". Key pairs are known by
// nothing else.
func (o Owner) Name() string { return o.Environment + "-" + o.Step }

// Tags are for networks, subnets, routers, ports, floating IPs, security
// groups, load balancers, images and servers. None has a comma or a slash,
// which Nova and Neutron refuse, and none is longer than Nova's 60 characters,
// given names that package config accepts.
func (o Owner) Tags() []string { return append(EnvironmentTags(o.Environment), stepTag+o.Step) }

// Metadata is for servers, volumes and images, which have no tags or have them
// only in a later microversion.
func (o Owner) Metadata() map[string]string {
	return map[string]string{EnvironmentKey: o.Environment, StepKey: o.Step}
}

// Description is for resources that have neither tags nor metadata, such as
// application credentials.
func (o Owner) Description() string {
	return environmentTag + o.Environment + " " + stepTag + o.Step
}

// EnvironmentTags select everything of an environment in a list call: a resource
// that has all of them belongs to it.
func EnvironmentTags(environment string) []string {
	return []string{Tag, environmentTag + environment}
}

// FromTags reads the owner from tags. ok is false for resources of others, also
// for those that have only some of the tags.
func FromTags(tags []string) (owner Owner, ok bool) {
	if !slices.Contains(tags, Tag) {
		return Owner{}, false
	}
	return read(tags)
}

// FromMetadata reads the owner from metadata or properties.
func FromMetadata(metadata map[string]string) (owner Owner, ok bool) {
	return Owner{Environment: metadata[EnvironmentKey], Step: metadata[StepKey]}.complete()
}

// FromDescription reads the owner from a description, which may have other words
// too.
func FromDescription(description string) (owner Owner, ok bool) {
	return read(strings.Fields(description))
}

// Find reads the owner from the first of tags, metadata and description that
// names one.
func Find(tags []string, metadata map[string]string, description string) (owner Owner, ok bool) {
	if owner, ok = FromTags(tags); ok {
		return owner, ok
	}
	if owner, ok = FromMetadata(metadata); ok {
		return owner, ok
	}
	return FromDescription(description)
}

func read(words []string) (Owner, bool) {
	var o Owner
	for _, word := range words {
		if value, found := strings.CutPrefix(word, environmentTag); found {
			o.Environment = value
		}
		if value, found := strings.CutPrefix(word, stepTag); found {
			o.Step = value
		}
	}
	return o.complete()
}

func (o Owner) complete() (Owner, bool) {
	if o.Environment == "" || o.Step == "" {
		return Owner{}, false
	}
	return o, true
}

// ClusterPrefix begins the steps of clusters' credentials.
const ClusterPrefix = "cluster-"

// ClusterStep is the step of a cluster's credential. It contains a hash of namespace and
// name, because joined names could be ambiguous.
func ClusterStep(namespace, name string) string {
	sum := sha256.Sum256([]byte(namespace + "/" + name))
	return ClusterPrefix + name + "-" + hex.EncodeToString(sum[:4])
}

// CheckSteps refuses steps by which two environments could make the same name:
// with the steps "seed" and "data-seed", environment "a" and environment
// "a-data" would both name a resource "a-data-seed".
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
