package migrate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Azimuth converts the configuration of an azimuth-ops environment: dir is a folder below
// environments/ of an azimuth-config repository, whose ansible.cfg names the layers, or one
// inventory. An empty name takes the folder's.
func Azimuth(dir, name string) (*Result, error) {
	layers, err := azimuthLayers(dir)
	if err != nil {
		return nil, err
	}
	if name == "" {
		folder, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("finding the environment's folder: %w", err)
		}
		if filepath.Base(folder) == "inventory" {
			folder = filepath.Dir(folder)
		}
		name = label(filepath.Base(folder))
	}
	d := newDraft(name)
	settings := map[string]setting{}
	for _, layer := range layers {
		if err := d.readLayer(layer, settings); err != nil {
			return nil, err
		}
	}
	if len(settings) == 0 && len(d.notes) == 0 {
		return nil, fault.Usage(dir, errors.New("there are no variables below group_vars/all"), "name a folder below environments/ of an azimuth-config repository")
	}
	d.azimuth(settings)
	return d.result()
}

// azimuthLayers are the inventories of an environment; later ones win.
func azimuthLayers(dir string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "ansible.cfg"))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, "inventory")); err == nil {
			return []string{filepath.Join(dir, "inventory")}, nil
		}
		if _, err := os.Stat(dir); err != nil {
			return nil, fault.Usage("--inventory", err, "name a folder that exists")
		}
		return []string{dir}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the layers: %w", err)
	}
	var missing []error
	var layers []string
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		key, value, found := strings.Cut(lines.Text(), "=")
		if !found || strings.TrimSpace(key) != "inventory" {
			continue
		}
		for layer := range strings.SplitSeq(value, ",") {
			path := filepath.Join(dir, strings.TrimSpace(layer))
			if _, err := os.Stat(path); err != nil {
				missing = append(missing, fault.Usage(filepath.Join(dir, "ansible.cfg"), err, "name the environment inside its repository, with all its layers"))
			}
			layers = append(layers, path)
		}
	}
	if len(layers) == 0 && missing == nil {
		layers = []string{filepath.Join(dir, "inventory")}
	}
	return layers, errors.Join(missing...)
}

// variableFiles are the files at a path: itself, or those of a folder and of the folders in it,
// by name. As for Ansible, names that begin with a dot do not count, nor folders with an ending.
func variableFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") || entry.IsDir() && filepath.Ext(entry.Name()) != "" {
			continue
		}
		below, err := variableFiles(filepath.Join(path, entry.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, below...)
	}
	return files, nil
}

