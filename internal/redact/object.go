package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Object returns a copy of a Kubernetes object without what holds secrets by its
// structure: of Secrets and ConfigMaps only the names and sizes of the keys are left, of
// cloud-init files and values of Helm releases only the sizes, of environment variables
// and fields that are called like secrets nothing. Bookkeeping of the API server
// (managedFields, the last applied configuration) and schemas of definitions go too.
func Object(o map[string]any) map[string]any {
	kind, _ := o["kind"].(string)
	clean, _ := walk(o, "").(map[string]any)
	if metadata, ok := clean["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		if notes, ok := metadata["annotations"].(map[string]any); ok {
			delete(notes, "kubectl.kubernetes.io/last-applied-configuration")
		}
	}
	switch kind {
	case "Secret", "ConfigMap":
		for _, field := range []string{"data", "stringData", "binaryData"} {
			if values, ok := o[field].(map[string]any); ok {
				clean[field] = sizes(values, field != "stringData" && (kind == "Secret" || field == "binaryData"))
			}
		}
	case "CustomResourceDefinition":
		without(clean, "spec", "versions")
	}
	return clean
}

// sizes are the sizes of values instead of the values.
func sizes(values map[string]any, encoded bool) map[string]any {
	out := map[string]any{}
	for key, value := range values {
		text, _ := value.(string)
		size := len(text)
		if encoded {
			size = len(strings.TrimRight(text, "=")) * 6 / 8
		}
		out[key] = fmt.Sprintf("[removed: %d bytes]", size)
	}
	return out
}

// without removes the schemas from versions of a definition.
func without(o map[string]any, path ...string) {
	spec, _ := o[path[0]].(map[string]any)
	versions, _ := spec[path[1]].([]any)
	for _, version := range versions {
		if fields, ok := version.(map[string]any); ok {
			delete(fields, "schema")
		}
	}
}

// walk copies a value without secrets; under is the name of the field that it is in.
func walk(value any, under string) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		secretVariable := variable.MatchString(text(v["name"])) && v["value"] != nil
		for name, inner := range v {
			switch {
			case name == "value" && secretVariable:
				out[name] = gone(inner)
			case Sensitive(name) && hides(inner), blob(under, name) && inner != nil:
				out[name] = gone(inner)
			default:
				out[name] = walk(inner, name)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = walk(inner, under)
		}
		return out
	}
	return value
}

// variable are names of environment variables that hold secrets.
var variable = regexp.MustCompile(`(?i)passw|secret|token|key$|_key_|passphrase|credential|auth$`)

// hides reports whether a value can be a secret: a name of a Secret is told in an object
// of its own (secretRef: {name}), which stays.
func hides(value any) bool {
	switch v := value.(type) {
	case string:
		return v != ""
	case map[string]any:
		_, reference := v["name"]
		_, key := v["secretKeyRef"]
		return !reference && !key && len(v) > 0 && slices.ContainsFunc(slices.Collect(maps.Values(v)), func(inner any) bool { s, ok := inner.(string); return ok && s != "" })
	}
	return false
}

// blob reports whether a field holds text of any content: files and commands of
// cloud-init, values of Helm, manifests.
func blob(under, name string) bool {
	switch under {
	case "files":
		return name == "content"
	case "users":
		return name == "passwd"
	case "valuesSources", "manifestSources", "template":
		return name == "template" || name == "values"
	case "spec":
		return slices.Contains([]string{"preKubeadmCommands", "postKubeadmCommands", "valuesTemplate", "valuesYAML", "userData"}, name)
	case "kubeadmConfigSpec":
		return name == "preKubeadmCommands" || name == "postKubeadmCommands"
	}
	return false
}

func gone(value any) string {
	if s, ok := value.(string); ok {
		return fmt.Sprintf("[removed: %d bytes]", len(s))
	}
	encoded, _ := json.Marshal(value)
	return fmt.Sprintf("[removed: %d bytes]", len(encoded))
}

func text(value any) string { s, _ := value.(string); return s }

// Values returns the secret values of a Secret's data (base64), for Known.Add: those of
// keys that are called like secrets, secrets inside of settings such as clouds.yaml and
// kubeconfigs, and other values that do not look like names.
func Values(data map[string]any) []string {
	var all []string
	for key, encoded := range data {
		raw, err := base64.StdEncoding.DecodeString(text(encoded))
		if err != nil || len(raw) == 0 || len(raw) > 256<<10 {
			continue
		}
		all = append(all, ValuesIn(key, string(raw))...)
	}
	return all
}

// ValuesIn returns the secret values in one value of a key.
func ValuesIn(key, value string) []string {
	if slices.Contains([]string{"ca.crt", "tls.crt", "cacert", "namespace", "release", "type", "url", "name"}, key) {
		return nil
	}
	inside := settings(value)
	switch {
	case len(inside) > 0:
		return inside
	case structured(value):
		return nil
	case strings.HasPrefix(strings.TrimSpace(value), "-----BEGIN CERTIFICATE"):
		return nil
	case Sensitive(key):
		return []string{value}
	case len(value) >= opaque && len(value) < 8<<10 && !plain.MatchString(value) && !strings.HasPrefix(value, "http"):
		return []string{value}
	}
	return nil
}

// structured reports whether a text is settings, in YAML or JSON.
func structured(value string) bool {
	var parsed any
	if yaml.Unmarshal([]byte(value), &parsed) != nil {
		return false
	}
	_, fields := parsed.(map[string]any)
	return fields
}

// settings are the secrets in settings: in YAML and JSON fields of such names, in INI
// files lines.
func settings(value string) []string {
	var all []string
	var parsed any
	if yaml.Unmarshal([]byte(value), &parsed) == nil {
		collect(parsed, "", &all)
	}
	if len(all) > 0 || !strings.Contains(value, "\n") {
		return all
	}
	for line := range strings.Lines(value) {
		name, inside, found := strings.Cut(strings.TrimSpace(line), "=")
		if name = strings.TrimSpace(name); found && Sensitive(name) {
			all = append(all, strings.Trim(strings.TrimSpace(inside), `"'`))
		}
	}
	return all
}

// collect finds the values of fields that are called like secrets.
func collect(value any, under string, all *[]string) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			collect(inner, name, all)
		}
	case []any:
		for _, inner := range v {
			collect(inner, under, all)
		}
	case string:
		if !Sensitive(under) || strings.HasPrefix(v, "LS0tLS1CRUdJTiBDRVJU") {
			return
		}
		*all = append(*all, v)
		if raw, err := base64.StdEncoding.DecodeString(v); err == nil && len(raw) >= shortest {
			decoded := string(raw)
			if _, password, login := strings.Cut(decoded, ":"); login && under == "auth" {
				decoded = password
			}
			*all = append(*all, decoded)
		}
	}
}
