package console

import (
	"context"
	"time"

	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// Certificate is a certificate that ends one day, or a set of them with one end.
type Certificate struct {
	// Cluster is the one that needs it, Use what for, Where it was found.
	Cluster, Use, Where string
	Ends                time.Time
	// Left is how long that is, RenewedBy what renews it, and from when on.
	Left, RenewedBy words.Text
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
func (c Certificate) State() words.Text {
	switch c.Health {
	case Broken:
		return words.T("ended")
	case Changing:
		return words.T("ends soon")
	}
	return words.T("ok")
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
		item := frame.Item{Urgency: 2, Texts: []string{c.Cluster, c.Use, c.Where, words.English(c.RenewedBy)}}
		if u, ill := urgency[c.Health]; ill {
			item.Urgency = u
		}
		item.Ready = item.Urgency == 2
		return item
	})
	return frame.Shown(words.T("Certificates"), words.T("the certificates"), r, ending{list, r.Value.Unseen, r.Value.Soon})
}
