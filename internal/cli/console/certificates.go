package console

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-sh/slipway/internal/certs"
	"github.com/slipway-sh/slipway/internal/cli/expiry"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cli/witness"
	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// Certificates are what slipway certs prints.
func (s *sources) Certificates(ctx context.Context) (console.Certificates, error) {
	if s.loaded == nil {
		return console.Certificates{}, s.missing
	}
	w, err := witness.Open(ctx, s.from)
	if err != nil {
		return console.Certificates{}, err
	}
	defer w.Close()
	listing, err := expiry.List(ctx, w)
	if errors.Is(err, target.ErrNoSeedInState) {
		return console.Certificates{}, console.NotYet{Err: err}
	}
	if err != nil {
		return console.Certificates{}, err
	}
	return certificates(listing, time.Now()), nil
}

// certificates is a listing as the console shows it, what ends first first.
func certificates(listing certs.Listing, now time.Time) console.Certificates {
	all := console.Certificates{Soon: expiry.SoonDays}
	for _, c := range expiry.Folded(listing.Certificates) {
		one := console.Certificate{Cluster: expiry.Cluster(c), Use: c.Use, Where: c.Object, Ends: c.Ends, Left: left(c.Ends, now), RenewedBy: renewal(c), Health: console.Well}
		if c.Ends.Before(now.AddDate(0, 0, expiry.SoonDays)) {
			one.Health = console.Changing
		}
		if c.Ends.Before(now) {
			one.Health = console.Broken
		}
		all.List = append(all.List, one)
	}
	slices.SortStableFunc(all.List, func(a, b console.Certificate) int { return a.Ends.Compare(b.Ends) })
	for _, u := range listing.Unseen {
		all.Unseen = append(all.Unseen, console.Unseen(u))
	}
	return all
}

// left is how long it is until a certificate ends.
func left(ends, now time.Time) words.Text {
	if ends.Before(now) {
		return words.T("ended %s ago", duration.HumanDuration(now.Sub(ends)))
	}
	return words.Said(expiry.Left(ends, now))
}

// renewal is what renews a certificate, and from when on.
func renewal(c certs.Certificate) words.Text {
	var by words.Text
	switch c.RenewedBy {
	case certs.ByRollout:
		by = words.T("a new machine")
	case certs.ByK3s:
		by = words.T("k3s when it starts")
	case certs.ByNobody:
		by = words.T("nobody")
	default: // a name
		return words.Said(expiry.Renewal(c))
	}
	if c.RenewsAt.IsZero() {
		return by
	}
	return words.T("%s, from %s", by, c.RenewsAt.Format(time.DateOnly))
}
