// acmesolver answers one HTTP-01 challenge (RFC 8555, section 8.3). The
// controller starts it in a pod of its own for each challenge.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/component-base/logs"

	"github.com/cert-manager/cert-manager/pkg/issuer/acme/http/solver"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/slipway/command"
)

// gracePeriod is what open requests have left when the pod is deleted.
const gracePeriod = 5 * time.Second

func main() {
	command.Main("acmesolver", newCommand)
}

func newCommand() (*cobra.Command, error) {
	s := &solver.HTTP01Solver{}
	cmd := &cobra.Command{
		Use:   "acmesolver",
		Short: "Answers an ACME HTTP-01 challenge.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := logf.ValidateAndApply(logs.NewOptions()); err != nil {
				return fmt.Errorf("setting up logs: %w", err)
			}
			return serve(cmd.Context(), s)
		},
	}
	cmd.Flags().IntVar(&s.ListenPort, "listen-port", 8089, "Port to listen on.")
	cmd.Flags().StringVar(&s.Domain, "domain", "", "Domain whose challenge is answered.")
	cmd.Flags().StringVar(&s.Token, "token", "", "Token that the ACME server asks for.")
	cmd.Flags().StringVar(&s.Key, "key", "", "Key authorization to answer with.")
	return cmd, nil
}

func serve(ctx context.Context, s *solver.HTTP01Solver) error {
	log := logf.FromContext(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := s.Listen(log); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("listening on port %d: %w", s.ListenPort, err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), gracePeriod)
		defer cancel()
		return s.Shutdown(ctx)
	})
	return group.Wait()
}
