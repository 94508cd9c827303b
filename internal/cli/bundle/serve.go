package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/registry"
	"github.com/slipway-sh/slipway/internal/cli/listen"
	"github.com/slipway-sh/slipway/internal/ui"
)

type serveOptions struct {
	dirs []string
	at   listen.Options
}

func newServe(streams ui.Streams) *cobra.Command {
	o := serveOptions{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the images of bundles as a registry mirror for machines without internet",
		Long: `Runs a read-only registry of the images of one or more bundles. Name it as a mirror
in spec.registries of an environment file, for each registry that it lists when it
starts. While an environment is upgraded from one bundle to the next, its machines
need the images of both: give both folders. It serves the bundles themselves too:
pull oci://ADDRESS/slipway/bundle:latest is the first.

Anyone who reaches the address can read the images; there is no login, and the images
contain no secrets. Machines verify digests, but they cannot verify which digest a tag
stands for: use a certificate if you do not trust the network. Requests are logged to
standard error, one JSON object per line.`,
		Example: `  slipway bundle serve --listen 192.0.2.10:5000
  slipway bundle serve --dir bundle --dir ../slipway-1.4/bundle --tls-cert tls.crt --tls-key tls.key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	cmd.Flags().StringSliceVar(&o.dirs, "dir", []string{"bundle"}, "folder of a bundle; can be repeated, and the first one wins where tags are the same")
	o.at.Flags(cmd.Flags(), ":5000", "registry")
	return cmd
}

func (o *serveOptions) run(ctx context.Context, streams ui.Streams) error {
	if err := o.at.Check(); err != nil {
		return err
	}
	images, err := openImages(o.dirs)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(streams.Err, nil))
	server := &http.Server{Handler: logged(images, log), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	return o.at.Serve(ctx, server, listen.Hooks{
		Serving: func(address net.Addr) {
			log.Info("serving", "address", address.String(), "tls", o.at.Certificate != "", "images", images.Images(), "registries", images.Hosts())
		},
		Ending: func() { log.Info("ending") },
	})
}

func openImages(dirs []string) (*registry.Registry, error) {
	var folders []*bundle.Folder
	var errs []error
	for _, dir := range dirs {
		folder, err := bundle.Open(dir)
		errs = append(errs, err)
		folders = append(folders, folder)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	images, err := registry.New(folders...)
	if err != nil {
		return nil, fmt.Errorf("reading images: %w", err)
	}
	return images, nil
}

// logged logs each request with its client and its outcome.
func logged(handler http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, seen := time.Now(), &recorder{ResponseWriter: w, status: http.StatusOK}
		handler.ServeHTTP(seen, r)
		log.Info("request", "method", r.Method, "path", r.URL.Path, "registry", r.URL.Query().Get("ns"), "status", seen.status, "from", r.RemoteAddr, "took", time.Since(start).String())
	})
}

// recorder records the status.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// ReadFrom passes file copies to the connection, so that the kernel does them.
func (r *recorder) ReadFrom(content io.Reader) (int64, error) {
	return io.Copy(r.ResponseWriter, content)
}
