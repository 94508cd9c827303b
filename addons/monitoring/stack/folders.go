package stack

import (
	_ "embed"
	"path"
	"slices"

	"sigs.k8s.io/yaml"
)

//go:embed folders.yaml
var folderObjects string

// Folders are volumes on a cluster of one node that has no storage class, as k3s on a seed. A
// folder has no size: VolumeGiB tells Prometheus how much it may fill, and the others nothing.
type Folders struct {
	// Node is the name of the node, Path the folder that the folders are in.
	Node string `json:"node"`
	Path string `json:"path"`
}

// Volumes names the claims, which are the volumes too.
func (s Settings) Volumes() []string {
	all := []string{Prometheus, Alertmanager}
	if s.Logs != nil {
		all = append(all, Loki)
	}
	return all
}

// Paths are the folders, which must be there before pods start; none where there are volumes.
func (s Settings) Paths() []string {
	if s.Folders == nil {
		return nil
	}
	var all []string
	for _, name := range s.Volumes() {
		all = append(all, path.Join(s.Folders.Path, name))
	}
	return all
}

// ClaimGiB is what a volume is asked for: of a folder always the same, because no folder grows.
func (s Settings) ClaimGiB(gib int) int {
	if s.Folders != nil {
		return 1
	}
	return gib
}

// manyNodes are alerts that say nothing on a seed, whose k3s has one node and no etcd (row F50).
func manyNodes() []string {
	return []string{"EtcdNoLeader", "EtcdNearlyFull", "EtcdQuorumAtRisk", "ControllerHasOneReplica"}
}

// rules leaves out of a file of rules what does not apply.
func (s Settings) rules(text []byte) (string, error) {
	if s.Folders == nil {
		return string(text), nil
	}
	var file struct {
		Groups []struct {
			Name  string           `json:"name"`
			Rules []map[string]any `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return "", err
	}
	kept := file.Groups[:0]
	for _, group := range file.Groups {
		group.Rules = slices.DeleteFunc(group.Rules, func(rule map[string]any) bool {
			name, _ := rule["alert"].(string)
			return slices.Contains(manyNodes(), name)
		})
		if len(group.Rules) > 0 {
			kept = append(kept, group)
		}
	}
	file.Groups = kept
	out, err := yaml.Marshal(file)
	return string(out), err
}
