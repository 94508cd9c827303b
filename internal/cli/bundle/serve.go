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
		Short: "Serve the images of bundles, as a mirror for machines without internet",
		Long: `Serve is a registry of the images of one or more bundles, which can only be read.
Name it as a mirror in spec.registries of an environment file, for each registry
that it lists at its start. While an environment goes from one bundle to the next,
machines of the one need images of the other: give the folders of both.

Who reaches the address reads the images; nobody has to log in, and there is nothing
secret in them. Machines verify digests, but not who said which one a tag has:
give a certificate where the network is not to be trusted. Requests are logged to
standard error, one JSON object a line.`,
		Example: `  slipway bundle serve --listen 192.0.2.10:5000
  slipway bundle serve --dir bundle --dir ../slipway-1.4/bundle --tls-cert tls.crt --tls-key tls.key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	cmd.Flags().StringSliceVar(&o.dirs, "dir", []string{"bundle"}, "folder of a bundle; may be repeated, and the first has the last word on a tag")
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

// logged tells of each request what was asked, by whom, and what came of it.
func logged(handler http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start, seen := time.Now(), &recorder{ResponseWriter: w, status: http.StatusOK}
		handler.ServeHTTP(seen, r)
		log.Info("request", "method", r.Method, "path", r.URL.Path, "registry", r.URL.Query().Get("ns"), "status", seen.status, "from", r.RemoteAddr, "took", time.Since(start).String())
	})
}

// recorder remembers the status.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader is http.ResponseWriter's.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// ReadFrom leaves the copying of files to the connection, which the kernel does.
func (r *recorder) ReadFrom(content io.Reader) (int64, error) {
	return io.Copy(r.ResponseWriter, content)
}
