package console

import (
	"context"
	"time"

	"github.com/slipway-sh/slipway/internal/console/frame"
)

// Certificate is a certificate that ends one day, or a set of them with one end.
type Certificate struct {
	// Cluster is the one that needs it, Use what for, Where it was found.
	Cluster, Use, Where string
	Ends                time.Time
	// Left is how long that is, RenewedBy what renews it, and from when on.
	Left, RenewedBy string
	// Health is Broken after the end, Changing shortly before.
	Health Health
}

// Certificates are all that were found, those that end first first.
type Certificates struct {
	List   []Certificate
	Unseen []Unseen
	// Soon is how many days before the end somebody has to look.
	Soon int
}

// State is a word for the certificate's health.
func (c Certificate) State() string {
	switch c.Health {
	case Broken:
		return "ended"
	case Changing:
		return "ends soon"
	}
	return "ok"
}

// ending is a page of the certificates.
type ending struct {
	frame.List[Certificate]
	Unseen []Unseen
	Soon   int
}

func (s *Server) listCertificates(ctx context.Context, at frame.Look) frame.View {
	r := s.certificates.Look(ctx)
	list := frame.Choose(frame.Reading[[]Certificate]{Value: r.Value.List, At: r.At, Err: r.Err}, at.URL.Query(), "/certificates", func(c Certificate) frame.Item {
		urgency := map[Health]int{Broken: 0, Changing: 1}
		item := frame.Item{Urgency: 2, Texts: []string{c.Cluster, c.Use, c.Where, c.RenewedBy}}
		if u, ill := urgency[c.Health]; ill {
			item.Urgency = u
		}
		item.Ready = item.Urgency == 2
		return item
	})
	return frame.Shown("Certificates", "the certificates", r, ending{list, r.Value.Unseen, r.Value.Soon})
}
