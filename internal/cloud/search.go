package cloud

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Env holds the settings of the process environment about clouds. The command line
// reads the environment; this package does not.
type Env struct {
	// ConfigFile and SecureFile are OS_CLIENT_CONFIG_FILE and OS_CLIENT_SECURE_FILE.
	ConfigFile, SecureFile string
	// Cloud, Region and Interface are OS_CLOUD, OS_REGION_NAME and OS_INTERFACE.
	Cloud, Region, Interface string
	// WorkDir is the working directory, Home the user's.
	WorkDir, Home string
	// ConfigHome is XDG_CONFIG_HOME; empty is .config in Home.
	ConfigHome string
	// SiteDirs are the system's folders; nil means /etc/xdg/openstack and /etc/openstack.
	SiteDirs []string
}

// dirs is openstacksdk's CONFIG_SEARCH_PATH (openstack/config/loader.py).
func (e Env) dirs() []string {
	dirs := []string{e.WorkDir}
	if e.ConfigHome != "" {
		dirs = append(dirs, filepath.Join(e.ConfigHome, "openstack"))
	}
	if e.Home != "" {
		dirs = append(dirs, filepath.Join(e.Home, ".config", "openstack"))
	}
	if e.SiteDirs != nil {
		return append(dirs, e.SiteDirs...)
	}
	return append(dirs, "/etc/xdg/openstack", "/etc/openstack")
}

// find returns the first readable file of a kind ("clouds", "secure",
// "clouds-public"). Like openstacksdk it searches for each kind separately: the
// override, then every folder with three suffixes. Empty means none.
func (e Env) find(kind, override string) string {
	var candidates []string
	if override != "" {
		candidates = append(candidates, e.expand(override))
	}
	for _, dir := range e.dirs() {
		for _, suffix := range []string{".yaml", ".yml", ".json"} {
			candidates = append(candidates, filepath.Join(dir, kind+suffix))
		}
	}
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	return ""
}

func (e Env) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && e.Home != "" {
		return filepath.Join(e.Home, rest)
	}
	return path
}

// entries returns the merged clouds of clouds.yaml and secure.yaml, and the profiles
// of clouds-public.yaml.
type entries struct {
	path     string
	clouds   map[string]any
	profiles map[string]any
}

func (e Env) read() (entries, error) {
	path := e.find("clouds", e.ConfigFile)
	if path == "" {
		return entries{}, fault.Usage("clouds.yaml", fmt.Errorf("there is none in %s", strings.Join(e.dirs(), ", ")),
			"download one from your cloud's dashboard, or set its path in OS_CLIENT_CONFIG_FILE")
	}
	all := entries{path: path}
	document, err := readYAML(path)
	if err != nil {
		return entries{}, err
	}
	if secure := e.find("secure", e.SecureFile); secure != "" {
		secrets, err := readYAML(secure)
		if err != nil {
			return entries{}, err
		}
		document = overlay(document, secrets)
	}
	if public := e.find("clouds-public", ""); public != "" {
		profiles, err := readYAML(public)
		if err != nil {
			return entries{}, err
		}
		all.profiles, _ = profiles["public-clouds"].(map[string]any)
	}
	all.clouds, _ = document["clouds"].(map[string]any)
	return all, nil
}

func readYAML(path string) (map[string]any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Usage(path, err, "make the file readable for your user")
	}
	return parseYAML(path, text)
}

func parseYAML(path string, text []byte) (map[string]any, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		// The parser's own error may quote a line with a password.
		return nil, fault.Usage(path, errors.New("this is not YAML"), "check indentation, colons and quotes")
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	root, _ := plain(document.Content[0]).(map[string]any)
	return root, nil
}

// plain converts a node to maps, lists and texts. Numbers stay as written: a password
// of digits is not a number.
func plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = plain(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, element := range n.Content {
			list[i] = plain(element)
		}
		return list
	case yaml.AliasNode:
		return plain(n.Alias)
	}
	if n.Tag == "!!null" {
		return nil
	}
	return n.Value
}

// overlay merges over into base: maps are merged, everything else is replaced.
func overlay(base, over map[string]any) map[string]any {
	merged := maps.Clone(base)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, value := range over {
		inner, isMap := value.(map[string]any)
		if old, ok := merged[key].(map[string]any); ok && isMap {
			merged[key] = overlay(old, inner)
			continue
		}
		merged[key] = value
	}
	return merged
}

// choose returns the name of the cloud to use: the requested one, else the only one.
func (all entries) choose(wanted string) (string, error) {
	names := slices.Sorted(maps.Keys(all.clouds))
	if wanted == "" && len(names) == 1 {
		return names[0], nil
	}
	if _, ok := all.clouds[wanted].(map[string]any); ok {
		return wanted, nil
	}
	cause := fmt.Errorf("there is no cloud %q", wanted)
	if wanted == "" {
		cause = errors.New("no cloud is chosen")
	}
	return "", fault.Usage(all.path, cause, "choose one in spec.cloud or OS_CLOUD: "+strings.Join(names, ", "))
}

// entry returns the cloud merged over its profile. A profile that is not in
// clouds-public.yaml is one of openstacksdk's built-in vendors, which this package
// does not have: it is refused only if its settings are needed.
func (all entries) entry(name string) (map[string]any, error) {
	entry, _ := all.clouds[name].(map[string]any)
	for _, key := range []string{"profile", "cloud"} {
		profile, _ := entry[key].(string)
		if profile == "" || profile == name {
			continue
		}
		if base, ok := all.profiles[profile].(map[string]any); ok {
			return overlay(base, entry), nil
		}
		if auth, _ := entry["auth"].(map[string]any); auth["auth_url"] == nil {
			return nil, fault.Usage(all.path+": cloud "+name, fmt.Errorf("profile %q is not in clouds-public.yaml", profile), "copy auth_url and the other settings of the profile into the cloud's entry")
		}
	}
	return entry, nil
}
