package helm

import (
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
)

// Takeover is the next revision of a release that is written without applying
// anything.
type Takeover struct {
	Chart  *chart.Chart
	Values map[string]any
	// Manifest is what the revision says that there is. A later upgrade changes what
	// differs between this and its own.
	Manifest string
	// Labels are set on the revision's Secret.
	Labels map[string]string
	// Description is shown by helm history.
	Description string
}

// ErrMoved says that a release got a revision from somebody else meanwhile.
var ErrMoved = errors.New("somebody else wrote a revision of it")

// TakeOver writes the revision after last. It writes records only: first its own, as
// deployed, and then that of before, as superseded. If it is interrupted in between, the
// later one counts, as for Helm; [Client.Settle] writes the rest.
func (c *Client) TakeOver(last *release.Release, t Takeover) (*release.Release, error) {
	now := helmtime.Time{Time: time.Now()}
	next := &release.Release{Name: last.Name, Namespace: last.Namespace, Version: last.Version + 1, Chart: t.Chart, Config: t.Values,
		Manifest: t.Manifest, Labels: t.Labels,
		Info: &release.Info{FirstDeployed: last.Info.FirstDeployed, LastDeployed: now, Status: release.StatusDeployed, Description: t.Description}}
	latest, err := c.Last(last.Name)
	if err != nil {
		return nil, err
	}
	if latest == nil || latest.Version != last.Version || latest.Info.Status != last.Info.Status {
		return nil, fmt.Errorf("release %s: %w", last.Name, ErrMoved)
	}
	if err := c.config.Releases.Create(next); err != nil { // another of this number is refused by the API server
		return nil, fmt.Errorf("writing revision %d of release %s: %w", next.Version, next.Name, err)
	}
	return next, c.Settle(next)
}

// Settle marks the revisions before one as superseded.
func (c *Client) Settle(r *release.Release) error {
	all, err := c.config.Releases.History(r.Name)
	if err != nil {
		return fmt.Errorf("reading the history of release %s: %w", r.Name, err)
	}
	for _, one := range all {
		if one.Version >= r.Version || one.Info.Status != release.StatusDeployed {
			continue
		}
		one.SetStatus(release.StatusSuperseded, one.Info.Description)
		if err := c.config.Releases.Update(one); err != nil {
			return fmt.Errorf("marking revision %d of release %s: %w", one.Version, r.Name, err)
		}
	}
	return nil
}

// GiveBack undoes a takeover after which nothing was changed: the revision before counts
// again, and then the later one is deleted. If it is interrupted in between, the takeover
// still counts, and the next call continues.
func (c *Client) GiveBack(last *release.Release) error {
	before, err := c.config.Releases.Get(last.Name, last.Version-1)
	if err != nil {
		return fmt.Errorf("reading revision %d of release %s: %w", last.Version-1, last.Name, err)
	}
	before.SetStatus(release.StatusDeployed, before.Info.Description)
	if err := c.config.Releases.Update(before); err != nil {
		return fmt.Errorf("marking revision %d of release %s: %w", before.Version, last.Name, err)
	}
	if _, err := c.config.Releases.Delete(last.Name, last.Version); err != nil {
		return fmt.Errorf("deleting revision %d of release %s: %w", last.Version, last.Name, err)
	}
	return nil
}
