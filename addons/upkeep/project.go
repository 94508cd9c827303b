package upkeep

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// What is looked at besides services, in the metric that says when.
const (
	lookedClusters  = "clusters"
	lookedTemplates = "cluster-templates"
)

// services are those that the project is asked at, each with its lists.
func services() map[cloud.Service][]string {
	return map[cloud.Service][]string{cloud.Compute: {cloud.ListQuotas}, cloud.Network: {cloud.ListQuotas}, cloud.Volume: {cloud.ListQuotas},
		cloud.LoadBalancer: {cloud.ListQuotas, cloud.ListBalancers}, cloud.Identity: {cloud.ListCredentials}}
}

// ownLogin names the environment's own login where it is no application credential of a step.
const ownLogin = "login"

// ask asks the environment's project.
func (w *watch) ask(ctx context.Context) (*cloud.Snapshot, error) {
	if w.opened == nil {
		opened, err := cloud.Open(ctx, w.project.Login)
		if refused(err) {
			w.tally.refuse(ofEnvironment, w.own, w.now())
		}
		if err != nil {
			return nil, fmt.Errorf("logging in to the environment's project: %w", err)
		}
		w.opened = opened
	}
	said, err := w.opened.Upkeep(ctx)
	if err != nil || len(said.Missing) >= len(services()) {
		// Perhaps the token ended, and the credential with it: the next look logs in again.
		w.opened.Close()
		w.opened = nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking about the environment's project: %w", err)
	}
	for _, m := range said.Missing {
		if !m.Absent {
			w.log.Info("the environment's project does not show everything", "service", m.Service, "what", m.What, "cause", m.Cause)
		}
	}
	return said, nil
}

// judge tells what the project says. What it does not say stays as it was.
func (w *watch) judge(said *cloud.Snapshot, all []clusterapi.Brief) {
	for service, lists := range services() {
		if said.Lacks(service) {
			w.tally.forget(string(service))
			continue
		}
		known := true
		for _, list := range lists {
			known = known && said.Known(service, list)
		}
		if !known {
			continue
		}
		w.tally.lookedAt(string(service), w.now())
		if service == cloud.Identity {
			var found map[string]time.Time
			w.own, found = ends(said, w.project.Environment)
			w.tally.setEnds(ofEnvironment, found)
			w.tally.setOrphans(orphans(said, w.project.Environment, all))
			continue
		}
		w.tally.setQuotas(service, said.Quotas)
	}
}

// ends are when the logins of the environment end: that by which it is asked, which is own, and
// the last one of each other step. Those of clusters are in the clusters' Secrets.
func ends(said *cloud.Snapshot, environment string) (own string, found map[string]time.Time) {
	own, found = ownLogin, map[string]time.Time{}
	ending := said.Token.PasswordExpiresAt
	if said.Token.CredentialID != "" {
		ending = time.Time{}
	}
	for _, c := range said.Credentials {
		step := ""
		if c.Owner != nil && c.Owner.Environment == environment && !strings.HasPrefix(c.Owner.Step, ownership.ClusterPrefix) && !away(said, c) {
			step = c.Owner.Step
		}
		at, known := found[step]
		switch {
		case c.ID == said.Token.CredentialID:
			own, ending = cmp.Or(step, ownLogin), c.ExpiresAt
		case step != "" && (!known || !at.IsZero() && (c.ExpiresAt.IsZero() || c.ExpiresAt.After(at))):
			found[step] = c.ExpiresAt
		}
	}
	found[own] = ending // whatever other ones of its step there are
	return own, found
}

// orphans counts clusters that do not exist, and that a credential is left of: what
// `slipway sweep` starts from. One that is just being made has its credential first.
func orphans(said *cloud.Snapshot, environment string, all []clusterapi.Brief) int {
	living, gone := map[string]bool{}, map[string]bool{}
	for _, b := range all {
		living[ownership.ClusterStep(b.Namespace, b.Name)] = true
	}
	for _, c := range said.Credentials {
		if c.Owner == nil || c.Owner.Environment != environment || !strings.HasPrefix(c.Owner.Step, ownership.ClusterPrefix) || living[c.Owner.Step] {
			continue
		}
		if here := c.ProjectID == "" || c.ProjectID == said.Token.ProjectID; here && !away(said, c) && strings.HasPrefix(c.Name, c.Owner.Name()+"-") {
			gone[c.Owner.Step] = true
		}
	}
	return len(gone)
}

// away reports whether a credential is of an environment of the same name in another region:
// Keystone lists them together.
func away(said *cloud.Snapshot, c cloud.CredentialInfo) bool {
	return said.Region != "" && c.Region != "" && c.Region != said.Region
}
