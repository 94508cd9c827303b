// Package velero installs Velero on a management cluster, for those whose backups are
// Velero's everywhere. Slipway's own backups do not need it (docs/operations/velero.md).
package velero

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/kube"
)

// The names of what is installed, which are upstream's: `velero` finds them.
const (
	Namespace = "velero"
	Name      = "velero"
	// Location is the BackupStorageLocation, and the name of the Schedule.
	Location = "default"
	// Login is the Secret with the login of S3, below the key LoginKey.
	Login    = "cloud-credentials"
	LoginKey = "cloud"
	// RestoreBinding gives Velero all rights, if it may restore.
	RestoreBinding = "velero-restore"
)

//go:embed objects.yaml
var objects string

// Settings are what an installation needs. They hold a login: never print them.
type Settings struct {
	// Image and PluginImage are references.
	Image       string `json:"image"`
	PluginImage string `json:"pluginImage"`
	Bucket      string `json:"bucket"`
	Prefix      string `json:"prefix"`
	// Endpoint is the URL of a server that is not Amazon's.
	Endpoint  string `json:"endpoint,omitempty"`
	Region    string `json:"region"`
	PathStyle bool   `json:"pathStyle,omitempty"`
	// Credentials is a file as AWS's tools write it.
	Credentials string `json:"credentials"`
	// CA holds PEM certificates that the server's is verified with, besides those of the image.
	CA       string   `json:"ca,omitempty"`
	Schedule Schedule `json:"schedule"`
	// Restore lets Velero restore: it may then do everything in the cluster.
	Restore bool `json:"restore,omitempty"`
	// Environment holds variables of the server: the proxy.
	Environment map[string]string `json:"environment,omitempty"`
}

// Schedule is when backups are made.
type Schedule struct {
	Cron string `json:"cron"`
	// Paused has the Schedule there without any backup being due.
	Paused bool `json:"paused,omitempty"`
	// KeepFor is how long a backup is kept, as a duration of Go's.
	KeepFor string `json:"keepFor"`
	// Namespaces are those that are backed up; empty is all.
	Namespaces []string `json:"namespaces,omitempty"`
}

// ParseSettings reads Settings from JSON. No error quotes what it read.
func ParseSettings(text []byte) (Settings, error) {
	var s Settings
	if err := json.Unmarshal(text, &s); err != nil {
		return s, errors.New("reading the settings of Velero: they are not JSON") // the library's error could quote the login
	}
	if s.Image == "" || s.PluginImage == "" || s.Bucket == "" || s.Credentials == "" {
		return s, errors.New("reading the settings of Velero: they are incomplete")
	}
	return s, nil
}

// Objects are what is applied, beside the definitions of the bundle. Equal settings give
// equal objects.
func Objects(s Settings) ([]*unstructured.Unstructured, error) {
	parsed, err := template.New("objects").Option("missingkey=error").Funcs(template.FuncMap{"json": text, "base64": encode}).Parse(objects)
	if err != nil {
		return nil, fmt.Errorf("parsing the objects of Velero: %w", err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, s); err != nil {
		return nil, fmt.Errorf("writing the objects of Velero: %w", err)
	}
	return kube.Decode(&out)
}

// text writes a value as JSON, which is YAML too, so that no value can break out of its place.
func text(v any) (string, error) {
	out, err := json.Marshal(v)
	return string(out), err
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// Deployment is what an installer waits for.
func Deployment() types.NamespacedName { return types.NamespacedName{Namespace: Namespace, Name: Name} }