// readLayer reads the variables of group all, in Ansible's order: all.yml, then the files
// of the folder all by name.
func (d *draft) readLayer(layer string, settings map[string]setting) error {
	var files []string
	for _, name := range []string{"all.yml", "all.yaml", "all"} {
		found, err := variableFiles(filepath.Join(layer, "group_vars", name))
		if err != nil {
			return fmt.Errorf("listing variables: %w", err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		if !slices.Contains([]string{".yml", ".yaml", ".json", ""}, filepath.Ext(file)) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading variables: %w", err)
		}
		if kind := encryption(text); kind != "" {
			d.notes = append(d.notes, Note{Level: Secret, Setting: filepath.Base(file), Origin: file, Text: "the file is encrypted with " + kind + " and was not read"})
			continue
		}
		variables := map[string]any{}
		if err := yaml.Unmarshal(text, &variables); err != nil {
			return fault.Usage(file, err, "correct the file, or remove tags that only Ansible knows")
		}
		for name, value := range variables {
			settings[name] = setting{value, file}
		}
	}
	return nil
}

// encryption names what a file is encrypted with, empty if it is not.
func encryption(text []byte) string {
	if bytes.HasPrefix(text, []byte("\x00GITCRYPT")) {
		return "git-crypt"
	}
	if bytes.HasPrefix(text, []byte("$ANSIBLE_VAULT")) {
		return "Ansible Vault"
	}
	var file struct {
		Sops map[string]any `json:"sops"`
	}
	if yaml.Unmarshal(text, &file) == nil && file.Sops != nil {
		return "sops"
	}
	return ""
}

// azimuth carries all settings over.
func (d *draft) azimuth(settings map[string]setting) {
	single := false
	if s, ok := settings["install_mode"]; ok {
		single = s.value == "singlenode"
		d.note(Changed, "install_mode", s, "spec.managementCluster", "without a management cluster there is Cluster API on the seed alone")
		delete(settings, "install_mode")
	}
	if !single {
		put(d.spec, "managementCluster.controlPlane.count", 3)
		d.spec["managementCluster"].(map[string]any)["nodeGroups"] = []any{map[string]any{"name": "workers", "count": 3}}
	}
	d.trust(settings)
	d.rootVolumes(settings)
	d.workers(settings, single)
	rules := azimuthRules()
	if single {
		for name, r := range rules {
			if strings.HasPrefix(r.to, "managementCluster") {
				rules[name] = rule{text: "the environment has no management cluster"}
			}
		}
	}
	d.apply(settings, rules, azimuthFamilies())
}

// trust writes certificates of the map trust_bundle to a file.
func (d *draft) trust(settings map[string]setting) {
	s, ok := settings["trust_bundle"]
	if !ok {
		return
	}
	delete(settings, "trust_bundle")
	bundle, isMap := s.value.(map[string]any)
	if !isMap || computed(s.value) {
		d.note(Changed, "trust_bundle", s, "spec.caBundle", "write the certificates to a PEM file and name it")
		return
	}
	var pem strings.Builder
	for _, name := range slices.Sorted(maps.Keys(bundle)) {
		fmt.Fprintf(&pem, "%s\n", strings.TrimSpace(fmt.Sprint(bundle[name])))
	}
	if pem.Len() == 0 {
		d.note(Converted, "trust_bundle", s, "", "it is empty, and so left out")
		return
	}
	d.files["trust.pem"] = pem.String()
	put(d.spec, "caBundle", "trust.pem")
	d.note(Converted, "trust_bundle", s, "spec.caBundle", "the certificates are in trust.pem")
}

// rootVolumes are of the seed, and of all servers of the cluster unless one kind has its own.
func (d *draft) rootVolumes(settings map[string]setting) {
	if s, ok := settings["infra_root_volume_enabled"]; ok {
		if yes, err := boolean(s.value); err == nil && !yes {
			for _, name := range []string{"infra_root_volume_size", "infra_root_volume_type"} {
				delete(settings, name)
			}
		} else if err == nil {
			put(d.spec, "seed.rootVolume", map[string]any{})
		}
		d.note(Converted, "infra_root_volume_enabled", s, "spec.seed.rootVolume", "")
		delete(settings, "infra_root_volume_enabled")
	}
	for _, kind := range []string{"size", "type"} {
		s, ok := settings["capi_cluster_root_volume_"+kind]
		if !ok {
			continue
		}
		delete(settings, "capi_cluster_root_volume_"+kind)
		for _, role := range []string{"control_plane", "worker"} {
			name := "capi_cluster_" + role + "_root_volume_" + kind
			if _, own := settings[name]; !own {
				settings[name] = s
			}
		}
	}
}

// workers carries over what belongs to the only node group.
func (d *draft) workers(settings map[string]setting, single bool) {
	if single {
		return
	}
	group := d.spec["managementCluster"].(map[string]any)["nodeGroups"].([]any)[0].(map[string]any)
	for name, to := range map[string]struct {
		path    string
		convert func(any) (any, bool, error)
	}{
		"capi_cluster_worker_count": {"count", func(v any) (any, bool, error) { n, err := integer(v); return n, err == nil, err }}, "capi_cluster_worker_flavor": {"flavor", text},
		"capi_cluster_worker_failure_domain": {"availabilityZone", text}, "capi_cluster_worker_root_volume_size": {"rootVolume.sizeGiB", number}, "capi_cluster_worker_root_volume_type": {"rootVolume.type", text},
	} {
		s, ok := settings[name]
		if !ok {
			continue
		}
		delete(settings, name)
		path := "spec.managementCluster.nodeGroups[0]." + to.path
		if computed(s.value) {
			d.note(Changed, name, s, path, fmt.Sprintf("it is computed, %v: write the value yourself", s.value))
			continue
		}
		if s.value == nil {
			d.note(Converted, name, s, "", "it is empty, and so left out")
			continue
		}
		value, wanted, err := to.convert(s.value)
		if err != nil {
			d.note(Changed, name, s, path, fmt.Sprintf("%v: write the value yourself", err))
			continue
		}
		if wanted {
			put(group, to.path, value)
		}
		d.note(Converted, name, s, path, "")
	}
}
