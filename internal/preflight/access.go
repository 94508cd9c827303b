package preflight

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
)

const (
	// soon is how early an expiry is reported: a week is enough to create a new credential.
	soon = 7 * 24 * time.Hour
	// If clocks differ by more than skewWarning, logs are hard to compare; by more
	// than skewError, new certificates and tokens are not valid yet.
	skewWarning = 10 * time.Second
	skewError   = 5 * time.Minute
)

func checkCredential(r *run) {
	t := r.Snapshot.Token
	if t.ProjectID == "" {
		r.find(Error, "cloud "+r.Snapshot.Cloud, "set a project in clouds.yaml", "the login has no project")
	}
	if t.CredentialID == "" {
		return
	}
	object := "application credential " + t.CredentialID
	if t.Restricted {
		r.find(Error, object, "log in with a password, or with a credential from `openstack application credential create --unrestricted`",
			"it is restricted: it cannot create the environment's application credential")
	}
	for _, c := range r.Snapshot.Credentials {
		if c.ID != t.CredentialID || c.ExpiresAt.IsZero() {
			continue
		}
		if left := c.ExpiresAt.Sub(r.Now); left < soon {
			r.find(Warning, object, "create a new one before it expires", "it expires at %s", c.ExpiresAt.UTC().Format(time.RFC3339))
		}
	}
}

// wantedRoles are the roles that the environment's credential gets if the operator
// has them: on many clouds, load balancers and secrets have roles of their own.
func wantedRoles() []string { return []string{"member", "load-balancer_member", "creator"} }

func checkRoles(r *run) {
	has := r.Snapshot.Token.Roles
	if wanted := r.spec.Credential.Roles; len(wanted) > 0 {
		for _, role := range wanted {
			if !slices.Contains(has, role) {
				r.find(Error, "role "+role, "ask for the role, or remove it from spec.credential.roles", "you do not have this role in project %s, only %s", r.Snapshot.Token.ProjectName, strings.Join(has, ", "))
			}
		}
		r.result.Choices.Roles = wanted
		return
	}
	for _, role := range wantedRoles() {
		if slices.Contains(has, role) {
			r.result.Choices.Roles = append(r.result.Choices.Roles, role)
		}
	}
	if !slices.Contains(has, "member") {
		r.find(Warning, "role member", "if this cloud uses other names, set the roles in spec.credential.roles", "you do not have this role in project %s, only %s", r.Snapshot.Token.ProjectName, strings.Join(has, ", "))
		r.result.Choices.Roles = slices.DeleteFunc(slices.Clone(has), func(role string) bool { return role == "admin" })
	}
}

func checkTLS(r *run) {
	if r.Snapshot.Insecure {
		r.find(Warning, "cloud "+r.Snapshot.Cloud, "remove `verify: false` from clouds.yaml, and name the CA certificate in cacert or spec.caBundle", "certificates are not verified: anyone in between can read the password")
	}
}

// needed are the services that the environment requires.
func (r *run) needed() []cloud.Service {
	all := []cloud.Service{cloud.Compute, cloud.Network, cloud.Image}
	if r.keepsVolumes() {
		all = append(all, cloud.Volume)
	}
	return all
}

// keepsVolumes reports whether something lies on volumes: a seed in the cloud, machines, or pods of
// the management cluster, whose chart has a driver for them unless its values turn that off.
func (r *run) keepsVolumes() bool {
	if len(r.volumes()) > 0 { // a seed in the cloud always has one
		return true
	}
	m := r.spec.ManagementCluster
	return m != nil && enabled(m, "addons", "openstack") && enabled(m, "addons", "openstack", "csiCinder")
}

// enabled reports whether the values of the management cluster leave a part of its chart on.
func enabled(m *config.ManagementCluster, part ...string) bool {
	on, given, err := unstructured.NestedBool(m.Values, append(part, "enabled")...)
	return on || !given || err != nil
}

func checkServices(r *run) {
	for _, m := range r.Snapshot.Missing {
		object := "service " + string(m.Service)
		switch {
		case m.Absent && slices.Contains(r.needed(), m.Service):
			r.find(Error, object, "check region and interface in clouds.yaml, or ask the cloud's operator", "the cloud has no such service")
		case m.Absent:
			// The checks that need it report the consequences.
		case r.essential(m):
			r.find(Error, object, "ask for a role that may list them, or try again", "%s cannot be listed: %s", m.What, m.Cause)
		default:
			r.find(Warning, object, "ask for a role that may list them, or try again", "%s cannot be listed, so they are not checked: %s", m.What, m.Cause)
		}
	}
}

// essential reports whether choices depend on a list. Without what there is, another flavor,
// address or provider would be chosen than the environment has, and what it has be replaced. A 404
// of an optional part of the cloud is the same in every run, and so is a cloud that shows providers
// to nobody but its operator: a management cluster that is there keeps its own.
func (r *run) essential(m cloud.Missing) bool {
	there := m.Status != http.StatusNotFound
	passes := m.Status == 0 || m.Status == http.StatusTooManyRequests || m.Status >= http.StatusInternalServerError
	switch m.What {
	case cloud.ListNetworks, cloud.ListFlavors, cloud.ListImages, cloud.ListServers:
		return true
	case cloud.ListSubnets:
		return !r.seed.MakesNetwork()
	case cloud.ListRouters:
		return there && r.spec.ExternalNetwork == "" && r.seed.MakesNetwork()
	case cloud.ListFloatingIPs:
		return r.seed.WantsFloatingIP() && r.seed.FloatingIP.Address.IsValid()
	case cloud.ListBalancers:
		return there && balanced(r.spec.ManagementCluster)
	case cloud.ListProviders:
		return passes && balanced(r.spec.ManagementCluster)
	case cloud.ListExtensions: // nobody knows whether hints were sent
		return passes && len(r.seed.Network.AvailabilityZoneHints) > 0
	}
	return false
}

func checkClock(r *run) {
	offset := r.Snapshot.ClockOffset
	if offset.Abs() < skewWarning {
		return
	}
	level, direction := Warning, "ahead of"
	if offset < 0 {
		direction = "behind"
	}
	if offset.Abs() >= skewError {
		level = Error
	}
	r.find(level, "clock", "synchronise your machine's clock with NTP", "the cloud's clock is %s %s your machine's: certificates and tokens depend on the clocks", offset.Abs().Round(time.Second), direction)
}

func checkBundle(r *run) {
	if r.Bundle.Problem != "" {
		r.find(Error, "bundle "+r.Bundle.Dir, "build one with `slipway bundle build`, or name its folder in spec.bundle", "%s", r.Bundle.Problem)
		return
	}
	for _, name := range r.Bundle.Missing {
		remedy := "run `slipway bundle build --only " + name + "`, or slipway bundle pull"
		if name == "seed" { // a bundle that was pulled has none
			remedy = "name a cloud image with systemd and cloud-init in spec.seed.image, or run `slipway bundle build --only seed`"
		}
		r.find(Error, "bundle "+r.Bundle.Dir, remedy, "%s is missing from it", name)
	}
}
