package kubernetes

import (
	"context"
	"time"

	"github.com/slipway-sh/slipway/internal/certs"
)

// current is kubeconfig, with a client certificate that does not end soon: k3s renews its
// certificates only when it starts.
func (h host) current(ctx context.Context, address string) (string, error) {
	text, err := h.kubeconfig(ctx, address)
	if err != nil || !certs.SeedKubeconfigDue(text, time.Now()) {
		return text, err
	}
	status(ctx, "restarting k3s, which renews its certificates")
	if _, err := h.Run(ctx, "systemctl", "restart", k3sUnit); err != nil {
		return "", h.journal(ctx, k3sUnit, err)
	}
	if err := h.active(ctx); err != nil {
		return "", err
	}
	return h.kubeconfig(ctx, address)
}
