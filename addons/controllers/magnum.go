package controllers

import (
	"encoding/json"
	"fmt"
)

// Magnum is what an installer sets for the Magnum-compatible API. Empty texts are left to the
// chart.
type Magnum struct {
	// Clouds is a clouds.yaml with the entry `magnum` of the service user; Administrator is a
	// clouds.yaml of a user who revokes the credentials of clusters that are gone.
	Clouds        string `json:"clouds"`
	Administrator string `json:"administrator"`
	// Address is the floating IP of the load balancer; Hostnames are the names by which the API is
	// called.
	Address   string   `json:"address"`
	Hostnames []string `json:"hostnames,omitempty"`
	// Certificate and Key are PEM; without them, the installation's own authority signs a
	// certificate.
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
	// CloudCA are the PEM certificates by which the cloud is trusted.
	CloudCA string `json:"cloudCA"`
	// Policy are rules of oslo.policy over Magnum's defaults.
	Policy       string `json:"policy"`
	DefaultQuota int    `json:"defaultQuota"`
	// NetworkDriver is the CNI of templates that name none; NetworkDrivers are all that templates
	// may name.
	NetworkDriver  string            `json:"networkDriver"`
	NetworkDrivers []string          `json:"networkDrivers,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	// CredentialOverlap is how long a superseded credential stays valid, in Go's
	// notation.
	CredentialOverlap string `json:"credentialOverlap,omitempty"`
	// ClusterValues are values of the chart openstack-cluster for all clusters; a cluster's own
	// values take precedence. Everybody who may read ConfigMaps sees them.
	ClusterValues map[string]any `json:"clusterValues,omitempty"`
	// Members are other management clusters whose clusters the API serves too. Name is the name of
	// this one among them. Closed are those that get no new projects. MembersCA are the PEM
	// certificates by which the APIs of the others are trusted.
	Members   []Member `json:"members,omitempty"`
	Name      string   `json:"name,omitempty"`
	Closed    []string `json:"closed,omitempty"`
	MembersCA string   `json:"membersCA,omitempty"`
	// Replicas is the number for the API, ControllerReplicas that for its controllers.
	Replicas           int `json:"replicas"`
	ControllerReplicas int `json:"controllerReplicas"`
}

// Member is another management cluster: its name, and the URL of its Magnum API.
type Member struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// values returns the chart's values below `magnum`.
func (m Magnum) values() (map[string]any, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encoding the settings of Magnum: %w", err)
	}
	values := map[string]any{}
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("decoding the settings of Magnum: %w", err)
	}
	values["enabled"], values["namespace"] = true, MagnumNamespace
	values["tls"] = map[string]any{"certificate": m.Certificate, "key": m.Key}
	values["api"] = map[string]any{"replicas": m.Replicas}
	values["controllers"] = map[string]any{"replicas": m.ControllerReplicas}
	for _, inParts := range []string{"certificate", "key", "replicas", "controllerReplicas"} {
		delete(values, inParts)
	}
	return values, nil
}
