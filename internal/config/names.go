package config

import (
	"path/filepath"
	"strings"

	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/stateurl"
)

// ResourceName is the name of the resource that a step creates: the environment's
// name, a dash and the step.
func (e *Environment) ResourceName(step string) string { return e.Mark(step).Name() }

// Mark is the ownership tag of the resource that a step creates.
func (e *Environment) Mark(step string) ownership.Owner { return ownership.New(e.Metadata.Name, step) }

// ResourceTags are the tags of the resource that a step creates: Slipway's and the
// user's.
func (e *Environment) ResourceTags(step string) []string {
	return append(e.Mark(step).Tags(), e.Spec.Tags...)
}

// WantsFloatingIP reports whether the seed gets a floating IP. With a provisioning
// network, over which it is reached directly, it does not.
func (s *Seed) WantsFloatingIP() bool {
	return s.FloatingIP.Mode == FloatingIPAuto && s.ProvisioningNetwork == ""
}

// The modes of a floating IP.
const (
	FloatingIPAuto = "auto"
	FloatingIPNone = "none"
)

// The policies for the volumes of workloads.
const (
	VolumesDelete = "delete"
	VolumesKeep   = "keep"
)

// MakesNetwork reports whether the environment creates the seed's network.
func (s *Seed) MakesNetwork() bool { return s.Network.Existing == "" }

// StateDir is the absolute folder of a file backend, "" for other backends.
func (l *Loaded) StateDir() string {
	path, ok := strings.CutPrefix(l.Environment.Spec.State.Backend, "file://")
	if !ok {
		return ""
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(l.Dir, path)
}

// StateURL is the URL of the state, with an absolute path.
func (l *Loaded) StateURL() string {
	if dir := l.StateDir(); dir != "" {
		return "file://" + dir
	}
	return l.Environment.Spec.State.Backend
}

// LogURL is the URL of the store of the log: beside the state, or in the folder of secrets if
// the state's server keeps one document and no more.
func (l *Loaded) LogURL() string {
	if at := l.StateURL(); !stateurl.IsHTTP(at) {
		return at
	}
	return "file://" + l.SecretsDir()
}

// SecretsDir is the project's own folder of secrets, `.slipway` beside the
// first file: generated passphrase, private keys and kubeconfigs.
func (l *Loaded) SecretsDir() string { return filepath.Join(l.Dir, ".slipway") }

// Workers is the total number of workers of the cluster.
func (m *ManagementCluster) Workers() int {
	n := 0
	for _, group := range m.NodeGroups {
		n += group.Count
	}
	return n
}
