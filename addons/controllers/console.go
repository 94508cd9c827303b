package controllers

import (
	"encoding/json"
	"fmt"
)

// Console is what an installer sets for the tenants' console. Empty texts are left to the chart.
type Console struct {
	// Keystone and PublicEndpoint are URLs: Keystone's, and the console's for browsers.
	Keystone       string `json:"keystone"`
	PublicEndpoint string `json:"publicEndpoint"`
	// Magnum is the URL of the Magnum API; if it is empty, that of each token's catalog.
	Magnum string `json:"magnum,omitempty"`
	// Region and Interface choose endpoints of the catalog.
	Region    string `json:"region,omitempty"`
	Interface string `json:"interface,omitempty"`
	// Domain is the domain that the login page proposes.
	Domain string `json:"domain,omitempty"`
	// WebSSO are ways to sign in, as NAME=PROTOCOL or NAME=PROVIDER/PROTOCOL.
	WebSSO []string `json:"webSSO,omitempty"`
	// Address is the floating IP of the load balancer; Hostnames are the names in the certificate.
	Address   string   `json:"address"`
	Hostnames []string `json:"hostnames,omitempty"`
	// Certificate and Key are PEM; without them, the installation's own authority signs a
	// certificate.
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
	// CloudCA are the PEM certificates by which the cloud and the Magnum API are trusted.
	CloudCA  string `json:"cloudCA"`
	Replicas int    `json:"replicas"`
}

// values returns the chart's values below `console`.
func (c Console) values() (map[string]any, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encoding the settings of the console: %w", err)
	}
	values := map[string]any{}
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("decoding the settings of the console: %w", err)
	}
	values["enabled"], values["namespace"] = true, ConsoleNamespace
	values["tls"] = map[string]any{"certificate": c.Certificate, "key": c.Key}
	delete(values, "certificate")
	delete(values, "key")
	return values, nil
}
