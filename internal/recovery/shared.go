package recovery

import "sigs.k8s.io/yaml"

// Shared tells which credentials of workload clusters a former management cluster has
// too. Recovery revokes those of the environment alone: a workload cluster's own is in
// use by its cloud controller and storage driver, belongs to its owner, and only the
// owner can make another. It is a warning, because Slipway's controllers on a former
// management cluster see the fence; Cluster API's do not.
func Shared(logins []Login) Check {
	c := Check{ID: "credentials", Claim: "no former management cluster has a credential of a workload cluster"}
	for _, l := range logins {
		c.Checked++
		if l.Err != nil {
			continue // the check "cloud" tells
		}
		c.ofCluster(l.Cluster, "if the former management cluster may still run, delete its servers; else give the cluster a new credential (docs/operations/recovery.md)",
			"%s is on the former management cluster too", l.credential())
	}
	return c.settled(Warned)
}

// credential names what logs in, without its secret.
func (l Login) credential() string {
	var found struct {
		Clouds map[string]struct {
			Auth struct {
				ID   string `json:"application_credential_id"`
				User string `json:"username"`
			} `json:"auth"`
		} `json:"clouds"`
	}
	if yaml.Unmarshal(l.CloudsYAML, &found) != nil {
		return "its login"
	}
	switch auth := found.Clouds[l.Entry].Auth; {
	case auth.ID != "":
		return "application credential " + auth.ID
	case auth.User != "":
		return "the password of user " + auth.User
	}
	return "its login"
}
